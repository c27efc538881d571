/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.h - a thread that reads an input ahead into memory; for source.c. Meanwhile its owner
 * starts a device, waits for enough data to start one, opens another pipe of the same writer, or
 * stores a sorted part.
 *
 *   input -> thread -> memory, in order -> read_ahead_take
 *
 * The input belongs to the thread from the start until read_ahead_stop(). After that, the bytes
 * read belong to the owner, and the owner may continue to read the input.
 */
#ifndef FORMATS_READ_AHEAD_H
#define FORMATS_READ_AHEAD_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct read_ahead;

struct read_ahead_spec {
    /* Reads 1..bytes bytes, and may block; sets *got to 0 at the end. Called in the thread. */
    bool (*read)(void *context, void *data, size_t bytes, size_t *got, struct error *error);
    void *context;
    int file; /* waited for before each read, so that a stop need not wait, except for the rest of a
                 compressed block or frame; -1: reads never block */
    size_t most; /* maximum bytes to read */
};

/* Starts the thread. Returns NULL if there is no memory or no thread; the caller can do without. */
struct read_ahead *read_ahead_start(const struct read_ahead_spec *spec);

/* Waits until `want` bytes have been read and not taken, or no more will be read. Returns the
 * number of these bytes. *ended: the input has ended or failed. */
size_t read_ahead_await(struct read_ahead *ahead, size_t want, bool *ended);

/* Ends the thread, after the current read. Returns the number of bytes read and not taken. */
size_t read_ahead_stop(struct read_ahead *ahead);

/* After a stop, copies the next bytes to `data`, with at most `threads` threads, and releases their
 * memory. Sets *got. After the last byte, returns false if reading failed. */
bool read_ahead_take(struct read_ahead *ahead, void *data, size_t bytes, unsigned threads,
                     size_t *got, struct error *error);

/* Stops, and frees everything. `ahead` may be NULL. */
void read_ahead_close(struct read_ahead *ahead);

#endif
