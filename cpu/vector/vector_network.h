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

/* Transposes 2, 4, 8 or 16 rows: lane i of row r moves to position i * ROWS + r. */
VECTOR_INLINE void turn_2_rows_64(__m512i *rows)
{
    const __m512i even = _mm512_unpacklo_epi64(rows[0], rows[1]);
    const __m512i odd = _mm512_unpackhi_epi64(rows[0], rows[1]);
    rows[0] = _mm512_permutex2var_epi64(even, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), odd);
    rows[1] = _mm512_permutex2var_epi64(even, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), odd);
}

VECTOR_INLINE void turn_4_rows_64(__m512i *rows)
{
    /* pairs of rows 0, 1 and of rows 2, 3: even columns, odd columns */
    const __m512i even_01 = _mm512_unpacklo_epi64(rows[0], rows[1]);
    const __m512i odd_01 = _mm512_unpackhi_epi64(rows[0], rows[1]);
    const __m512i even_23 = _mm512_unpacklo_epi64(rows[2], rows[3]);
    const __m512i odd_23 = _mm512_unpackhi_epi64(rows[2], rows[3]);
    const __m512i columns_02 = _mm512_shuffle_i64x2(even_01, even_23, 0x44);
    const __m512i columns_13 = _mm512_shuffle_i64x2(odd_01, odd_23, 0x44);
    const __m512i columns_46 = _mm512_shuffle_i64x2(even_01, even_23, 0xee);
    const __m512i columns_57 = _mm512_shuffle_i64x2(odd_01, odd_23, 0xee);
    rows[0] = _mm512_shuffle_i64x2(columns_02, columns_13, 0x88);
    rows[1] = _mm512_shuffle_i64x2(columns_02, columns_13, 0xdd);
    rows[2] = _mm512_shuffle_i64x2(columns_46, columns_57, 0x88);
    rows[3] = _mm512_shuffle_i64x2(columns_46, columns_57, 0xdd);
}

/* Transposes the quarters, of 128 bits, of four registers: *first becomes quarter 0 of a, b, c and
 * d, *second quarter 1 of them, and so on. */
VECTOR_INLINE void turn_pairs(__m512i a, __m512i b, __m512i c, __m512i d, __m512i *first,
                              __m512i *second, __m512i *third, __m512i *fourth)
{
    const __m512i low_0 = _mm512_shuffle_i64x2(a, b, 0x88),
                  low_1 = _mm512_shuffle_i64x2(c, d, 0x88);
    const __m512i high_0 = _mm512_shuffle_i64x2(a, b, 0xdd);
    const __m512i high_1 = _mm512_shuffle_i64x2(c, d, 0xdd);
    *first = _mm512_shuffle_i64x2(low_0, low_1, 0x88);
    *second = _mm512_shuffle_i64x2(high_0, high_1, 0x88);
    *third = _mm512_shuffle_i64x2(low_0, low_1, 0xdd);
    *fourth = _mm512_shuffle_i64x2(high_0, high_1, 0xdd);
}

VECTOR_INLINE void turn_8_rows_64(__m512i *rows)
{
    __m512i even[4], odd[4];
#    pragma GCC unroll 4
    for (unsigned pair = 0; pair < 4; pair++) {
        even[pair] = _mm512_unpacklo_epi64(rows[2 * pair], rows[2 * pair + 1]);
        odd[pair] = _mm512_unpackhi_epi64(rows[2 * pair], rows[2 * pair + 1]);
    }
    turn_pairs(even[0], even[1], even[2], even[3], &rows[0], &rows[2], &rows[4], &rows[6]);
    turn_pairs(odd[0], odd[1], odd[2], odd[3], &rows[1], &rows[3], &rows[5], &rows[7]);
}

/* Each column is two registers. */
VECTOR_INLINE void turn_16_rows_64(__m512i *rows)
{
    __m512i turned[16];
    turn_8_rows_64(rows);
    turn_8_rows_64(rows + 8);
#    pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++)
        turned[i] = rows[i % 2 * 8 + i / 2];
#    pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++)
        rows[i] = turned[i];
}

template <unsigned ROWS>
VECTOR_INLINE void turn_rows_64(__m512i *rows)
{
    if constexpr (ROWS == 2)
        turn_2_rows_64(rows);
    else if constexpr (ROWS == 4)
        turn_4_rows_64(rows);
    else if constexpr (ROWS == 8)
        turn_8_rows_64(rows);
    else
        turn_16_rows_64(rows);
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
    template <unsigned ROWS>
    VECTOR_MEMBER static void turn(lanes_u64 *rows)
    {
        __m512i keys[ROWS];
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            keys[row] = rows[row].key;
        turn_rows_64<ROWS>(keys);
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            rows[row].key = keys[row];
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
        const __m512i low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        const __m512i high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
        _mm512_mask_storeu_epi64(to, halves(present & 15),
                                 _mm512_permutex2var_epi64(index, low, key));
        _mm512_mask_storeu_epi64(to + 4, halves(present >> 4 & 15),
                                 _mm512_permutex2var_epi64(index, high, key));
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
    template <unsigned ROWS>
    VECTOR_MEMBER static void turn(lanes_item *rows)
    {
        __m512i keys[ROWS], indices[ROWS];
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++) {
            keys[row] = rows[row].key;
            indices[row] = rows[row].index;
        }
        turn_rows_64<ROWS>(keys);
        turn_rows_64<ROWS>(indices);
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            rows[row] = {keys[row], indices[row]};
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

VECTOR_INLINE void turn_2_rows_32(__m512i *rows)
{
    const __m512i low = _mm512_unpacklo_epi32(rows[0], rows[1]);
    const __m512i high = _mm512_unpackhi_epi32(rows[0], rows[1]);
    rows[0] = _mm512_permutex2var_epi64(low, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), high);
    rows[1] = _mm512_permutex2var_epi64(low, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), high);
}

/* Each argument of turn_pairs() has four of the eight rows: in quarter q, of column 4 q + c, with
 * the same c from 0 to 3. */
VECTOR_INLINE void turn_8_rows_32(__m512i *rows)
{
    __m512i low[4], high[4];
#    pragma GCC unroll 4
    for (unsigned pair = 0; pair < 4; pair++) {
        low[pair] = _mm512_unpacklo_epi32(rows[2 * pair], rows[2 * pair + 1]);
        high[pair] = _mm512_unpackhi_epi32(rows[2 * pair], rows[2 * pair + 1]);
    }
    turn_pairs(_mm512_unpacklo_epi64(low[0], low[1]), _mm512_unpacklo_epi64(low[2], low[3]),
               _mm512_unpackhi_epi64(low[0], low[1]), _mm512_unpackhi_epi64(low[2], low[3]),
               &rows[0], &rows[2], &rows[4], &rows[6]);
    turn_pairs(_mm512_unpacklo_epi64(high[0], high[1]), _mm512_unpacklo_epi64(high[2], high[3]),
               _mm512_unpackhi_epi64(high[0], high[1]), _mm512_unpackhi_epi64(high[2], high[3]),
               &rows[1], &rows[3], &rows[5], &rows[7]);
}

/* Each register has half of two columns. */
VECTOR_INLINE void turn_16_rows_32(__m512i *rows)
{
    __m512i turned[16];
    turn_8_rows_32(rows);
    turn_8_rows_32(rows + 8);
#    pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
        turned[2 * i] = _mm512_shuffle_i64x2(rows[i], rows[i + 8], 0x44);
        turned[2 * i + 1] = _mm512_shuffle_i64x2(rows[i], rows[i + 8], 0xee);
    }
#    pragma GCC unroll 16
    for (unsigned i = 0; i < 16; i++)
        rows[i] = turned[i];
}

VECTOR_INLINE void turn_4_rows_32(__m512i *rows)
{
    const __m512i low_01 = _mm512_unpacklo_epi32(rows[0], rows[1]);
    const __m512i high_01 = _mm512_unpackhi_epi32(rows[0], rows[1]);
    const __m512i low_23 = _mm512_unpacklo_epi32(rows[2], rows[3]);
    const __m512i high_23 = _mm512_unpackhi_epi32(rows[2], rows[3]);
    /* column_c: column 4 q + c in quarter q of the register */
    const __m512i column_0 = _mm512_unpacklo_epi64(low_01, low_23);
    const __m512i column_1 = _mm512_unpackhi_epi64(low_01, low_23);
    const __m512i column_2 = _mm512_unpacklo_epi64(high_01, high_23);
    const __m512i column_3 = _mm512_unpackhi_epi64(high_01, high_23);
    turn_pairs(column_0, column_1, column_2, column_3, &rows[0], &rows[1], &rows[2], &rows[3]);
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
    template <unsigned ROWS>
    VECTOR_MEMBER static void turn(lanes_u32 *rows)
    {
        __m512i keys[ROWS];
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            keys[row] = rows[row].key;
        if constexpr (ROWS == 2)
            turn_2_rows_32(keys);
        else if constexpr (ROWS == 4)
            turn_4_rows_32(keys);
        else if constexpr (ROWS == 8)
            turn_8_rows_32(keys);
        else if constexpr (ROWS == 16)
            turn_16_rows_32(keys);
#    pragma GCC unroll 16
        for (unsigned row = 0; row < ROWS; row++)
            rows[row].key = keys[row];
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
    Lanes::template turn<ROWS>(rows);
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
