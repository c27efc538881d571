/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a bounded FIFO queue of buffers between threads. A full queue blocks the producer. */
#ifndef CORE_RING_H
#define CORE_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring;

struct ring_entry {
    unsigned char *data;
    size_t bytes;
};

/* Creates a ring for up to `capacity` entries. Returns NULL if memory runs out. */
struct ring *ring_create(size_t capacity);

/* Adds an entry; blocks while the ring is full. Returns false, without adding it, if the ring was
 * stopped. */
bool ring_push(struct ring *ring, struct ring_entry entry);

/* Removes the oldest entry; blocks while the ring is empty. Returns false if the ring is closed and
 * empty, or stopped. */
bool ring_pop(struct ring *ring, struct ring_entry *entry);

/* Ends the input: entries in the ring can still be popped, but no more are pushed. */
void ring_close(struct ring *ring);

/* Wakes all blocked threads on both sides, and makes later calls fail. For failures. */
void ring_stop(struct ring *ring);

/* `ring` may be NULL. */
void ring_free(struct ring *ring);

#endif
