/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_cuts.cu - where the sorted parts of several GPUs are cut, so that each GPU gets its range;
 * see gpus.h.
 *
 *   part of GPU 0 | part of GPU 1 | ...    sorted, in ordered bits
 *
 * The first item after a range is found four bits at a time: a kernel for each part counts, by
 * binary search, its items that are less than each of 15 trial values, and the host adds up the
 * counts. Of several ranks, each starts all kernels on its own GPU. A step takes some tens of
 * microseconds.
 */
#include "cuda/group/gpus.h"

#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/engine/cuda_device.h"

#include <algorithm>

constexpr unsigned CUTS_THREADS = 64;

/* Number of bits of a cut that a step finds, a divisor of the bits of every key, and of the trial
 * values that this takes for each cut. */
constexpr unsigned CUTS_BITS = 4;
constexpr size_t CUTS_TRIALS = (1u << CUTS_BITS) - 1;

/* counts[i]: the items that are less than trials[i] or, if or_equal, not greater. */
template <typename K>
__global__ void __launch_bounds__(CUTS_THREADS)
    gpus_cuts_kernel(const K *items, size_t count, const K *trials, unsigned trial_count,
                     bool or_equal, size_t *counts)
{
    const unsigned i = blockIdx.x * CUTS_THREADS + threadIdx.x;
    if (i < trial_count)
        counts[i] = thread_rank(items, size_t{0}, count, trials[i], or_equal);
}

namespace
{

/* The search. The arrays are in pinned memory that all GPUs can use. */
template <typename K>
struct searcher {
    const struct gpu_part *parts;
    size_t count;   /* of the parts, and of the cuts */
    K *trials;      /* of all cuts, CUTS_TRIALS for each */
    K *found;       /* the bits of the first item after each range that are known */
    size_t *counts; /* a row for each part, with a column for each trial */
};

/* Counts the items of each part less than each of the first trials or, if or_equal, not greater.
 * Waits. */
template <typename K>
bool count_trials(const struct searcher<K> &searcher, size_t trials, bool or_equal,
                  struct error *error)
{
    for (size_t i = 0; i < searcher.count; i++) {
        const struct cuda_sort *const sort = &searcher.parts[i].sort;
        const struct launch launch = launch_for(*sort, "gpus_cuts_kernel",
                                                launch_blocks(trials, CUTS_THREADS), CUTS_THREADS);
        if (!cuda_device_use(sort->device, error) ||
            !launch_kernel(launch, error, gpus_cuts_kernel<K>, static_cast<const K *>(sort->items),
                           sort->count, static_cast<const K *>(searcher.trials),
                           static_cast<unsigned>(trials), or_equal, searcher.counts + i * trials))
            return false;
    }
    for (size_t i = 0; i < searcher.count; i++) {
        const struct cuda_sort *const sort = &searcher.parts[i].sort;
        if (!cuda_device_use(sort->device, error) || !cuda_wait(*sort, error))
            return false;
        for (size_t t = 0; t < trials; t++)
            if (!cuda_check_value(searcher.counts[i * trials + t], sort->count, sort->device,
                                  "position of a cut", error))
                return false;
    }
    return true;
}

/* Finds the first item after each range, or the greatest value if there is none. */
template <typename K>
bool find_items(const struct searcher<K> &searcher, struct error *error)
{
    const size_t trials = searcher.count * CUTS_TRIALS;
    for (unsigned shift = 8 * sizeof(K); shift > 0;) {
        shift -= CUTS_BITS;
        for (size_t t = 0; t < trials; t++)
            searcher.trials[t] = static_cast<K>(searcher.found[t / CUTS_TRIALS] |
                                                static_cast<K>(t % CUTS_TRIALS + 1) << shift);
        if (!count_trials(searcher, trials, false, error))
            return false;
        size_t end = 0; /* of the range of trial t */
        for (size_t t = 0; t < trials; t++) {
            const size_t c = t / CUTS_TRIALS;
            size_t before = 0;
            for (size_t i = 0; i < searcher.count; i++)
                before += searcher.counts[i * trials + t];
            end += t % CUTS_TRIALS == 0 ? searcher.parts[c].range : 0;
            if (before <= end) /* the last one of a cut decides */
                searcher.found[c] = searcher.trials[t];
        }
    }
    return true;
}

/* Adds to `positions`, the numbers of items less than each cut's item, the items equal to it that
 * are before the cut: those of the lowest parts. */
template <typename K>
void divide_ties(const struct searcher<K> &searcher, size_t *positions)
{
    size_t end = 0; /* of range c */
    for (size_t c = 0; c < searcher.count; c++) {
        size_t *const row = positions + c * searcher.count;
        size_t left = end += searcher.parts[c].range;
        for (size_t i = 0; i < searcher.count; i++)
            left -= row[i];
        for (size_t i = 0; i < searcher.count; i++) {
            const size_t equal = searcher.counts[i * searcher.count + c] - row[i];
            const size_t taken = std::min(equal, left);
            row[i] += taken;
            left -= taken;
        }
    }
}

template <typename K>
bool find_positions(const struct searcher<K> &searcher, size_t *positions, struct error *error)
{
    std::fill_n(searcher.found, searcher.count, K{0});
    if (!find_items(searcher, error))
        return false;
    std::copy_n(searcher.found, searcher.count, searcher.trials);
    if (!count_trials(searcher, searcher.count, false, error))
        return false;
    for (size_t c = 0; c < searcher.count; c++)
        for (size_t i = 0; i < searcher.count; i++)
            positions[c * searcher.count + i] = searcher.counts[i * searcher.count + c];
    if (!count_trials(searcher, searcher.count, true, error))
        return false;
    divide_ties(searcher, positions);
    return true;
}

/* As gpus_cuts_find. */
template <typename K>
bool find_cuts(const struct gpu_part *parts, size_t count, size_t *positions, struct error *error)
{
    const unsigned device = parts[0].sort.device;
    const size_t trials = count * CUTS_TRIALS;
    /* of any K: the counts are aligned */
    const size_t values_bytes = (trials + count) * sizeof(key_u128);
    unsigned char *memory = NULL;
    bool is_found =
        cuda_device_use(device, error) &&
        cuda_check(cudaMallocHost(&memory, values_bytes + count * trials * sizeof(size_t)), device,
                   "cudaMallocHost", error);
    if (is_found) {
        K *const values = reinterpret_cast<K *>(memory);
        size_t *const counts = reinterpret_cast<size_t *>(memory + values_bytes);
        is_found =
            find_positions<K>({parts, count, values, values + trials, counts}, positions, error);
    }
    if (!is_found) /* a kernel may still write to the counts */
        for (size_t i = 0; i < count; i++)
            (void)cudaStreamSynchronize(parts[i].sort.stream);
    if (memory)
        (void)cudaFreeHost(memory);
    return is_found;
}

} // namespace

bool gpus_cuts_find(const struct gpu_part *parts, size_t count, size_t *positions,
                    struct error *error)
{
    return dispatch_width(&parts[0].sort, error, [&](auto key) {
        return find_cuts<decltype(key)>(parts, count, positions, error);
    });
}
