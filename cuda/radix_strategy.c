/* SPDX-License-Identifier: Apache-2.0 */
/* radix_strategy.c - see radix_strategy.h. */
#include "cuda/radix_strategy.h"

/* Measured on an H100 and an H200; docs/performance.md has the table of strategies. small_sort()
 * takes 0.70 of the time of digits for 2^17 keys of 4 bytes, 0.76 for 2^18 of 8 (1.13 if their
 * lower halves are in order) and 1.0 for 2^19 items of 16. It takes 0.73 of the time of counting
 * 2^13 keys of 2 bytes (H200, 2026-11-30). Counting the values of 2^25 items takes as long as the
 * digits of items in which few digits vary, and of fewer items longer. Below 2^22 items a sample
 * and a model take longer than the passes that they save; a model costs as much as 4.5 passes. The
 * mean roughness of smooth densities is 2.0, of a dozen clusters 2.4, and 3.5 and more where half
 * of the keys agree in each byte. On an H100 thin buckets take 1.13 times as long as others for 2e8
 * doubles, and 0.93 times for a dozen clusters of 2e7. 5e7 pairs, each of which shares its key with
 * 0.76 others on average, take 1.10 of CUB's time by a model on an H200, and 1.03 by digits. */
const struct radix_tuning radix_tuning_default = {
    .small_most = (size_t)1 << 15,
    .small_short_most = (size_t)1 << 12,
    .values_least = (size_t)1 << 25,
    .models_least = (size_t)1 << 22,
    .thin_most = (size_t)1 << 26,
    .part_most = (size_t)1 << 30,
    .part_keys = (size_t)1 << 26,
    .portion = ((size_t)1 << 30) - 1,
    .digits_most = 4,
    .roughness_most = 48,
    .shared_most = 6,
    .heavy_most = 8,
    .values_most = 1536,
};

const char *radix_strategy_name(enum radix_strategy strategy)
{
    static const char *const names[RADIX_STRATEGIES] = {
        [RADIX_STRATEGY_NONE] = "in order",
        [RADIX_STRATEGY_REVERSE] = "reverse",
        [RADIX_STRATEGY_COUNT] = "count",
        [RADIX_STRATEGY_DIGITS] = "digits",
        [RADIX_STRATEGY_UPPER_DIGITS] = "upper digits",
        [RADIX_STRATEGY_MODELS] = "models",
    };
    return names[strategy];
}

/* Digits take a pass for each byte of an item, so the limit grows with the width. */
bool radix_is_small(const struct radix_tuning *tuning, size_t count, unsigned item_bytes)
{
    return count <= item_bytes * (item_bytes <= 2 ? tuning->small_short_most : tuning->small_most);
}

bool radix_needs_sample(const struct radix_tuning *tuning, size_t count, unsigned item_bytes)
{
    return count >= tuning->values_least || (item_bytes >= 8 && count >= tuning->models_least);
}

static unsigned count_digits(unsigned long long bits)
{
    unsigned digits = 0;
    for (; bits != 0; bits >>= 8)
        digits += (bits & 0xff) != 0;
    return digits;
}

/* Returns true if LSD radix can sort the items. It sorts items of 16 bytes by their keys alone,
 * stably, so their indices must be their positions, of at most 32 bits. */
static bool has_digits(const struct radix_facts *facts, size_t count, unsigned item_bytes)
{
    return item_bytes <= 8 || (!facts->no_index && count <= UINT32_MAX);
}

/* By Chao's estimate an array has once * (once - 1) / (2 * (twice + 1)) more values than the
 * sample. The limit on `once` keeps that below 2 * once. */
static bool has_few_values(const struct radix_tuning *tuning, const struct radix_facts *facts)
{
    return facts->sampled > 0 && facts->values <= tuning->values_most &&
           facts->once <= 4 * facts->twice + 1 && !facts->no_counting;
}

static struct radix_decision decide(enum radix_strategy strategy, const char *reason)
{
    const struct radix_decision decision = {strategy, reason};
    return decision;
}

unsigned radix_repeats_sample(size_t count)
{
    unsigned sample = 1;
    while (sample < (unsigned)1 << 18 && sample <= count / 4 &&
           (size_t)sample * sample / 1024 < count)
        sample *= 2;
    return sample;
}

/* If m items have each key, two drawn keys are equal with a probability of m / count. */
static bool shares_keys(const struct radix_tuning *tuning, const struct radix_facts *facts,
                        size_t count)
{
    const double sample = radix_repeats_sample(count);
    return 20.0 * facts->repeats * (double)count > tuning->shared_most * sample * sample;
}

/* Chooses between models and digits by a sample. A model makes too large buckets if some values are
 * frequent among many rare ones, and too full bins if items share keys. */
static struct radix_decision decide_by_sample(const struct radix_tuning *tuning,
                                              const struct radix_facts *facts, size_t count,
                                              unsigned item_bytes)
{
    if (count_digits(facts->bits) <= tuning->digits_most)
        return decide(RADIX_STRATEGY_DIGITS, "few digits vary");
    if (facts->roughness > (unsigned long long)tuning->roughness_most * facts->gaps)
        return decide(RADIX_STRATEGY_DIGITS, "keys crowd at all scales");
    if (item_bytes > 8 && shares_keys(tuning, facts, count))
        return decide(RADIX_STRATEGY_DIGITS, "items share keys");
    if (facts->heavy > tuning->heavy_most && facts->once > facts->sampled / 4)
        return decide(RADIX_STRATEGY_DIGITS, "some values are frequent among many rare ones");
    return decide(RADIX_STRATEGY_MODELS, "a model follows the keys");
}

struct radix_decision radix_decide(const struct radix_tuning *tuning,
                                   const struct radix_facts *facts, size_t count,
                                   unsigned item_bytes)
{
    if (!facts->falls)
        return decide(RADIX_STRATEGY_NONE, "no key is less than the one before it");
    if (!facts->rises)
        return decide(RADIX_STRATEGY_REVERSE, "no key is greater than the one before it");
    if (item_bytes <= 8 && count >= tuning->values_least && has_few_values(tuning, facts))
        return decide(RADIX_STRATEGY_COUNT, "few values");
    if (item_bytes < 8)
        return decide(RADIX_STRATEGY_DIGITS, "short keys");
    if (item_bytes == 8 && !facts->no_index)
        return decide(RADIX_STRATEGY_UPPER_DIGITS, "the lower halves are in order");
    if (!has_digits(facts, count, item_bytes))
        return decide(RADIX_STRATEGY_MODELS, "the lower halves are no positions of 32 bits");
    if (count < tuning->models_least)
        return decide(RADIX_STRATEGY_DIGITS, "too few items for a model");
    if (facts->sampled == 0)
        return decide(RADIX_STRATEGY_DIGITS, "the lower halves are nearly in order");
    return decide_by_sample(tuning, facts, count, item_bytes);
}
