/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sort.h - sorts keys that are partitioned while they are read, and gives them in pieces.
 *
 *   the first keys, or a sample of all --> model
 *   keys --each reading thread, or all threads by chunks--> blocks of buckets (bucket_blocks.h)
 *   at the end: buckets in order --one thread each--> gathered, sorted in cache, decoded --> output
 *               ring --the caller--> writer
 *
 * The keys are in memory once; input chunks and the output ring are small and stay in a cache.
 * array_sort.h touches twice as much fresh memory and reads it twice more. A bucket too large for a
 * cache is sorted in an array. If most keys are in such buckets, the caller copies all keys back
 * (stream_sort_undo) and sorts them in one array.
 *
 * One thread calls, except at the tap.
 */
#ifndef CPU_STREAM_SORT_H
#define CPU_STREAM_SORT_H

#include "core/check/tap.h"
#include "core/error.h"
#include "cpu/array_sort.h"

struct stream_sort;

/* Minimum bytes of keys per put: each thread's range of them stays in its cache. */
#define STREAM_SORT_BYTES_MIN ((size_t)16 << 20)

/* Returns the bytes of a chunk for `threads` threads. The output ring has the same size. */
size_t stream_sort_chunk(unsigned threads);

/* Keys to learn the model from. They are not taken. */
struct stream_example {
    const void *keys;
    size_t count;
    bool is_of_all_keys; /* sampled from the whole input; false: the first chunk */
};

/* Opens a stream for keys of 4 or 8 bytes. task->count: SIZE_MAX if unknown. Returns false,
 * without an error, if a sample of the whole input shows that buckets would be too uneven. The
 * caller closes. */
bool stream_sort_open(const struct sort_task *task, const struct stream_example *example,
                      struct stream_sort **stream, struct error *error);

/* Takes keys[0..count); on failure none of them. *suits: false if the buckets are too uneven:
 * the caller then calls stream_sort_undo. */
bool stream_sort_put(struct stream_sort *stream, const void *keys, size_t count, bool *suits,
                     struct error *error);

/* Returns a tap through which any number of threads put keys concurrently; NULL if the count is
 * unknown. The stream owns the tap. */
struct tap *stream_sort_tap(struct stream_sort *stream);

/* Number of keys taken, and whether the buckets are even enough. No thread may be at the tap. */
size_t stream_sort_count(const struct stream_sort *stream);
bool stream_sort_suits(const struct stream_sort *stream);

/* Copies all keys to `keys`, decoded and in any order. The caller provides room for
 * stream_sort_count keys. */
void stream_sort_undo(struct stream_sort *stream, void *keys);

/* Begins to sort. room: the output ring, owned by the caller until the close: stream_sort_chunk
 * bytes, or, if is_given_twice, room for all keys. *suits as in stream_sort_put. */
void stream_sort_start(struct stream_sort *stream, void *room, bool is_given_twice, bool *suits);

/* Waits for the next sorted keys and returns them in *keys and *count; *count is 0 at the end.
 * The caller sorts buckets while it waits. Always the same thread. The last call releases the
 * memory of the blocks. */
void stream_sort_give(struct stream_sort *stream, void **keys, size_t *count);

/* Returns the oldest given keys, `count` of them, so that their range of the ring is reused. */
void stream_sort_take_back(struct stream_sort *stream, size_t count);

/* After stream_sort_start with is_given_twice, when all keys were given and taken back: starts
 * giving them again. */
void stream_sort_rewind(struct stream_sort *stream);

/* Returns the time spent sorting after stream_sort_start, and taking keys at the tap, divided by
 * the number of threads. Waiting for the caller is not included. */
uint64_t stream_sort_busy_ns(struct stream_sort *stream);

/* Ends the threads and frees the stream, with any keys not given. stream may be NULL. */
void stream_sort_close(struct stream_sort *stream);

#endif
