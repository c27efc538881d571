/* SPDX-License-Identifier: Apache-2.0 */
/* unit_radix_strategy.c - which strategy the GPU's radix chooses, by samples that are made up here:
 * what users have, and the edges of each rule.
 */
#include "cuda/radix_strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const size_t MANY = 100000000;

/* A sample of 4096 different keys with a smooth density, in no order, all of whose bits vary. */
static struct radix_facts smooth_facts(void)
{
    return (struct radix_facts){.rises = 1,
                                .falls = 1,
                                .no_index = 1,
                                .sampled = 4096,
                                .values = 4096,
                                .once = 4096,
                                .gaps = 4094,
                                .roughness = 4094 * 32,
                                .bits = UINT64_MAX};
}

/* The same of items whose indices are their positions. */
static struct radix_facts item_facts(void)
{
    struct radix_facts facts = smooth_facts();
    facts.no_index = 0;
    return facts;
}

static void assert_strategy(struct radix_facts facts, size_t count, unsigned item_bytes,
                            const char *expected)
{
    const struct radix_decision decision =
        radix_decide(&radix_tuning_default, &facts, count, item_bytes);
    assert_string_equal(radix_strategy_name(decision.strategy), expected);
    assert_non_null(decision.reason);
    assert_in_range(strlen(decision.reason), 5, 50);
}

static void keys_with_a_smooth_density_have_models(void **state)
{
    (void)state;
    assert_strategy(smooth_facts(), MANY, 8, "models");
    assert_strategy(item_facts(), MANY, 16, "models");
    assert_strategy(smooth_facts(), MANY, 4, "digits");
}

static void arrays_in_order_are_left_or_turned_round(void **state)
{
    (void)state;
    for (unsigned bytes = 4; bytes <= 16; bytes *= 2) {
        struct radix_facts facts = smooth_facts();
        facts.falls = 0;
        assert_strategy(facts, MANY, bytes, "in order");
        facts.rises = 0; /* all keys are equal */
        assert_strategy(facts, MANY, bytes, "in order");
        facts.falls = 1;
        assert_strategy(facts, MANY, bytes, "reverse");
    }
}

static void few_items_have_digits(void **state)
{
    (void)state;
    struct radix_facts facts = smooth_facts();
    assert_strategy(facts, radix_tuning_default.models_least, 8, "models");
    assert_strategy(facts, radix_tuning_default.models_least - 1, 8, "digits");
    facts.sampled = facts.values = facts.once = facts.gaps = facts.roughness = 0;
    assert_strategy(facts, 100000, 8, "digits");
    facts.no_index = 0;
    assert_strategy(facts, 100000, 16, "digits");
}

static void items_out_of_place_have_models_whatever_their_keys(void **state)
{
    (void)state;
    struct radix_facts facts = smooth_facts();
    facts.roughness *= 2;
    assert_strategy(facts, MANY, 16, "models");
    assert_strategy(facts, 100000, 16, "models");
    facts.no_index = 0; /* but positions have 32 bits */
    assert_strategy(facts, UINT32_MAX, 16, "digits");
    assert_strategy(facts, (size_t)UINT32_MAX + 1, 16, "models");
}

static void keys_above_an_index_need_half_of_their_digits(void **state)
{
    (void)state;
    assert_strategy(item_facts(), MANY, 8, "upper digits");
    assert_strategy(item_facts(), 100000, 8, "upper digits");
}

static void keys_that_crowd_at_all_scales_have_digits(void **state)
{
    (void)state;
    struct radix_facts facts = item_facts();
    facts.roughness = facts.gaps * 48;
    assert_strategy(facts, MANY, 16, "models");
    facts.roughness++;
    assert_strategy(facts, MANY, 16, "digits");
    facts.no_index = 1;
    assert_strategy(facts, MANY, 8, "digits");
}

static void keys_of_a_small_range_have_digits(void **state)
{
    (void)state;
    struct radix_facts facts = smooth_facts();
    facts.bits = 0xffffffff;
    assert_strategy(facts, MANY, 8, "digits");
    facts.bits = 0x1ffffffff; /* five digits */
    assert_strategy(facts, MANY, 8, "models");
}

static void few_values_are_counted(void **state)
{
    (void)state;
    struct radix_facts facts = smooth_facts();
    facts.values = 983; /* of 1000 equally frequent values */
    facts.once = 68;
    facts.twice = 139;
    assert_strategy(facts, MANY, 8, "count");
    assert_strategy(facts, MANY, 4, "count");
    facts.no_counting = 1; /* the count has found more */
    assert_strategy(facts, MANY, 8, "models");
    assert_strategy(facts, MANY, 4, "digits");
    facts.no_counting = 0;
    assert_strategy(facts, radix_tuning_default.values_least - 1, 8, "models");
    facts.once = 1000; /* many that the sample has not seen */
    assert_strategy(facts, MANY, 4, "digits");
}

static void frequent_values_among_rare_ones_have_digits(void **state)
{
    (void)state;
    struct radix_facts facts = smooth_facts();
    facts.values = 2540; /* of Zipf's law for 2^20 values */
    facts.once = 2247;
    facts.twice = 150;
    facts.heavy = 18;
    assert_strategy(facts, MANY, 8, "digits");
    facts.heavy = 1; /* as zero is among measurements */
    assert_strategy(facts, MANY, 8, "models");
}

static void items_that_share_keys_have_digits(void **state)
{
    (void)state;
    struct radix_facts facts = item_facts();
    const size_t counts[] = {50000000, 400000000, 3000000000};
    for (unsigned i = 0; i < 3; i++) {
        /* Of s keys, s * s * m / (2 * count) pairs are the same if m items share a key. */
        const double pairs = pow(radix_repeats_sample(counts[i]), 2) / 2 / (double)counts[i];
        facts.repeats = (unsigned)(pairs / 2);
        assert_strategy(facts, counts[i], 16, "models");
        facts.repeats = (unsigned)(100 * pairs);
        assert_strategy(facts, counts[i], 16, "digits");
        facts.no_index = 1;
        assert_strategy(facts, counts[i], 16, "models");
        assert_strategy(facts, counts[i], 8, "models");
        facts.no_index = 0;
    }
}

static void the_larger_sample_fits_the_scratch(void **state)
{
    (void)state;
    assert_int_equal(radix_repeats_sample(0), 1);
    assert_int_equal(radix_repeats_sample(4095), 512);
    assert_int_equal(radix_repeats_sample(4097), 1024);
    assert_int_equal(radix_repeats_sample(SIZE_MAX), 1 << 17);
}

static void a_sample_that_missed_most_keys_is_not_believed(void **state)
{
    (void)state;
    const struct radix_facts facts = item_facts(), scattered = smooth_facts();
    assert_int_equal(radix_decide_learned(&facts, MANY, 16, false).strategy, RADIX_STRATEGY_MODELS);
    assert_int_equal(radix_decide_learned(&facts, MANY, 16, true).strategy, RADIX_STRATEGY_DIGITS);
    assert_int_equal(radix_decide_learned(&scattered, MANY, 8, true).strategy,
                     RADIX_STRATEGY_DIGITS);
    assert_int_equal(radix_decide_learned(&scattered, MANY, 16, true).strategy,
                     RADIX_STRATEGY_MODELS);
}

static void a_sample_is_taken_where_it_decides(void **state)
{
    (void)state;
    const struct radix_tuning *const tuning = &radix_tuning_default;
    assert_true(radix_needs_sample(tuning, tuning->models_least, 8));
    assert_false(radix_needs_sample(tuning, tuning->models_least - 1, 16));
    assert_false(radix_needs_sample(tuning, tuning->models_least, 4));
    assert_true(radix_needs_sample(tuning, tuning->values_least, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_with_a_smooth_density_have_models),
        cmocka_unit_test(arrays_in_order_are_left_or_turned_round),
        cmocka_unit_test(few_items_have_digits),
        cmocka_unit_test(items_out_of_place_have_models_whatever_their_keys),
        cmocka_unit_test(keys_above_an_index_need_half_of_their_digits),
        cmocka_unit_test(keys_that_crowd_at_all_scales_have_digits),
        cmocka_unit_test(keys_of_a_small_range_have_digits),
        cmocka_unit_test(few_values_are_counted),
        cmocka_unit_test(frequent_values_among_rare_ones_have_digits),
        cmocka_unit_test(items_that_share_keys_have_digits),
        cmocka_unit_test(the_larger_sample_fits_the_scratch),
        cmocka_unit_test(a_sample_that_missed_most_keys_is_not_believed),
        cmocka_unit_test(a_sample_is_taken_where_it_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
