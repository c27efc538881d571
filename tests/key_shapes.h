/* SPDX-License-Identifier: Apache-2.0 */
/* key_shapes.h - arrays for the tests of the device. A shape gives the ordered bits of key i of n,
 * in 64 bits, so that any key can be made alone and in any order.
 */
#ifndef TESTS_KEY_SHAPES_H
#define TESTS_KEY_SHAPES_H

#include "tests/random_next.h"

#include <stddef.h>

/* Returns the random number after `index` others. */
static inline uint64_t random_bits(uint64_t index)
{
    uint64_t state = index * 0x9e3779b97f4a7c15u;
    return random_next(&state);
}

static inline uint64_t shape_random(size_t i, size_t)
{
    return random_bits(i);
}

static inline uint64_t shape_sorted(size_t i, size_t n)
{
    return UINT64_MAX / n * i;
}

static inline uint64_t shape_reversed(size_t i, size_t n)
{
    return shape_sorted(n - 1 - i, n);
}

static inline uint64_t shape_all_equal(size_t, size_t)
{
    return 0x8123456789abcdefu;
}

/* The greatest key is one of them, as a path may pad with it. */
static inline uint64_t shape_two_values(size_t i, size_t)
{
    return random_bits(i) % 2 ? UINT64_MAX : 0;
}

/* Zipf's law: value k has a weight in proportion to 1 / k. */
static inline uint64_t shape_zipf(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return (1 + (bits >> 12) % ((uint64_t)2 << bits % 48)) << 8;
}

/* As doubles, keys over their whole range, denormals included; as integers, keys near one end. */
static inline uint64_t shape_exponents(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return bits >> bits % 64;
}

/* Computes thread_scramble_below of cuda/block/thread_bits.cuh on the host. */
static inline uint64_t scrambled_below(uint64_t i, uint64_t limit)
{
    i = (i ^ i >> 33) * 0xff51afd7ed558ccdu;
    i = (i ^ i >> 33) * 0xc4ceb9fe1a85ec53u;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(i ^ i >> 33) * limit >> 64);
}

/* A path that samples one key of each stride, at positions that follow from the count alone, finds
 * only the keys that lie anywhere, or none of them. */
static inline uint64_t shape_hidden(size_t i, size_t n)
{
    const size_t stride = n >> 12, sample = stride ? i / stride : 0;
    if (stride == 0 || sample >= (size_t)1 << 12)
        return random_bits(i);
    const uint64_t place = scrambled_below(sample + n, stride);
    return i % stride == place ? random_bits(i) : ((uint64_t)5 << 60) + random_bits(i) % 1000003;
}

#endif
