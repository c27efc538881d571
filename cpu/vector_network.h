/* SPDX-License-Identifier: Apache-2.0 */
/* vector_network.h - sorting networks in the registers of AVX-512.
 *
 * Items lie in ROWS registers, an item a lane; a column is the items of one lane. The columns are
 * sorted at once, row against row; then neighbouring columns are merged by twos, as bitonic
 * sequences: first each item against its mirror image in the other half, which is the only step
 * that crosses rows and columns, then against its neighbours at halved distances. So a sequence
 * runs down a column and on in the next, and in the end the registers are turned, columns to rows.
 *
 * `Lanes` says what an item is (vector_lanes.h).
 *
 * Bitonic merging: K. E. Batcher, "Sorting networks and their applications" (AFIPS 1968); columns
 * first: M. Blacher et al., "Fast and Robust Vectorized In-Place Sorting of Primitive Types" (SEA
 * 2021).
 */
#ifndef CPU_VECTOR_NETWORK_H
#define CPU_VECTOR_NETWORK_H

#include "cpu/vector_lanes.h"

#ifdef HAVE_VECTOR_CODE

/* The lanes whose number has the bit `distance`. */
constexpr uint16_t network_upper_lanes(unsigned distance)
{
    return distance == 1 ? 0xaaaa : distance == 2 ? 0xcccc : distance == 4 ? 0xf0f0 : 0xff00;
}

/* The columns sorted: the best known networks for 2, 4, 8 and 16. */
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

/* Each item against its mirror image in the other half of a run of 2 * DISTANCE columns. */
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

/* Each item against that of the same row DISTANCE columns away. */
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

/* Each item against that of the same column `distance` rows away. */
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

/* Merges runs of DISTANCE columns by twos. */
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

/* The lanes of the row that begins with item `begin` that have one of `count` items. An instruction
 * looks at the lowest byte of a number of bits alone. */
VECTOR_INLINE uint32_t network_present(size_t count, size_t begin)
{
    const size_t left = count > begin ? count - begin : 0;
    return _bzhi_u32(UINT32_MAX, static_cast<unsigned>(left < 32 ? left : 32));
}

/* Sorts the items of all rows: ascending from lane to lane of the first row, then of the next. */
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

/* Sorts from[0..count), count <= ROWS * Lanes::count, into to, decoded; to may be from. */
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

/* The most items that a network takes. */
template <typename Lanes>
constexpr size_t network_count_max()
{
    return Lanes::rows_max * Lanes::count;
}

/* The same for any count up to network_count_max, by the least network that has room. */
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
