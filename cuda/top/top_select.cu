/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.cu - see cuda_top.h.
 *
 *   items --sample--> sample --digits--> the key of a given rank in it: a bound, with a few more
 *         than the wanted items below it
 *   items --filter--> scratch: the items below the bound; counts of the items below and equal to it
 *
 * One read of the items is enough if the counts are right. Either at least `top` items are below
 * the bound, and there is room for them. Or fewer are below it, but with the items equal to it
 * there are enough: then copies of the bound's key fill up the rest. A sample rarely misleads, but
 * data can be made so that it does. Then the key of rank `top` - 1 is searched among all items, one
 * read per digit, and is the bound of a second filter. So any input takes at most 2 reads, plus 6
 * for keys of 8 bytes and 12 for items of 16 bytes.
 *
 * Accuracy of the sample: of a sample of S items, about s = S top / count are among the first `top`
 * of all, with a standard deviation of sqrt(s) at most. The bound is the key of rank s + 4 sqrt(s)
 * + 16. So fewer than `top` items are below it in less than 1 of 10,000 cases. The room allows for
 * 6 deviations more, and is too small even more rarely.
 *
 * Source: bounds from a sample: R. W. Floyd, R. L. Rivest, "Expected time bounds for selection",
 * CACM 1975; digits: T. Alabi et al., "Fast K-selection algorithms for graphics processing units",
 * ACM JEA 2012.
 */
#include "cuda/top/top_select.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/engine/cuda_top.h"

#include <algorithm>
#include <math.h>

/* ---- sizes ---- */

struct top_plan {
    unsigned sample_bits;
    size_t rank; /* rank of the bound in the sample */
    size_t room;
    bool is_all; /* no selection: all items are gathered */
};

static struct top_plan top_plan_make(size_t count, size_t top)
{
    struct top_plan plan = {0, 0, count, true};
    if (count <= TOP_COUNT_LEAST || top >= count)
        return plan;
    const unsigned rarest = 63 - static_cast<unsigned>(__builtin_clzll(count));
    plan.sample_bits =
        std::clamp(rarest - TOP_SAMPLE_RARITY_BITS, TOP_SAMPLE_BITS_LEAST, TOP_SAMPLE_BITS_MOST);
    const double sample = static_cast<double>((size_t)1 << plan.sample_bits);
    const double wanted = sample * (static_cast<double>(top) / static_cast<double>(count));
    const double rank = wanted + 4 * sqrt(wanted) + 16;
    const double room = (rank + 6 * sqrt(rank) + 21) / sample * static_cast<double>(count);
    plan.is_all = rank >= sample || room >= static_cast<double>(count);
    if (!plan.is_all) {
        plan.rank = static_cast<size_t>(ceil(rank));
        plan.room = std::max(static_cast<size_t>(room), top);
    }
    return plan;
}

size_t top_room(size_t count, size_t top)
{
    return top_plan_make(count, top).room;
}

/* Returns the maximum of top_room for any number of items up to `count`. Between two powers of two,
 * where the size of the sample is constant, the room grows with the count; at a power of two it may
 * shrink. */
static size_t top_room_most(size_t count, size_t top)
{
    size_t most = top_room(count, top);
    for (size_t power = TOP_COUNT_LEAST; power <= count; power *= 2) {
        most = std::max({most, top_room(power - 1, top), top_room(power, top)});
        if (power > SIZE_MAX / 2)
            break;
    }
    return most;
}

/* Sized for the widest key; nearly all of it is the sample. */
struct top_workspace {
    struct top_totals totals;
    struct top_search<key_u128> search;
    alignas(16) key_u128 sample[(size_t)1 << TOP_SAMPLE_BITS_MOST];
};

static size_t round_up(size_t x, size_t step)
{
    return (x + step - 1) / step * step;
}

/* Returns the bytes of top_select alone, for any count. The path's workspace follows. */
static size_t top_workspace_bytes(void)
{
    return round_up(sizeof(struct top_workspace), 256);
}

/* ---- steps ---- */

/* The state of a selection. */
template <typename K>
struct top_run {
    const struct cuda_sort *sort;
    size_t top;
    struct top_plan plan;
    struct top_totals *totals;
    struct top_search<K> *search;
    K *sample;
    struct launch_site site;
};

template <typename K>
static struct launch top_launch(const struct top_run<K> &run, const char *name, size_t count,
                                size_t per_block)
{
    return launch_at(run.site, name,
                     launch_resident(run.site, TOP_BLOCKS, launch_blocks(count, per_block)),
                     TOP_THREADS);
}

template <typename K>
static bool top_clear(const struct top_run<K> &run, struct error *error)
{
    return cuda_check(cudaMemsetAsync(run.totals, 0, sizeof *run.totals, run.sort->stream),
                      run.sort->device, "cudaMemsetAsync", error) &&
           cuda_check(cudaMemsetAsync(run.search, 0, sizeof *run.search, run.sort->stream),
                      run.sort->device, "cudaMemsetAsync", error);
}

/* Sets run.search->key to the key of the given rank among keys[0..count). */
template <typename K>
static bool top_find_rank(const struct top_run<K> &run, const K *keys, size_t count, size_t rank,
                          const struct key_order &encoding, struct error *error)
{
    constexpr unsigned bits = 8 * sizeof(K);
    if (!top_clear(run, error))
        return false;
    const struct launch launch = top_launch(run, "top_digit_kernel", count, TOP_TILE<K>);
    for (unsigned left = bits; left > 0;) {
        const unsigned taken = std::min(left, TOP_DIGIT_BITS);
        const struct top_digit digit = {left - taken, taken, left == bits, rank};
        if (!launch_kernel(launch, error, top_digit_kernel<K>, keys, count, encoding, run.search,
                           digit))
            return false;
        left -= taken;
    }
    return true;
}

template <typename K>
static bool top_guess_bound(const struct top_run<K> &run, struct error *error)
{
    const struct cuda_sort *const sort = run.sort;
    const size_t sample_count = (size_t)1 << run.plan.sample_bits;
    const struct launch launch = launch_at(run.site, "top_sample_kernel",
                                           launch_blocks(sample_count, TOP_THREADS), TOP_THREADS);
    return launch_kernel(launch, error, top_sample_kernel<K>, static_cast<const K *>(sort->items),
                         sort->count, run.plan.sample_bits, sort->order, run.sample) &&
           top_find_rank(run, static_cast<const K *>(run.sample), sample_count, run.plan.rank,
                         key_order_identity(), error);
}

/* Filters the items and waits for the counts. */
template <typename K>
static bool top_filter(const struct top_run<K> &run, struct top_totals *totals, struct error *error)
{
    const struct cuda_sort *const sort = run.sort;
    const struct top_target<K> target = {
        static_cast<K *>(sort->scratch), run.plan.room, sort->order, run.totals
    };
    return launch_kernel(top_launch(run, "top_filter_kernel", sort->count, TOP_TILE<K>), error,
                         top_filter_kernel<K>, static_cast<const K *>(sort->items), sort->count,
                         sort->order, static_cast<const struct top_search<K> *>(run.search),
                         target) &&
           cuda_check(cudaMemcpyAsync(totals, run.totals, sizeof *totals, cudaMemcpyDeviceToHost,
                                      sort->stream),
                      sort->device, "cudaMemcpyAsync", error) &&
           cuda_check(cudaStreamSynchronize(sort->stream), sort->device, "top_filter_kernel",
                      error);
}

/* Appends the bound's key to the `below` gathered items until there are `top`. */
template <typename K>
static bool top_fill(const struct top_run<K> &run, size_t below, struct error *error)
{
    const size_t count = run.top - below;
    return launch_kernel(top_launch(run, "top_fill_kernel", count, TOP_THREADS), error,
                         top_fill_kernel<K>, static_cast<const struct top_search<K> *>(run.search),
                         run.sort->order, static_cast<K *>(run.sort->scratch) + below, count);
}

/* Filters, and sets *found to the number of items gathered; 0 if the bound was wrong. */
template <typename K>
static bool top_gather(const struct top_run<K> &run, size_t *found, struct error *error)
{
    struct top_totals totals = {};
    *found = 0;
    if (!top_filter(run, &totals, error))
        return false;
    const size_t count = run.sort->count;
    if (!cuda_check_figure(totals.below, count, run.sort->device, "number of keys below", error) ||
        !cuda_check_figure(totals.equal, count - totals.below, run.sort->device,
                           "number of equal keys", error))
        return false;
    if (totals.below >= run.top) {
        *found = totals.below <= run.plan.room ? static_cast<size_t>(totals.below) : 0;
        return true;
    }
    if (totals.below + totals.equal < run.top)
        return true;
    *found = run.top;
    return top_fill(run, static_cast<size_t>(totals.below), error);
}

/* Uses the key of rank top - 1 as the bound: fewer than `top` items are below it. */
template <typename K>
static bool top_gather_exactly(const struct top_run<K> &run, size_t *found, struct error *error)
{
    const struct cuda_sort *const sort = run.sort;
    return top_find_rank(run, static_cast<const K *>(sort->items), sort->count, run.top - 1,
                         sort->order, error) &&
           top_gather(run, found, error) &&
           (*found == run.top ||
            error_set(error, "device %u: the selection found no key of rank %zu", sort->device,
                      run.top - 1));
}

template <typename K>
static bool top_select_width(const struct cuda_sort *sort, size_t top, const struct top_plan &plan,
                             size_t *found, struct error *error)
{
    struct launch_site site;
    if (!launch_site_find(sort->device, sort->stream, &site, error))
        return false;
    struct top_workspace *const work = static_cast<struct top_workspace *>(sort->workspace);
    static_assert(sizeof(struct top_search<K>) <= sizeof work->search, "the widest key's");
    struct top_search<K> *const search = reinterpret_cast<struct top_search<K> *>(&work->search);
    K *const sample = reinterpret_cast<K *>(work->sample);
    const struct top_run<K> run = {
        sort, top, plan, &work->totals, search, sample, site
    };
    return top_guess_bound(run, error) && top_gather(run, found, error) &&
           (*found > 0 || top_gather_exactly(run, found, error));
}

static bool top_copy_all(const struct cuda_sort *sort, size_t *found, struct error *error)
{
    *found = sort->count;
    return sort->count == 0 ||
           cuda_check(cudaMemcpyAsync(sort->scratch, sort->items, sort->count * sort->item_bytes,
                                      cudaMemcpyDeviceToDevice, sort->stream),
                      sort->device, "cudaMemcpyAsync", error);
}

bool top_select(const struct cuda_sort *sort, size_t top, size_t *found, struct error *error)
{
    const struct top_plan plan = top_plan_make(sort->count, top);
    *found = 0;
    if (top == 0)
        return true;
    if (plan.is_all)
        return top_copy_all(sort, found, error);
    switch (sort->item_bytes) {
    case 1:
        return top_select_width<uint8_t>(sort, top, plan, found, error);
    case 2:
        return top_select_width<uint16_t>(sort, top, plan, found, error);
    case 4:
        return top_select_width<uint32_t>(sort, top, plan, found, error);
    case 8:
        return top_select_width<uint64_t>(sort, top, plan, found, error);
    case 16:
        return top_select_width<key_u128>(sort, top, plan, found, error);
    default:
        return error_set(error, "device %u: items of %u bytes are not selected", sort->device,
                         sort->item_bytes);
    }
}

/* ---- select, then sort ---- */

/* The gathered items are rounded up to a multiple of this, to align the path's scratch after them.
 */
constexpr size_t GATHERED_STEP = 256;

size_t cuda_top_scratch_items(size_t count, size_t top)
{
    return 2 * round_up(top_room_most(count, top), GATHERED_STEP);
}

size_t cuda_top_workspace_bytes(const struct cuda_path *path, const struct cuda_sort *sort,
                                size_t top)
{
    return top_workspace_bytes() + path->workspace_bytes(top_room_most(sort->count, top),
                                                         sort->tile_size, sort->item_bytes);
}

bool cuda_top(const struct cuda_sort *sort, size_t top, const struct cuda_path *path, size_t *found,
              struct error *error)
{
    struct cuda_sort gathered = *sort;
    if (!top_select(sort, top, &gathered.count, error))
        return false;
    gathered.items = sort->scratch;
    gathered.scratch = static_cast<unsigned char *>(sort->scratch) +
                       round_up(top_room(sort->count, top), GATHERED_STEP) * sort->item_bytes;
    gathered.workspace = static_cast<unsigned char *>(sort->workspace) + top_workspace_bytes();
    *found = std::min(gathered.count, top);
    return gathered.count == 0 || cuda_path_sort(path, &gathered, error);
}
