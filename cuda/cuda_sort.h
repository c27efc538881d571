/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_sort.h - between the engine and the paths: what a path is asked to sort, and with what.
 *
 * A path sorts items[0..count) on one device: stored bits in, stored bits out, in place as seen
 * from outside. It starts kernels on the stream and returns; it does not allocate, nor wait but for
 * a word of its first kernels. The engine owns all memory.
 *
 * A path that cannot know from here how much work there is leaves a note: its kernels write there
 * what is still to be done, and the engine, which waits for them anyway, then lets the path start
 * more. So a sort that leaves nothing over waits once, as all others do.
 *
 * How it goes on may be known long before the kernels are done that would go on in the usual way.
 * Then these say so in the note, and the path, which looks there before it starts more of them,
 * starts none: the engine need not wait, and what comes next is on its way before the device is
 * idle.
 */
#ifndef CUDA_CUDA_SORT_H
#define CUDA_CUDA_SORT_H

#include "core/error.h"
#include "core/key_order.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stddef.h>

struct cuda_sort {
    void *items;            /* count items, aligned to 16 bytes; sorted on return */
    void *scratch;          /* count items, same alignment; NULL for a path that sorts in place */
    void *workspace;        /* of the size that the path's workspace function returns */
    size_t count;           /* items */
    unsigned item_bytes;    /* 1, 2, 4, 8, or 16 for struct key_index */
    struct key_order order; /* the identity for struct key_index */
    size_t tile_size;       /* one of the path's sizes */
    unsigned device;
    cudaStream_t stream;
    struct sort_note
        *note; /* pinned, and written by kernels too; NULL for a path without `finish` */
};

/* How much a path's kernels could not sort, in a unit of the path's: its ranges are in the
 * workspace. */
struct sort_note {
    size_t count;
    size_t way;    /* the path's: how it goes on, as soon as its kernels know; 0: they do not yet */
    bool is_heard; /* the host knows it: `count` stays as it is, though kernels are on their way */
};

/* The paths. They return false, with *error set, if a kernel cannot be started. */
bool bitonic_sort(const struct cuda_sort *sort, struct error *error);
bool direct_merge_sort(const struct cuda_sort *sort, struct error *error);
bool segmented_merge_sort(const struct cuda_sort *sort, struct error *error);
bool radix_sort(const struct cuda_sort *sort, struct error *error);
bool rank_sort(const struct cuda_sort *sort, struct error *error);
bool heap_sort(const struct cuda_sort *sort, struct error *error);
bool column_single_sort(const struct cuda_sort *sort, struct error *error);
bool column_min_sort(const struct cuda_sort *sort, struct error *error);
bool column_pairs_sort(const struct cuda_sort *sort, struct error *error);
bool column_block_sort(const struct cuda_sort *sort, struct error *error);

/* Starts what the note of all work so far, which is done, asks for, and says in *is_done if that is
 * nothing. `round` counts the calls from 1. */
bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error);

/* Sorts keys of 1 or 2 bytes by counting them, with up to shared_most bytes of shared memory a
 * block, if the device has them; 64 KiB at the least. */
bool counting_sort(const struct cuda_sort *sort, size_t shared_most, struct error *error);

/* Bytes of workspace: none for bitonic and rank; a word for each tile, and for each run that a part
 * of a merge is made of, for all that merge tiles; a few hundredths of the items for radix, of few
 * items more: three fifths for 2^16 of 4 bytes, three eighths of 8, a sixth for 2^20 of these, a
 * seventh for 2^22. None falls as the count grows: what serves an array serves a smaller one. */
size_t bitonic_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t rank_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t merge_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t radix_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t counting_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);

/* The first step of a merge sort: encodes items, sorts each tile and writes it to `target` (items
 * or scratch), mapped by `decoding`. */
typedef bool tile_sort_function(const struct cuda_sort *sort, void *target,
                                struct key_order decoding, struct error *error);

/* The tile sort of direct-merge and segmented-merge. */
tile_sort_function tile_sort;

/* Sorts tiles by `sort_tiles`, then merges them as segmented-merge does. */
bool segmented_merge_runs(const struct cuda_sort *sort, tile_sort_function *sort_tiles,
                          struct error *error);

#endif
