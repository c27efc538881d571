/* SPDX-License-Identifier: Apache-2.0 */
/* vector_sort.cc - see vector_sort.h.
 *
 *   items --quicksort (vector_partition.h)----------------> runs that fit a network
 *           even keys: bins of equal width (vector_bins.h)->   |
 *                                                              v
 *                                                  network in registers (vector_network.h)
 *
 * Some keys of a run are looked at. Where they lie even, it is cut into bins of some dozens of keys
 * at once; else in two, by their median. A bucket of a large sort has even keys mostly; a small
 * input, which was not cut into buckets, has what it has: of random doubles half the positive ones
 * have the same exponent. Whatever the keys, a run is cut by a median a limited number of times;
 * then the middle of its range is taken, which is halved so.
 *
 * A run is in its place or in the room that belongs to it. Keys are cut in two where they are. Of
 * items, equal ones of which are to stay in their order, the lower part comes to the beginning of
 * the place and the upper one to that of the room: where the run was, one of them only moves up.
 * The rest of the room is that of the lower part, and the rest of the place is where the upper one
 * will go.
 */
#include "cpu/vector/vector_sort.h"

#include "cpu/partition/item_kernels.h"
#include "cpu/vector/vector_bins.h"
#include "cpu/vector/vector_network.h"
#include "cpu/vector/vector_partition.h"

#ifdef HAVE_VECTOR_CODE

#    include <utility>

/* Bins are not more, as their open lines, and the run, would not fit a cache: of 1,000,000 keys of
 * 8 bytes 2.77 ns each with so many, 2.79 with half, 3.02 with an eighth; of 4,000,000 4.1, 4.0 and
 * 4.3, and 5.1 where all of them were cut at once. A run in a bin has a quarter as many at the
 * most, so that the ends of all take 22 KiB of stack. */
#    define BINS_MAX ((size_t)4 << 10)

/* How a kind of items is cut. 1,000, 10,000 and 60,000 random keys, ns each, a core of an AMD EPYC
 * (Zen 5), 2026-11: of 8 bytes by bins of 44 2.17, 1.79, 1.94, of 96 -, 1.84, 1.92, by halves alone
 * 1.85, 2.39, 2.91; of 4 bytes by bins of 44 1.95, 1.77, 1.72, of 110 1.59, 1.36, 1.31, by halves
 * alone 1.17, 1.50, 1.80; key and index by bins of 44 4.5, 4.3, 4.8, by halves alone 6.6, 7.8, 9.6.
 */
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

/* Ordered bits to what is stored; to may be from. */
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

/* What is the same for all runs. */
struct finish {
    struct vector_order decoded, as_it_is;
    size_t room_count; /* a run of more keys has no room yet, and is in its place */
};

/* Items that are sorted into to[0..count), which is `place` or other memory. */
template <typename Item>
struct vector_run {
    Item *place, *room; /* of count items each; keys that are too many for the room share it */
    bool is_in_room;
    size_t count;
    uint64_t lowest, highest; /* no key is below or above */
    unsigned levels;          /* so many cuts by a median are left */
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

/* What a look at some of the keys shows. */
struct look {
    uint64_t median;
    bool all_equal, is_even;
};

/* Keys are even if few of their neighbours are closer than a quarter of the mean distance: 14 of 64
 * where they are random, nearly all where they come in clusters. Equal ones count twice, as a few
 * hundred values are cut apart sooner than put into bins. */
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

/* The rows are taken whole from the middle of equal stretches. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE struct look look_at_rows(const struct vector_run<typename Lanes::item> &run,
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
VECTOR_CODE static struct look look_at(const struct vector_run<typename Lanes::item> &run,
                                       const struct vector_order &as_it_is)
{
    return run.count < cut<Lanes>::bins_from
               ? look_at_rows<2, Lanes>(run, as_it_is)
               : look_at_rows<64 / Lanes::count, Lanes>(run, as_it_is);
}

/* Whether all keys are what those of a look are. */
template <typename Item>
VECTOR_INLINE bool are_all_equal(const Item *items, size_t count, uint64_t key)
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

/* Brings a run of equal keys to where it goes. */
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
                             run.lowest, run.highest, run.levels, run.bins_max / 4, run.to + begin},
                            finish);
        begin = ends[bin];
    }
}

/* Cuts a run in two: *run is then those with a key from the bound on, and the others are returned.
 */
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

/* The least key of the upper part: the median, or the next key if that is the least of all; in the
 * end the middle of the range. */
template <typename Item>
static uint64_t find_bound(struct vector_run<Item> *run, uint64_t median)
{
    if (run->levels == 0)
        return run->lowest + (run->highest - run->lowest) / 2 + 1;
    run->levels--;
    return median > run->lowest ? median : run->lowest + 1;
}

/* Most runs fit a network. The smaller part of a cut is sorted first, so that there are few at a
 * time. */
template <typename Lanes>
VECTOR_CODE static void sort_run(struct vector_run<typename Lanes::item> run,
                                 const struct finish &finish)
{
    while (run.count > network_count_max<Lanes>()) {
        struct look look = {run.lowest, run.lowest == run.highest, false};
        if (!look.all_equal) {
            look = look_at<Lanes>(run, finish.as_it_is);
            look.all_equal = look.all_equal && are_all_equal(run.items(), run.count, look.median);
        }
        if (look.all_equal) {
            finish_equal<Lanes>(run, finish.decoded);
            return;
        }
        if (look.is_even && run.levels > 0 && run.count <= finish.room_count &&
            run.count / cut<Lanes>::bin_count < run.bins_max) {
            run.levels--;
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

/* All of the items; where they are to go to the room, that is their place. */
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
    run.levels = 2 * (64 - static_cast<unsigned>(__builtin_clzll(count | 1)));
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

void vector_sort(unsigned width, void *items, void *room, size_t count, void *to,
                 struct key_order stored, struct key_order order)
{
    if (!key_order_is_identity(stored))
        vector_encode_items(width, items, count, stored);
    switch (width) {
    case 4:
        sort_items<lanes_u32>(items, room, count, count, to, order);
        break;
    case 8:
        sort_items<lanes_u64>(items, room, count, count, to, order);
        break;
    default:
        sort_items<lanes_item>(items, room, count, count, to, order);
    }
}

void vector_sort_in_place(unsigned width, void *keys, size_t count, void *room,
                          struct key_order stored, struct key_order order)
{
    const size_t room_count = count < VECTOR_ROOM_COUNT ? count : VECTOR_ROOM_COUNT;
    if (!key_order_is_identity(stored))
        vector_encode_items(width, keys, count, stored);
    if (width == 4)
        sort_items<lanes_u32>(keys, room, count, room_count, keys, order);
    else
        sort_items<lanes_u64>(keys, room, count, room_count, keys, order);
}

/* ---- Keys of two bytes ---- */

/* They are the upper half of a key of four, as which they have the same order: the lower half goes
 * by the sign alone. Where bytes are swapped, what becomes the upper half is stored as the lower
 * one. */
static struct key_order order_of_wide(struct key_order order)
{
    order.bias <<= 16;
    order.complement = order.complement ? key_bits_mask(32) : 0;
    return order;
}

VECTOR_CODE static void widen(const uint16_t *words, size_t count, unsigned shift, uint32_t *to)
{
    for (size_t i = 0; i < count; i += 16) {
        const __mmask16 present = network_present(count, i);
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(present, words + i));
        _mm512_mask_storeu_epi32(to + i, present, _mm512_slli_epi32(wide, shift));
    }
}

VECTOR_CODE static void narrow(const uint32_t *wide, size_t count, unsigned shift, uint16_t *to)
{
    for (size_t i = 0; i < count; i += 16) {
        const __mmask16 present = network_present(count, i);
        const __m512i key = _mm512_maskz_loadu_epi32(present, wide + i);
        _mm256_mask_storeu_epi16(to + i, present,
                                 _mm512_cvtepi32_epi16(_mm512_srli_epi32(key, shift)));
    }
}

void vector_sort_words(void *keys, size_t count, void *room, struct key_order order)
{
    uint16_t *const words = static_cast<uint16_t *>(keys);
    uint32_t *const wide = static_cast<uint32_t *>(room);
    const unsigned shift = order.swap_bytes ? 0 : 16;
    widen(words, count, shift, wide);
    vector_sort_in_place(4, wide, count, wide + count, order_of_wide(order), order_of_wide(order));
    narrow(wide, count, shift, words);
}

/* ---- For several threads ---- */

/* Eight items at a time or sixteen; those of 16 bytes are ordered bits already. */
VECTOR_CODE void vector_encode_items(unsigned width, void *items, size_t count,
                                     struct key_order order)
{
    const unsigned bits = 8 * width;
    const size_t lanes = 64 / width;
    unsigned char *const bytes = static_cast<unsigned char *>(items);
    const struct vector_order vectors = vector_order_make(order, bits);
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const __m512i stored = _mm512_loadu_si512(bytes + i * width);
        _mm512_storeu_si512(bytes + i * width, bits == 32 ? vector_encode(32, &vectors, stored)
                                                          : vector_encode(64, &vectors, stored));
    }
    items_encode(width, bytes + i * width, bytes + i * width, count - i, order);
}

/* Keys that a cut goes by: with so many it is one in fifty off, about. */
#    define CUT_SAMPLE ((size_t)1024)

template <typename Lanes>
VECTOR_CODE static size_t cut_items(const void *items, size_t count, unsigned share,
                                    unsigned shares, void *low, void *high)
{
    using item = typename Lanes::item;
    const item *const from = static_cast<const item *>(items);
    const size_t samples = count < CUT_SAMPLE ? count : CUT_SAMPLE;
    item sample[CUT_SAMPLE], room[CUT_SAMPLE];
    if (count == 0)
        return 0;
    for (size_t i = 0; i < samples; i++)
        sample[i] = from[count / samples * i];
    sort_items<Lanes>(sample, room, samples, samples, sample, key_order_identity());
    return vector_partition<typename cut<Lanes>::packed>(
        from, count, item_key(sample[samples * share / shares]), static_cast<item *>(low),
        static_cast<item *>(high));
}

size_t vector_cut(unsigned width, void *items, size_t count, unsigned share, unsigned shares,
                  void *low, void *high)
{
    switch (width) {
    case 4:
        return cut_items<lanes_u32>(items, count, share, shares, low, high);
    case 8:
        return cut_items<lanes_u64>(items, count, share, shares, low, high);
    default:
        return cut_items<lanes_item>(items, count, share, shares, low, high);
    }
}

#else

void vector_sort(unsigned, void *, void *, size_t, void *, struct key_order, struct key_order)
{
}

void vector_sort_in_place(unsigned, void *, size_t, void *, struct key_order, struct key_order)
{
}

void vector_sort_words(void *, size_t, void *, struct key_order)
{
}

void vector_encode_items(unsigned, void *, size_t, struct key_order)
{
}

size_t vector_cut(unsigned, void *, size_t, unsigned, unsigned, void *, void *)
{
    return 0;
}

#endif
