/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.cu - see radix_digit_sort.h, and radix_digits.cuh for how. */
#include "cuda/radix/radix_digit_sort.h"

#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_digits.cuh"

#include <algorithm>
#include <type_traits>

static size_t states_bytes(size_t keys, size_t tile)
{
    return launch_blocks(keys, tile) * RADIX_DIGIT_VALUES * sizeof(unsigned);
}

/* The state of a sort. */
template <typename K>
struct digit_run {
    struct cuda_sort sort;
    struct radix_digit_plan *plan;
    size_t tile;         /* keys */
    unsigned *states[2]; /* of the tiles of a portion */
    size_t portion;      /* keys, in whole tiles */
    struct launch_site site;
};

template <typename K>
static struct digit_run<K> prepare_run(const struct cuda_sort &sort, const struct launch_site &site,
                                       size_t portion, void *memory) {
    struct radix_digit_plan *const plan = static_cast<struct radix_digit_plan *>(memory);
    unsigned *const states = reinterpret_cast<unsigned *>(plan + 1);
    const size_t tile = size_t{RADIX_DIGIT_THREADS<K>} * RADIX_DIGIT_KEYS<K>;
    const size_t whole_tiles = std::min(portion, RADIX_PORTION_MOST) / tile * tile;
    const size_t bytes = states_bytes(std::min(sort.count, whole_tiles), tile);
    return {sort, plan, tile, {states, states + bytes / sizeof *states}, whole_tiles, site};
}

/* Counts the digits, and plans the passes. The states of the first pass, which follow the plan, are
 * cleared here, those of others by the pass before. Where there are several portions, of different
 * sizes, they are cleared for each. */
template <typename K, bool HAS_INDICES>
static bool make_plan(const struct digit_run<K> &run, struct error *error)
{
    const size_t blocks = launch_wave(run.site, RADIX_DIGIT_COUNT_BLOCKS,
                                      launch_blocks(run.sort.count, RADIX_COUNT_PIECE<K>));
    const size_t cleared =
        run.sort.count <= run.portion ? states_bytes(run.sort.count, run.tile) : 0;
    const K *const items = static_cast<const K *>(run.sort.items);
    return cuda_fill(run.sort, run.plan, 0, sizeof *run.plan + cleared, error) &&
           launch_kernel(launch_at(run.site, "radix_digit_count_kernel", blocks,
                                   RADIX_DIGIT_COUNT_THREADS,
                                   sizeof(struct radix_digit_counters<K, HAS_INDICES>)),
                         error, radix_digit_count_kernel<K, HAS_INDICES>, items, run.sort.count,
                         run.sort.order, run.plan) &&
           launch_kernel(launch_at(run.site, "radix_digit_plan_kernel", 1, RADIX_PLAN_THREADS),
                         error, radix_digit_plan_kernel<K, HAS_INDICES>, items, run.sort.count,
                         run.plan, run.sort.status);
}

/* Starts pass `index`, portion by portion. */
template <typename K, typename Count>
static bool start_pass(const struct digit_run<K> &run, unsigned index, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    const bool is_one = sort.count <= run.portion;
    auto pass = radix_digit_pass<K>();
    pass.items = static_cast<K *>(sort.items);
    pass.scratch = static_cast<K *>(sort.scratch);
    pass.states = run.states[is_one ? index % 2 : 0];
    pass.next_states = is_one ? run.states[(index + 1) % 2] : NULL;
    pass.count = sort.count;
    pass.index = index;
    pass.order = sort.order;
    for (; pass.first < sort.count; pass.first += run.portion, pass.portion++) {
        pass.keys = static_cast<unsigned>(std::min(sort.count - pass.first, run.portion));
        if (!is_one &&
            !cuda_fill(run.sort, pass.states, 0, states_bytes(pass.keys, run.tile), error))
            return false;
        if (!launch_kernel(launch_at(run.site, "radix_digit_kernel",
                                     launch_blocks(pass.keys, run.tile), RADIX_DIGIT_THREADS<K>,
                                     sizeof(struct radix_digit_shared<K, Count>)),
                           error, radix_digit_kernel<K, Count>, pass, run.plan))
            return false;
    }
    return true;
}

/* Starts all passes that there may be. Positions of items of 16 bytes have 32 bits. */
template <typename K, bool HAS_INDICES>
static bool start_passes(const struct digit_run<K> &run, struct error *error)
{
    typedef std::conditional_t<RADIX_IS_ITEM<K>, uint32_t, uint64_t> wide;
    const bool is_wide = run.sort.count > UINT32_MAX;
    bool started = true;
    for (unsigned index = 0; started && index < RADIX_COUNTED_DIGITS<K, HAS_INDICES>; index++)
        started = is_wide ? start_pass<K, wide>(run, index, error)
                          : start_pass<K, uint32_t>(run, index, error);
    return started;
}

/* Copies keys if an odd number of passes has left them in the scratch; items are never left there
 * (thread_find_side). */
template <typename K>
static bool copy_back(const struct digit_run<K> &run, struct error *error)
{
    if constexpr (!RADIX_IS_ITEM<K>) {
        const size_t blocks = launch_wave(run.site, RADIX_COPY_BLOCKS,
                                          launch_blocks(run.sort.count, THREADS_PER_BLOCK));
        return launch_kernel(
            launch_at(run.site, "radix_digit_copy_kernel", blocks, THREADS_PER_BLOCK), error,
            radix_digit_copy_kernel<K>, static_cast<const K *>(run.sort.scratch),
            static_cast<K *>(run.sort.items), run.sort.count, run.plan);
    }
    return true;
}

template <typename K, bool HAS_INDICES>
static bool sort_width(const struct cuda_sort &sort, const struct launch_site &site, size_t portion,
                       void *memory, struct error *error)
{
    const struct digit_run<K> run = prepare_run<K>(sort, site, portion, memory);
    return make_plan<K, HAS_INDICES>(run, error) && start_passes<K, HAS_INDICES>(run, error) &&
           copy_back(run, error);
}

bool radix_digit_sort(const struct cuda_sort &sort, const struct launch_site &site,
                      bool is_above_index, size_t portion, void *memory, struct error *error)
{
    if (sort.item_bytes == 4)
        return sort_width<uint32_t, false>(sort, site, portion, memory, error);
    if (sort.item_bytes > 8)
        return sort_width<key_u128, true>(sort, site, portion, memory, error);
    return is_above_index ? sort_width<uint64_t, true>(sort, site, portion, memory, error)
                          : sort_width<uint64_t, false>(sort, site, portion, memory, error);
}

size_t radix_digit_bytes(size_t count, unsigned item_bytes)
{
    const size_t tile = size_t{radix_digit_threads(item_bytes)} * radix_digit_keys(item_bytes);
    return sizeof(struct radix_digit_plan) +
           2 * states_bytes(std::min(count, RADIX_PORTION_MOST), tile);
}
