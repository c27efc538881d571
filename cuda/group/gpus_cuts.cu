/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_cuts.cu - see gpus_cuts.h. */
#include "cuda/group/gpus_cuts.h"

#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/engine/cuda_device.h"

#include <stdlib.h>
#include <string.h>

/* The bits found in a step, and the values that are tried in it. */
constexpr unsigned DIGIT_BITS = 8;
constexpr size_t DIGIT_TRIALS = (1u << DIGIT_BITS) - 1;

constexpr unsigned CUTS_THREADS = 64;

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

/* The search, in pinned memory that all GPUs can use. */
template <typename K>
struct searcher {
    const struct gpu_part *parts;
    size_t count; /* of the parts */
    size_t cut_count;
    size_t trial_room; /* trials of a step, at most */
    K *trials;
    size_t *counts; /* a row of trial_room for each part */
};

/* Starts to count the items of each part before the first `trials` trials, and waits. */
template <typename K>
bool count_trials(const struct searcher<K> &searcher, size_t trials, bool or_equal,
                  struct error *error)
{
    for (size_t i = 0; i < searcher.count; i++) {
        const struct cuda_sort *const sort = &searcher.parts[i].sort;
        const struct launch launch = {"gpus_cuts_kernel", launch_blocks(trials, CUTS_THREADS),
                                      CUTS_THREADS, sort->device, sort->stream};
        if (!cuda_device_use(sort->device, error) ||
            !launch_kernel(launch, error, gpus_cuts_kernel<K>, static_cast<const K *>(sort->items),
                           sort->count, static_cast<const K *>(searcher.trials),
                           static_cast<unsigned>(trials), or_equal,
                           searcher.counts + i * searcher.trial_room))
            return false;
    }
    for (size_t i = 0; i < searcher.count; i++) {
        const struct cuda_sort *const sort = &searcher.parts[i].sort;
        if (!cuda_device_use(sort->device, error) ||
            !cuda_check(cudaStreamSynchronize(sort->stream), sort->device, "cudaStreamSynchronize",
                        error))
            return false;
        for (size_t k = 0; k < trials; k++)
            if (!cuda_check_figure(searcher.counts[i * searcher.trial_room + k], sort->count,
                                   sort->device, "position of a cut", error))
                return false;
    }
    return true;
}

/* Returns how many of the trials of a step have at most `target` items before them. */
template <typename K>
size_t find_digit(const struct searcher<K> &searcher, size_t first_trial, size_t target)
{
    size_t digit = 0;
    for (size_t before = 0; digit < DIGIT_TRIALS; digit++) {
        before = 0;
        for (size_t i = 0; i < searcher.count; i++)
            before += searcher.counts[i * searcher.trial_room + first_trial + digit];
        if (before > target)
            break;
    }
    return digit;
}

/* Finds the item at each target. */
template <typename K>
bool find_items(const struct searcher<K> &searcher, const size_t *targets, K *found,
                struct error *error)
{
    for (unsigned shift = 8 * sizeof(K); shift > 0;) {
        shift -= DIGIT_BITS;
        for (size_t c = 0; c < searcher.cut_count; c++)
            for (size_t digit = 1; digit <= DIGIT_TRIALS; digit++)
                searcher.trials[c * DIGIT_TRIALS + digit - 1] =
                    static_cast<K>(found[c] | static_cast<K>(digit) << shift);
        if (!count_trials(searcher, searcher.cut_count * DIGIT_TRIALS, false, error))
            return false;
        for (size_t c = 0; c < searcher.cut_count; c++)
            found[c] = static_cast<K>(
                found[c] | static_cast<K>(find_digit(searcher, c * DIGIT_TRIALS, targets[c]))
                               << shift);
    }
    return true;
}

/* Divides the items equal to a cut's item among the parts, in their order. `positions` has the
 * items that are less. */
template <typename K>
void divide_ties(const struct searcher<K> &searcher, const size_t *targets, size_t *positions)
{
    for (size_t c = 0; c < searcher.cut_count; c++) {
        size_t *const row = positions + c * searcher.count;
        size_t left = targets[c];
        for (size_t i = 0; i < searcher.count; i++)
            left -= row[i];
        for (size_t i = 0; i < searcher.count; i++) {
            const size_t equal = searcher.counts[i * searcher.trial_room + c] - row[i];
            const size_t taken = std::min(equal, left);
            row[i] += taken;
            left -= taken;
        }
    }
}

template <typename K>
bool find_positions(const struct searcher<K> &searcher, const size_t *targets, K *found,
                    size_t *positions, struct error *error)
{
    if (!find_items(searcher, targets, found, error))
        return false;
    for (size_t c = 0; c < searcher.cut_count; c++)
        searcher.trials[c] = found[c];
    if (!count_trials(searcher, searcher.cut_count, false, error))
        return false;
    for (size_t c = 0; c < searcher.cut_count; c++)
        for (size_t i = 0; i < searcher.count; i++)
            positions[c * searcher.count + i] = searcher.counts[i * searcher.trial_room + c];
    if (!count_trials(searcher, searcher.cut_count, true, error))
        return false;
    divide_ties(searcher, targets, positions);
    return true;
}

/* As gpus_cuts_find. */
template <typename K>
bool find_cuts(const struct gpu_part *parts, size_t count, const size_t *targets, size_t cut_count,
               size_t *positions, struct error *error)
{
    const unsigned device = parts[0].sort.device;
    const size_t trial_room = cut_count * DIGIT_TRIALS;
    struct searcher<K> searcher = {
        parts, count, cut_count, trial_room, NULL, NULL
    };
    K *const found = static_cast<K *>(calloc(cut_count + 1, sizeof *found));
    const bool is_found =
        (found || error_set(error, "out of memory: the cuts of %zu GPUs", count)) &&
        cuda_device_use(device, error) &&
        cuda_check(cudaMallocHost(&searcher.trials, trial_room * sizeof(K)), device,
                   "cudaMallocHost", error) &&
        cuda_check(cudaMallocHost(&searcher.counts, count * trial_room * sizeof(size_t)), device,
                   "cudaMallocHost", error) &&
        find_positions(searcher, targets, found, positions, error);
    if (!is_found) /* a kernel may still write to the counts */
        for (size_t i = 0; i < count; i++)
            (void)cudaStreamSynchronize(parts[i].sort.stream);
    if (searcher.counts)
        (void)cudaFreeHost(searcher.counts);
    if (searcher.trials)
        (void)cudaFreeHost(searcher.trials);
    free(found);
    return is_found;
}

} // namespace

bool gpus_cuts_find(const struct gpu_part *parts, size_t count, const size_t *targets,
                    size_t cut_count, size_t *positions, struct error *error)
{
    return dispatch_width(&parts[0].sort, error, [&](auto key) {
        return find_cuts<decltype(key)>(parts, count, targets, cut_count, positions, error);
    });
}
