/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines_alike.c - lines that have much in common, in any order of sort(1), against sort(1)
 * itself: long numbers, common prefixes of all lengths, values in several spellings.
 */
#include "tests/unit_lines_order.h"

/* Adds a number of up to `digits_max` digits, most of them the same in all lines. */
static void add_long_number(struct text *text, uint64_t *seed, size_t digits_max)
{
    char number[5200];
    const size_t digits = digits_max - random_below(seed, 2);
    const size_t parted = random_below(seed, 4); /* 0x80 is a separator to sort -n */
    const size_t point = random_below(seed, 3) ? digits / 2 : random_below(seed, digits + 1);
    char *out = number;
    if (random_below(seed, 2))
        *out++ = '-';
    for (size_t i = 0; i < digits; ++i) {
        if (i == point)
            *out++ = '.';
        *out++ = (char)('0' + i % 10);
        if (i % 7 == parted)
            *out++ = (char)0x80;
    }
    if (random_below(seed, 2))
        out[-1 - (ptrdiff_t)random_below(seed, digits)] = (char)('0' + random_below(seed, 10));
    for (size_t zeros = random_below(seed, 3); zeros > 0 && point < digits; --zeros)
        *out++ = '0';
    text_add(text, number, (size_t)(out - number));
}

static void add_long(struct text *text, uint64_t *seed)
{
    static const size_t digits[] = {16, 17, 18, 34, 35, 36, 52, 60, 70, 400, 1100, 4000};
    add_long_number(text, seed, digits[random_below(seed, COUNT_OF(digits))]);
}

static void add_long_alike(struct text *text, uint64_t *seed)
{
    text_add(text, "x ", 2);
    add_long_number(text, seed, 1000);
}

static void long_numbers_are_exact(void **state)
{
    (void)state;
    static const char *const options[] = {"-n", "-nr", "-h", "-hu", "-nu", "-ns", "-k1,1n -k1"};
    static const char *const parts[] = {"-k2,2n", "-k2,2", "-k2,2h -u", "-k2r", "-k2,2nr -s"};
    check_orders(options, COUNT_OF(options), add_long, 2, 1000);
    check_orders(parts, COUNT_OF(parts), add_long_alike, 2, 700);
}

/* Adds a number or word of about 470 bytes, nearly all of them the same in all lines. Its end and
 * the differing byte are near each other, so that they have all positions in a machine word. */
static void add_alike(struct text *text, uint64_t *seed, const char *head, char fill)
{
    char tail[480];
    const size_t bytes = sizeof tail - random_below(seed, 20);
    memset(tail, fill, sizeof tail);
    if (random_below(seed, 4))
        tail[bytes - 1 - random_below(seed, 40)] = (char)(fill + random_below(seed, 3));
    if (random_below(seed, 200) == 0)
        tail[random_below(seed, bytes)] = (char)(fill + random_below(seed, 3));
    text_add(text, head, strlen(head));
    text_add(text, tail, bytes);
}

static void add_alike_number(struct text *text, uint64_t *seed)
{
    static const char *const heads[] = {"0.", "0.", "00.", "-7.", "-7."};
    add_alike(text, seed, heads[random_below(seed, COUNT_OF(heads))], '0');
}

static void add_alike_fields(struct text *text, uint64_t *seed)
{
    add_alike(text, seed, "", 'f');
    add_alike(text, seed, " 5.", '1');
    add_alike(text, seed, " :-", '1' - (char)random_below(seed, 2));
}

/* Several threads search the longest runs of equal keys. */
static void lines_that_begin_alike_are_in_order(void **state)
{
    (void)state;
    static const char *const options[] = {"-n", "-nr", "-hu", "-ns", "-k1", "-k1r -s", "-g"};
    static const char *const parts[] = {"-k1,1 -k2n", "-k2,2n -k1,1r", "-k2,2 -k3,3h -u",
                                        "-k2n -k1.100 -s", "-t: -k2,2n -k1,1"};
    check_orders(options, COUNT_OF(options), add_alike_number, 2, 300);
    check_orders(parts, COUNT_OF(parts), add_alike_fields, 2, 300);
    check_orders(options, 2, add_alike_number, 2, 60000);
    check_orders(parts, 2, add_alike_fields, 2, 30000);
}

/* Adds the beginning of one long text, and sometimes another end. Each two lines share another
 * number of bytes, more than one comparison step covers. */
static void add_ladder(struct text *text, uint64_t *seed)
{
    static const char *const rests[] = {"", "", "b", "\xff", " a", "a b", "\x01"};
    static char steps[2500];
    const char *const rest = rests[random_below(seed, COUNT_OF(rests))];
    memset(steps, 'a', sizeof steps);
    text_add(text, steps, random_below(seed, 50) * random_below(seed, 50) + random_below(seed, 99));
    text_add(text, rest, strlen(rest));
}

/* Like add_ladder(), with digits, which are the same for many words before they differ. */
static void add_ladder_number(struct text *text, uint64_t *seed)
{
    static const char *const heads[] = {"0.", "0.", "0.", "-0.", "5", "-7"};
    static const char *const rests[] = {"", "", "2", "00", "9K", "\x80", "1\x80\x31"};
    const char *const head = heads[random_below(seed, COUNT_OF(heads))];
    const char *const rest = rests[random_below(seed, COUNT_OF(rests))];
    char steps[1500];
    memset(steps, '1', sizeof steps);
    text_add(text, head, strlen(head));
    text_add(text, steps, random_below(seed, 38) * random_below(seed, 38));
    text_add(text, rest, strlen(rest));
}

static void ladders_are_in_order(void **state)
{
    (void)state;
    static const char *const orders_of_numbers[] = {"-n", "-nr", "-h", "-nu", "-ns", "-k1,1nr -k1"};
    check_orders(orders_of_numbers, COUNT_OF(orders_of_numbers), add_ladder_number, 4, 300);
    check_orders(orders_of_numbers, COUNT_OF(orders_of_numbers), add_ladder_number, 1, 3000);
    check_orders(orders_of_numbers, 2, add_ladder_number, 1, 40000);
    static const char *const options[] = {"-k1",    "-k1r",         "-k1,1",     "-k1,1r -k2",
                                          "-u -k1", "-k1.9,1.2200", "-s -k1,1r", "-k2 -k1r"};
    check_orders(options, COUNT_OF(options), add_ladder, 4, 300);
    check_orders(options, 4, add_ladder, 1, 3000);
    check_orders(options, 3, add_ladder, 1, 40000);
}

/* Adds a prefix that all lines share, too long to be compared step by step: whole lines are
 * compared instead. */
static void add_giant(struct text *text, uint64_t *seed)
{
    static const char *const rests[] = {"", "b", "\xff", " a", " b", "\x01", "1"};
    static char steps[100000];
    const char *const rest = rests[random_below(seed, COUNT_OF(rests))];
    memset(steps, '1', sizeof steps);
    text_add(text, steps, sizeof steps - (random_below(seed, 4) == 0));
    text_add(text, rest, strlen(rest));
}

static void few_lines_that_share_much_are_in_order(void **state)
{
    (void)state;
    static const char *const options[] = {"-k1",       "-k1r", "-u -k1", "-k1,1",
                                          "-s -k1,1r", "-n",   "-nu"};
    check_orders(options, COUNT_OF(options), add_giant, 1, 60);
}

/* Adds one of a few values, after zeros and before bytes that do not belong to the number. The text
 * ends around the number of bytes that one step compares to order lines of equal value. */
static void add_spelled(struct text *text, uint64_t *seed)
{
    static const char zeros[] = "00000000000000000000000000000000000000000000000";
    static const char *const rests[] = {"", "", ".0", " ", "x", "\xff", "\x01", "\t."};
    static const size_t lengths[] = {0, 1, 2, 12, 13, 14, 15, 27, 29, 44};
    const char value = (char)('1' + random_below(seed, 6));
    const char *const rest = rests[random_below(seed, COUNT_OF(rests))];
    text_add(text, zeros, lengths[random_below(seed, COUNT_OF(lengths))]);
    text_add(text, &value, 1);
    text_add(text, rest, strlen(rest));
    if (random_below(seed, 4) == 0)
        text_add(text, "\0\0", 1 + random_below(seed, 2));
}

/* A few lines of each value, and more than a few. */
static void lines_of_equal_value_go_by_bytes(void **state)
{
    (void)state;
    static const char *const options[] = {"-g", "-gr", "-n",  "-nr",
                                          "-h", "-gs", "-nu", "-k1n -k1r"};
    for (size_t count = 12; count < 1000; count = count * 3 / 2)
        check_orders(options, COUNT_OF(options), add_spelled, 2, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_numbers_are_exact),
        cmocka_unit_test(lines_that_begin_alike_are_in_order),
        cmocka_unit_test(ladders_are_in_order),
        cmocka_unit_test(few_lines_that_share_much_are_in_order),
        cmocka_unit_test(lines_of_equal_value_go_by_bytes),
    };
    return cmocka_run_group_tests(tests, enter_scratch, remove_files);
}
