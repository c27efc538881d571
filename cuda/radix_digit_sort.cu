/* radix_digit_sort.cu - see radix_digit_sort.h, and radix_digits.cuh for how. */
#include "cuda/radix_digit_sort.h"

#include "cuda/launch.cuh"
#include "cuda/radix_digits.cuh"

#include <algorithm>

template <typename K>
static size_t states_bytes(size_t keys)
{
    return launch_blocks(keys, RADIX_DIGIT_TILE<K>) * RADIX_DIGIT_VALUES * sizeof(unsigned);
}

/* A sort on its way. */
template <typename K>
struct digit_run {
    struct cuda_sort sort;
    struct radix_digit_plan *plan;
    unsigned *states[2]; /* of the tiles of a portion */
    size_t portion;      /* keys, in whole tiles */
    unsigned multiprocessors;
};

template <typename K>
static struct launch digit_launch(const struct digit_run<K> &run, const char *name, size_t blocks,
                                  unsigned threads, size_t shared_bytes)
{
    const struct launch launch = {name,        blocks, threads, run.sort.device, run.sort.stream,
                                  shared_bytes};
    return launch;
}

/* Behind the plan are the states: cleared with it, and then each by the pass before. Where there
 * are several portions, of different sizes, they are cleared for each. */
template <typename K, bool HAS_INDICES>
static bool make_plan(const struct digit_run<K> &run, const struct radix_segments *whole,
                      struct error *error)
{
    const bool is_one = run.sort.count <= run.portion;
    const size_t bytes = sizeof *run.plan + (is_one ? 2 * states_bytes<K>(run.sort.count) : 0);
    const size_t blocks =
        std::min<size_t>(static_cast<size_t>(run.multiprocessors) * RADIX_DIGIT_COUNT_BLOCKS,
                         launch_blocks(run.sort.count, RADIX_DIGIT_COUNT_THREADS));
    const K *const items = static_cast<const K *>(run.sort.items);
    return cuda_check(cudaMemsetAsync(run.plan, 0, bytes, run.sort.stream), run.sort.device,
                      "cudaMemsetAsync", error) &&
           launch_kernel(digit_launch(run, "radix_digit_count_kernel", blocks,
                                      RADIX_DIGIT_COUNT_THREADS, RADIX_DIGIT_COLUMN_BYTES<K>),
                         error, radix_digit_count_kernel<K, HAS_INDICES>, items, whole,
                         run.sort.order, run.plan) &&
           launch_kernel(digit_launch(run, "radix_digit_plan_kernel", 1, RADIX_DIGIT_VALUES, 0),
                         error, radix_digit_plan_kernel<K, HAS_INDICES>, items, whole, run.plan,
                         run.sort.note);
}

/* The pass of that number, portion by portion. */
template <typename K, typename Count>
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
        if (!is_one &&
            !cuda_check(cudaMemsetAsync(pass.states, 0, states_bytes<K>(pass.keys), sort.stream),
                        sort.device, "cudaMemsetAsync", error))
            return false;
        if (!launch_kernel(digit_launch(run, "radix_digit_kernel",
                                        launch_blocks(pass.keys, RADIX_DIGIT_TILE<K>),
                                        RADIX_DIGIT_THREADS,
                                        sizeof(struct radix_digit_shared<K, Count>)),
                           error, radix_digit_kernel<K, Count>, pass, run.plan))
            return false;
    }
    return true;
}

/* All passes that there may be. */
template <typename K, typename Count>
static bool start_passes(const struct digit_run<K> &run, unsigned passes, struct error *error)
{
    for (unsigned index = 0; index < passes; index++)
        if (!start_pass<K, Count>(run, index, error))
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
            return start_passes<K, uint64_t>(run, passes, error);
    return start_passes<K, uint32_t>(run, passes, error);
}

template <typename K>
static bool copy_back(const struct digit_run<K> &run, struct error *error)
{
    const size_t blocks =
        std::min<size_t>(static_cast<size_t>(run.multiprocessors) * RADIX_COPY_BLOCKS,
                         launch_blocks(run.sort.count, THREADS_PER_BLOCK));
    return launch_kernel(digit_launch(run, "radix_digit_copy_kernel", blocks, THREADS_PER_BLOCK, 0),
                         error, radix_digit_copy_kernel<K>,
                         static_cast<const K *>(run.sort.scratch), static_cast<K *>(run.sort.items),
                         run.sort.count, static_cast<const struct radix_digit_plan *>(run.plan));
}

template <typename K, bool HAS_INDICES>
static bool sort_width(const struct cuda_sort &sort, const struct radix_segments *whole,
                       void *memory, size_t portion, struct error *error)
{
    int multiprocessors = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                           static_cast<int>(sort.device)),
                    sort.device, "cudaDeviceGetAttribute", error))
        return false;
    struct radix_digit_plan *const plan = static_cast<struct radix_digit_plan *>(memory);
    unsigned *const states = reinterpret_cast<unsigned *>(plan + 1);
    const size_t whole_tiles = portion / RADIX_DIGIT_TILE<K> * RADIX_DIGIT_TILE<K>;
    const struct digit_run<K> run = {
        sort, plan,
            {states, states + states_bytes<K>(std::min(sort.count, whole_tiles)) / sizeof *states},
            whole_tiles, static_cast<unsigned>(multiprocessors)
    };
    return make_plan<K, HAS_INDICES>(run, whole, error) &&
           start_passes_of_count<K, HAS_INDICES>(run, error) && copy_back(run, error);
}

bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_segments *whole,
                      bool has_indices, void *memory, size_t portion, struct error *error)
{
    if (sort->item_bytes == 4)
        return sort_width<uint32_t, false>(*sort, whole, memory, portion, error);
    if (sort->item_bytes > 8)
        return sort_width<key_u128, true>(*sort, whole, memory, portion, error);
    return has_indices ? sort_width<uint64_t, true>(*sort, whole, memory, portion, error)
                       : sort_width<uint64_t, false>(*sort, whole, memory, portion, error);
}

size_t radix_digit_bytes(size_t count, unsigned item_bytes)
{
    const size_t keys = std::min(count, RADIX_DIGIT_PORTION);
    return sizeof(struct radix_digit_plan) + 2 * (item_bytes == 4   ? states_bytes<uint32_t>(keys)
                                                  : item_bytes == 8 ? states_bytes<uint64_t>(keys)
                                                                    : states_bytes<key_u128>(keys));
}
