/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_peers.cc - see cpu_peers.h. */
#include "bench/cpu_peers.h"

#include "core/backend.h"

#include <algorithm>
#include <thread>
#ifdef HAVE_TBB
#    include <execution>
#endif
#ifdef HAVE_HWY
#    include <hwy/contrib/sort/vqsort.h>
#endif

static bool operator<(const struct key_index &a, const struct key_index &b)
{
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/* Calls sort(first, last) with pointers of the items' type. */
template <typename Sort>
static bool with_type(const struct cpu_peer_call *call, const Sort &sort)
{
    const auto sort_as = [&](auto *items) {
        sort(items, items + call->count);
        return true;
    };
    if (call->has_index)
        return sort_as(static_cast<struct key_index *>(call->items));
    switch (call->key) {
    case KEY_TYPE_i8:
        return sort_as(static_cast<int8_t *>(call->items));
    case KEY_TYPE_u8:
        return sort_as(static_cast<uint8_t *>(call->items));
    case KEY_TYPE_i16:
        return sort_as(static_cast<int16_t *>(call->items));
    case KEY_TYPE_u16:
        return sort_as(static_cast<uint16_t *>(call->items));
    case KEY_TYPE_i32:
        return sort_as(static_cast<int32_t *>(call->items));
    case KEY_TYPE_u32:
        return sort_as(static_cast<uint32_t *>(call->items));
    case KEY_TYPE_i64:
        return sort_as(static_cast<int64_t *>(call->items));
    case KEY_TYPE_u64:
        return sort_as(static_cast<uint64_t *>(call->items));
    case KEY_TYPE_f32:
        return sort_as(static_cast<float *>(call->items));
    case KEY_TYPE_f64:
        return sort_as(static_cast<double *>(call->items));
    default:
        return false;
    }
}

static bool sort_std(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(call, [](auto *first, auto *last) { std::sort(first, last); });
}

#ifdef HAVE_TBB

/* By all processors: TBB takes no number of threads here. */
static bool sort_tbb(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(
        call, [](auto *first, auto *last) { std::sort(std::execution::par_unseq, first, last); });
}

#endif

#ifdef HAVE_HWY

/* It does not support keys of one byte. */
#    define VQSORT_BYTES_MIN 2

template <typename Item>
static void vqsort(Item *first, Item *last)
{
    const hwy::Sorter sorter;
    if constexpr (sizeof(Item) >= VQSORT_BYTES_MIN)
        sorter(first, static_cast<size_t>(last - first), hwy::SortAscending());
}

static void vqsort(struct key_index *first, struct key_index *last)
{
    const hwy::Sorter sorter;
    sorter(reinterpret_cast<hwy::uint128_t *>(first), static_cast<size_t>(last - first),
           hwy::SortAscending());
}

static bool sort_vqsort(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(call, [](auto *first, auto *last) { vqsort(first, last); });
}

/* How many of the first `count` items of both halves come from the first. */
template <typename Item>
static size_t split_merge(const Item *left, size_t left_count, const Item *right,
                          size_t right_count, size_t count)
{
    size_t low = count > right_count ? count - right_count : 0, high = std::min(count, left_count);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (left[middle] < right[count - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Two threads each sort a half, then each merges a half of the output. */
static bool sort_vqsort_halves(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->scratch;
    return with_type(call, [call](auto *first, auto *last) {
        auto *const middle = first + call->count / 2;
        auto *const to = static_cast<decltype(first)>(call->scratch);
        std::thread sorter([=] { vqsort(middle, last); });
        vqsort(first, middle);
        sorter.join();
        const size_t left_count = call->count / 2, half = call->count / 2;
        const size_t left = split_merge(first, left_count, middle, call->count - left_count, half);
        std::thread merger(
            [=] { std::merge(first + left, middle, middle + (half - left), last, to + half); });
        std::merge(first, first + left, middle, middle + (half - left), to);
        merger.join();
    });
}

#endif

const struct cpu_peer cpu_peers[] = {
#ifdef HAVE_TBB
    {"std-sort-par", 1, sort_tbb},
#endif
    {"std-sort", 1, sort_std},
#ifdef HAVE_HWY
    {"vqsort", VQSORT_BYTES_MIN, sort_vqsort},
    {"vqsort-halves", VQSORT_BYTES_MIN, sort_vqsort_halves},
#endif
};
const size_t cpu_peer_count = sizeof cpu_peers / sizeof *cpu_peers;
