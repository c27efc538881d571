/* SPDX-License-Identifier: Apache-2.0 */
/* unit_radix_strategy.c - which strategy the GPU's radix chooses, by samples that are made up here:
 * what users have, and the edges of each rule.
 */
#include "cuda/radix_strategy.h"
#include "tests/unit_test.h"

#include <math.h>
#include <string.h>

static const size_t MANY = 100000000;

/* Keys in no order, all of whose bits vary, of which there is no sample. */
#define UNSAMPLED .rises = 1, .falls = 1, .no_index = 1, .bits = UINT64_MAX

/* A sample of 4096 different keys with a smooth density. */
#define SMOOTH                                                                                     \
    UNSAMPLED, .sampled = 4096, .values = 4096, .once = 4096, .gaps = GAPS, .roughness = GAPS * 32
#define GAPS 4094u

/* Keys that are less evenly spread: the roughness is well above radix's limit, or just above. */
#define ROUGH .roughness = GAPS * 64
#define CROWDED .roughness = GAPS * 48 + 1

/* Items whose indices are their positions, with the same keys. */
#define ITEMS SMOOTH, .no_index = 0

/* Samples of 1000 equally frequent values, and of 2^20 values with frequencies by Zipf's law. */
#define FEW_VALUES SMOOTH, .values = 983, .once = 68, .twice = 139
#define ZIPF_VALUES SMOOTH, .values = 2540, .once = 2247, .twice = 150

static void assert_strategy(const char *name, struct radix_facts facts, size_t count,
                            unsigned item_bytes, const char *expected)
{
    const struct radix_decision decision =
        radix_decide(&radix_tuning_default, &facts, count, item_bytes);
    if (strcmp(radix_strategy_name(decision.strategy), expected) != 0)
        fail_msg("%s, %u bytes: %s", name, item_bytes, radix_strategy_name(decision.strategy));
    assert_true(strlen(decision.reason) >= 5 && strlen(decision.reason) <= 50);
}

static void each_kind_of_keys_has_its_strategy(void **state)
{
    const size_t models_least = radix_tuning_default.models_least;
    const size_t values_least = radix_tuning_default.values_least;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
    const struct {
        const char *name;
        struct radix_facts facts;
        size_t count;
        const char *expected[3]; /* of 4, 8 and 16 bytes; NULL: not tested */
    } rows[] = {
        {"a smooth density", {SMOOTH}, MANY, {"digits", "models", "models"}},
        {"keys above an index", {ITEMS}, MANY, {NULL, "upper digits", "models"}},
        {"a few of them", {ITEMS}, 100000, {NULL, "upper digits", NULL}},
        {"enough for models", {SMOOTH}, models_least, {NULL, "models", NULL}},
        {"too few for models", {SMOOTH}, models_least - 1, {NULL, "digits", NULL}},
        {"no sample", {UNSAMPLED}, 100000, {NULL, "digits", NULL}},
        {"no sample of many", {UNSAMPLED}, MANY, {NULL, "digits", NULL}},
        {"no sample, items", {UNSAMPLED, .no_index = 0}, 100000, {NULL, NULL, "digits"}},
        {"rough items out of place", {SMOOTH, ROUGH}, MANY, {NULL, NULL, "models"}},
        {"a few of them", {SMOOTH, ROUGH}, 100000, {NULL, NULL, "models"}},
        {"rough, positions of 32 bits", {ITEMS, ROUGH}, UINT32_MAX, {NULL, NULL, "digits"}},
        {"rough, positions of 33 bits",
         {ITEMS, ROUGH},
         (size_t)UINT32_MAX + 1,
         {NULL, NULL, "models"}},
        {"smooth enough", {ITEMS, .roughness = GAPS * 48}, MANY, {NULL, NULL, "models"}},
        {"crowded at all scales", {ITEMS, CROWDED}, MANY, {NULL, NULL, "digits"}},
        {"crowded keys", {SMOOTH, CROWDED}, MANY, {NULL, "digits", NULL}},
        {"four digits", {SMOOTH, .bits = 0xffffffff}, MANY, {NULL, "digits", NULL}},
        {"five digits", {SMOOTH, .bits = 0x1ffffffff}, MANY, {NULL, "models", NULL}},
        {"few values", {FEW_VALUES}, MANY, {"count", "count", NULL}},
        {"more than are sampled", {FEW_VALUES, .no_counting = 1}, MANY, {"digits", "models", NULL}},
        {"too few to count", {FEW_VALUES}, values_least - 1, {NULL, "models", NULL}},
        {"many that the sample lacks", {FEW_VALUES, .once = 1000}, MANY, {"digits", NULL, NULL}},
        {"frequent values", {ZIPF_VALUES, .heavy = 18}, MANY, {NULL, "digits", NULL}},
        {"one frequent value", {ZIPF_VALUES, .heavy = 1}, MANY, {NULL, "models", NULL}},
    };
#pragma GCC diagnostic pop
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (unsigned width = 0; width < 3; width++)
            if (rows[i].expected[width])
                assert_strategy(rows[i].name, rows[i].facts, rows[i].count, 4u << width,
                                rows[i].expected[width]);
}

static void an_array_is_small_up_to_a_count_for_each_width(void **state)
{
    const struct radix_tuning *const tuning = &radix_tuning_default;
    const struct {
        unsigned item_bytes;
        size_t most;
    } rows[] = {{1, tuning->small_short_most},
                {2, 2 * tuning->small_short_most},
                {4, 4 * tuning->small_most},
                {8, 8 * tuning->small_most},
                {16, 16 * tuning->small_most}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(radix_is_small(tuning, 1, rows[i].item_bytes));
        assert_true(radix_is_small(tuning, rows[i].most, rows[i].item_bytes));
        assert_false(radix_is_small(tuning, rows[i].most + 1, rows[i].item_bytes));
    }
}

static void items_that_share_keys_have_digits(void **state)
{
    struct radix_facts facts = {SMOOTH};
    const size_t counts[] = {50000000, 400000000, 3000000000};
    for (unsigned i = 0; i < 3; i++) {
        /* Of s keys, s * s * m / (2 * count) pairs are the same if m items share a key. */
        const double pairs = pow(radix_repeats_sample(counts[i]), 2) / 2 / (double)counts[i];
        facts.no_index = 0;
        facts.repeats = (unsigned)(pairs / 2);
        assert_strategy("keys of few items", facts, counts[i], 16, "models");
        facts.repeats = (unsigned)pairs;
        assert_strategy("keys of many items", facts, counts[i], 16, "digits");
        facts.no_index = 1;
        assert_strategy("no indices", facts, counts[i], 16, "models");
        assert_strategy("no indices", facts, counts[i], 8, "models");
    }
}

static void the_larger_sample_fits_the_scratch(void **state)
{
    assert_int_equal(radix_repeats_sample(0), 1);
    assert_int_equal(radix_repeats_sample(4095), 1024);
    assert_int_equal(radix_repeats_sample(4097), 2048);
    assert_int_equal(radix_repeats_sample(1 << 22), 1 << 16);
    assert_int_equal(radix_repeats_sample(SIZE_MAX), 1 << 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_keys_has_its_strategy),
        cmocka_unit_test(an_array_is_small_up_to_a_count_for_each_width),
        cmocka_unit_test(items_that_share_keys_have_digits),
        cmocka_unit_test(the_larger_sample_fits_the_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
