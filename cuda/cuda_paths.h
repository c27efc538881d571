/* cuda_paths.h - what the engine needs of a path beyond the facts that all backends state. */
#ifndef CUDA_CUDA_PATHS_H
#define CUDA_CUDA_PATHS_H

#include "core/backend.h"
#include "cuda/cuda_sort.h"

struct cuda_path {
    bool (*sort)(const struct cuda_sort *sort, struct error *error);
    size_t (*workspace_bytes)(size_t count, size_t tile_size, unsigned item_bytes);
    /* NULL: the path leaves nothing over. */
    bool (*finish)(const struct cuda_sort *sort, unsigned round, bool *is_done,
                   struct error *error);
};

/* NULL if the algorithm is none of this backend's rows. */
const struct cuda_path *cuda_path_find(const struct algorithm *algorithm);

#endif
