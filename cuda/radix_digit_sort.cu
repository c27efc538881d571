/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.cu - see radix_digit_sort.h, and radix_digits.cuh and radix_digits_early.cuh for
 * how. */
#include "cuda/radix_digit_sort.h"

#include "cuda/launch.cuh"
#include "cuda/radix_code.cuh"
#include "cuda/radix_digits_early.cuh"
#include "cuda/radix_fetch.cuh"
#include "cuda/radix_mend.cuh"

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
    constexpr bool is_above_index = HAS_INDICES && !RADIX_HAS_PLACES<K>;
    constexpr struct radix_keys_choice keys = RADIX_DIGIT_KEYS<K, HAS_INDICES>;
    if (count <= radix_digit_few_most(sizeof(K), is_above_index) && !task.has_large_tiles)
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

/* Keys of 4 bytes, and those above an index, have too few digits to leave one out. */
template <typename K>
static bool may_mend(const struct digit_run<K> &run)
{
    return RADIX_HAS_CODE<K> && run.task.way == RADIX_DIGITS_OF_CODE;
}

template <typename K>
static bool look_for_code(const struct digit_run<K> &run, struct error *error)
{
    if constexpr (RADIX_HAS_CODE<K>)
        return !may_mend(run) || run.task.has_code ||
               launch_kernel(launch_at(run.site, "radix_code_kernel", 1, RADIX_CODE_THREADS,
                                       sizeof(struct radix_code_shared)),
                             error, radix_code_kernel<K>, static_cast<const K *>(run.sort.items),
                             run.task.whole, run.sort.order, run.plan);
    return true;
}

/* Clears what is counted, and if no code is kept what is found of one. */
template <typename K>
static bool clear_counts(const struct digit_run<K> &run, bool keeps_code, struct error *error)
{
    const size_t first = keeps_code ? offsetof(struct radix_digit_plan, is_refused)
                                    : offsetof(struct radix_digit_plan, collisions);
    return clear(run, reinterpret_cast<unsigned char *>(run.plan) + first,
                 offsetof(struct radix_digit_plan, firsts) - first, error);
}

/* Behind the plan are the states: those of the first pass are cleared with it, those of others by
 * the pass before. Where there are several portions, of different sizes, they are cleared for each.
 */
template <typename K, typename... Parameters, typename... Arguments>
static bool launch_plan(const struct digit_run<K> &run, struct error *error, const char *name,
                        void (*kernel)(Parameters...), Arguments &&...arguments)
{
    const bool is_one = run.sort.count <= run.portion;
    const struct radix_clear_task states = {
        reinterpret_cast<uint4 *>(run.states[0]),
        is_one ? states_bytes(run.sort.count, run.tile) / sizeof(uint4) : 0};
    const size_t clearing = launch_resident(run.site, RADIX_COPY_BLOCKS,
                                            launch_blocks(states.count, RADIX_PLAN_THREADS));
    return launch_kernel(launch_at(run.site, name, 1 + clearing, RADIX_PLAN_THREADS), error, kernel,
                         states, std::forward<Arguments>(arguments)...);
}

template <typename K, bool HAS_INDICES>
static bool count_digits(const struct digit_run<K> &run, struct error *error)
{
    const size_t blocks = launch_resident(run.site, RADIX_DIGIT_COUNT_BLOCKS,
                                          launch_blocks(run.sort.count, RADIX_COUNT_PIECE<K>));
    return clear_counts(run, may_mend(run), error) && look_for_code(run, error) &&
           launch_kernel(
               launch_at(run.site, "radix_digit_count_kernel", blocks, RADIX_DIGIT_COUNT_THREADS,
                         sizeof(struct radix_digit_counters<K, HAS_INDICES>)),
               error, radix_digit_count_kernel<K, HAS_INDICES>,
               static_cast<const K *>(run.sort.items), run.task.whole, run.sort.order, run.plan);
}

template <typename K, bool HAS_INDICES>
static bool make_plan(const struct digit_run<K> &run, struct error *error)
{
    return count_digits<K, HAS_INDICES>(run, error) &&
           launch_plan(run, error, "radix_digit_plan_kernel",
                       radix_digit_plan_kernel<K, HAS_INDICES>,
                       static_cast<const K *>(run.sort.items), run.task.whole, may_mend(run),
                       run.plan, run.sort.note);
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
    pass.is_again = run.task.way == RADIX_DIGITS_AGAIN;
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

/* The states of a portion make room for the claims, a bit each. */
template <typename K>
constexpr bool RADIX_CLAIMS_FIT = ((size_t)1 << 37) / RADIX_MEND_MOST / 8 <=
                                  2 * (RADIX_DIGIT_PORTION / RADIX_DIGIT_TILE<K>)*RADIX_DIGIT_VALUES
                                      * sizeof(unsigned);
static_assert(RADIX_CLAIMS_FIT<uint64_t> && RADIX_CLAIMS_FIT<key_u128>, "of 2^37 keys");

/* Those of a sort of so many keys, which take the place of the states. */
static size_t claims_bytes(size_t count)
{
    return launch_blocks(count, size_t{32} * RADIX_MEND_MOST) * sizeof(unsigned);
}

/* What mends needs of a sort on its way. */
template <typename K, typename Word>
static struct radix_mend_task<K> mend_task(const struct digit_run<Word> &run) {
    const struct cuda_sort &sort = run.sort;
    return {static_cast<K *>(sort.items),
            sort.count,
            sort.order,
            run.plan,
            run.states[0],
            run.task.open,
            run.task.open_most,
            run.task.totals,
            sort.note};
}

template <typename K>
static bool mend(const struct digit_run<K> &run, struct error *error)
{
    if (!may_mend(run))
        return true;
    const size_t tiles = launch_blocks(run.sort.count, RADIX_MEND_TILE<K>);
    const size_t blocks = launch_resident(run.site, RADIX_MEND_BLOCKS, tiles);
    const struct radix_mend_task<K> task = mend_task<K>(run);
    if constexpr (RADIX_HAS_CODE<K>)
        return clear(run, task.claims, claims_bytes(run.sort.count), error) &&
               launch_kernel(launch_at(run.site, "radix_mend_kernel", blocks, RADIX_MEND_THREADS),
                             error, radix_mend_kernel<K>, task);
    return true;
}

/* ---- by a code of shares ---- */

/* Where words go: the keys take the first half of the scratch, and the words begin and end in the
 * other one. Between these they have both halves of the items, which are known by then. */
struct words_memory {
    uint64_t *keys;
    uint64_t *words;
    uint64_t *between[2];
};

static struct words_memory words_memory_lay(const struct cuda_sort &sort)
{
    uint64_t *const scratch = static_cast<uint64_t *>(sort.scratch);
    uint64_t *const items = static_cast<uint64_t *>(sort.items);
    return {scratch, scratch + sort.count, {items, items + sort.count}};
}

template <unsigned DIGITS>
static bool make_words(const struct digit_run<uint64_t> &run, const struct words_memory &memory,
                       struct error *error)
{
    const struct radix_segments *const whole = run.task.whole;
    const key_u128 *const items = static_cast<const key_u128 *>(run.sort.items);
    const size_t blocks =
        launch_resident(run.site, RADIX_DIGIT_COUNT_BLOCKS,
                        launch_blocks(run.sort.count, RADIX_COUNT_PIECE<key_u128>));
    return clear_counts(run, run.task.has_code, error) &&
           launch_kernel(launch_at(run.site, "radix_shares_kernel", 1, RADIX_CODE_THREADS,
                                   sizeof(struct radix_code_shared)),
                         error, radix_shares_kernel<key_u128>, items, whole, run.sort.order,
                         run.plan) &&
           launch_kernel(launch_at(run.site, "radix_words_kernel", blocks,
                                   RADIX_DIGIT_COUNT_THREADS,
                                   sizeof(struct radix_words_shared<DIGITS>)),
                         error, radix_words_kernel<DIGITS>, items, whole, run.plan, memory.keys,
                         memory.words) &&
           launch_plan(run, error, "radix_words_plan_kernel", radix_words_plan_kernel<DIGITS>,
                       items, whole, run.plan, run.sort.note);
}

/* A pass reads one side and writes the other, which is which by its number. */
static bool sort_words(struct digit_run<uint64_t> run, const struct words_memory &memory,
                       unsigned digits, struct error *error)
{
    uint64_t *from = memory.words;
    for (unsigned index = 0; index < digits; index++) {
        uint64_t *const to = index + 1 == digits ? memory.words : memory.between[index % 2];
        run.sort.items = index % 2 == 0 ? from : to;
        run.sort.scratch = index % 2 == 0 ? to : from;
        if (!start_pass<uint64_t, true, uint32_t>(run, index, error))
            return false;
        from = to;
    }
    return true;
}

static bool fetch_items(const struct digit_run<uint64_t> &run, const struct words_memory &memory,
                        struct error *error)
{
    const size_t blocks = launch_resident(run.site, RADIX_FETCH_BLOCKS,
                                          launch_blocks(run.sort.count, RADIX_FETCH_TILE));
    const struct radix_fetch_task task = {mend_task<key_u128>(run), memory.words, memory.keys};
    return clear(run, task.mend.claims, claims_bytes(run.sort.count), error) &&
           launch_kernel(launch_at(run.site, "radix_fetch_kernel", blocks, RADIX_MEND_THREADS),
                         error, radix_fetch_kernel<RADIX_MEND_THREADS>, task);
}

/* Sorts items of 16 bytes by a code of shares. */
static bool sort_by_shares(const struct cuda_sort &sort, const struct radix_digit_task &task,
                           struct error *error)
{
    struct digit_run<uint64_t> run;
    const struct words_memory memory = words_memory_lay(sort);
    const unsigned digits = radix_share_digits(sort.count);
    return prepare_run<uint64_t, true>(sort, task, &run, error) &&
           (digits == 3 ? make_words<3>(run, memory, error) : make_words<4>(run, memory, error)) &&
           sort_words(run, memory, digits, error) && fetch_items(run, memory, error);
}

/* ---- digit by digit ---- */

template <typename K, bool HAS_INDICES>
static bool sort_width(const struct cuda_sort &sort, const struct radix_digit_task &task,
                       struct error *error)
{
    struct digit_run<K> run;
    return prepare_run<K, HAS_INDICES>(sort, task, &run, error) &&
           make_plan<K, HAS_INDICES>(run, error) &&
           start_passes_of_count<K, HAS_INDICES>(run, error) && copy_back(run, error) &&
           mend(run, error);
}

bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_digit_task *task,
                      struct error *error)
{
    if (sort->item_bytes == 4)
        return sort_width<uint32_t, false>(*sort, *task, error);
    if (task->way == RADIX_DIGITS_OF_SHARES)
        return sort_by_shares(*sort, *task, error);
    if (sort->item_bytes > 8)
        return task->way == RADIX_DIGITS_AGAIN ? sort_width<key_u128, false>(*sort, *task, error)
                                               : sort_width<key_u128, true>(*sort, *task, error);
    return task->way == RADIX_DIGITS_ABOVE_INDEX ? sort_width<uint64_t, true>(*sort, *task, error)
                                                 : sort_width<uint64_t, false>(*sort, *task, error);
}

size_t radix_digit_bytes(size_t count, unsigned item_bytes)
{
    const struct radix_keys_choice keys = radix_digit_keys(item_bytes, false);
    static_assert(radix_digit_keys(8, false).usual <= radix_digit_keys(8, true).other,
                  "above an index tiles are larger");
    static_assert(radix_digit_keys(16, false).usual <= radix_digit_keys(8, true).other,
                  "so are those of words");
    static_assert(radix_digit_keys(8, false).few <= radix_digit_keys(8, true).few &&
                      radix_digit_keys(16, false).few <= radix_digit_keys(8, true).few,
                  "so are small ones");
    static_assert(radix_digit_few_most(8, true) <= radix_digit_few_most(8, false) &&
                      radix_digit_few_most(8, true) <= radix_digit_few_most(16, false),
                  "and no more keys have these");
    const size_t few = std::min(count, radix_digit_few_most(item_bytes, false));
    const size_t least = size_t{RADIX_DIGIT_THREADS} * std::min(keys.usual, keys.other);
    return sizeof(struct radix_digit_plan) +
           2 * std::max(states_bytes(std::min(count, RADIX_DIGIT_PORTION), least),
                        states_bytes(few, size_t{RADIX_DIGIT_THREADS} * keys.few));
}
