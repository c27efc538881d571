/* cuda_backend.cu - the backend "gpu": the table of its paths, the rules that choose among them,
 * and the functions behind it. A new path is one file and one row.
 */
#include "cuda/cuda_device.h"
#include "cuda/cuda_engine.h"
#include "cuda/cuda_paths.h"

static const size_t tile_sizes[] = {256, 512, 1024, 2048, 0};

/*    name, summary, buffers, sort, workspace_bytes */
#define CUDA_PATHS(X)                                                                              \
    X("bitonic", "Batcher's network over the whole array, in place", 1, bitonic_sort,              \
      bitonic_workspace_bytes)                                                                     \
    X("direct-merge", "sorted tiles, then each key finds its rank in the partner run", 2,          \
      direct_merge_sort, merge_workspace_bytes)                                                    \
    X("segmented-merge", "sorted tiles, then merges cut into equal parts (merge path)", 2,         \
      segmented_merge_sort, merge_workspace_bytes)

static const struct algorithm algorithms[] = {
#define X(name, summary, buffers, sort, workspace_bytes) {name, summary, tile_sizes, buffers},
    CUDA_PATHS(X)
#undef X
};

/* Row i of both tables is the same path. */
static const struct cuda_path paths[] = {
#define X(name, summary, buffers, sort, workspace_bytes) {sort, workspace_bytes},
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

/* H200, 2026-11-20, f64, ms at tiles of 256, 512, 1024, 2048: 1e4 0.071 0.063 0.051 0.046; 1e6
 * 0.183 0.169 0.164 0.162; 1e9 165 125 106 101. The other paths are slower at all of these but
 * bitonic, which is even up to 1e5. */
static const struct algorithm_rule rules[] = {
    {SIZE_MAX, "segmented-merge", 2048},
};

extern "C" {
extern const struct backend cuda_backend;

const struct backend cuda_backend = {"gpu",
                                     "NVIDIA GPUs, by CUDA",
                                     algorithms,
                                     path_count,
                                     rules,
                                     cuda_device_probe,
                                     cuda_engine_open,
                                     cuda_engine_lend,
                                     cuda_engine_take,
                                     cuda_engine_sort,
                                     cuda_engine_give,
                                     cuda_engine_take_back,
                                     cuda_engine_times,
                                     cuda_engine_close};
}
