/* SPDX-License-Identifier: Apache-2.0 */
/* bench_common.h - what bench_sort and bench_cpu share: the cases, the command line and the report.
 */
#ifndef BENCH_BENCH_COMMON_H
#define BENCH_BENCH_COMMON_H

#include "core/error.h"
#include "core/host_device.h"
#include "core/key_types.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cases: the key types and the shapes of data that are timed ----
 *
 * The options, the generator and the tables iterate over these lists.
 */

/* All key types except bool and times, and keys with an index.
 *   id, name, type of the key, bytes of the index in a peer's pairs; 0: keys alone
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
 * the index, if both fit (core/argsort.h). So do the peers of bench_cpu; those of bench_sort sort
 * an array of keys with an array of indices. */
struct bench_type {
    enum bench_type_id id;
    const char *name;
    enum key_type_id key;
    unsigned index_bytes;
};

/* BENCH_TYPE_COUNT rows, row i has id i. */
extern const struct bench_type bench_types[];

/* Bytes of an item as our paths sort it, and as a peer of bench_sort sorts it. */
unsigned bench_item_bytes(const struct bench_type *type);
unsigned bench_peer_item_bytes(const struct bench_type *type);

/* True if our paths sort key and index as one u64, the key above the index. */
bool bench_is_packed(const struct bench_type *type);

/* Numbers are made of x in [0, 1), unless the text states otherwise. A float is x in bench_sort,
 * and 2x - 1 in bench_cpu; an integer is x times 2^bits, less half of the range if it is signed. */
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
    X(HIDDEN, "hidden", "one key of each stride lies anywhere, the others in one millionth")       \
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

/* ---- The shapes that are the same on the CPU and on the GPU ----
 *
 * They are pure functions of an index, for host and device.
 */

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
    return (double)(bits >> 11) * 0x1p-53;
}

/* The formula of the shape "seeds", with two numbers of 31 bits as from rand(). The result is in
 * (-2^31, 2^31). Adding 0 turns -0 into +0. */
HOST_DEVICE static inline double bench_seeds_number(uint64_t random)
{
    const double greatest = 0x7fffffff;
    const double first = (double)(random & 0x7fffffff);
    const double second = (double)(random >> 33);
    return (first * 2 / greatest - 1) * second + 0.0;
}

/* Returns x in [0, 1) at index i of count. random: bench_random_bits(i). Negative for a shape
 * that only bench_sort implements. */
HOST_DEVICE static inline double bench_shape_position(enum bench_shape_id shape, size_t i,
                                                      size_t count, uint64_t random)
{
    const double steps = (double)count;
    const size_t from_end = count - 1 - i, period = count / 100 + 1;
    switch (shape) {
    case BENCH_SHAPE_UNIFORM:
        return bench_unit(random);
    case BENCH_SHAPE_SEEDS:
        return (bench_seeds_number(random) * 0x1p-31 + 1) / 2;
    case BENCH_SHAPE_SORTED:
        return (double)i / steps;
    case BENCH_SHAPE_REVERSED:
        return (double)from_end / steps;
    case BENCH_SHAPE_ALL_EQUAL:
        return 0.7;
    case BENCH_SHAPE_TWO_VALUES:
        return random % 2 ? 0.75 : 0.25;
    case BENCH_SHAPE_FEW:
        return bench_unit(bench_random_bits(random % 1000));
    case BENCH_SHAPE_ZIPF: /* the rank is 2^(20 u); its value lies anywhere */
        return bench_unit(bench_random_bits(~(uint64_t)exp2f((float)(20 * bench_unit(random)))));
    case BENCH_SHAPE_CLUSTERS: /* one of twelve positions, plus up to a millionth of the range */
        return 0.5 * bench_unit(bench_random_bits(random % 12)) + 1e-6 * bench_unit(random);
    case BENCH_SHAPE_ORGAN_PIPE:
        return (double)(2 * (i < from_end ? i : from_end)) / steps;
    case BENCH_SHAPE_SAWTOOTH:
        return (double)(i % period) / (double)period;
    case BENCH_SHAPE_HALVES:
        return bench_unit(random >> 1 | (uint64_t)(i < count / 2) << 63);
    default:
        return -1;
    }
}

/* ---- The command line ---- */

#define BENCH_SIZES_AT_MOST 64
#define BENCH_DEVICES_AT_MOST 64

/* How long to time a sorter. */
struct bench_effort {
    unsigned runs;   /* minimum */
    double least_ms; /* and until the runs have taken this long */
    size_t batch;    /* sorts per run; 0: several if one is too short to time */
};

/* Counts drawn at random, with uniform logarithms, so that no tuning can fit them. */
struct bench_random {
    unsigned long long seed;
    double least, most;
    bool is_open; /* for some shapes, `most` is what the memory of the device holds */
};

struct bench_options {
    bool types[BENCH_TYPE_COUNT]; /* indexed as bench_types */
    bool shapes[BENCH_SHAPE_COUNT];
    size_t sizes[BENCH_SIZES_AT_MOST];
    size_t size_count;
    struct bench_random random; /* is_open: of `sizes` */
    const char *paths;          /* comma-separated names; NULL: all */
    bool no_peers;
    struct bench_effort effort;
    unsigned threads;                        /* for bench_cpu; 0: one for each processor */
    const char *json;                        /* NULL: none */
    unsigned devices[BENCH_DEVICES_AT_MOST]; /* from host memory to host memory, by these GPUs */
    unsigned device_count;                   /* 0: the sorts alone, on the first GPU */
};

/* ---- The program: options, all cases, and the report ---- */

/* A sort of this build. */
struct bench_sorter {
    const char *name;
    bool is_peer;
    const void *row; /* of the program's own table */
};

/* What was measured of one sorter for one case. */
struct bench_result {
    unsigned runs;          /* timed runs; 0: none */
    size_t batch;           /* sorts per run */
    double median_ms;       /* per sort, over the timed runs */
    double least_ms;        /* per sort, in the fastest run */
    size_t item_bytes;      /* per item */
    size_t scratch_bytes;   /* apart from the items */
    bool is_wrong;          /* an output was not sorted, or not complete */
    struct error not_timed; /* if set: why there are no times */
};

/* The machine, and the sorts of this build, which bench_main() may reorder. */
struct bench_build {
    char device[128];
    size_t memory_bytes; /* of a GPU; 0: the host sorts */
    struct bench_sorter *sorters;
    size_t count;
};

struct bench_program {
    const char *name;
    const char *backend;       /* "cpu" or "gpu" */
    const char *documentation; /* for argp */
    void *context;

    /* Fills *build, completes the options, and prints a line about the machine. */
    bool (*open)(void *context, struct bench_options *options, struct bench_build *build,
                 struct error *error);

    /* Times the sorters for a case. results: zeros, one for each sorter. A result without runs and
     * error is not reported. */
    bool (*run_case)(void *context, const struct bench_type *type, const struct bench_shape *shape,
                     size_t count, const struct bench_sorter *sorters, size_t sorter_count,
                     struct bench_result *results, struct error *error);
};

/* Parses the command line, runs all cases that it names, and prints a table, and rows of JSON to
 * the file of --json. Returns the exit status: 0 all sorted, 1 an output was wrong, 2 another
 * error.
 */
int bench_main(int argc, char **argv, const struct bench_program *program);

#ifdef __cplusplus
}
#endif
#endif
