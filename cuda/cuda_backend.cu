/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_backend.cu - the backend "gpu": the table of its paths and its functions. A new path also
 * needs a file, and declarations in cuda_sort.h.
 */
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_engine.h"
#include "cuda/engine/cuda_worker.h"
#include "cuda/group/gpus.h"
#include "cuda/tuning.h"

#include <cstdio>

static const size_t tile_sizes[] = {256, 512, 1024, 2048, 0};

/* segmented-merge allows larger tiles, because its merges do not depend on the tile. */
static const size_t segmented_tile_sizes[] = {256, 512, 1024, 2048, 4096, 0};

/* radix makes tiles of any size that fits shared memory. Its tile size is the one it aims at. */
static const size_t radix_tile_sizes[] = {256, 2048, 4096, 0};

static size_t no_workspace_bytes(size_t, size_t, unsigned)
{
    return 0;
}

/*    name, summary, tile_sizes, buffers, count_max, sort, workspace_bytes, finish */
#define CUDA_PATHS(X)                                                                              \
    X("bitonic", "Batcher's network over the whole array, in place", tile_sizes, 1, SIZE_MAX,      \
      bitonic_sort, no_workspace_bytes, NULL)                                                      \
    X("direct-merge", "sorted tiles, then each key finds its rank in the partner run", tile_sizes, \
      2, SIZE_MAX, direct_merge_sort, merge_workspace_bytes, NULL)                                 \
    X("segmented-merge", "sorted tiles, then merges cut into equal parts (merge path)",            \
      segmented_tile_sizes, 2, SIZE_MAX, segmented_merge_sort, merge_workspace_bytes, NULL)        \
    X("radix",                                                                                     \
      "by counting, by digits (LSD), or two partitions by a model, then tiles in shared memory",   \
      radix_tile_sizes, 2, SIZE_MAX, radix_sort, radix_workspace_bytes, radix_finish)              \
    X("rank", "each key counts those that go before it, in n^2 steps", tile_sizes, 2,              \
      RANK_SORT_COUNT_MAX, rank_sort, no_workspace_bytes, NULL)                                    \
    X("heap", "tiles sorted by heaps in shared memory, then segmented merges", tile_sizes, 2,      \
      SIZE_MAX, heap_sort, merge_workspace_bytes, NULL)                                            \
    X("column", "columns of a tile sorted by radix, merged by merge path; segmented merges",       \
      tile_sizes, 2, SIZE_MAX, column_block_sort, merge_workspace_bytes, NULL)                     \
    X("column-single", "the same, but the columns merged by one thread", tile_sizes, 2, SIZE_MAX,  \
      column_single_sort, merge_workspace_bytes, NULL)                                             \
    X("column-min", "the same, but merged by a warp that reduces their heads", tile_sizes, 2,      \
      SIZE_MAX, column_min_sort, merge_workspace_bytes, NULL)                                      \
    X("column-pairs", "the same, but merged by twos, each key by its rank", tile_sizes, 2,         \
      SIZE_MAX, column_pairs_sort, merge_workspace_bytes, NULL)

static const struct algorithm algorithms[] = {
#define X(name, summary, tiles, buffers, count_max, sort, workspace_bytes, finish)                 \
    {name, summary, tiles, buffers, count_max, NULL},
    CUDA_PATHS(X)
#undef X
};

/* Row i of both tables is the same path. */
static const struct cuda_path paths[] = {
#define X(name, summary, tiles, buffers, count_max, sort, workspace_bytes, finish)                 \
    {sort, workspace_bytes, finish},
    CUDA_PATHS(X)
#undef X
};
#undef CUDA_PATHS

constexpr size_t path_count = sizeof paths / sizeof *paths;

const struct cuda_path *cuda_path_find(const struct algorithm *algorithm)
{
    for (size_t i = 0; i < path_count; i++)
        if (algorithm == &algorithms[i])
            return &paths[i];
    return NULL;
}

/* Writes the version of CUDA and the GPU architectures that the build was compiled for. */
static void describe_build(char *text, size_t room)
{
    static const int architectures[] = {__CUDA_ARCH_LIST__};
    int length =
        snprintf(text, room, "CUDA %d.%d,", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    for (const int architecture : architectures)
        if (static_cast<size_t>(length) < room)
            length += snprintf(text + length, room - length, " sm_%d", architecture / 10);
}

static constexpr struct backend backend_of(const char *summary, const struct backend *several,
                                           const struct engine_functions *keys)
{
    return {"gpu",
            summary,
            algorithms,
            path_count,
            cuda_device_is_possible,
            cuda_device_probe,
            cuda_device_look,
            describe_build,
            cuda_device_count,
            cuda_device_reaches,
            several,
            keys,
            &cuda_lines};
}

/* Text is sorted by the first GPU, in the memory of all if its own may be too small. */
static const struct backend gpus_backend =
    backend_of("several NVIDIA GPUs, by CUDA", NULL, &gpus_keys);

extern "C" {
extern const struct backend cuda_backend;
const struct backend cuda_backend = backend_of("NVIDIA GPUs, by CUDA", &gpus_backend, &gpu_keys);
}
