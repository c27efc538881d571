/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.cuh - from the sizes known at run time to templates on the type of keys and the tile. */
#ifndef CUDA_DISPATCH_CUH
#define CUDA_DISPATCH_CUH

#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"

#include <type_traits>

/* Calls run(key) and returns its result. `key` is 0, of the type for items of sort->item_bytes. */
template <typename Run>
static bool dispatch_width(const struct cuda_sort *sort, struct error *error, const Run &run)
{
    switch (sort->item_bytes) {
    case 1:
        return run(uint8_t{});
    case 2:
        return run(uint16_t{});
    case 4:
        return run(uint32_t{});
    case 8:
        return run(uint64_t{});
    case 16:
        return run(key_u128{});
    default:
        return error_set(error, "device %u: no path sorts items of %u bytes", sort->device,
                         sort->item_bytes);
    }
}

/* As dispatch_width(), but calls run(key, tile): tile() is sort->tile_size, as a constant. */
template <typename Run>
static bool dispatch(const struct cuda_sort *sort, struct error *error, const Run &run)
{
    return dispatch_width(sort, error, [&](auto key) {
        switch (sort->tile_size) {
        case 256:
            return run(key, std::integral_constant<unsigned, 256>{});
        case 512:
            return run(key, std::integral_constant<unsigned, 512>{});
        case 1024:
            return run(key, std::integral_constant<unsigned, 1024>{});
        case 2048:
            return run(key, std::integral_constant<unsigned, 2048>{});
        default:
            return error_set(error, "device %u: no path has tiles of %zu items", sort->device,
                             sort->tile_size);
        }
    });
}

#endif
