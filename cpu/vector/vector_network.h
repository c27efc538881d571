/* SPDX-License-Identifier: Apache-2.0 */
/* vector_network.h - sorting networks in AVX-512 registers.
 *
 * ROWS registers hold the items, one per lane; the items of one lane are a column. All columns are
 * sorted together by a network of row against row. Then neighbouring columns are merged pairwise as
 * bitonic sequences: first each item against its mirror image in the other half, the only step that
 * crosses rows and columns, then against items at halved distances. A sorted sequence runs down a
 * column and continues in the next, so the last step transposes the registers.
 *
 * struct lanes_u32, lanes_u64, lanes_item: `count` items in one register, or in two for items with
 * an index. A network takes up to rows_max rows, as there are 32 registers. Minimum and maximum
 * are 1.4 times as fast as mask and blend (Zen 5, 2026-11: 64 keys of 8 bytes in 34 ns and 43).
 *
 * Bitonic merging: K. E. Batcher, "Sorting networks and their applications" (AFIPS 1968); columns
 * first: M. Blacher et al., "Fast and Robust Vectorized In-Place Sorting of Primitive Types" (SEA
 * 2021).
 */
#ifndef CPU_VECTOR_NETWORK_H
#define CPU_VECTOR_NETWORK_H

#include "core/backend.h"
#include "cpu/items/vector_order.h"

#ifdef HAVE_VECTOR_CODE

/* ---- Lanes of 64 bits ---- */

/* Permutes lanes: lane i gets lane i ^ FLIP of x. */
template <unsigned FLIP>
VECTOR_INLINE __m512i flip_lanes_64(__m512i x)
{
    switch (FLIP) {
    case 1:
        return _mm512_permutex_epi64(x, 0xb1);
    case 2:
        return _mm512_permutex_epi64(x, 0x4e);
    case 3:
        return _mm512_permutex_epi64(x, 0x1b);
    case 4:
        return _mm512_shuffle_i64x2(x, x, 0x4e);
    default:
        return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
    }
}

/* Interleaves the lanes of two registers: *low becomes a0 b0 a1 b1 and so on, *high the rest. */
VECTOR_INLINE void interleave_64(__m512i a, __m512i b, __m512i *low, __m512i *high)
{
    *low = _mm512_permutex2var_epi64(a, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b);
    *high = _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), b);
}

/* Eight keys of 64 bits. */
struct lanes_u64 {
    using item = uint64_t;
    static constexpr unsigned count = 8, bits = 64, rows_max = 16;
    __m512i key;

    VECTOR_MEMBER static lanes_u64 load(const item *from, uint32_t present)
    {
        const __m512i greatest = _mm512_set1_epi64(-1);
        return {_mm512_mask_loadu_epi64(greatest, static_cast<__mmask8>(present), from)};
    }
    VECTOR_MEMBER void store(item *to, uint32_t present, const vector_order &order) const
    {
        _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(present),
                                 vector_decode(64, &order, key));
    }
    VECTOR_MEMBER static void sort(lanes_u64 &low, lanes_u64 &high)
    {
        const __m512i least = _mm512_min_epu64(low.key, high.key);
        high.key = _mm512_max_epu64(low.key, high.key);
        low.key = least;
    }
    template <unsigned FLIP>
    VECTOR_MEMBER lanes_u64 flip() const
    {
        return {flip_lanes_64<FLIP>(key)};
    }
    VECTOR_MEMBER static lanes_u64 blend(uint16_t second, lanes_u64 a, lanes_u64 b)
    {
        return {_mm512_mask_mov_epi64(a.key, static_cast<__mmask8>(second), b.key)};
    }
    VECTOR_MEMBER static void interleave(lanes_u64 a, lanes_u64 b, lanes_u64 *low, lanes_u64 *high)
    {
        interleave_64(a.key, b.key, &low->key, &high->key);
    }
};

/* Eight keys with their indices. */
struct lanes_item {
    using item = struct key_index;
    static constexpr unsigned count = 8, bits = 64, rows_max = 8;
    __m512i key, index;

    /* Expands a mask of four items to a mask of their 64-bit halves. */
    VECTOR_MEMBER static __mmask8 halves(uint32_t present)
    {
        return static_cast<__mmask8>(_pdep_u32(present, 0x55) * 3);
    }
    VECTOR_MEMBER static lanes_item load(const item *from, uint32_t present)
    {
        const __m512i greatest = _mm512_set1_epi64(-1);
        const __m512i low = _mm512_mask_loadu_epi64(greatest, halves(present & 15), from);
        const __m512i high = _mm512_mask_loadu_epi64(greatest, halves(present >> 4 & 15), from + 4);
        const __m512i keys = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        const __m512i indices = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
        return {_mm512_permutex2var_epi64(low, keys, high),
                _mm512_permutex2var_epi64(low, indices, high)};
    }
    VECTOR_MEMBER void store(item *to, uint32_t present, const vector_order &) const
    {
        __m512i low, high;
        interleave_64(index, key, &low, &high);
        _mm512_mask_storeu_epi64(to, halves(present & 15), low);
        _mm512_mask_storeu_epi64(to + 4, halves(present >> 4 & 15), high);
    }
    VECTOR_MEMBER static void sort(lanes_item &low, lanes_item &high)
    {
        const __mmask8 equal = _mm512_cmpeq_epu64_mask(low.key, high.key);
        const __mmask8 swap =
            static_cast<__mmask8>(_mm512_cmpgt_epu64_mask(low.key, high.key) |
                                  _mm512_mask_cmpgt_epu64_mask(equal, low.index, high.index));
        const lanes_item before = low;
        low = blend(swap, low, high);
        high = blend(swap, high, before);
    }
    template <unsigned FLIP>
    VECTOR_MEMBER lanes_item flip() const
    {
        return {flip_lanes_64<FLIP>(key), flip_lanes_64<FLIP>(index)};
    }
    VECTOR_MEMBER static lanes_item blend(uint16_t second, lanes_item a, lanes_item b)
    {
        const __mmask8 mask = static_cast<__mmask8>(second);
        return {_mm512_mask_mov_epi64(a.key, mask, b.key),
                _mm512_mask_mov_epi64(a.index, mask, b.index)};
    }
    VECTOR_MEMBER static void interleave(lanes_item a, lanes_item b, lanes_item *low,
                                         lanes_item *high)
    {
        interleave_64(a.key, b.key, &low->key, &high->key);
        interleave_64(a.index, b.index, &low->index, &high->index);
    }
};

/* ---- Lanes of 32 bits ---- */

template <unsigned FLIP>
VECTOR_INLINE __m512i flip_lanes_32(__m512i x)
{
    switch (FLIP) {
    case 1:
        return _mm512_shuffle_epi32(x, _MM_PERM_CDAB);
    case 2:
        return _mm512_shuffle_epi32(x, _MM_PERM_BADC);
    case 3:
        return _mm512_shuffle_epi32(x, _MM_PERM_ABCD);
    case 4:
        return _mm512_shuffle_i64x2(x, x, 0xb1);
    case 7:
        return _mm512_permutexvar_epi32(
            _mm512_set_epi32(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7), x);
    case 8:
        return _mm512_shuffle_i64x2(x, x, 0x4e);
    default:
        return _mm512_permutexvar_epi32(
            _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), x);
    }
}

/* Sixteen keys of 32 bits. */
struct lanes_u32 {
    using item = uint32_t;
    static constexpr unsigned count = 16, bits = 32, rows_max = 16;
    __m512i key;

    VECTOR_MEMBER static lanes_u32 load(const item *from, uint32_t present)
    {
        const __m512i greatest = _mm512_set1_epi64(-1);
        return {_mm512_mask_loadu_epi32(greatest, static_cast<__mmask16>(present), from)};
    }
    VECTOR_MEMBER void store(item *to, uint32_t present, const vector_order &order) const
    {
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(present),
                                 vector_decode(32, &order, key));
    }
    VECTOR_MEMBER static void sort(lanes_u32 &low, lanes_u32 &high)
    {
        const __m512i least = _mm512_min_epu32(low.key, high.key);
        high.key = _mm512_max_epu32(low.key, high.key);
        low.key = least;
    }
    template <unsigned FLIP>
    VECTOR_MEMBER lanes_u32 flip() const
    {
        return {flip_lanes_32<FLIP>(key)};
    }
    VECTOR_MEMBER static lanes_u32 blend(uint16_t second, lanes_u32 a, lanes_u32 b)
    {
        return {_mm512_mask_mov_epi32(a.key, second, b.key)};
    }
    VECTOR_MEMBER static void interleave(lanes_u32 a, lanes_u32 b, lanes_u32 *low, lanes_u32 *high)
    {
        const __m512i lower =
            _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        const __m512i upper =
            _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
        low->key = _mm512_permutex2var_epi32(a.key, lower, b.key);
        high->key = _mm512_permutex2var_epi32(a.key, upper, b.key);
    }
};

/* ---- Networks ---- */

/* Returns the mask of lanes whose number has the bit `distance`. */
constexpr uint16_t network_upper_lanes(unsigned distance)
{
    return distance == 1 ? 0xaaaa : distance == 2 ? 0xcccc : distance == 4 ? 0xf0f0 : 0xff00;
}

/* The comparators that sort columns of 2, 4, 8 and 16 items: the smallest known networks. */
constexpr uint8_t network_pairs_2[][2] = {{0, 1}};
constexpr uint8_t network_pairs_4[][2] = {{0, 2}, {1, 3}, {0, 1}, {2, 3}, {1, 2}};
constexpr uint8_t network_pairs_8[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                          {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                          {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
constexpr uint8_t network_pairs_16[][2] = {
    {0, 1},   {2, 3},   {4, 5},   {6, 7},   {8, 9},  {10, 11}, {12, 13}, {14, 15}, {0, 2},  {4, 6},
    {8, 10},  {12, 14}, {1, 3},   {5, 7},   {9, 11}, {13, 15}, {0, 4},   {8, 12},  {1, 5},  {9, 13},
    {2, 6},   {10, 14}, {3, 7},   {11, 15}, {0, 8},  {1, 9},   {2, 10},  {3, 11},  {4, 12}, {5, 13},
    {6, 14},  {7, 15},  {5, 10},  {6, 9},   {3, 12}, {13, 14}, {4, 8},   {7, 11},  {1, 2},  {1, 4},
    {7, 13},  {2, 8},   {11, 14}, {2, 4},   {5, 6},  {9, 10},  {11, 13}, {3, 8},   {7, 12}, {6, 8},
    {10, 12}, {3, 5},   {7, 9},   {3, 4},   {5, 6},  {7, 8},   {9, 10},  {11, 12}, {6, 7},  {8, 9}};

template <unsigned COUNT, typename Lanes>
VECTOR_INLINE void network_sort_pairs(const uint8_t (&pairs)[COUNT][2], Lanes *rows)
{
#    pragma GCC unroll 60
    for (unsigned i = 0; i < COUNT; i++)
        Lanes::sort(rows[pairs[i][0]], rows[pairs[i][1]]);
}

template <unsigned ROWS, typename Lanes>
VECTOR_INLINE void network_sort_columns(Lanes *rows)
{
    if constexpr (ROWS == 2)
        network_sort_pairs(network_pairs_2, rows);
    else if constexpr (ROWS == 4)
        network_sort_pairs(network_pairs_4, rows);
    else if constexpr (ROWS == 8)
        network_sort_pairs(network_pairs_8, rows);
    else if constexpr (ROWS == 16)
        network_sort_pairs(network_pairs_16, rows);
}

/* Compares each item with its mirror image in the other half of 2 * DISTANCE columns. */
template <unsigned ROWS, unsigned DISTANCE, typename Lanes>
VECTOR_INLINE void network_mirror(Lanes *rows)
{
    constexpr unsigned flip = 2 * DISTANCE - 1;
    constexpr uint16_t upper = network_upper_lanes(DISTANCE);
#    pragma GCC unroll 8
    for (unsigned row = 0; row < (ROWS + 1) / 2; row++) {
        Lanes low = rows[row], high = rows[ROWS - 1 - row].template flip<flip>();
        Lanes::sort(low, high);
        rows[row] = Lanes::blend(upper, low, high);
        if (row != ROWS - 1 - row)
            rows[ROWS - 1 - row] = Lanes::blend(upper, high, low).template flip<flip>();
    }
}

/* Compares each item with the item of the same row DISTANCE columns away. */
template <unsigned ROWS, unsigned DISTANCE, typename Lanes>
VECTOR_INLINE void network_cross_columns(Lanes *rows)
{
#    pragma GCC unroll 16
    for (unsigned row = 0; row < ROWS; row++) {
        Lanes low = rows[row], high = low.template flip<DISTANCE>();
        Lanes::sort(low, high);
        rows[row] = Lanes::blend(network_upper_lanes(DISTANCE), low, high);
    }
}

/* Compares each item with the item of the same column ROWS / 2 rows away, then half as far, and so
 * on to the next row. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE void network_cross_rows(Lanes *rows)
{
#    pragma GCC unroll 4
    for (unsigned distance = ROWS / 2; distance > 0; distance /= 2)
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            if (!(row & distance))
                Lanes::sort(rows[row], rows[row + distance]);
}

/* Merges pairs of sorted groups of DISTANCE columns. */
template <unsigned ROWS, unsigned DISTANCE, typename Lanes>
VECTOR_INLINE void network_merge(Lanes *rows)
{
    network_mirror<ROWS, DISTANCE>(rows);
    if (DISTANCE >= 8)
        network_cross_columns<ROWS, 4>(rows);
    if (DISTANCE >= 4)
        network_cross_columns<ROWS, 2>(rows);
    if (DISTANCE >= 2)
        network_cross_columns<ROWS, 1>(rows);
    network_cross_rows<ROWS>(rows);
}

/* Returns the mask of the lanes that hold items, for a row that begins at item `begin`. Bits
 * beyond the lanes of a register are ignored by its masked instructions. */
VECTOR_INLINE uint32_t network_present(size_t count, size_t begin)
{
    const size_t left = count > begin ? count - begin : 0;
    return _bzhi_u32(UINT32_MAX, static_cast<unsigned>(left < 32 ? left : 32));
}

/* Transposes the rows: lane i of row r moves to position i * ROWS + r. Each step interleaves the
 * first half of all items with the second half, which rotates the bits of their positions. If a
 * column fills two registers, its halves are transposed apart, and only registers change places. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE void network_turn(Lanes *rows)
{
    constexpr unsigned half = ROWS / 2;
    Lanes before[ROWS];
    if constexpr (ROWS > Lanes::count) {
        network_turn<half>(rows);
        network_turn<half>(rows + half);
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            before[row] = rows[row];
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            rows[row] = before[row % 2 * half + row / 2];
        return;
    }
#    pragma GCC unroll 4
    for (unsigned step = 1; step < ROWS; step *= 2) {
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            before[row] = rows[row];
#    pragma GCC unroll 8
        for (unsigned row = 0; row < half; row++)
            Lanes::interleave(before[row], before[row + half], &rows[2 * row], &rows[2 * row + 1]);
    }
}

/* Sorts the items of all rows: ascending by lane in the first row, then in the next. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE void network_sort_rows(Lanes *rows)
{
    network_sort_columns<ROWS>(rows);
    network_merge<ROWS, 1>(rows);
    network_merge<ROWS, 2>(rows);
    network_merge<ROWS, 4>(rows);
    if (Lanes::count == 16)
        network_merge<ROWS, 8>(rows);
    network_turn<ROWS>(rows);
}

/* Sorts from[0..count), count <= ROWS * Lanes::count, into `to`, decoded; to may be from. */
template <unsigned ROWS, typename Lanes>
VECTOR_INLINE void network_sort(typename Lanes::item *to, const typename Lanes::item *from,
                                size_t count, const vector_order &order)
{
    Lanes rows[ROWS];
#    pragma GCC unroll 16
    for (unsigned i = 0; i < ROWS; i++)
        rows[i] = Lanes::load(from + i * Lanes::count, network_present(count, i * Lanes::count));
    network_sort_rows<ROWS>(rows);
#    pragma GCC unroll 16
    for (unsigned i = 0; i < ROWS; i++)
        rows[i].store(to + i * Lanes::count, network_present(count, i * Lanes::count), order);
}

template <typename Lanes>
constexpr size_t network_count_max()
{
    return Lanes::rows_max * Lanes::count;
}

/* Sorts any count up to network_count_max, by the smallest network with room. As network_sort. */
template <typename Lanes>
VECTOR_CODE void network_sort_few(typename Lanes::item *to, const typename Lanes::item *from,
                                  size_t count, const vector_order &order)
{
    constexpr unsigned few = 16 / Lanes::count, most = Lanes::rows_max;
    if (count <= 16)
        network_sort<few, Lanes>(to, from, count, order);
    else if (count <= 32)
        network_sort<2 * few, Lanes>(to, from, count, order);
    else if (count <= 64 || 64 == network_count_max<Lanes>())
        network_sort<4 * few, Lanes>(to, from, count, order);
    else if (count <= 128 || 128 == network_count_max<Lanes>())
        network_sort<(8 * few < most ? 8 * few : most), Lanes>(to, from, count, order);
    else
        network_sort<most, Lanes>(to, from, count, order);
}

#endif
#endif
