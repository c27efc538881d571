/* SPDX-License-Identifier: Apache-2.0 */
/* vector_sort.cc - see vector_sort.h.
 *
 *   items --quicksort (vector_partition.h)------------------> runs that fit a network
 *           evenly spread keys: bins of equal width--------------->   |
 *                                                                     v
 *                                               network in registers (vector_network.h)
 *
 * A sample of a run decides. If its keys are evenly spread, the run is scattered to bins of some
 * dozens of keys; otherwise it is split in two at the sample's median. A bucket of a large sort
 * mostly has evenly spread keys. A small input, which was not partitioned, may not: half of the
 * positive random doubles have the same exponent. After a limited number of splits at a median the
 * midpoint of the key range is the pivot, which halves the range, so the depth is bounded for any
 * input.
 *
 * A run is in its place or in the room that belongs to it. Keys are split in place. Items with an
 * index, whose ties must stay in order, are split stably: the lower part moves to the beginning of
 * the place, the upper part to the beginning of the room; one of these is where the run was. The
 * rest of the room belongs to the lower part, and the rest of the place is the final position of
 * the upper part.
 */
#include "cpu/vector/vector_sort.h"

#include "cpu/vector/vector_network.h"
#include "cpu/vector/vector_partition.h"

#ifdef HAVE_VECTOR_CODE

#    include <string.h>
#    include <utility>

/* ---- Bins of equal width ---- */

/* The scatter has as many open cache lines as bins, so its target must be in the cache already: 1.8
 * ns per key in total, and 3.5 if it writes to the output (f64, Zen 5, 2026-11). */

/* Keys whose bins are computed as one block. */
#    define BIN_BLOCK_COUNT ((size_t)64)

/* ---- Keys of eight items, in lanes of 64 bits ---- */

VECTOR_INLINE __m512i load_keys(const uint64_t *items)
{
    return _mm512_loadu_si512(items);
}

VECTOR_INLINE __m512i load_keys(const uint32_t *items)
{
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(items)));
}

VECTOR_INLINE __m512i load_keys(const struct key_index *items)
{
    const __m512i low = _mm512_loadu_si512(items), high = _mm512_loadu_si512(items + 4);
    return _mm512_permutex2var_epi64(low, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), high);
}

static inline uint64_t item_key(uint64_t item)
{
    return item;
}

static inline uint64_t item_key(const struct key_index &item)
{
    return item.key;
}

/* A monotone map: offset from the lowest key, shifted to 32 bits, scaled to the number of bins. */
struct bins {
    uint64_t lowest;
    unsigned shift;
    uint64_t scale; /* below 2^32 */
    size_t count;
};

struct key_range {
    uint64_t lowest, highest;
    bool is_ascending;
};

/* Extends the range by the items from items[i] on. */
template <typename Item>
VECTOR_INLINE struct key_range extend_key_range(const Item *items, size_t i, size_t count,
                                                struct key_range range)
{
    for (; i < count; i++) {
        const uint64_t key = item_key(items[i]);
        range.lowest = key < range.lowest ? key : range.lowest;
        range.highest = key > range.highest ? key : range.highest;
        if (i + 1 < count && key > item_key(items[i + 1]))
            range.is_ascending = false;
    }
    return range;
}

template <typename Item>
VECTOR_INLINE struct key_range find_key_range(const Item *items, size_t count)
{
    __m512i low = _mm512_set1_epi64(-1), high = _mm512_setzero_si512();
    __mmask8 descents = 0;
    size_t i = 0;
    for (; i + 9 <= count; i += 8) {
        const __m512i keys = load_keys(items + i), next = load_keys(items + i + 1);
        low = _mm512_min_epu64(low, keys);
        high = _mm512_max_epu64(high, keys);
        descents |= _mm512_cmpgt_epu64_mask(keys, next);
    }
    return extend_key_range(
        items, i, count,
        {_mm512_reduce_min_epu64(low), _mm512_reduce_max_epu64(high), descents == 0});
}

VECTOR_INLINE struct key_range find_key_range(const uint32_t *items, size_t count)
{
    __m512i low = _mm512_set1_epi32(-1), high = _mm512_setzero_si512();
    __mmask16 descents = 0;
    size_t i = 0;
    for (; i + 17 <= count; i += 16) {
        const __m512i keys = _mm512_loadu_si512(items + i);
        low = _mm512_min_epu32(low, keys);
        high = _mm512_max_epu32(high, keys);
        descents |= _mm512_cmpgt_epu32_mask(keys, _mm512_loadu_si512(items + i + 1));
    }
    return extend_key_range(
        items, i, count,
        {_mm512_reduce_min_epu32(low), _mm512_reduce_max_epu32(high), descents == 0});
}

/* Plans about count / aim bins of equal width, at most bins_max. */
static inline struct bins plan_bins(uint64_t lowest, uint64_t highest, size_t count, size_t aim,
                                    size_t bins_max)
{
    const uint64_t width = highest - lowest;
    const unsigned bits = 64 - static_cast<unsigned>(__builtin_clzll(width | 1));
    struct bins bins = {lowest, bits > 32 ? bits - 32 : 0, 0, count / aim + 1};
    if (bins.count > bins_max)
        bins.count = bins_max;
    bins.scale = (static_cast<uint64_t>(bins.count) << 32) / ((width >> bins.shift) + 1);
    if (bins.scale > UINT32_MAX) /* more bins than possible keys */
        bins.scale = UINT32_MAX;
    return bins;
}

VECTOR_INLINE __m256i find_bins(const struct bins &bins, __m512i keys)
{
    __m512i offset = _mm512_sub_epi64(keys, _mm512_set1_epi64(static_cast<long long>(bins.lowest)));
    offset = _mm512_srl_epi64(offset, _mm_cvtsi32_si128(static_cast<int>(bins.shift)));
    const __m512i scale = _mm512_set1_epi64(static_cast<long long>(bins.scale));
    return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_mul_epu32(offset, scale), 32));
}

/* Calls action(i, bin) for each item in order. */
template <typename Item, typename Action>
VECTOR_INLINE void for_each_bin(const struct bins &bins, const Item *items, size_t count,
                                const Action &action)
{
    alignas(32) uint32_t found[BIN_BLOCK_COUNT];
    size_t begin = 0;
    for (; begin + BIN_BLOCK_COUNT <= count; begin += BIN_BLOCK_COUNT) {
#    pragma GCC unroll 8
        for (size_t i = 0; i < BIN_BLOCK_COUNT; i += 8)
            _mm256_store_si256(reinterpret_cast<__m256i *>(found + i),
                               find_bins(bins, load_keys(items + begin + i)));
        for (size_t i = 0; i < BIN_BLOCK_COUNT; i++)
            action(begin + i, found[i]);
    }
    for (; begin < count; begin++)
        action(begin, ((item_key(items[begin]) - bins.lowest) >> bins.shift) * bins.scale >> 32);
}

/* Moves the items to `room` by bin, in order. Sets ends[b] to the end of bin b. */
template <typename Item>
VECTOR_INLINE void scatter_to_bins(const struct bins &bins, const Item *items, size_t count,
                                   Item *room, uint32_t *ends)
{
    memset(ends, 0, bins.count * sizeof *ends);
    for_each_bin(
        bins, items,
        count, [ends](size_t, size_t bin) __attribute__((always_inline)) { ends[bin]++; });
    uint32_t sum = 0;
    for (size_t bin = 0; bin < bins.count; bin++) {
        const uint32_t size = ends[bin];
        ends[bin] = sum;
        sum += size;
    }
    for_each_bin(
        bins, items, count, [=](size_t i, size_t bin) __attribute__((always_inline)) {
            room[ends[bin]++] = items[i];
        });
}

/* ---- Tuning ---- */

/* Maximum bins: with more, their open lines and the run would not fit a cache. 1,000,000 keys of
 * 8 bytes take 2.77 ns each with this many, 2.79 with half, 3.02 with an eighth; 4,000,000 take
 * 4.1, 4.0 and 4.3, and 5.1 if all of them are scattered in one step. A run within a bin has at
 * most a quarter as many, so that the arrays of ends take 22 KiB of stack. */
#    define BINS_MAX ((size_t)4 << 10)

/* Items per bin, and minimum items for bins. ns per key for 1,000, 10,000 and 60,000 random
 * keys, a core of an AMD EPYC (Zen 5), 2026-11: 8 bytes with bins of 44 2.17, 1.79, 1.94, of 96
 * (10,000 and more) 1.84, 1.92, by splits alone 1.85, 2.39, 2.91; 4 bytes with bins of
 * 44 1.95, 1.77, 1.72, of 110 1.59, 1.36, 1.31, by splits alone 1.17, 1.50, 1.80; key and index
 * with bins of 44 4.5, 4.3, 4.8, by splits alone 6.6, 7.8, 9.6. */
template <typename Lanes>
struct cut;

template <>
struct cut<lanes_u32> {
    using packed = packed_u32;
    static constexpr size_t bin_count = 110, bins_from = 8192;
};

template <>
struct cut<lanes_u64> {
    using packed = packed_u64;
    static constexpr size_t bin_count = 52, bins_from = 2048;
};

template <>
struct cut<lanes_item> {
    using packed = packed_item;
    static constexpr size_t bin_count = 44, bins_from = 256;
};

/* Decodes ordered bits; to may be from. */
template <typename Lanes>
VECTOR_CODE static void decode_items(typename Lanes::item *to, const typename Lanes::item *from,
                                     size_t count, const struct vector_order &order)
{
    for (size_t i = 0; i < count; i += Lanes::count) {
        const uint32_t present = network_present(count, i);
        Lanes::load(from + i, present).store(to + i, present, order);
    }
}

/* ---- Runs ---- */

/* Parameters that are the same for all runs. */
struct finish {
    struct vector_order decoded, as_it_is;
    size_t room_count; /* a run of more keys has no room yet, and is in its place */
};

/* A run of items, to be sorted into to[0..count), which is `place` or other memory. */
template <typename Item>
struct vector_run {
    Item *place, *room; /* count items each; runs larger than the room share it */
    bool is_in_room;
    size_t count;
    uint64_t lowest, highest; /* bounds of the keys */
    unsigned splits_left;     /* remaining splits at a median or into bins */
    size_t bins_max;
    Item *to;

    Item *items() const
    {
        return is_in_room ? room : place;
    }
    Item *other() const
    {
        return is_in_room ? place : room;
    }
};

/* Result of sampling a run. */
struct run_sample {
    uint64_t median;
    bool all_equal, is_even;
};

/* Keys are evenly spread if few neighbours in the sample are closer than a quarter of the mean
 * distance: 14 of 64 if they are random, nearly all if they form clusters. Ties count twice,
 * because a few hundred values are faster split than scattered. */
template <typename Item>
static bool is_sample_even(const Item *sample, size_t count, uint64_t range)
{
    const uint64_t close = range / (4 * count);
    size_t closer = 0;
    for (size_t i = 1; i < count; i++) {
        const uint64_t distance = item_key(sample[i]) - item_key(sample[i - 1]);
        closer += (distance <= close) + (distance == 0);
    }
    return closer <= count / 3;
}

/* Samples ROWS registers, from the middle of equal stretches. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE struct run_sample sample_rows(const struct vector_run<typename Lanes::item> &run,
                                            const struct vector_order &as_it_is)
{
    constexpr size_t samples = ROWS * Lanes::count;
    const size_t stretch = run.count / ROWS, begin = (stretch - Lanes::count) / 2;
    typename Lanes::item sample[samples];
    Lanes rows[ROWS];
#    pragma GCC unroll 8
    for (unsigned row = 0; row < ROWS; row++)
        rows[row] = Lanes::load(run.items() + row * stretch + begin, UINT32_MAX);
    network_sort_rows<ROWS>(rows);
#    pragma GCC unroll 8
    for (unsigned row = 0; row < ROWS; row++)
        rows[row].store(sample + row * Lanes::count, UINT32_MAX, as_it_is);
    return {item_key(sample[samples / 2]), item_key(sample[0]) == item_key(sample[samples - 1]),
            run.count >= cut<Lanes>::bins_from &&
                is_sample_even(sample, samples, run.highest - run.lowest)};
}

template <typename Lanes>
VECTOR_CODE static struct run_sample sample_run(const struct vector_run<typename Lanes::item> &run,
                                                const struct vector_order &as_it_is)
{
    return run.count < cut<Lanes>::bins_from ? sample_rows<2, Lanes>(run, as_it_is)
                                             : sample_rows<64 / Lanes::count, Lanes>(run, as_it_is);
}

/* True if every key equals `key`. */
template <typename Item>
VECTOR_INLINE bool is_all_equal(const Item *items, size_t count, uint64_t key)
{
    const __m512i keys = _mm512_set1_epi64(static_cast<long long>(key));
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        if (_mm512_cmpneq_epu64_mask(load_keys(items + i), keys) != 0)
            return false;
    for (; i < count; i++)
        if (item_key(items[i]) != key)
            return false;
    return true;
}

/* Writes a run of equal keys to its destination. */
template <typename Lanes>
VECTOR_CODE static void finish_equal(const struct vector_run<typename Lanes::item> &run,
                                     const struct vector_order &order)
{
    if constexpr (cut<Lanes>::packed::lanes_per_item > 1) {
        decode_items<Lanes>(run.to, run.items(), run.count, order);
        return;
    }
    const Lanes keys = Lanes::load(run.items(), UINT32_MAX);
    for (size_t i = 0; i < run.count; i += Lanes::count)
        keys.store(run.to + i, network_present(run.count, i), order);
}

/* ---- Cuts ---- */

template <typename Lanes>
VECTOR_CODE static void sort_run(struct vector_run<typename Lanes::item> run,
                                 const struct finish &finish);

template <typename Lanes>
VECTOR_CODE static void sort_by_bins(const struct vector_run<typename Lanes::item> &run,
                                     const struct finish &finish)
{
    const struct bins bins =
        plan_bins(run.lowest, run.highest, run.count, cut<Lanes>::bin_count, run.bins_max);
    uint32_t *const ends = static_cast<uint32_t *>(__builtin_alloca(bins.count * sizeof(uint32_t)));
    scatter_to_bins(bins, run.items(), run.count, run.other(), ends);
    uint32_t begin = 0;
    for (size_t bin = 0; bin < bins.count; bin++) {
        const size_t count = ends[bin] - begin;
        if (count <= network_count_max<Lanes>())
            network_sort_few<Lanes>(run.to + begin, run.other() + begin, count, finish.decoded);
        else
            sort_run<Lanes>({run.place + begin, run.room + begin, !run.is_in_room, count,
                             run.lowest, run.highest, run.splits_left, run.bins_max / 4,
                             run.to + begin},
                            finish);
        begin = ends[bin];
    }
}

/* Splits a run: *run becomes the items with a key of `bound` or more; returns the others. */
template <typename Lanes>
VECTOR_CODE static struct vector_run<typename Lanes::item>
cut_run(struct vector_run<typename Lanes::item> *run, uint64_t bound, size_t room_count) {
    using packed = typename cut<Lanes>::packed;
    struct vector_run<typename Lanes::item> below = *run;
    if constexpr (packed::lanes_per_item == 1) {
        below.count = vector_partition_in_place<packed>(run->items(), run->count, bound);
        run->room += run->count <= room_count ? below.count : 0;
    } else {
        below.count =
            vector_partition<packed>(run->items(), run->count, bound, run->place, run->room);
        below.room += run->count - below.count;
        below.is_in_room = false;
        run->is_in_room = true;
    }
    below.highest = bound - 1;
    run->lowest = bound;
    run->count -= below.count;
    run->place += below.count;
    run->to += below.count;
    return below;
}

/* Returns the lowest key of the upper part: the median, or its successor if the median is the
 * lowest key; once no splits are left, the midpoint of the range. */
template <typename Item>
static uint64_t find_bound(struct vector_run<Item> *run, uint64_t median)
{
    if (run->splits_left == 0)
        return run->lowest + (run->highest - run->lowest) / 2 + 1;
    run->splits_left--;
    return median > run->lowest ? median : run->lowest + 1;
}

/* Sorts a run. Most runs fit a network. The smaller part of a split is sorted first, which limits
 * the depth of the recursion to log2(count), and a few levels more for bins. */
template <typename Lanes>
VECTOR_CODE static void sort_run(struct vector_run<typename Lanes::item> run,
                                 const struct finish &finish)
{
    while (run.count > network_count_max<Lanes>()) {
        struct run_sample look = {run.lowest, run.lowest == run.highest, false};
        if (!look.all_equal) {
            look = sample_run<Lanes>(run, finish.as_it_is);
            look.all_equal = look.all_equal && is_all_equal(run.items(), run.count, look.median);
        }
        if (look.all_equal) {
            finish_equal<Lanes>(run, finish.decoded);
            return;
        }
        if (look.is_even && run.splits_left > 0 && run.count <= finish.room_count &&
            run.count / cut<Lanes>::bin_count < run.bins_max) {
            run.splits_left--;
            sort_by_bins<Lanes>(run, finish);
            return;
        }
        const uint64_t bound = find_bound(&run, look.median);
        struct vector_run<typename Lanes::item> part =
            cut_run<Lanes>(&run, bound, finish.room_count);
        if (part.count > run.count)
            std::swap(part, run);
        sort_run<Lanes>(part, finish);
    }
    network_sort_few<Lanes>(run.to, run.items(), run.count, finish.decoded);
}

/* Sorts all items. If they are to go to the room, place and room are exchanged. */
template <typename Lanes>
VECTOR_CODE static void sort_items(void *items, void *room, size_t count, size_t room_count,
                                   void *to, struct key_order order)
{
    using item = typename Lanes::item;
    const struct finish finish = {vector_order_make(order, Lanes::bits),
                                  vector_order_make(key_order_identity(), Lanes::bits), room_count};
    struct vector_run<item> run = {
    };
    run.is_in_room = to == room;
    run.place = static_cast<item *>(run.is_in_room ? room : items);
    run.room = static_cast<item *>(run.is_in_room ? items : room);
    run.count = count;
    run.highest = key_bits_mask(Lanes::bits);
    run.splits_left = 2 * (64 - static_cast<unsigned>(__builtin_clzll(count | 1)));
    run.bins_max = BINS_MAX;
    run.to = static_cast<item *>(to);
    if (count > network_count_max<Lanes>()) {
        const struct key_range range = find_key_range(run.items(), count);
        run.lowest = range.lowest;
        run.highest = range.highest;
        if (range.is_ascending) {
            decode_items<Lanes>(run.to, run.items(), count, finish.decoded);
            return;
        }
    }
    sort_run<Lanes>(run, finish);
}

void vector_sort(unsigned width, void *items, size_t count, void *room, size_t room_count, void *to,
                 struct key_order order)
{
    switch (width) {
    case 4:
        sort_items<lanes_u32>(items, room, count, room_count, to, order);
        break;
    case 8:
        sort_items<lanes_u64>(items, room, count, room_count, to, order);
        break;
    default:
        sort_items<lanes_item>(items, room, count, room_count, to, order);
    }
}

/* ---- For several threads ---- */

/* Maximum items sampled for a split between threads: the part sizes are off by about 2 %. */
#    define CUT_SAMPLE ((size_t)1024)

template <typename Lanes>
VECTOR_CODE static size_t cut_items(const void *items, size_t count, unsigned part, unsigned parts,
                                    void *low, void *high)
{
    using item = typename Lanes::item;
    const item *const from = static_cast<const item *>(items);
    item *const sample = static_cast<item *>(items == low ? high : low); /* still free */
    const size_t samples = count < 2 ? count : count / 2 < CUT_SAMPLE ? count / 2 : CUT_SAMPLE;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < samples; i++)
        sample[i] = from[count / samples * i];
    sort_items<Lanes>(sample, sample + samples, samples, samples, sample, key_order_identity());
    return vector_partition<typename cut<Lanes>::packed>(
        from, count, item_key(sample[samples * part / parts]), static_cast<item *>(low),
        static_cast<item *>(high));
}

size_t vector_cut(unsigned width, void *items, size_t count, unsigned part, unsigned parts,
                  void *low, void *high)
{
    switch (width) {
    case 4:
        return cut_items<lanes_u32>(items, count, part, parts, low, high);
    case 8:
        return cut_items<lanes_u64>(items, count, part, parts, low, high);
    default:
        return cut_items<lanes_item>(items, count, part, parts, low, high);
    }
}

#else

void vector_sort(unsigned, void *, size_t, void *, size_t, void *, struct key_order)
{
}

size_t vector_cut(unsigned, void *, size_t, unsigned, unsigned, void *, void *)
{
    return 0;
}

#endif
