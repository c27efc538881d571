/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_exchange.cu - from a sorted part on each of several GPUs to a sorted range on each; see
 * gpus.h.
 */
#include "cuda/group/gpus.h"

#include "core/clock.h"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/engine/cuda_device.h"

#include <algorithm>
#include <stdlib.h>
#include <utility>

/* Maps stored bits to ordered bits, in place. One thread per item. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    gpus_encode_kernel(K *items, size_t count, struct key_order order)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    if (i >= count)
        return;
    K key[1] = {items[i]};
    thread_encode_keys(order, key);
    items[i] = key[0];
}

namespace
{

const size_t *cuts_of(const struct exchange *exchange, size_t i)
{
    return exchange->cuts + i * exchange->count;
}

size_t *bounds_of(const struct exchange *exchange, size_t i)
{
    return exchange->bounds + i * (exchange->count + 1);
}

/* Calls run(i) for each part of this process, with its GPU selected, until a call fails. */
template <typename Run>
bool each_part(const struct exchange *exchange, struct error *error, const Run &run)
{
    for (size_t i = exchange->first; i < exchange->end; i++)
        if (!cuda_device_use(exchange->parts[i].sort.device, error) || !run(i))
            return false;
    return true;
}

/* Starts to encode the items of a part. */
bool encode_part(const struct cuda_sort *sort, struct error *error)
{
    return dispatch_width(sort, error, [=](auto key) {
        using K = decltype(key);
        const size_t blocks = launch_blocks(sort->count, THREADS_PER_BLOCK);
        return launch_kernel(launch_for(*sort, "gpus_encode_kernel", blocks, THREADS_PER_BLOCK),
                             error, gpus_encode_kernel<K>, static_cast<K *>(sort->items),
                             sort->count, sort->order);
    });
}

/* Fills the bounds, and checks that the cuts give each range its number of items. */
bool lay_out(const struct exchange *exchange, struct error *error)
{
    for (size_t i = exchange->first; i < exchange->end; i++) {
        const struct gpu_part *const part = &exchange->parts[i];
        const size_t *const begin = cuts_of(exchange, i);
        const size_t *const end = cuts_of(exchange, i + 1);
        size_t *const bounds = bounds_of(exchange, i);
        bounds[0] = 0;
        for (size_t k = 0; k < exchange->count; k++) {
            if (end[k] < begin[k])
                return error_set(error, "device %u: the cuts of its range are not in order",
                                 part->sort.device);
            bounds[k + 1] = bounds[k] + end[k] - begin[k];
        }
        if (bounds[exchange->count] != part->range)
            return error_set(error, "device %u: its range has %zu items, and not %zu",
                             part->sort.device, bounds[exchange->count], part->range);
    }
    return true;
}

/* Starts to copy the piece of range i from the part that is `step` parts after part i. */
bool copy_piece(const struct exchange *exchange, size_t i, size_t step, struct error *error)
{
    const size_t k = (i + step) % exchange->count;
    const struct cuda_sort *const sort = &exchange->parts[i].sort;
    const struct cuda_sort *const from = &exchange->parts[k].sort;
    const size_t *const bounds = bounds_of(exchange, i);
    const size_t bytes = (bounds[k + 1] - bounds[k]) * sort->item_bytes;
    const unsigned char *const source = static_cast<const unsigned char *>(from->items) +
                                        cuts_of(exchange, i)[k] * sort->item_bytes;
    unsigned char *const target =
        static_cast<unsigned char *>(sort->scratch) + bounds[k] * sort->item_bytes;
    if (bytes == 0)
        return true;
    if (from->device == sort->device) /* its own piece, or one of another rank */
        return cuda_copy(*sort, target, source, bytes, error);
    return cuda_check(cudaMemcpyPeerAsync(target, static_cast<int>(sort->device), source,
                                          static_cast<int>(from->device), bytes, sort->stream),
                      sort->device, "cudaMemcpyPeerAsync", error);
}

/* Starts to copy all pieces to the GPUs of their ranges. In the first step each GPU copies its own
 * piece, and in each later one it reads from another GPU than all others do. The steps are started
 * one after the other, each for all GPUs, because a GPU sends pieces in the order in which they
 * were started. Started range by range, pieces wait for each other, and 12 GB to each of four H100
 * took 94 ms where a link needs 31. */
bool copy_pieces(const struct exchange *exchange, struct error *error)
{
    const auto begin = [=](size_t i) {
        return worker_start_clock(exchange->parts[i].worker, error);
    };
    const auto end = [=](size_t i) { return worker_mark_end(exchange->parts[i].worker, error); };
    bool is_well = each_part(exchange, error, begin);
    for (size_t step = 0; is_well && step < exchange->count; step++)
        is_well = each_part(exchange, error,
                            [=](size_t i) { return copy_piece(exchange, i, step, error); });
    return is_well && each_part(exchange, error, end);
}

/* Waits for the work of each GPU, and records its span. */
bool finish_parts(const struct exchange *exchange, enum trace_lane lane, const char *name,
                  struct error *error)
{
    return each_part(exchange, error, [=](size_t i) {
        struct cuda_worker *const worker = exchange->parts[i].worker;
        const size_t *const bounds = bounds_of(exchange, i);
        size_t items = exchange->parts[i].range;
        if (lane == TRACE_PEER)
            items -= bounds[i + 1] - bounds[i];
        uint64_t ignored_ns = 0;
        return worker_add_span(worker, lane, name, items * exchange->parts[i].sort.item_bytes,
                               worker->started, worker->finished, &ignored_ns, error);
    });
}

/* Starts to merge the `runs` runs of a range in groups of MERGE_FEW_MOST, from scratch to items.
 * The bounds of the merged runs replace those of the runs. */
bool merge_round(const struct cuda_sort *sort, size_t *bounds, size_t *runs, struct error *error)
{
    size_t merged = 0;
    const bool is_last = *runs <= MERGE_FEW_MOST;
    for (size_t first = 0; first < *runs; first += MERGE_FEW_MOST) {
        const size_t group = std::min(*runs - first, MERGE_FEW_MOST);
        const struct merge_few few = {sort->scratch, sort->items, bounds + first, group,
                                      is_last ? sort->order : key_order_identity()};
        if (!segmented_merge_few(sort, &few, error))
            return false;
        bounds[merged++] = bounds[first];
    }
    bounds[merged] = bounds[*runs];
    *runs = merged;
    return true;
}

/* Starts to merge range i. */
bool merge_range(const struct exchange *exchange, size_t i, struct error *error)
{
    struct gpu_part *const part = &exchange->parts[i];
    if (!worker_start_clock(part->worker, error))
        return false;
    for (size_t runs = exchange->count;;) {
        if (!merge_round(&part->sort, bounds_of(exchange, i), &runs, error))
            return false;
        if (runs == 1)
            break;
        std::swap(part->sort.items, part->sort.scratch);
    }
    return worker_mark_end(part->worker, error);
}

/* Waits for all work of this process, unless the step is done. Returns `is_done`. */
bool wait_if_failed(const struct exchange *exchange, bool is_done)
{
    for (size_t i = exchange->first; i < exchange->end && !is_done; i++)
        (void)cudaStreamSynchronize(exchange->parts[i].sort.stream);
    return is_done;
}

} // namespace

bool gpus_connect(const struct device_room *devices, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (i == k)
                continue;
            if (!cuda_device_use(devices[i].device, error))
                return false;
            if (cudaDeviceEnablePeerAccess(static_cast<int>(devices[k].device), 0) != cudaSuccess)
                (void)cudaGetLastError();
        }
    return true;
}

bool exchange_open(struct exchange *exchange, struct error *error)
{
    const size_t cells = (exchange->count + 1) * (exchange->count + 1);
    exchange->cuts = static_cast<size_t *>(calloc(cells, sizeof(size_t)));
    exchange->bounds = static_cast<size_t *>(calloc(cells, sizeof(size_t)));
    return (exchange->cuts && exchange->bounds) ||
           error_set(error, "out of memory: the exchange between %zu GPUs", exchange->count);
}

void exchange_close(struct exchange *exchange)
{
    free(exchange->cuts);
    free(exchange->bounds);
}

bool exchange_encode(const struct exchange *exchange, struct error *error)
{
    const auto encode = [=](size_t i) { return encode_part(&exchange->parts[i].sort, error); };
    const auto wait = [=](size_t i) { return cuda_wait(exchange->parts[i].sort, error); };
    return wait_if_failed(exchange, (key_order_is_identity(exchange->parts[0].sort.order) ||
                                     each_part(exchange, error, encode)) &&
                                        each_part(exchange, error, wait));
}

bool exchange_copy(const struct exchange *exchange, struct error *error)
{
    return wait_if_failed(exchange, gpus_cuts_find(exchange->parts, exchange->count,
                                                   exchange->cuts + exchange->count, error) &&
                                        lay_out(exchange, error) && copy_pieces(exchange, error) &&
                                        finish_parts(exchange, TRACE_PEER, "exchange", error));
}

bool exchange_merge(const struct exchange *exchange, struct error *error)
{
    const auto merge = [=](size_t i) { return merge_range(exchange, i, error); };
    return wait_if_failed(exchange, each_part(exchange, error, merge) &&
                                        finish_parts(exchange, TRACE_KERNEL, "merge", error));
}

bool gpus_exchange(struct gpu_part *parts, size_t count, uint64_t *busy_ns, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    struct exchange exchange = {parts, count, 0, count, NULL, NULL};
    const bool is_done = exchange_open(&exchange, error) && exchange_encode(&exchange, error) &&
                         exchange_copy(&exchange, error) && exchange_merge(&exchange, error);
    exchange_close(&exchange);
    *busy_ns += clock_now_ns() - start_ns;
    return is_done;
}
