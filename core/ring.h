/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a bounded first-in first-out queue of buffers between two threads: back-pressure one
 * way, order the other.
 */
#ifndef CORE_RING_H
#define CORE_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring;

struct ring_entry {
    unsigned char *data;
    size_t bytes;
};

/* A ring that holds up to `capacity` entries. NULL when memory runs out. */
struct ring *ring_create(size_t capacity);

/* Waits for room. False when the ring was stopped: the entry was not taken. */
bool ring_push(struct ring *ring, struct ring_entry entry);

/* Waits for an entry. False when the ring is closed and empty, or stopped. */
bool ring_pop(struct ring *ring, struct ring_entry *entry);

/* No more will be pushed; what is in it can still be popped. */
void ring_close(struct ring *ring);

/* Ends all waiting at once, on both sides. For failures. */
void ring_stop(struct ring *ring);

/* ring may be NULL. */
void ring_free(struct ring *ring);

#endif
