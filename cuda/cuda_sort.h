/* cuda_sort.h - between the engine and the paths: what a path is asked to sort, and with what.
 *
 * A path sorts items[0..count) on one device: stored bits in, stored bits out, in place as seen
 * from outside. It starts kernels on the stream and returns; it neither allocates nor waits. The
 * engine owns all memory.
 */
#ifndef CUDA_CUDA_SORT_H
#define CUDA_CUDA_SORT_H

#include "core/error.h"
#include "core/key_order.h"

#include <cuda_runtime.h>
#include <stddef.h>

struct cuda_sort {
    void *items;            /* count items, aligned to item_bytes; sorted in the end */
    void *scratch;          /* count items; NULL for a path that works in place */
    void *workspace;        /* as many bytes as the path's workspace function says */
    size_t count;           /* items */
    unsigned item_bytes;    /* 1, 2, 4, 8, or 16 for struct key_index */
    struct key_order order; /* the identity for struct key_index */
    size_t tile_size;       /* 256, 512, 1024 or 2048 */
    unsigned device;
    cudaStream_t stream;
};

/* One function a path. False with *error when a kernel cannot be started. */
bool bitonic_sort(const struct cuda_sort *sort, struct error *error);
bool direct_merge_sort(const struct cuda_sort *sort, struct error *error);
bool segmented_merge_sort(const struct cuda_sort *sort, struct error *error);

/* Bytes of workspace: none for bitonic, one size_t a tile for the merges. */
size_t bitonic_workspace_bytes(size_t count, size_t tile_size);
size_t merge_workspace_bytes(size_t count, size_t tile_size);

/* The first step of both merge sorts: writes items, encoded and sorted within each tile, to target
 * (items or scratch), mapped by `decoding` on their way out. */
bool tile_sort(const struct cuda_sort *sort, void *target, struct key_order decoding,
               struct error *error);

#endif
