/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_sort.h - the interface between the engine and the paths: the task of a path, and its memory.
 *
 * A path sorts items[0..count) on one device: stored bits in, stored bits out, in place as seen
 * from outside. It starts kernels on the stream and returns; it does not allocate. Only radix may
 * wait, for the kernel that finds the facts by which it chooses its strategy. The engine owns all
 * memory.
 *
 * A path that cannot know the amount of work beforehand has a status block in pinned memory. Its
 * kernels write there how much work remains. The engine waits for them, as it does for each path,
 * and then lets the path start more kernels. So a sort without remaining work takes no more waits.
 */
#ifndef CUDA_CUDA_SORT_H
#define CUDA_CUDA_SORT_H

#include "core/error.h"
#include "core/key_order.h"
#include "cuda/radix_strategy.h"
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
    struct sort_status
        *status; /* pinned, and written by kernels too; NULL for a path without `finish` */
    const struct radix_tuning *tuning = &radix_tuning_default; /* of radix */
};

/* Takes the next `count` elements of a workspace, aligned for any type, and adds their bytes to
 * *used. Without `memory` only the bytes are counted. */
template <typename T>
static T *workspace_take(void *memory, size_t *used, size_t count)
{
    unsigned char *const base = static_cast<unsigned char *>(memory);
    T *const part = base ? reinterpret_cast<T *>(base + *used) : NULL;
    *used += (count * sizeof(T) + 255) / 256 * 256;
    return part;
}

/* The status block: results that the kernels of a path publish for the host. */
struct sort_status {
    size_t open;     /* number of ranges, listed in the workspace, that are not sorted yet */
    bool is_refused; /* radix cannot sort these items by the strategy, and has moved none */
    struct radix_facts facts;
};

/* The paths. They return false, with *error set, if a CUDA call fails, or if there is no kernel for
 * the tile size. */
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

/* Sorts any number of items, but is made for a small array, whose time is mostly that of launches:
 * up to 4,096 items take one launch, and each doubling of them adds two to four. Sorts in place,
 * needs no workspace or status, and ignores tile_size. */
bool small_sort(const struct cuda_sort *sort, struct error *error);

/* Called when all kernels so far are done. Starts kernels for the items that they have not sorted;
 * sets *is_done if there are none. `round` counts the calls from 1. */
bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error);

/* Sorts keys of 1 or 2 bytes by counting them. A block uses at most shared_most bytes of shared
 * memory, but at least 64 KiB for keys of 2 bytes. */
bool counting_sort(const struct cuda_sort *sort, size_t shared_most, struct error *error);

/* Return the bytes of workspace; bitonic and rank need none. Paths that merge tiles need 8 bytes
 * for each tile, and for each part of a merge 8 bytes for each run that is merged. radix needs a
 * few hundredths of the memory of the items, or, if they are few, what a merge does. A workspace
 * for a count is enough for any smaller count. If radix_tuning_default calls an array small and its
 * own tuning does not, radix needs the workspace of a count that is not small. */
size_t merge_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t radix_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes);
size_t counting_workspace_bytes(unsigned item_bytes); /* 1 or 2 */

/* The first step of a merge sort: encodes items, sorts each tile and writes it to `target` (items
 * or scratch), mapped by `decoding`. */
typedef bool tile_sort_function(const struct cuda_sort *sort, void *target,
                                struct key_order decoding, struct error *error);

/* The tile sort of direct-merge, segmented-merge and small_sort(). */
tile_sort_function tile_sort;

/* Sorted runs of ordered bits that follow each other in `source`, and become one run at the same
 * position of `target`, which is decoded and must not overlap `source`. */
struct merge_few {
    const void *source;
    void *target;
    const size_t *bounds; /* index of the first item of each run; then the end of the last */
    size_t runs;          /* 1 to MERGE_FEW_MOST; a run may be empty */
    struct key_order decoding;
};
constexpr size_t MERGE_FEW_MOST = 8;

/* Merges the runs in one pass over memory, on the sort's device and stream. The workspace has the
 * merge_workspace_bytes for all items of the runs. */
bool segmented_merge_few(const struct cuda_sort *sort, const struct merge_few *few,
                         struct error *error);

/* Sorts tiles by `sort_tiles`, then merges them as segmented-merge does. */
bool segmented_merge_runs(const struct cuda_sort *sort, tile_sort_function *sort_tiles,
                          struct error *error);

#endif
