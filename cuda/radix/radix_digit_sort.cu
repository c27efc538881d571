/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.cu - see radix_digit_sort.h, and radix_digits.cuh and radix_digits_early.cuh for
 * how. */
#include "cuda/radix/radix_digit_sort.h"

#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_digits_early.cuh"

#include <algorithm>

static size_t states_bytes(size_t keys, size_t tile)
{
    return launch_blocks(keys, tile) * RADIX_DIGIT_VALUES * sizeof(unsigned);
}

/* A sort on its way. */
template <typename K>
struct digit_run {
    struct cuda_sort sort;
    struct radix_digit_task task;
    struct radix_digit_plan *plan;
    size_t tile;         /* keys */
    unsigned *states[2]; /* of the tiles of a portion */
    size_t portion;      /* keys, in whole tiles */
    struct launch_site site;
};

template <typename K>
static bool clear(const struct digit_run<K> &run, void *memory, size_t bytes, struct error *error)
{
    return cuda_check(cudaMemsetAsync(memory, 0, bytes, run.sort.stream), run.sort.device,
                      "cudaMemsetAsync", error);
}

/* The time of a pass with so many keys a thread, in those that a block has one after the other. */
static size_t turns_keys(const struct launch_site &site, size_t count, size_t keys)
{
    const size_t tiles = launch_blocks(count, RADIX_DIGIT_THREADS * keys);
    return launch_blocks(tiles, size_t{site.multiprocessors} * RADIX_DIGIT_BLOCKS) * keys;
}

/* Keys of a tile. */
template <typename K, bool HAS_INDICES>
static size_t choose_tile(const struct launch_site &site, const struct radix_digit_task &task,
                          size_t count)
{
    constexpr struct radix_keys_choice keys = RADIX_DIGIT_KEYS<K, HAS_INDICES>;
    if (count <= task.small_tiles_most)
        return size_t{RADIX_DIGIT_THREADS} * keys.few;
    const bool is_usual =
        10 * turns_keys(site, count, keys.other) >= 9 * turns_keys(site, count, keys.usual);
    return size_t{RADIX_DIGIT_THREADS} * (is_usual ? keys.usual : keys.other);
}

template <typename K, bool HAS_INDICES>
static bool prepare_run(const struct cuda_sort &sort, const struct radix_digit_task &task,
                        struct digit_run<K> *run, struct error *error)
{
    struct radix_digit_plan *const plan = static_cast<struct radix_digit_plan *>(task.memory);
    unsigned *const states = reinterpret_cast<unsigned *>(plan + 1);
    struct launch_site site;
    if (!launch_site_find(sort.device, sort.stream, &site, error) ||
        !launch_can_be_early(radix_digit_copy_kernel<K>, sort.device, &site.is_early, error))
        return false;
    const size_t tile = choose_tile<K, HAS_INDICES>(site, task, sort.count);
    const size_t whole_tiles = task.portion / tile * tile;
    const size_t bytes = states_bytes(std::min(sort.count, whole_tiles), tile);
    *run = {sort, task, plan, tile, {states, states + bytes / sizeof *states}, whole_tiles, site};
    return true;
}

/* Counts the digits. The states of the first pass are cleared here, those of others by the pass
 * before. Where there are several portions, of different sizes, they are cleared for each. */
template <typename K, bool HAS_INDICES>
static bool count_digits(const struct digit_run<K> &run, struct error *error)
{
    const size_t blocks = launch_resident(run.site, RADIX_DIGIT_COUNT_BLOCKS,
                                          launch_blocks(run.sort.count, RADIX_COUNT_PIECE<K>));
    const bool is_one = run.sort.count <= run.portion;
    return clear(run, run.plan, offsetof(struct radix_digit_plan, firsts), error) &&
           (!is_one || clear(run, run.states[0], states_bytes(run.sort.count, run.tile), error)) &&
           launch_kernel(
               launch_at(run.site, "radix_digit_count_kernel", blocks, RADIX_DIGIT_COUNT_THREADS,
                         sizeof(struct radix_digit_counters<K, HAS_INDICES>)),
               error, radix_digit_count_kernel<K, HAS_INDICES>,
               static_cast<const K *>(run.sort.items), run.sort.count, run.sort.order, run.plan);
}

template <typename K, bool HAS_INDICES>
static bool make_plan(const struct digit_run<K> &run, struct error *error)
{
    return count_digits<K, HAS_INDICES>(run, error) &&
           launch_kernel(launch_at(run.site, "radix_digit_plan_kernel", 1, RADIX_PLAN_THREADS),
                         error, radix_digit_plan_kernel<K, HAS_INDICES>,
                         static_cast<const K *>(run.sort.items), run.sort.count, run.plan,
                         run.sort.note);
}

template <typename K, bool HAS_INDICES, unsigned KEYS, typename Count>
static bool launch_tiles(const struct digit_run<K> &run, const struct radix_digit_pass<K> &pass,
                         struct error *error)
{
    const size_t tiles = launch_blocks(pass.keys, size_t{RADIX_DIGIT_THREADS} * KEYS);
    if constexpr (RADIX_COUNTS_EARLY<K, HAS_INDICES>)
        return launch_kernel(launch_at(run.site, "radix_digit_early_kernel", tiles,
                                       RADIX_DIGIT_THREADS,
                                       sizeof(struct radix_early_shared<K, KEYS, Count>)),
                             error, radix_digit_early_kernel<K, KEYS, Count>, pass, run.plan);
    else
        return launch_kernel(launch_at(run.site, "radix_digit_kernel", tiles, RADIX_DIGIT_THREADS,
                                       sizeof(struct radix_digit_shared<K, KEYS, Count>)),
                             error, radix_digit_kernel<K, KEYS, Count>, pass, run.plan);
}

template <typename K, bool HAS_INDICES, typename Count>
static bool launch_pass(const struct digit_run<K> &run, const struct radix_digit_pass<K> &pass,
                        struct error *error)
{
    constexpr struct radix_keys_choice keys = RADIX_DIGIT_KEYS<K, HAS_INDICES>;
    const size_t tile_keys = run.tile / RADIX_DIGIT_THREADS;
    return tile_keys == keys.usual
               ? launch_tiles<K, HAS_INDICES, keys.usual, Count>(run, pass, error)
           : tile_keys == keys.few
               ? launch_tiles<K, HAS_INDICES, keys.few, Count>(run, pass, error)
               : launch_tiles<K, HAS_INDICES, keys.other, Count>(run, pass, error);
}

/* The pass of that number, portion by portion. */
template <typename K, bool HAS_INDICES, typename Count>
static bool start_pass(const struct digit_run<K> &run, unsigned index, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    const bool is_one = sort.count <= run.portion;
    struct radix_digit_pass<K> pass = {
    };
    pass.items = static_cast<K *>(sort.items);
    pass.scratch = static_cast<K *>(sort.scratch);
    pass.states = run.states[is_one ? index % 2 : 0];
    pass.next_states = is_one ? run.states[(index + 1) % 2] : NULL;
    pass.count = sort.count;
    pass.index = index;
    pass.order = sort.order;
    for (; pass.first < sort.count; pass.first += run.portion, pass.portion++) {
        pass.keys = static_cast<unsigned>(std::min(sort.count - pass.first, run.portion));
        if (!is_one && !clear(run, pass.states, states_bytes(pass.keys, run.tile), error))
            return false;
        if (!launch_pass<K, HAS_INDICES, Count>(run, pass, error))
            return false;
    }
    return true;
}

/* All passes that there may be. */
template <typename K, bool HAS_INDICES, typename Count>
static bool start_passes(const struct digit_run<K> &run, unsigned passes, struct error *error)
{
    for (unsigned index = 0; index < passes; index++)
        if (!start_pass<K, HAS_INDICES, Count>(run, index, error))
            return false;
    return true;
}

/* Places of items have 32 bits. */
template <typename K, bool HAS_INDICES>
static bool start_passes_of_count(const struct digit_run<K> &run, struct error *error)
{
    constexpr unsigned passes = RADIX_DIGITS<K> - RADIX_FIRST_DIGIT<K, HAS_INDICES>;
    if constexpr (!RADIX_HAS_PLACES<K>)
        if (run.sort.count > UINT32_MAX)
            return start_passes<K, HAS_INDICES, uint64_t>(run, passes, error);
    return start_passes<K, HAS_INDICES, uint32_t>(run, passes, error);
}

template <typename K>
static bool copy_back(const struct digit_run<K> &run, struct error *error)
{
    const size_t blocks = launch_resident(run.site, RADIX_COPY_BLOCKS,
                                          launch_blocks(run.sort.count, THREADS_PER_BLOCK));
    return launch_kernel(launch_at(run.site, "radix_digit_copy_kernel", blocks, THREADS_PER_BLOCK),
                         error, radix_digit_copy_kernel<K>,
                         static_cast<const K *>(run.sort.scratch), static_cast<K *>(run.sort.items),
                         run.sort.count, static_cast<const struct radix_digit_plan *>(run.plan));
}

template <typename K, bool HAS_INDICES>
static bool sort_width(const struct cuda_sort &sort, const struct radix_digit_task &task,
                       struct error *error)
{
    struct digit_run<K> run;
    return prepare_run<K, HAS_INDICES>(sort, task, &run, error) &&
           make_plan<K, HAS_INDICES>(run, error) &&
           start_passes_of_count<K, HAS_INDICES>(run, error) && copy_back(run, error);
}

bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_digit_task *task,
                      struct error *error)
{
    if (sort->item_bytes == 4)
        return sort_width<uint32_t, false>(*sort, *task, error);
    if (sort->item_bytes > 8)
        return sort_width<key_u128, true>(*sort, *task, error);
    return task->is_above_index ? sort_width<uint64_t, true>(*sort, *task, error)
                                : sort_width<uint64_t, false>(*sort, *task, error);
}

size_t radix_digit_bytes(size_t count, unsigned item_bytes)
{
    const struct radix_keys_choice keys = radix_digit_keys(item_bytes, false);
    static_assert(radix_digit_keys(8, false).usual <= radix_digit_keys(8, true).other &&
                      radix_digit_keys(8, false).few <= radix_digit_keys(8, true).few,
                  "above an index tiles are larger");
    const size_t few = std::min(count, RADIX_SMALL_TILES_MOST);
    const size_t least = size_t{RADIX_DIGIT_THREADS} * std::min(keys.usual, keys.other);
    return sizeof(struct radix_digit_plan) +
           2 * std::max(states_bytes(std::min(count, RADIX_PORTION_MOST), least),
                        states_bytes(few, size_t{RADIX_DIGIT_THREADS} * keys.few));
}
