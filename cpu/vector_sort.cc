/* vector_sort.cc - see vector_sort.h.
 *
 *   items --least and greatest key--> bins of equal width --count, scatter--> room, bin by bin
 *         --network in registers (vector_network.h), decoded--> to
 *
 * A bucket of a partition has keys that lie fairly even, so that nearly all bins of some dozens of
 * keys on average fit a network, and a key is moved once before it. A bin that has more is cut into
 * bins again, or sorted digit by digit.
 *
 * The scatter has as many open lines as there are bins, so it goes to memory that is in the cache
 * already: 1.8 ns a key in all, and 3.5 where it goes to the place of the output (f64, Zen 5,
 * 2026-11).
 */
#include "cpu/vector_sort.h"

#include "cpu/radix_kernels.h"
#include "cpu/vector_network.h"

#include <string.h>

#ifdef HAVE_VECTOR_CODE

/* Of 48,000 keys of 8 bytes 2.0 ns each with 24, 1.81 with 40, 1.78 with 44, 1.71 with 48 (Zen 5,
 * 2026-11). Of random bins of 44 one in 700 has more than 64 items, of 48 one in 90. */
#    define BIN_COUNT_AIM 44

/* A bucket of more items than for so many bins has larger ones; a bin that is cut again, a quarter
 * as many at the most, so that the ends of all of them take 43 KiB of stack. */
#    define BINS_MAX ((size_t)8 << 10)

/* Keys whose bins are found at a time. */
#    define BLOCK_COUNT ((size_t)64)

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

/* ---- Bins ---- */

/* A monotone map: offset from the lowest key, cut to 32 bits, scaled to the number of bins. */
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
    struct key_range range = {_mm512_reduce_min_epu64(low), _mm512_reduce_max_epu64(high),
                              descents == 0};
    for (; i < count; i++) {
        const uint64_t key = item_key(items[i]);
        range.lowest = key < range.lowest ? key : range.lowest;
        range.highest = key > range.highest ? key : range.highest;
        if (i + 1 < count && key > item_key(items[i + 1]))
            range.is_ascending = false;
    }
    return range;
}

static struct bins plan_bins(struct key_range range, size_t count, size_t bins_max)
{
    const uint64_t width = range.highest - range.lowest;
    const unsigned bits = 64 - static_cast<unsigned>(__builtin_clzll(width | 1));
    struct bins bins = {range.lowest, bits > 32 ? bits - 32 : 0, 0, count / BIN_COUNT_AIM + 1};
    if (bins.count > bins_max)
        bins.count = bins_max;
    bins.scale = (static_cast<uint64_t>(bins.count) << 32) / ((width >> bins.shift) + 1);
    if (bins.scale > UINT32_MAX) /* more bins than keys */
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
    alignas(32) uint32_t found[BLOCK_COUNT];
    size_t begin = 0;
    for (; begin + BLOCK_COUNT <= count; begin += BLOCK_COUNT) {
#    pragma GCC unroll 8
        for (size_t i = 0; i < BLOCK_COUNT; i += 8)
            _mm256_store_si256(reinterpret_cast<__m256i *>(found + i),
                               find_bins(bins, load_keys(items + begin + i)));
        for (size_t i = 0; i < BLOCK_COUNT; i++)
            action(begin + i, found[i]);
    }
    for (; begin < count; begin++)
        action(begin, ((item_key(items[begin]) - bins.lowest) >> bins.shift) * bins.scale >> 32);
}

/* ends[b] = the end of bin b in room. */
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

/* ---- A bucket ---- */

/* Digit by digit. */
template <typename Item>
static void sort_crowded(Item *items, Item *other, size_t count, Item *to, struct key_order order)
{
    const void *sorted = radix_sort_in_cache(sizeof(Item), items, other, count);
    radix_decode(sizeof(Item), to, sorted, count, order);
}

/* Eight items at a time or sixteen; those of 16 bytes are ordered bits already. */
VECTOR_CODE static void encode_items(unsigned width, void *items, size_t count,
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
    radix_encode(width, bytes + i * width, bytes + i * width, count - i, order);
}

template <typename Lanes>
VECTOR_CODE static void sort_bucket(typename Lanes::item *items, typename Lanes::item *room,
                                    size_t count, typename Lanes::item *to, struct key_order order,
                                    size_t bins_max)
{
    const struct vector_order vectors = vector_order_make(order, Lanes::bits);
    if (count <= NETWORK_COUNT_MAX) {
        network_sort_few<Lanes>(to, items, count, vectors);
        return;
    }
    const struct key_range range = find_key_range(items, count);
    if (range.is_ascending) {
        radix_decode(sizeof *to, to, items, count, order);
        return;
    }
    const struct bins bins = plan_bins(range, count, bins_max);
    uint32_t *const ends = static_cast<uint32_t *>(__builtin_alloca(bins.count * sizeof(uint32_t)));
    scatter_to_bins(bins, items, count, room, ends);
    uint32_t begin = 0;
    for (size_t bin = 0; bin < bins.count; bin++) {
        const size_t size = ends[bin] - begin;
        if (size <= NETWORK_COUNT_MAX)
            network_sort_few<Lanes>(to + begin, room + begin, size, vectors);
        else if (size <= count / 4 * 3 && bins_max > 4) /* so this ends soon, whatever the keys */
            sort_bucket<Lanes>(room + begin, items + begin, size, to + begin, order, bins_max / 4);
        else
            sort_crowded(room + begin, items + begin, size, to + begin, order);
        begin = ends[bin];
    }
}

void vector_sort(unsigned width, void *items, void *room, size_t count, void *to,
                 struct key_order stored, struct key_order order)
{
    if (!key_order_is_identity(stored))
        encode_items(width, items, count, stored);
    switch (width) {
    case 4:
        sort_bucket<lanes_u32>(static_cast<uint32_t *>(items), static_cast<uint32_t *>(room), count,
                               static_cast<uint32_t *>(to), order, BINS_MAX);
        break;
    case 8:
        sort_bucket<lanes_u64>(static_cast<uint64_t *>(items), static_cast<uint64_t *>(room), count,
                               static_cast<uint64_t *>(to), order, BINS_MAX);
        break;
    default:
        sort_bucket<lanes_item>(static_cast<struct key_index *>(items),
                                static_cast<struct key_index *>(room), count,
                                static_cast<struct key_index *>(to), order, BINS_MAX);
    }
}

#else

void vector_sort(unsigned, void *, void *, size_t, void *, struct key_order, struct key_order)
{
}

#endif
