/* SPDX-License-Identifier: Apache-2.0 */
/* device_shapes.h - the shapes of the arrays of device_matrix.cu and radix_matrix.cu. A shape gives
 * the ordered bits of key i of n, in 64 bits, so that any key can be made alone and in any order.
 * The last ones mislead paths that use a sample or digits.
 */
#ifndef TESTS_DEVICE_SHAPES_H
#define TESTS_DEVICE_SHAPES_H

#include "tests/random_next.h"

#include <algorithm>
#include <stddef.h>

static uint64_t shape_random(size_t i, size_t)
{
    return random_bits(i);
}

static uint64_t shape_sorted(size_t i, size_t n)
{
    return UINT64_MAX / n * i;
}

static uint64_t shape_reversed(size_t i, size_t n)
{
    return shape_sorted(n - 1 - i, n);
}

static uint64_t shape_all_equal(size_t, size_t)
{
    return 0x8123456789abcdefu;
}

/* The greatest key is one of them, as a path may pad with it. */
static uint64_t shape_two_values(size_t i, size_t)
{
    return random_bits(i) % 2 ? UINT64_MAX : 0;
}

/* Zipf's law: value k has a weight in proportion to 1 / k. */
static uint64_t shape_zipf(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return (1 + (bits >> 12) % ((uint64_t)2 << bits % 48)) << 8;
}

/* As doubles, keys over their whole range, denormals included; as integers, keys near one end. */
static uint64_t shape_exponents(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return bits >> bits % 64;
}

/* Computes thread_hash_below of cuda/block/thread_bits.cuh on the host. */
static inline uint64_t scrambled_below(uint64_t i, uint64_t limit)
{
    i = (i ^ i >> 33) * 0xff51afd7ed558ccdu;
    i = (i ^ i >> 33) * 0xc4ceb9fe1a85ec53u;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(i ^ i >> 33) * limit >> 64);
}

/* A path that samples one key of each stride, at positions that follow from the count alone, finds
 * only the keys that lie anywhere, or none of them. */
static uint64_t shape_hidden(size_t i, size_t n)
{
    const size_t stride = n >> 12, sample = stride ? i / stride : 0;
    if (stride == 0 || sample >= (size_t)1 << 12)
        return random_bits(i);
    const uint64_t place = scrambled_below(sample + n, stride);
    return i % stride == place ? random_bits(i) : ((uint64_t)5 << 60) + random_bits(i) % 1000003;
}

static uint64_t shape_organ_pipe(size_t i, size_t n)
{
    return shape_sorted(2 * std::min(i, n - 1 - i), n);
}

static uint64_t shape_one_out_of_place(size_t i, size_t n)
{
    return i == n / 3 ? UINT64_MAX : shape_sorted(i, n);
}

static uint64_t shape_sawtooth(size_t i, size_t n)
{
    return shape_sorted(i % (n / 7 + 1), n);
}

static uint64_t shape_halves_disjoint(size_t i, size_t n)
{
    return random_bits(i) >> 1 | (uint64_t)(i < n / 2) << 63;
}

/* Each value is as frequent as all rarer ones together, in one and two bytes too. */
static uint64_t shape_few_distinct(size_t i, size_t)
{
    return random_bits((uint64_t)__builtin_clzll(random_bits(i)) + 77);
}

/* Half of all keys agree in their first 16 bits, and a quarter in 22 further bits. */
static uint64_t shape_hot_bucket(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    if (bits & 1)
        return bits;
    return (uint64_t)0x5a5a << 48 | (bits & 2 ? bits >> 16 : bits >> 38);
}

/* Dense clusters with nothing between them, each too small to show among even cells. */
static uint64_t shape_clusters(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return random_bits(bits % 12 + 5) + (bits >> 20) % 1000000;
}

/* Values at even distances, each so frequent that a tile has no room for two. A path that
 * partitions by bounds at even distances has empty parts between them. The last value is too
 * frequent for any tile. */
static uint64_t shape_even_values(size_t i, size_t n)
{
    const size_t values = n / 2300 + 1;
    return UINT64_MAX / values * std::min(i % (values + 3), values - 1);
}

/* Half of the keys agree in their first BYTES bytes, so each digit of these has a heavy bucket. */
template <unsigned BYTES>
static uint64_t shape_hot_bytes(size_t i, size_t)
{
    const uint64_t bits = random_bits(i), agreed = 0x3a3a3a3a3a3a3a3au;
    return bits & 1 ? bits : (agreed & ~(UINT64_MAX >> 8 * BYTES)) | bits >> 8 * BYTES;
}

/* Each byte has a hot value. */
static uint64_t shape_hot_digits(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    const uint64_t chosen = (random_bits(bits) & 0x0101010101010101u) * 0xff;
    return (0x3a3a3a3a3a3a3a3au & chosen) | (bits & ~chosen);
}

/* A sample of one key in 64, or in a multiple of it, sees the narrow range alone. */
static uint64_t shape_strided(size_t i, size_t)
{
    return i % 64 ? random_bits(i) : ((uint64_t)3 << 60) + random_bits(i) % 1000003;
}

/* Such a sample has keys of the wide range alone, where almost no others are. */
static uint64_t shape_periodic(size_t i, size_t)
{
    return i % 64 ? ((uint64_t)3 << 60) + random_bits(i) % 1000003 : random_bits(i);
}

/* Two ends, and almost nothing between them: a segment of a few keys, which has no sample to speak
 * of. */
static uint64_t shape_ends(size_t i, size_t n)
{
    return i % (n / 10 + 1) == 5 ? ((uint64_t)1 << 63) + i : i % 2 ? UINT64_MAX : 0;
}

/* Values below VALUES, from the top of a width's range or from its bottom: 8 bytes with SHIFT 0, 4
 * with SHIFT 32. */
template <uint64_t VALUES, unsigned SHIFT>
static uint64_t shape_low_values(size_t i, size_t)
{
    return random_bits(i) % VALUES << SHIFT;
}

template <uint64_t VALUES, unsigned SHIFT>
static uint64_t shape_high_values(size_t i, size_t n)
{
    return UINT64_MAX - shape_low_values<VALUES, SHIFT>(i, n);
}

/* Values at even distances, each 253 to 255 times, and a few between them: in turns, descending. */
template <unsigned SHIFT>
static uint64_t shape_comb(size_t i, size_t n)
{
    const uint64_t teeth = n / 255 + 1, tooth = teeth - 1 - i % teeth;
    const uint64_t bits = random_bits(i);
    return (i < teeth && bits % 16 ? bits % (16411 * teeth) : 16411 * tooth) << SHIFT;
}

/* Values that get rarer, so that each range of them has many at its lower end. */
template <unsigned SHIFT>
static uint64_t shape_slope(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return ((bits & 0xffff) * (bits >> 16 & 0xffff) >> 10) << SHIFT;
}

/* Shapes that mislead begin at this count: paths use no sample for fewer items. */
static const size_t large = 60000;

struct shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
    size_t largest; /* counts above it are left out: their reference takes long */
    size_t least;   /* counts below it say nothing new */
};

static const size_t some = 200000; /* items of which a reference is soon made */

/* The last ones are made to mislead paths that learn from a sample, or part by digits. */
static const struct shape shapes[] = {
    {"random", shape_random, SIZE_MAX, 0},
    {"sorted", shape_sorted, 5000, 0},
    {"reversed", shape_reversed, some, 0},
    {"all equal", shape_all_equal, some, 0},
    {"two values", shape_two_values, 5000, 0},
    {"organ pipe", shape_organ_pipe, some, 0},
    {"one out of place", shape_one_out_of_place, 5000, 0},
    {"sawtooth", shape_sawtooth, some, large},
    {"halves disjoint", shape_halves_disjoint, some, large},
    {"few distinct", shape_few_distinct, some, large},
    {"zipf", shape_zipf, some, large},
    {"exponents", shape_exponents, some, large},
    {"hot bucket", shape_hot_bucket, some, large},
    {"clusters", shape_clusters, (1 << 20) + 1, large},
    {"hidden from a sample", shape_hidden, some, large},
    {"even values", shape_even_values, some, large},
    {"hot byte 1", shape_hot_bytes<1>, some, large},
    {"hot bytes 1 to 2", shape_hot_bytes<2>, some, large},
    {"hot bytes 1 to 3", shape_hot_bytes<3>, some, large},
    {"hot bytes 1 to 4", shape_hot_bytes<4>, some, large},
    {"hot bytes 1 to 5", shape_hot_bytes<5>, some, large},
    {"hot bytes 1 to 6", shape_hot_bytes<6>, some, large},
    {"hot bytes 1 to 7", shape_hot_bytes<7>, some, large},
    {"a hot value in each byte", shape_hot_digits, some, large},
    {"two ends", shape_ends, some, large},
    {"strided", shape_strided, some, large},
    {"periodic", shape_periodic, some, large},
    {"300,007 values of 8 bytes", shape_low_values<300007, 0>, some, large},
    {"300,007 values of 4 bytes", shape_low_values<300007, 32>, (1 << 20) + 1, large},
    {"5,000,011 values of 8 bytes", shape_low_values<5000011, 0>, some, large},
    {"5,000,011 values of 4 bytes", shape_low_values<5000011, 32>, (1 << 20) + 1, large},
    {"300,007 greatest of 8 bytes", shape_high_values<300007, 0>, some, large},
    {"300,007 greatest of 4 bytes", shape_high_values<300007, 32>, some, large},
    {"5,000,011 greatest of 8 bytes", shape_high_values<5000011, 0>, some, large},
    {"5,000,011 greatest of 4 bytes", shape_high_values<5000011, 32>, some, large},
    {"comb of 8 bytes", shape_comb<0>, some, large},
    {"comb of 4 bytes", shape_comb<32>, some, large},
    {"slope of 8 bytes", shape_slope<0>, some, large},
    {"slope of 4 bytes", shape_slope<32>, some, large},
};

#endif
