/* SPDX-License-Identifier: Apache-2.0 */
/* bench_shapes.h - the shapes that are the same on the CPU and on the GPU: pure functions of an
 * index, for host and device.
 */
#ifndef BENCH_BENCH_SHAPES_H
#define BENCH_BENCH_SHAPES_H

#include "bench/bench_cases.h"
#include "core/host_device.h"

#include <stddef.h>
#include <stdint.h>

/* splitmix64 (Vigna) as a function of the index: elements can be computed in any order. */
HOST_DEVICE static inline uint64_t bench_random_bits(uint64_t index)
{
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns a number in [0, 1). */
HOST_DEVICE static inline double bench_unit(uint64_t bits)
{
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

/* Returns x in [0, 1) at index i of count. random: bench_random_bits(i). Negative for a shape
 * that is implemented by one of the two programs, or differently by each. */
HOST_DEVICE static inline double bench_shape_position(enum bench_shape_id shape, size_t i,
                                                      size_t count, uint64_t random)
{
    const double steps = static_cast<double>(count);
    const size_t from_end = count - 1 - i, period = count / 100 + 1;
    switch (shape) {
    case BENCH_SHAPE_UNIFORM:
        return bench_unit(random);
    case BENCH_SHAPE_SORTED:
        return static_cast<double>(i) / steps;
    case BENCH_SHAPE_REVERSED:
        return static_cast<double>(from_end) / steps;
    case BENCH_SHAPE_ALL_EQUAL:
        return 0.7;
    case BENCH_SHAPE_TWO_VALUES:
        return random % 2 ? 0.75 : 0.25;
    case BENCH_SHAPE_FEW:
        return bench_unit(bench_random_bits(random % 1000));
    case BENCH_SHAPE_CLUSTERS: /* one of twelve positions, plus up to a millionth of the range */
        return 0.5 * bench_unit(bench_random_bits(random % 12)) + 1e-6 * bench_unit(random);
    case BENCH_SHAPE_ORGAN_PIPE:
        return static_cast<double>(2 * (i < from_end ? i : from_end)) / steps;
    case BENCH_SHAPE_SAWTOOTH:
        return static_cast<double>(i % period) / static_cast<double>(period);
    case BENCH_SHAPE_HALVES:
        return bench_unit(random >> 1 | static_cast<uint64_t>(i < count / 2) << 63);
    default:
        return -1;
    }
}

#endif
