/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_sorts.h - the sorts that the engine (cpu_backend.c) uses: of an array, of a stream, and the
 * selection of the first items. See cpu/README.md for which algorithm sorts which input.
 */
#ifndef CPU_CPU_SORTS_H
#define CPU_CPU_SORTS_H

#include "core/backend.h"
#include "core/check/check.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/rank_memory.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- array_sort.c ----
 *
 * Sorts an array with all threads: stable, on ordered bits. */

struct sort_task {
    unsigned item_bytes;    /* bytes per item: 1, 2, 4, 8 (keys) or 16 (struct key_index), by
                             * key, then index; indices of equal keys must ascend in the input */
    struct key_order order; /* of the stored keys */
    size_t count;           /* items; count * item_bytes fits a size_t */
    unsigned threads;       /* maximum, at least 1 */
};

/* Returns the bytes of the threads' workspaces, or counters, in the scratch. */
size_t array_sort_workspace_bytes(size_t count, unsigned item_bytes, unsigned threads);

/* Sets *bytes to the size of the scratch. Returns false if it does not fit a size_t. */
bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes);

/* Begins to sort items[0..task->count) in place. Threads of its own continue after the return;
 * the sorted prefix that array_sort_await reports can be used meanwhile. items and scratch are
 * aligned to a cache line (64 bytes); the caller owns both and keeps them until array_sort_end.
 * The returned structure is in the scratch and needs no free. With items of 4 bytes or more, the
 * scratch before the byte offset where the sorted prefix ends is no longer used. Can be called
 * inside a parallel region. */
struct array_sort;
struct array_sort *array_sort_begin(const struct sort_task *task, void *items, void *scratch);

/* Waits until more than `known` items, or all, are sorted, and returns the length of the sorted
 * prefix. The caller sorts buckets while it waits. Always the same thread. */
size_t array_sort_await(struct array_sort *sorting, size_t known);

/* Waits for the threads and ends the sort. Buckets that no thread has begun stay unsorted and
 * their keys are lost. */
void array_sort_end(struct array_sort *sorting);

/* ---- stream/stream_sort.c, stream/stream_give.c ----
 *
 * Sorts keys that are partitioned while they are read, and gives them in pieces.
 *
 *   the first keys, or a sample of all --> model
 *   keys --each reading thread, or all threads by chunks--> blocks of buckets (bucket_blocks.h)
 *   at the end: buckets in order --one thread each--> gathered, sorted in cache, decoded --> output
 *               ring --the caller--> writer
 *
 * The keys are in memory once, even if they are given twice, unless the output ring has room for
 * all; input chunks and a small ring stay in a cache. array_sort.c touches twice as much fresh
 * memory and reads it twice more. A bucket too large for a cache is sorted in an array. If most
 * keys are in such buckets, the caller copies all keys back (stream_sort_undo) and sorts them in
 * one array.
 *
 * One thread calls, except at the tap.
 */

struct stream_sort;

/* Minimum bytes of a chunk: four times those of the largest bucket that is sorted in cache. */
#define STREAM_SORT_BYTES_MIN ((size_t)16 << 20)

/* Returns the bytes of a chunk for `threads` threads. The output ring is at least as large. */
size_t stream_sort_chunk(unsigned threads);

/* Keys to learn the model from. They are not added to the stream. */
struct stream_example {
    const void *keys;
    size_t count;
    bool is_of_all_keys; /* sampled from the whole input; false: the first chunk */
    size_t shared_count; /* if stream_sort_share may be called, the number of keys of all ranks: the
                            example, and so the model, must be equal on all ranks; else 0 */
};

/* Opens a stream for keys of 4 or 8 bytes. task->count: SIZE_MAX if unknown. Returns false,
 * without an error, if there are too many keys (8 GiB), or if a sample of the whole input shows
 * that buckets would be too uneven. The caller closes. */
bool stream_sort_open(const struct sort_task *task, const struct stream_example *example,
                      struct stream_sort **stream, struct error *error);

/* Adds keys[0..count) to the stream; on failure none of them. *suits: false if the buckets are too
 * uneven: the caller then calls stream_sort_undo. */
bool stream_sort_put(struct stream_sort *stream, const void *keys, size_t count, bool *suits,
                     struct error *error);

/* Returns a tap through which any number of threads put keys concurrently; NULL if the count is
 * unknown. The stream owns the tap. */
struct tap *stream_sort_tap(struct stream_sort *stream);

/* Number of keys added, and whether the buckets are even enough. No thread may be at the tap. */
size_t stream_sort_count(const struct stream_sort *stream);
bool stream_sort_suits(const struct stream_sort *stream);

/* Copies all keys to `keys`, decoded and in any order. The caller provides room for
 * stream_sort_count keys. */
void stream_sort_undo(struct stream_sort *stream, void *keys);

/* Begins to sort. room: the output ring, of at least stream_sort_chunk bytes, which the caller
 * keeps until the close. If it has room for all keys, they need not be taken back, and are in it
 * one after another once all were given. *suits: as in stream_sort_put; also false if there is no
 * memory for large buckets. check: NULL; or, for keys that are given twice, becomes the check of
 * the keys, in order. These are then sorted before the return. */
void stream_sort_start(struct stream_sort *stream, void *room, size_t room_bytes,
                       struct key_check *check, bool *suits);

/* Collective, before stream_sort_start: ends the input, and joins the streams of all ranks if they
 * have one model and the buckets are even enough. Then sets *is_shared, on all ranks; each stream
 * gives the keys of its rank's range, and none may be closed before all ranks have got their keys.
 * stream: NULL if this rank has none. memory: of all ranks, kept until the close. Fails on all
 * ranks if it fails on one. */
bool stream_sort_share(struct stream_sort *stream, struct shared_sort *shared,
                       const struct rank_memory *memory, bool *is_shared, struct error *error);

/* Waits for the next sorted keys and returns them in *keys and *count; *count is 0 at the end. A
 * shared stream may also give keys after the rank's range. The caller sorts buckets while it waits.
 * Always the same thread. When the last bucket is given, the memory of the blocks is released,
 * unless the keys are given twice or shared. Fails only for a shared stream: if the memory of
 * another rank cannot be read, or there is no memory for large buckets. */
bool stream_sort_give(struct stream_sort *stream, void **keys, size_t *count, struct error *error);

/* Takes back the `count` keys given first among those not taken back yet, so that their range of
 * the ring is reused. */
void stream_sort_take_back(struct stream_sort *stream, size_t count);

/* For keys that are given twice, when all given keys were taken back: starts giving again, from the
 * first key. */
void stream_sort_rewind(struct stream_sort *stream);

/* For keys that are given twice, in place of giving them: each thread gathers a bucket, checks it
 * and writes it. *check becomes the check of all keys, in order. */
bool stream_sort_write(struct stream_sort *stream, const struct item_writer *writer,
                       struct key_check *check, struct error *error);

/* Returns the time spent adding keys at the tap and, if keys are given once, sorting them after
 * stream_sort_start, divided by the number of threads. Waiting for the caller is not included. */
uint64_t stream_sort_busy_ns(struct stream_sort *stream);

/* Ends the threads and frees the stream, with any keys not given. stream may be NULL. */
void stream_sort_close(struct stream_sort *stream);

/* ---- top_select.c ----
 *
 * Keeps the first K items of a stream, in place (--top).
 *
 *   items: | kept | new --reader--> |  --add--> | kept, of both | room |
 *
 * New items whose key is not below a bound are dropped. When more than top_select_limit are kept, a
 * smaller bound is found. Kept items stay in input order, so the selection is stable. One thread
 * calls; it uses OpenMP threads.
 */

struct top_task {
    unsigned item_bytes;    /* bytes per item: 1, 2, 4, 8 (keys) or 16 (struct key_index), by key */
    struct key_order order; /* of the stored keys */
    size_t top;             /* items wanted */
    unsigned threads;       /* maximum, at least 1 */
};

struct top_select;

bool top_select_create(const struct top_task *task, struct top_select **select,
                       struct error *error);

/* Maximum items kept by top_select_add: twice `top` and 16 Ki; SIZE_MAX if that overflows. */
size_t top_select_limit(size_t top);

/* items[0..kept) is the result of the previous call, items[kept..kept + added) is new. Moves the
 * items that may be among the first `top` to the start of items, and returns how many. */
size_t top_select_add(struct top_select *select, void *items, size_t kept, size_t added);

/* Called at the end of the stream: keeps at most an eighth more than `top`; returns how many. */
size_t top_select_finish(struct top_select *select, void *items, size_t kept);

/* select may be NULL. */
void top_select_free(struct top_select *select);

#endif
