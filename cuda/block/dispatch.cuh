/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.cuh - from the sizes known at run time to the templates on width and tile. */
#ifndef CUDA_DISPATCH_CUH
#define CUDA_DISPATCH_CUH

#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"

template <template <typename, unsigned> class Path, typename K, typename... Arguments>
static bool dispatch_tile(const struct cuda_sort *sort, struct error *error,
                          const Arguments &...arguments)
{
    switch (sort->tile_size) {
    case 256:
        return Path<K, 256>::run(sort, error, arguments...);
    case 512:
        return Path<K, 512>::run(sort, error, arguments...);
    case 1024:
        return Path<K, 1024>::run(sort, error, arguments...);
    case 2048:
        return Path<K, 2048>::run(sort, error, arguments...);
    default:
        return error_set(error, "device %u: no path has tiles of %zu items", sort->device,
                         sort->tile_size);
    }
}

/* Calls Path<K>::run(sort, error, arguments...) for sort->item_bytes. */
template <template <typename> class Path, typename... Arguments>
static bool dispatch_width(const struct cuda_sort *sort, struct error *error,
                           const Arguments &...arguments)
{
    switch (sort->item_bytes) {
    case 1:
        return Path<uint8_t>::run(sort, error, arguments...);
    case 2:
        return Path<uint16_t>::run(sort, error, arguments...);
    case 4:
        return Path<uint32_t>::run(sort, error, arguments...);
    case 8:
        return Path<uint64_t>::run(sort, error, arguments...);
    case 16:
        return Path<key_u128>::run(sort, error, arguments...);
    default:
        return error_set(error, "device %u: no path sorts items of %u bytes", sort->device,
                         sort->item_bytes);
    }
}

template <template <typename, unsigned> class Path>
struct tiled {
    template <typename K>
    struct path {
        template <typename... Arguments>
        static bool run(const struct cuda_sort *sort, struct error *error,
                        const Arguments &...arguments)
        {
            return dispatch_tile<Path, K>(sort, error, arguments...);
        }
    };
};

/* Calls Path<K, TILE>::run(sort, error, arguments...) for sort->item_bytes and sort->tile_size. */
template <template <typename, unsigned> class Path, typename... Arguments>
static bool dispatch(const struct cuda_sort *sort, struct error *error,
                     const Arguments &...arguments)
{
    return dispatch_width<tiled<Path>::template path>(sort, error, arguments...);
}

#endif
