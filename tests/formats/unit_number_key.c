/* SPDX-License-Identifier: Apache-2.0 */
/* unit_number_key.c - the keys of lines that are numbers, against strtold(3): their order, whether
 * they are exact, and whether they are the nearest doubles.
 */
#include "tests/formats/unit_numbers.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Makes spellings of values that are near each other, or at the edges. */
static void adversarial_text(uint64_t *seed, char *text)
{
    static const char *const edges[] = {
        "nan",
        "-nan",
        "inf",
        "-inf",
        "infinity",
        "0",
        "-0",
        "0.0",
        "1e4000",
        "-1e4000",
        "1e5000",
        "2e-4951",
        "-2e-4951",
        "1e-5000",
        "1e308",
        "1.8e308",
        "1.7976931348623158e308",
        "1e309",
        "5e-324",
        "2e-324",
        "3e-324",
        "0x1p-1074",
        "0x1p-1075",
        "0x1p-16445",
        "0x1p-16446",
        "0x10",
        "16",
        "1.6e1",
        "16.0",
        "0x1p4",
        "9007199254740993",
        "9007199254740992",
        "9007199254740994",
        "0x1.00000000000008p0",
        "1.00000000000000011102230246251565",
        "0.1",
        "0x1.999999999999ap-4",
        "1.000000000000000111022302462515654042363166809082031250000000000001",
        "1e-1",
        "1e290",
        "1.0000000000000001110223024625156540423631668090820312499999999999",
        "1e291",
        "1e-291",
        "0.1000000000000000055511151231257827021181583404541015625",
        "100e-3",
        "1e27",
        "1e28"};
    const uint64_t kind = random_next(seed) % 8;
    if (kind < 2) {
        strcpy(text, edges[random_next(seed) % (sizeof edges / sizeof *edges)]);
    } else if (kind < 4) { /* near the middle between two doubles */
        const double value = double_of_bits(UINT64_C(0x3ff0000000000000) + (random_next(seed) % 4) +
                                            (random_next(seed) % 3 << 52));
        const long double middle = ((long double)value + nextafter(value, 10)) / 2 +
                                   ((int)(random_next(seed) % 5) - 2) * (LDBL_EPSILON / 4) * value;
        sprintf(text, "%.*Lg", 17 + (int)(random_next(seed) % 30), middle);
    } else if (kind == 4) {
        sprintf(text, "%a", double_of_bits(random_next(seed)));
    } else if (kind == 5) {
        sprintf(text, "12345678901234567%03u%u", 500 + (unsigned)(random_next(seed) % 3),
                (unsigned)(random_next(seed) % 3));
    } else {
        random_decimal(seed, text, kind == 6 ? 4 : 36, kind == 6 ? 2 : 330);
    }
}

/* Compares in the order of `sort -g`. */
static int compare_values(long double a, long double b)
{
    if (isnan(a) && isnan(b))
        return (signbit(b) != 0) - (signbit(a) != 0);
    if (isnan(a) || isnan(b))
        return isnan(a) ? -1 : 1;
    return (a > b) - (a < b);
}

static void keys_are_monotone_and_exact_as_they_say(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t round = 0; round < 2000000; ++round) {
        char text[2][128];
        uint64_t key[2];
        bool exact[2];
        long double value[2];
        for (int i = 0; i < 2; ++i) {
            adversarial_text(&seed, text[i]);
            value[i] = strtold(text[i], NULL);
            if (!number_line_key(text[i], strlen(text[i]), &key[i], &exact[i]))
                fail_msg("'%s' is not keyed", text[i]);
            const long double ours = value_of(text[i], strlen(text[i]));
            if (compare_values(ours, value[i]) != 0)
                fail_msg("'%s' has the value %La, not %La", text[i], value[i], ours);
        }
        const int order = compare_values(value[0], value[1]);
        const int key_order = (key[0] > key[1]) - (key[0] < key[1]);
        if ((order == 0 && key_order != 0) || (order != 0 && key_order == -order) ||
            (order != 0 && key_order == 0 && exact[0] && exact[1]))
            fail_msg("'%s' and '%s': order %d, keys %016" PRIx64 " %d, %016" PRIx64 " %d", text[0],
                     text[1], order, key[0], exact[0], key[1], exact[1]);
    }
}

static void keys_are_the_nearest_doubles(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (size_t round = 0; round < 1000000; ++round) {
        char text[128];
        uint64_t key;
        bool exact;
        random_decimal(&seed, text, 1 + round % 40, round % 3 ? 20 : 320);
        const double value = (double)strtold(text, NULL);
        const uint64_t bits = bits_of_double(value == 0 ? 0 : value), sign = UINT64_C(1) << 63;
        assert_true(number_line_key(text, strlen(text), &key, &exact));
        if (key != (bits & sign ? ~bits : bits | sign))
            fail_msg("'%s' has the key %016" PRIx64 ", its bits are %016" PRIx64, text, key, bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_monotone_and_exact_as_they_say),
        cmocka_unit_test(keys_are_the_nearest_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
