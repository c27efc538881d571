/* SPDX-License-Identifier: Apache-2.0 */
/* radix_stream.h - a sort of keys that are partitioned as they come, and given in parts.
 *
 *   the first keys, or some of all --sample--> model
 *   keys, as they come --all threads, at once or as each has read some--> blocks of buckets
 *               (radix_blocks.h)
 *   at the end: buckets in order --a thread each--> gathered, sorted in cache, decoded --> a ring
 *               of output --the caller--> away
 *
 * The keys are in memory once, and what they came in and go out by is small and stays in a cache:
 * a sort in an array (radix_sort.h) touches twice as much fresh memory, and goes through it twice
 * more. A bucket that comes out too large for a cache is sorted in an array; where most keys are in
 * such, what was taken is put together again, for an array of all.
 */
#ifndef CPU_RADIX_STREAM_H
#define CPU_RADIX_STREAM_H

#include "core/error.h"
#include "core/tap.h"
#include "cpu/radix_sort.h"

struct radix_stream;

/* Keys that are put at a time, at least. In bytes: what a thread has of them stays in its cache. */
#define RADIX_STREAM_BYTES_MIN ((size_t)16 << 20)

/* Bytes of a chunk for so many threads, which is also the room for the output that it needs. */
size_t radix_stream_chunk(unsigned threads);

/* Keys to learn from, which are not taken yet. */
struct radix_example {
    const void *keys;
    size_t count;
    bool is_of_all; /* from all over the keys; else the first ones, a chunk of them */
};

/* For keys of the task, of 4 or 8 bytes; task->count SIZE_MAX: not known. False, without an error,
 * if an example of all keys shows that the buckets would not suit. */
bool radix_stream_open(const struct radix_task *task, const struct radix_example *example,
                       struct radix_stream **stream, struct error *error);

/* Takes keys; if it fails, none of them. *suits: whether the buckets are even enough: else undo it.
 */
bool radix_stream_put(struct radix_stream *stream, const void *keys, size_t count, bool *suits,
                      struct error *error);

/* A tap that takes keys from any number of threads, of which each works alone; NULL where their
 * number is not known. */
struct tap *radix_stream_tap(struct radix_stream *stream);

/* How many were taken, and whether the buckets suit; no thread is at the tap. */
size_t radix_stream_count(const struct radix_stream *stream);
bool radix_stream_suits(const struct radix_stream *stream);

/* Puts all keys that were taken back, as they came but for their order; there is room for them. */
void radix_stream_undo(struct radix_stream *stream, void *keys);

/* Begins to sort; room, of radix_stream_chunk, is where what is given will be. *suits as before. */
void radix_stream_sort(struct radix_stream *stream, void *room, bool *suits);

/* The next keys in order; *count 0 at the end. With the last ones the memory of what was put is let
 * go of. The calling thread, always the same, sorts while there are none. */
void radix_stream_give(struct radix_stream *stream, void **keys, size_t *count);

/* What was given is not needed any more, the oldest first. */
void radix_stream_take_back(struct radix_stream *stream, size_t count);

/* How long all threads together have sorted so far, behind radix_stream_sort, and taken keys from
 * the tap; who waits for the caller to take what is sorted does not sort. */
uint64_t radix_stream_sort_ns(struct radix_stream *stream);

/* Drops what was not given; stream may be NULL. */
void radix_stream_close(struct radix_stream *stream);

#endif
