/* SPDX-License-Identifier: Apache-2.0 */
/* radix_strategy.h - how the GPU's radix sorts an array: one decision of the host, by facts that
 * one kernel has found (radix_look.cuh). It uses no CUDA, so any facts can be tested.
 *
 * The facts affect only the time. Every strategy sorts any array, or refuses it before it has
 * moved an item, and then the host decides again.
 */
#ifndef CUDA_RADIX_STRATEGY_H
#define CUDA_RADIX_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Constants that depend on the scale of the data. They are passed as arguments, so that tests can
 * sort small arrays by every strategy. Counts are of items. */
struct radix_tuning {
    size_t small_most;       /* small_sort() sorts up to this number of items of 4 bytes and more,
                                times the bytes of an item */
    size_t small_short_most; /* the same for 1 and 2 bytes, which are counted if they are more */
    size_t values_least;     /* least count for RADIX_STRATEGY_COUNT */
    size_t models_least;     /* below this count digits are faster than learning a model */
    size_t thin_most;        /* up to this count buckets are a quarter of a tile, not a whole one */
    size_t part_most;        /* above it buckets of two partitions are too large for a tile, and
                                the array is partitioned into parts first */
    size_t part_keys;        /* items of a part */
    size_t portion;          /* items of one launch of a digit's pass, at most 2^30 - 1 */
    unsigned digits_most;    /* up to this number of digits that vary in a sample, digits are used,
                                whatever else it shows */
    unsigned roughness_most; /* mean of |log2| of the ratio of neighbouring gaps, in sixteenths */
    unsigned shared_most;    /* mean number of others that share an item's key, in tenths, up to
                                which items of 16 bytes may have models */
    unsigned heavy_most;     /* sampled values that occur 16 times, among others that occur once */
    unsigned values_most;    /* sampled values, if they are to be counted */
};

extern const struct radix_tuning radix_tuning_default;

/* Findings of the device about an array. */
struct radix_facts {
    unsigned rises;          /* not 0: an item is greater than the one before it */
    unsigned falls;          /* not 0: an item is less than the one before it */
    unsigned no_index;       /* not 0: the low halves of some compared items are no indices, or
                                digits have refused the array because of that */
    unsigned no_counting;    /* not 0: RADIX_STRATEGY_COUNT has refused the array */
    unsigned sampled;        /* size of the sample that the fields below describe; 0: no sample */
    unsigned values;         /* number of different keys in it */
    unsigned once, twice;    /* keys that occur once in it, and twice */
    unsigned heavy;          /* keys that occur 16 times or more */
    unsigned gaps;           /* pairs of neighbouring gaps, neither of which is 0 */
    unsigned roughness;      /* sum of |log2| of their ratios, in sixteenths */
    unsigned long long bits; /* bits that differ among the sampled keys */
    unsigned repeats;        /* keys of radix_repeats_sample() that were drawn more than once */
};

enum radix_strategy {
    RADIX_STRATEGY_NONE,         /* nothing is done */
    RADIX_STRATEGY_REVERSE,      /* the array is reversed */
    RADIX_STRATEGY_COUNT,        /* few values are counted, and their runs are written */
    RADIX_STRATEGY_DIGITS,       /* stable passes over all digits that vary, the least one first */
    RADIX_STRATEGY_UPPER_DIGITS, /* the same for the upper half of 8 bytes, above an index */
    RADIX_STRATEGY_MODELS,       /* two or three partitions by models, then tiles */
    RADIX_STRATEGIES
};

struct radix_decision {
    enum radix_strategy strategy;
    const char *reason; /* in a few words; static */
};

/* The strategy's name, for messages. */
const char *radix_strategy_name(enum radix_strategy strategy);

/* Returns true if an array is so small that small_sort() sorts it, without a look at its keys. */
bool radix_is_small(const struct radix_tuning *tuning, size_t count, unsigned item_bytes);

/* Returns true if the decision on an array of `count` items needs a sample. */
bool radix_needs_sample(const struct radix_tuning *tuning, size_t count, unsigned item_bytes);

/* The size of a larger sample, of items of 16 bytes: 32 to 64 times sqrt(count), but at most 2^18
 * and count / 2; a power of two. With a quarter of it, one in four arrays whose items share their
 * keys with 0.7 others seemed to have less than 0.6. */
unsigned radix_repeats_sample(size_t count);

/* Chooses how to sort `count` items of 4, 8 or 16 bytes. */
struct radix_decision radix_decide(const struct radix_tuning *tuning,
                                   const struct radix_facts *facts, size_t count,
                                   unsigned item_bytes);

#ifdef __cplusplus
}
#endif
#endif
