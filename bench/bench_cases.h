/* bench_cases.h - what is timed: the lists of key types and of shapes that the data can have. The
 * options, the generator and the tables walk them.
 */
#ifndef BENCH_BENCH_CASES_H
#define BENCH_BENCH_CASES_H

#include "core/key_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*    name, type of the key, bytes of an item */
#define BENCH_TYPES(X)                                                                             \
    X(f64, KEY_TYPE_f64, 8)                                                                        \
    X(u64, KEY_TYPE_u64, 8)                                                                        \
    X(f32, KEY_TYPE_f32, 4)                                                                        \
    X(u32, KEY_TYPE_u32, 4)                                                                        \
    X(u16, KEY_TYPE_u16, 2)                                                                        \
    X(u8, KEY_TYPE_u8, 1)                                                                          \
    X(key_index, KEY_TYPE_u64, 16)

enum bench_type_id {
#define X(name, key, item_bytes) BENCH_TYPE_##name,
    BENCH_TYPES(X)
#undef X
        BENCH_TYPE_COUNT
};

struct bench_type {
    enum bench_type_id id;
    const char *name;
    enum key_type_id key;
    unsigned item_bytes; /* 16: struct key_index, the index being the place in the input */
};

/* BENCH_TYPE_COUNT rows, row i has id i. */
extern const struct bench_type bench_types[];

/* Numbers are x in [0, 1) where nothing else is said: x itself as a float, x times 2^bits as an
 * integer. */
#define BENCH_SHAPES(X)                                                                            \
    X(UNIFORM, "uniform", "random numbers; integers over their whole range")                       \
    X(SEEDS, "seeds", "(rand*2/RAND_MAX-1)*rand: dense around 0; integers scaled to their range")  \
    X(SORTED, "sorted", "ascending")                                                               \
    X(REVERSED, "reversed", "descending")                                                          \
    X(ALL_EQUAL, "all-equal", "one value")                                                         \
    X(TWO_VALUES, "two-values", "one of two, at random")                                           \
    X(ZIPF, "zipf", "the k-th most frequent of 2^20 values comes with a probability near 1/k")     \
    X(EXPONENTS, "exponents", "every exponent and sign equally likely; integers of every length")  \
    X(ORGAN_PIPE, "organ-pipe", "up, then down")                                                   \
    X(SAWTOOTH, "sawtooth", "100 ascending runs")                                                  \
    X(DENORMALS, "denormals",                                                                      \
      "floats with exponent 0, of either sign; the lower half of integers")                        \
    X(HALVES, "halves", "random; every number of the first half above those of the second")

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

#ifdef __cplusplus
}
#endif
#endif
