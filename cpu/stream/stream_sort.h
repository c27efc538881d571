/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sort.h - a sort of keys that are partitioned as they come, and given in parts.
 *
 *   the first keys, or some of all --sample--> model
 *   keys, as they come --all threads, at once or as each has read some--> blocks of buckets
 *               (bucket_blocks.h)
 *   at the end: buckets in order --a thread each--> gathered, sorted in cache, decoded --> a ring
 *               of output --the caller--> away
 *
 * The keys are in memory once, and what they came in and go out by is small and stays in a cache:
 * a sort in an array (array_sort.h) touches twice as much fresh memory, and goes through it twice
 * more. A bucket that comes out too large for a cache is sorted in an array; where most keys are in
 * such, what was taken is put together again, for an array of all.
 */
#ifndef CPU_STREAM_SORT_H
#define CPU_STREAM_SORT_H

#include "core/error.h"
#include "core/tap.h"
#include "cpu/array_sort.h"

struct stream_sort;

/* Keys that are put at a time, at least. In bytes: what a thread has of them stays in its cache. */
#define STREAM_SORT_BYTES_MIN ((size_t)16 << 20)

/* Bytes of a chunk for so many threads, which is also the room for the output that it needs. */
size_t stream_sort_chunk(unsigned threads);

/* Keys to learn from, which are not taken yet. */
struct stream_example {
    const void *keys;
    size_t count;
    bool is_of_all; /* from all over the keys; else the first ones, a chunk of them */
};

/* For keys of the task, of 4 or 8 bytes; task->count SIZE_MAX: not known. False, without an error,
 * if an example of all keys shows that the buckets would not suit. */
bool stream_sort_open(const struct sort_task *task, const struct stream_example *example,
                      struct stream_sort **stream, struct error *error);

/* Takes keys; if it fails, none of them. *suits: whether the buckets are even enough: else undo it.
 */
bool stream_sort_put(struct stream_sort *stream, const void *keys, size_t count, bool *suits,
                     struct error *error);

/* A tap that takes keys from any number of threads, of which each works alone; NULL where their
 * number is not known. */
struct tap *stream_sort_tap(struct stream_sort *stream);

/* How many were taken, and whether the buckets suit; no thread is at the tap. */
size_t stream_sort_count(const struct stream_sort *stream);
bool stream_sort_suits(const struct stream_sort *stream);

/* Puts all keys that were taken back, as they came but for their order; there is room for them. */
void stream_sort_undo(struct stream_sort *stream, void *keys);

/* Begins to sort; room, of stream_sort_chunk, is where what is given will be. *suits as before. */
void stream_sort_start(struct stream_sort *stream, void *room, bool *suits);

/* The next keys in order; *count 0 at the end. With the last ones the memory of what was put is let
 * go of. The calling thread, always the same, sorts while there are none. */
void stream_sort_give(struct stream_sort *stream, void **keys, size_t *count);

/* What was given is not needed any more, the oldest first. */
void stream_sort_take_back(struct stream_sort *stream, size_t count);

/* How long all threads together have sorted so far, behind stream_sort_start, and taken keys from
 * the tap; who waits for the caller to take what is sorted does not sort. */
uint64_t stream_sort_busy_ns(struct stream_sort *stream);

/* Drops what was not given; stream may be NULL. */
void stream_sort_close(struct stream_sort *stream);

#endif
