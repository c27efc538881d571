/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cases.h - lists of the key types and the shapes of data that are timed. The options, the
 * generator and the tables iterate over them.
 */
#ifndef BENCH_BENCH_CASES_H
#define BENCH_BENCH_CASES_H

#include "core/key_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All key types, and keys with an index.
 *   name, type of the key, bytes of the index in a peer's pairs; 0: keys alone
 */
#define BENCH_TYPES(X)                                                                             \
    X(f64, "f64", f64, 0)                                                                          \
    X(i64, "i64", i64, 0)                                                                          \
    X(u64, "u64", u64, 0)                                                                          \
    X(f32, "f32", f32, 0)                                                                          \
    X(i32, "i32", i32, 0)                                                                          \
    X(u32, "u32", u32, 0)                                                                          \
    X(f16, "f16", f16, 0)                                                                          \
    X(bf16, "bf16", bf16, 0)                                                                       \
    X(i16, "i16", i16, 0)                                                                          \
    X(u16, "u16", u16, 0)                                                                          \
    X(i8, "i8", i8, 0)                                                                             \
    X(u8, "u8", u8, 0)                                                                             \
    X(u64_u64, "u64+u64", u64, 8)                                                                  \
    X(u64_u32, "u64+u32", u64, 4)                                                                  \
    X(u32_u32, "u32+u32", u32, 4)

enum bench_type_id {
#define X(id, name, key, index_bytes) BENCH_TYPE_##id,
    BENCH_TYPES(X)
#undef X
        BENCH_TYPE_COUNT
};

/* We sort a key with an index as struct key_index, or as one integer of 64 bits, the key above
 * the index, if both fit (core/argsort.h). A peer sorts two arrays of these bytes. */
struct bench_type {
    enum bench_type_id id;
    const char *name;
    enum key_type_id key;
    unsigned index_bytes;
};

/* BENCH_TYPE_COUNT rows, row i has id i. */
extern const struct bench_type bench_types[];

/* Bytes of an item as our paths sort it, and as a peer sorts it. */
unsigned bench_item_bytes(const struct bench_type *type);
unsigned bench_peer_item_bytes(const struct bench_type *type);

/* True if our paths sort key and index as one u64, the key above the index. */
bool bench_is_packed(const struct bench_type *type);

/* Numbers are x in [0, 1), unless the text says otherwise: x itself as a float, x times 2^bits
 * as an integer. */
#define BENCH_SHAPES(X)                                                                            \
    X(UNIFORM, "uniform", "random numbers; integers over their whole range")                       \
    X(SEEDS, "seeds", "(rand*2/RAND_MAX-1)*rand: dense around 0; integers scaled to their range")  \
    X(SORTED, "sorted", "ascending")                                                               \
    X(REVERSED, "reversed", "descending")                                                          \
    X(ALL_EQUAL, "all-equal", "one value")                                                         \
    X(TWO_VALUES, "two-values", "one of two, at random")                                           \
    X(FEW, "few-distinct", "one of 1000 values, at random")                                        \
    X(ZIPF, "zipf", "the k-th most frequent of 2^20 values comes with a probability near 1/k")     \
    X(EXPONENTS, "exponents", "every exponent and sign equally likely; integers of every length")  \
    X(ORGAN_PIPE, "organ-pipe", "up, then down")                                                   \
    X(SAWTOOTH, "sawtooth", "100 ascending runs")                                                  \
    X(DENORMALS, "denormals",                                                                      \
      "floats with exponent 0, of either sign; the lower half of integers")                        \
    X(HALVES, "halves", "random; every number of the first half above those of the second")        \
    X(CLUSTERS, "clusters", "12 places, each with a millionth of the range around it")             \
    X(HOT_DIGITS, "hot-digits", "each byte of a key is 0x3a in half of the keys")                  \
    X(HOT_1, "hot-1", "half of the keys agree in their first byte")                                \
    X(HOT_2, "hot-2", "in their first 2 bytes; for types that have more, as all that follow")      \
    X(HOT_3, "hot-3", "3 bytes")                                                                   \
    X(HOT_4, "hot-4", "4 bytes")                                                                   \
    X(HOT_5, "hot-5", "5 bytes")                                                                   \
    X(HOT_6, "hot-6", "6 bytes")                                                                   \
    X(HOT_7, "hot-7", "7 bytes")                                                                   \
    X(STRIDED, "strided", "each 64th key lies in one millionth of the range, the others anywhere") \
    X(PERIODIC, "periodic",                                                                        \
      "each 64th key lies anywhere, the others in one millionth of the range")                     \
    X(HIDDEN, "hidden", "the keys that radix samples lie anywhere, the others in one millionth")   \
    X(NORMAL, "normal", "normally distributed; the middle of an integer's range")                  \
    X(MAGNITUDES, "magnitudes", "10^-6 to 10^6, its logarithm uniform; of integers, their length") \
    X(NEARLY_SORTED, "near-sorted", "ascending, but one key in 100 lies anywhere")                 \
    X(TIMES, "times", "milliseconds of a year since 1970, seconds in 32 bits; in random order")    \
    X(IDS, "ids", "different numbers with random gaps below 8, in random order")                   \
    X(PRICES, "prices", "log-normal around 20, with two decimals; integers count hundredths")

enum bench_shape_id {
#define X(id, name, summary) BENCH_SHAPE_##id,
    BENCH_SHAPES(X)
#undef X
        BENCH_SHAPE_COUNT
};

struct bench_shape {
    enum bench_shape_id id;
    const char *name;
    const char *summary;
};

/* BENCH_SHAPE_COUNT rows, row i has id i. */
extern const struct bench_shape bench_shapes[];

/* False if the type is too narrow for the shape. */
bool bench_shape_fits(const struct bench_shape *shape, const struct bench_type *type);

#ifdef __cplusplus
}
#endif
#endif
