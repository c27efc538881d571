/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_paths.h - the functions of a path, which the engine calls. */
#ifndef CUDA_CUDA_PATHS_H
#define CUDA_CUDA_PATHS_H

#include "core/backend.h"
#include "cuda/cuda_check.h"
#include "cuda/cuda_sort.h"

struct cuda_path {
    bool (*sort)(const struct cuda_sort *sort, struct error *error);
    size_t (*workspace_bytes)(size_t count, size_t tile_size, unsigned item_bytes);
    /* NULL: `sort` leaves no work. */
    bool (*finish)(const struct cuda_sort *sort, unsigned round, bool *is_done,
                   struct error *error);
};

/* Returns NULL if the algorithm is not a row of this backend. */
const struct cuda_path *cuda_path_find(const struct algorithm *algorithm);

/* Sorts by the path, and waits until all work is done. Also after a failure none of its kernels is
 * running, because it would write to the status block of the next sort. */
static inline bool cuda_path_sort(const struct cuda_path *path, const struct cuda_sort *sort,
                                  struct error *error)
{
    bool is_done = false;
    bool is_well = path->sort(sort, error);
    for (unsigned round = 1; is_well && !is_done; round++) {
        is_well = cuda_check(cudaStreamSynchronize(sort->stream), sort->device,
                             "cudaStreamSynchronize", error);
        is_done = true;
        if (is_well && path->finish)
            is_well = path->finish(sort, round, &is_done, error);
    }
    if (!is_well)
        (void)cudaStreamSynchronize(sort->stream);
    return is_well;
}

#endif
