/* SPDX-License-Identifier: Apache-2.0 */
/* unit_key_order.c - the list of key types, and the map between numbers and ordered bits.
 *
 * For every type, byte order, NaN rule and direction, the map is a bijection. The order of the
 * ordered bits is the required order of the values, by a comparator of the values themselves. Types
 * of 8 and 16 bits are tested with every pattern, wider types around every power of two.
 */
#include "core/key_order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The reference: values, not bits ---- */

struct value {
    double real;      /* of a float; a NaN of a NaT */
    int64_t integer;  /* of a signed integer or a time */
    uint64_t natural; /* of an unsigned integer */
};

static double value_of_f16(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double significand = (double)(bits & 1023), sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return significand > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign *
           ldexp(exponent ? significand + 1024 : significand, exponent ? exponent - 25 : -24);
}

static double value_of_f32(uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

static double value_of_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct value value_of(const struct key_type *type, uint64_t bits)
{
    switch (type->id) {
    case KEY_TYPE_i8:
        return (struct value){.integer = (int8_t)bits};
    case KEY_TYPE_i16:
        return (struct value){.integer = (int16_t)bits};
    case KEY_TYPE_i32:
        return (struct value){.integer = (int32_t)bits};
    case KEY_TYPE_i64:
        return (struct value){.integer = (int64_t)bits};
    case KEY_TYPE_f16:
        return (struct value){.real = value_of_f16(bits)};
    case KEY_TYPE_bf16:
        return (struct value){.real = value_of_f32(bits << 16)};
    case KEY_TYPE_f32:
        return (struct value){.real = value_of_f32(bits)};
    case KEY_TYPE_f64:
        return (struct value){.real = value_of_f64(bits)};
    case KEY_TYPE_datetime64:
    case KEY_TYPE_timedelta64:
        if ((int64_t)bits == INT64_MIN)
            return (struct value){.real = (double)NAN};
        return (struct value){.integer = (int64_t)bits};
    default:
        return (struct value){.natural = bits};
    }
}

/* Returns below 0 if a comes before b in ascending order, NaNs apart. */
static int compare_values(struct value a, struct value b)
{
    if (a.real == 0 && b.real == 0 && !signbit(a.real) != !signbit(b.real))
        return signbit(a.real) ? -1 : 1;
    if (a.real != b.real)
        return a.real < b.real ? -1 : 1;
    if (a.integer != b.integer)
        return a.integer < b.integer ? -1 : 1;
    return (a.natural > b.natural) - (a.natural < b.natural);
}

/* Returns true if a may come right before b in the output. */
static bool may_precede(struct value a, struct value b, enum nan_rule nan, bool descending)
{
    if (isnan(a.real) && isnan(b.real))
        return true; /* any total order of NaNs is valid */
    if (isnan(a.real) || isnan(b.real)) {
        const bool nan_first = nan == NAN_FIRST || (nan != NAN_LAST && descending);
        return isnan(a.real) ? nan_first : !nan_first;
    }
    return descending ? compare_values(a, b) > 0 : compare_values(a, b) < 0;
}

/* Returns the bits of the number whose stored bytes, read as little-endian, are `stored`. */
static uint64_t bits_of_stored(const struct key_type *type, enum key_endian endian, uint64_t stored)
{
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < type->bytes; byte++) {
        const unsigned from = endian == ENDIAN_LITTLE ? byte : type->bytes - 1 - byte;
        bits |= (stored >> 8 * from & 255) << 8 * byte;
    }
    return bits;
}

/* ---- Every type, byte order, rule and direction ---- */

struct setting {
    const struct key_type *type;
    enum key_endian endian;
    enum nan_rule nan;
    bool descending;
    struct key_order order;
};

typedef void check_setting(const struct setting *setting);

static void for_each_setting(bool narrow, check_setting *check)
{
    for (size_t t = 0; t < KEY_TYPE_COUNT; t++)
        for (int endian = ENDIAN_LITTLE; endian <= ENDIAN_BIG; endian++)
            for (int nan = NAN_GREATEST; nan <= NAN_ERROR; nan++)
                for (int descending = 0; descending < 2; descending++) {
                    if ((key_types[t].bytes <= 2) != narrow)
                        continue;
                    struct setting s = {.type = &key_types[t],
                                        .endian = (enum key_endian)endian,
                                        .nan = (enum nan_rule)nan,
                                        .descending = descending};
                    s.order = key_order_make(s.type, s.endian, s.nan, s.descending);
                    check(&s);
                }
}

/* Checks ordered[0..count), which is strictly ascending: each decodes to a number that encodes back
 * to it and may follow the number before it. */
static void check_ordered(const struct setting *s, const uint64_t *ordered, size_t count)
{
    const unsigned bits = 8 * s->type->bytes;
    struct value before = {0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t stored = key_order_decode(s->order, bits, ordered[i]);
        assert_true(stored <= key_bits_mask(bits));
        assert_int_equal(key_order_encode(s->order, bits, stored), ordered[i]);
        const struct value value = value_of(s->type, bits_of_stored(s->type, s->endian, stored));
        if (i > 0 && !may_precede(before, value, s->nan, s->descending))
            fail_msg("%s endian %d nan %d descending %d: 0x%jx and its successor are misplaced",
                     s->type->name, s->endian, s->nan, s->descending, (uintmax_t)ordered[i - 1]);
        before = value;
    }
}

static void check_all_patterns(const struct setting *s)
{
    const size_t count = (size_t)1 << 8 * s->type->bytes;
    uint64_t *ordered = malloc(count * sizeof *ordered);
    assert_non_null(ordered);
    for (size_t i = 0; i < count; i++)
        ordered[i] = i;
    check_ordered(s, ordered, count);
    free(ordered);
}

static void narrow_types_on_every_pattern(void **state)
{
    (void)state;
    for_each_setting(true, check_all_patterns);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Writes patterns around each important power of two: every exponent of a float with the least, the
 * greatest and some significands between; every power of two of an integer. Returns their
 * number. */
static size_t edge_patterns(const struct key_type *type, uint64_t *patterns)
{
    const unsigned bits = 8 * type->bytes;
    const unsigned fields = type->exponent_bits ? 1u << (type->exponent_bits + 1) : bits;
    const unsigned significand_bits = bits - 1 - type->exponent_bits;
    size_t count = 0;
    for (unsigned field = 0; field < fields; field++) {
        const uint64_t base =
            type->exponent_bits ? (uint64_t)field << significand_bits : (uint64_t)1 << field;
        for (int delta = -2; delta <= 2; delta++)
            patterns[count++] = (base + (uint64_t)(int64_t)delta) & key_bits_mask(bits);
        patterns[count++] = (base + base / 3) & key_bits_mask(bits);
        patterns[count++] = base ^ (uint64_t)1 << (significand_bits - 1);
    }
    return count;
}

static void check_edges(const struct setting *s)
{
    uint64_t *ordered = malloc(((size_t)7 << 12) * sizeof *ordered);
    assert_non_null(ordered);
    const unsigned bits = 8 * s->type->bytes;
    const size_t count = edge_patterns(s->type, ordered);
    for (size_t i = 0; i < count; i++) {
        const uint64_t stored = bits_of_stored(s->type, s->endian, ordered[i]);
        ordered[i] = key_order_encode(s->order, bits, stored);
        assert_int_equal(key_order_decode(s->order, bits, ordered[i]), stored);
    }
    qsort(ordered, count, sizeof *ordered, compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ordered[i] != ordered[i - 1])
            ordered[kept++] = ordered[i];
    check_ordered(s, ordered, kept);
    free(ordered);
}

static void wide_types_at_their_edges(void **state)
{
    (void)state;
    for_each_setting(false, check_edges);
}

static void identity_changes_nothing(void **state)
{
    (void)state;
    const struct key_order identity = key_order_identity();
    assert_true(key_order_is_identity(identity));
    assert_int_equal(key_order_encode(identity, 64, 0x8123456789abcdefu), 0x8123456789abcdefu);
    assert_int_equal(key_order_decode(identity, 16, 0xfedc), 0xfedc);
    enum key_endian endian;
    const struct key_type *u32 = key_type_find("u32", 3, &endian);
    assert_true(key_order_is_identity(key_order_make(u32, ENDIAN_LITTLE, NAN_GREATEST, false)));
    assert_false(key_order_is_identity(key_order_make(u32, ENDIAN_BIG, NAN_GREATEST, false)));
    assert_false(key_order_is_identity(key_order_make(u32, ENDIAN_LITTLE, NAN_GREATEST, true)));
}

static void first_nan_is_found(void **state)
{
    (void)state;
    double numbers[] = {0, (double)INFINITY, -1, -(double)NAN, (double)NAN};
    const struct key_type *f64 = &key_types[KEY_TYPE_f64];
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 5), 3);
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 3), 3);
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 0), 0);
    const unsigned char big_half[] = {0x7c, 0x00, 0x00, 0x7e, 0x7e, 0x00};
    assert_int_equal(key_order_find_nan(&key_types[KEY_TYPE_f16], ENDIAN_BIG, big_half, 3), 2);
    assert_int_equal(key_order_find_nan(&key_types[KEY_TYPE_u64], ENDIAN_LITTLE, numbers, 5), 5);
    const int64_t times[] = {-1, INT64_MAX, 0, INT64_MIN, INT64_MIN};
    const unsigned char big_times[16] = {0x80, 0, 0, 0, 0, 0, 0, 1, 0x80};
    const struct key_type *datetime = &key_types[KEY_TYPE_datetime64];
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_LITTLE, times, 5), 3);
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_LITTLE, times, 3), 3);
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_BIG, big_times, 2), 1);
}

/* ---- The list ---- */

static void every_row_is_found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        const struct key_type *type = &key_types[i];
        enum key_endian endian = ENDIAN_BIG;
        assert_int_equal(type->id, i);
        assert_ptr_equal(key_type_find(type->name, strlen(type->name), &endian), type);
        assert_int_equal(endian, ENDIAN_BIG);
        char dtype[5];
        key_type_numpy_dtype(type, ENDIAN_LITTLE, dtype);
        assert_ptr_equal(key_type_find(type->numpy_name, strlen(type->numpy_name), &endian), type);
        assert_int_equal(endian, ENDIAN_BIG);
        assert_ptr_equal(key_type_find(dtype, strlen(dtype), &endian), type);
        assert_int_equal(endian, type->bytes > 1 ? ENDIAN_LITTLE : ENDIAN_BIG);
    }
}

static void numpy_spellings(void **state)
{
    (void)state;
    enum key_endian endian = ENDIAN_LITTLE;
    assert_ptr_equal(key_type_find(">i4", 3, &endian), &key_types[KEY_TYPE_i32]);
    assert_int_equal(endian, ENDIAN_BIG);
    assert_ptr_equal(key_type_find("=f4", 3, &endian), &key_types[KEY_TYPE_f32]);
    assert_int_equal(endian, ENDIAN_BIG);
    assert_ptr_equal(key_type_find("<f2-and-more", 3, &endian), &key_types[KEY_TYPE_f16]);
    assert_int_equal(endian, ENDIAN_LITTLE);
    char dtype[5];
    key_type_numpy_dtype(&key_types[KEY_TYPE_u8], ENDIAN_BIG, dtype);
    assert_string_equal(dtype, "|u1");
    key_type_numpy_dtype(&key_types[KEY_TYPE_f64], ENDIAN_BIG, dtype);
    assert_string_equal(dtype, ">f8");
    assert_ptr_equal(key_type_find("|f8", 3, &endian), &key_types[KEY_TYPE_f64]);
}

/* --type=i8 has one byte, and NumPy's i8 has eight. */
static void a_dtype_is_what_numpy_makes_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        enum key_type_id id;
    } dtypes[] = {{"i8", KEY_TYPE_i64},        {"|i8", KEY_TYPE_i64},
                  {"d", KEY_TYPE_f64},         {"=e", KEY_TYPE_f16},
                  {"float", KEY_TYPE_f64},     {"?", KEY_TYPE_bool},
                  {"|b1", KEY_TYPE_bool},      {"uint16", KEY_TYPE_u16},
                  {"M8", KEY_TYPE_datetime64}, {"datetime64[25s]", KEY_TYPE_datetime64},
                  {"m", KEY_TYPE_timedelta64}, {"=timedelta64[generic]", KEY_TYPE_timedelta64},
                  {"V2", KEY_TYPE_bf16},       {"M8[2147483647as]", KEY_TYPE_datetime64}};
    static const char *const strangers[] = {
        "",       "<",        "<float", "<float64", "f16",    "g",     "V1",    "f1",
        "c8",     "M8[]",     "M8[ns",  "M8[ns]]",  "M8[10]", "M[s]",  "f8[s]", "M8[B]",
        "M8[ s]", "M8[D/24]", "M8[-s]", "i4 ",      "<<f8",   "m8[S]", "<f8[",  "M8[2147483648s]"};
    enum key_endian endian = ENDIAN_BIG;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        assert_ptr_equal(key_type_find_dtype(dtypes[i].dtype, strlen(dtypes[i].dtype), &endian),
                         &key_types[dtypes[i].id]);
    assert_int_equal(endian, ENDIAN_BIG);
    assert_ptr_equal(key_type_find_dtype("<m8[ns]", 7, &endian), &key_types[KEY_TYPE_timedelta64]);
    assert_int_equal(endian, ENDIAN_LITTLE);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (key_type_find_dtype(strangers[i], strlen(strangers[i]), &endian))
            fail_msg("\"%s\" is taken for a type", strangers[i]);
}

static void what_names_no_type(void **state)
{
    (void)state;
    static const char *const strangers[] = {"",    "f9",  "F64",  "f128",    "<f16",         "<f1",
                                            "<c8", "<i3", "i64 ", "<M8[ns]", "datetime64[s]"};
    enum key_endian endian;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (key_type_find(strangers[i], strlen(strangers[i]), &endian))
            fail_msg("\"%s\" is taken for a type", strangers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_types_on_every_pattern),
        cmocka_unit_test(wide_types_at_their_edges),
        cmocka_unit_test(identity_changes_nothing),
        cmocka_unit_test(first_nan_is_found),
        cmocka_unit_test(every_row_is_found_by_its_names),
        cmocka_unit_test(numpy_spellings),
        cmocka_unit_test(a_dtype_is_what_numpy_makes_of_it),
        cmocka_unit_test(what_names_no_type),
    };
    return cmocka_run_group_tests_name("key order", tests, NULL, NULL);
}
