/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.h - a thread that reads an input on into memory while its owner does something else:
 * start a device, or find out whether there is enough to start one for; for source.c.
 *
 *   input -> thread -> memory, in order -> read_ahead_take
 *
 * The input is the thread's from the start until read_ahead_stop; what it has read is then the
 * owner's, and the owner may read on where it stopped.
 */
#ifndef FORMATS_READ_AHEAD_H
#define FORMATS_READ_AHEAD_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct read_ahead;

struct read_ahead_spec {
    /* Reads 1..bytes bytes, which may wait; *got 0 at the end. Called on the thread. */
    bool (*read)(void *context, void *data, size_t bytes, size_t *got, struct error *error);
    void *context;
    int file;    /* waited for before each read, so that stopping need not; -1: never waits */
    size_t most; /* bytes that are read */
};

/* NULL if there is no memory for it, or no thread: a help that can be done without. */
struct read_ahead *read_ahead_start(const struct read_ahead_spec *spec);

/* Waits until `want` bytes have been read, or no more will be; returns how many there are. *ended:
 * the input has no more, or could not be read. */
size_t read_ahead_await(struct read_ahead *ahead, size_t want, bool *ended);

/* Ends the thread, once the read under way is done. Returns the bytes that were read and not taken.
 */
size_t read_ahead_stop(struct read_ahead *ahead);

/* Copies the next bytes of a stopped one to data, by so many threads at most, and gives their
 * memory back; returns how many. Behind the last one, false where reading failed. */
bool read_ahead_take(struct read_ahead *ahead, void *data, size_t bytes, unsigned threads,
                     size_t *got, struct error *error);

/* ahead may be NULL. */
void read_ahead_close(struct read_ahead *ahead);

#endif
