/* SPDX-License-Identifier: Apache-2.0 */
/* unit_numbers.h - for tests of numbers in text: bits, values, random decimals. */
#ifndef TESTS_UNIT_NUMBERS_H
#define TESTS_UNIT_NUMBERS_H

#include "formats/number/number_key.h"
#include "tests/random_next.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static inline long double value_of(const char *text, size_t length)
{
    long double value = 0;
    assert_true(number_prefix_value(text, length, &value));
    return value;
}

static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Makes a decimal with random length, point and exponent. */
static inline void random_decimal(uint64_t *seed, char *text, size_t digits_max, int exponent_max)
{
    const size_t digits = 1 + random_next(seed) % digits_max;
    const size_t point = random_next(seed) % (digits + 1);
    char *out = text;
    if (random_next(seed) % 2)
        *out++ = '-';
    for (size_t i = 0; i < digits; ++i) {
        if (i == point)
            *out++ = '.';
        *out++ = (char)('0' + random_next(seed) % 10);
    }
    *out = 0;
    if (random_next(seed) % 2)
        sprintf(out, "e%d",
                (int)(random_next(seed) % (2 * (unsigned)exponent_max + 1)) - exponent_max);
}

#endif
