/* unit_lines_order.c - lines in any order of sort(1), against sort(1) itself.
 *
 *   options as sort(1) takes them -> struct line_order -> our lines
 *                                 -> LC_ALL=C sort     -> its lines: the same bytes
 *
 * What sort(1) gives differently from version to version (several NaNs, R and Q), and orders that
 * it has no option for, is written out.
 */
#include "core/line_order.h"
#include "formats/codec.h"
#include "formats/lines.h"
#include "tests/append_lines.h"
#include "tests/unit_text_file.h"

static size_t random_below(uint64_t *state, size_t end)
{
    return (size_t)(random_next(state) % end);
}

/* ---- sort(1)'s options -------------------------------------------------------------------------
 */

#define KEYS_MAX 8

/* An order, and the keys that it borrows. */
struct order {
    struct line_key keys[KEYS_MAX];
    struct line_order order;
};

/* What letters say; those of a key that has none are the global ones. */
struct letters {
    enum line_kind kind;
    bool reverse, skip_begin, skip_end, any;
};

static size_t read_count(const char **p)
{
    char *end;
    const size_t count = strtoul(*p, &end, 10);
    assert_true(end != *p);
    *p = end;
    return count;
}

static void read_letters(const char **p, struct letters *letters, bool is_end)
{
    for (; strchr("nghrb", **p) != NULL && **p != 0; ++*p) {
        letters->any = true;
        letters->reverse |= **p == 'r';
        letters->skip_begin |= **p == 'b' && !is_end;
        letters->skip_end |= **p == 'b' && is_end;
        letters->kind = **p == 'n'   ? LINE_NUMERIC
                        : **p == 'g' ? LINE_GENERAL
                        : **p == 'h' ? LINE_HUMAN
                                     : letters->kind;
    }
}

/* Field and character, counted from 1. */
static struct line_place read_place(const char **p, size_t *character)
{
    struct line_place place = {.field = read_count(p) - 1};
    *character = 0;
    if (**p == '.') {
        ++*p;
        *character = read_count(p);
    }
    return place;
}

static void read_key(const char **p, struct line_key *key, struct letters *letters)
{
    size_t character;
    *key = (struct line_key){.begin = read_place(p, &character)};
    key->begin.character = character > 0 ? character - 1 : 0;
    read_letters(p, letters, false);
    if (**p != ',')
        return;
    ++*p;
    key->end = read_place(p, &character);
    key->end_kind = character > 0 ? LINE_END_AT_PLACE : LINE_END_OF_FIELD;
    key->end.character = character;
    read_letters(p, letters, true);
}

/* "-k2,3n -t: -su": what sort(1) makes of it. */
static void read_order(const char *options, struct order *order)
{
    struct letters global = {.kind = LINE_BYTES}, letters[KEYS_MAX] = {{0}};
    size_t count = 0;
    order->order = (struct line_order){
        .keys = order->keys, .separator = LINE_SEPARATOR_BLANKS, .terminator = '\n'};
    for (const char *p = options; *p != 0;) {
        if (*p == ' ' || *p == '-') {
            ++p;
        } else if (*p == 'k') {
            ++p;
            letters[count].kind = LINE_BYTES;
            read_key(&p, &order->keys[count], &letters[count]);
            ++count;
        } else if (*p == 't') {
            order->order.separator = (unsigned char)p[1];
            p += 2;
        } else if (strchr("suz", *p) != NULL) {
            order->order.stable |= *p == 's';
            order->order.unique |= *p == 'u';
            order->order.terminator = *p++ == 'z' ? 0 : order->order.terminator;
        } else {
            const char *const before = p;
            read_letters(&p, &global, false);
            assert_true(p != before);
        }
    }
    if (count == 0)
        order->keys[count++] = (struct line_key){0};
    for (size_t i = 0; i < count; ++i) {
        const bool inherits = !letters[i].any;
        const struct letters *const used = inherits ? &global : &letters[i];
        order->keys[i].kind = used->kind;
        order->keys[i].reverse = used->reverse;
        order->keys[i].begin.skip_blanks = used->skip_begin;
        order->keys[i].end.skip_blanks = inherits ? global.skip_begin : used->skip_end;
    }
    order->order.key_count = count;
    order->order.reverse = global.reverse;
}

/* ---- both ways --------------------------------------------------------------------------------
 */

static int compare_items(const void *a, const void *b)
{
    const struct key_index *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* File "in" to file "out"; the numbers of the lines to *numbers, which is freed by the caller. */
static void sort_ours(const struct line_order *order, unsigned threads, struct key_index **numbers)
{
    struct error error = {0};
    struct source *source;
    struct lines_written written;
    struct sink *sink;
    struct lines *lines = lines_create(threads, order);
    assert_non_null(lines);
    if (!source_open("in", 2, &source, &error) || !append_lines(lines, source, &error) ||
        !lines_index(lines, &error))
        fail_msg("%s", error.message);
    source_close(source);
    size_t count = lines_count(lines), keyed;
    struct key_index *const items = malloc((count + 1) * sizeof *items);
    assert_non_null(items);
    if (!lines_key(lines, items, count, &keyed, &error))
        fail_msg("%s", error.message);
    assert_int_equal(keyed, count);
    qsort(items, count, sizeof *items, compare_items);
    assert_true(lines_refine(lines, items, &count, &error));
    for (size_t i = 1; i < count; ++i)
        assert_true(items[i - 1].key <= items[i].key);
    const struct sink_spec spec = {"out", &codecs[0], 0, threads};
    if (!sink_open(&spec, &sink, &error) ||
        !lines_write(lines, items, count, sink, &written, &error) || !sink_commit(sink, &error) ||
        !lines_number(lines, items, count, &error))
        fail_msg("%s", error.message);
    assert_int_equal(written.disorder, 0);
    if (count == lines_count(lines))
        assert_true(check_sum_equal(written.text, lines_sum(lines)));
    lines_free(lines);
    *numbers = items;
}

static void sort_theirs(const char *options)
{
    char command[256];
    snprintf(command, sizeof command, "LC_ALL=C sort %s -o expected in", options);
    assert_int_equal(system(command), 0);
}

/* Where lines of the input start. */
static size_t *find_lines(const struct text *text, char terminator)
{
    size_t count = 1;
    size_t *const starts = malloc((text->bytes + 2) * sizeof *starts);
    assert_non_null(starts);
    starts[0] = 0;
    for (size_t i = 0; i < text->bytes; ++i)
        if (text->data[i] == terminator)
            starts[count++] = i + 1;
    return starts;
}

/* The numbers of lines lead to the lines that were written. */
static void check_numbers(const struct text *input, const struct text *output, char terminator,
                          const struct key_index *numbers)
{
    size_t *const from = find_lines(input, terminator), *const to = find_lines(output, terminator);
    for (size_t i = 0; to[i] < output->bytes; ++i) {
        size_t length = to[i + 1] - to[i];
        if (from[numbers[i].index] + length > input->bytes)
            --length; /* the last line had no terminator */
        assert_memory_equal(input->data + from[numbers[i].index], output->data + to[i], length);
    }
    free(from);
    free(to);
}

static void fail_at_difference(const char *options, const struct text *found,
                               const struct text *expected)
{
    size_t i = 0;
    while (i < found->bytes && i < expected->bytes && found->data[i] == expected->data[i])
        ++i;
    while (i > 0 && expected->data[i - 1] != '\n')
        --i;
    fail_msg("%s: %zu bytes, %zu expected; at %zu '%.60s', expected '%.60s'", options, found->bytes,
             expected->bytes, i, found->data + i, expected->data + i);
}

static void check_output(const char *options, const struct text *input, unsigned threads,
                         const struct text *expected)
{
    struct order order;
    struct key_index *numbers;
    read_order(options, &order);
    sort_ours(&order.order, threads, &numbers);
    struct text found = read_text("out");
    if (expected->bytes != found.bytes || memcmp(expected->data, found.data, found.bytes) != 0)
        fail_at_difference(options, &found, expected);
    check_numbers(input, &found, order.order.terminator, numbers);
    free(numbers);
    free(found.data);
}

/* The input, whose lines end in newlines, is sorted by both; under -z it is the same, with NULs. */
static void check_order(const char *options, const struct text *input, unsigned threads)
{
    put_file("in", input->data, input->bytes);
    sort_theirs(options);
    struct text expected = read_text("expected");
    check_output(options, input, threads, &expected);
    free(expected.data);
}

static const char *const orders[] = {
    "-g",          "-gr",        "-gs",         "-grs",          "-gu",           "-gru",
    "-n",          "-nr",        "-ns",         "-nrs",          "-nu",           "-nru",
    "-h",          "-hr",        "-hs",         "-hrs",          "-hu",           "-hru",
    "-k1",         "-k1r",       "-r -k1",      "-u -k1",        "-s -k1,1",      "-b -k1",
    "-k2,2",       "-k2,2n",     "-k2n",        "-k2,2g",        "-k2,2h",        "-k2,2nr",
    "-r -k2,2n",   "-r -k2n -s", "-u -k2,2n",   "-k2b,2",        "-b -k2,2",      "-k2,2b -k1",
    "-t: -k2,2",   "-t: -k2,2n", "-t: -k3,3gr", "-t: -u -k2,2h", "-t: -k1,1 -u",  "-t. -k2n",
    "-n -k2 -k1r", "-g -k2r -u", "-k1.2,1.3",   "-k1.2b,1.3b",   "-s -k1.3,2.1n", "-k2,1 -k1.2",
};

static const char *const many_keys[] = {
    "-k1,1 -k2,2n -k3,3g",       "-k2,2n -k1,1r",         "-t: -k1,1n -k2,2h -k3,3",
    "-k2,2g -k1,1n -u",          "-k3,3r -k2,2nr -s",     "-t: -k3,3h -k2,2g -k1,1 -r",
    "-k1,1g -k1,1 -k2,2h -u -r", "-k2,2n -k2,2g -k3 -s",  "-n -k1,1 -k2,2 -k3,3",
    "-rn -k1,1 -k2,2 -k3,3",     "-k1.1,1.1 -k2,2nr -k1", "-k1,1h -k2,2h -k3,3h",
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- lines that are like numbers --------------------------------------------------------------
 */

static const char *const spellings[] = {
    "",
    "0",
    "-0",
    "+0",
    "0.0",
    "-0.00",
    "00",
    "1",
    "01",
    "1.0",
    "1e0",
    "1.",
    "+1",
    "-1",
    "--1",
    "- 1",
    "-.5",
    ".5",
    "0.5",
    "-0.50",
    ".",
    "-",
    "-.",
    "5.5.5",
    "1,000",
    "1x",
    "0x",
    "0x1p4",
    "0x.8",
    "0x.",
    "0x1p",
    "16",
    "1.6e1",
    "1e",
    "1e+",
    "1e5 x",
    "e5",
    "inf",
    "-inf",
    "infinityx",
    "infin",
    "Infinity",
    "in",
    "1e4000",
    "1e4001",
    "-1e4000",
    "1e5000",
    "2e-4951",
    "1e-4950",
    "0K",
    "-0K",
    "0M",
    "1K",
    "1k",
    "1023K",
    "1M",
    "-5K",
    "-5M",
    "5K",
    "5 K",
    "1.K",
    "1.5G",
    ".5T",
    "1Ki",
    "1m",
    "1P",
    "1E",
    "1Z",
    "2Y",
    "999Y",
    "0.000K",
    "1e5K",
    "\t7",
    " 7",
    "  7",
    "\v7",
    "\r7",
    "7\r",
    "7 ",
    "7\t3",
    "\3777",
    "7\377",
    "7\001",
    "\x80"
    "7",
    "7\x80"
    "0",
    "-\x80"
    "5",
    "\x80-5",
    "\x80\x80",
    "0\x80"
    "5K",
    "1\x80"
    "000K",
    "7.\x80"
    "5",
    "7.5\x80K",
    "6\x80K",
    "-0\x80"
    "5M",
    "\x80.5",
    "12345678901234\x80"
    "5678",
    "1\x80"
    "2345678901234567",
    "one",
    "123456789012345678",
    "123456789012345679",
    "1234567890123456789",
    "12345678901234567",
    "12345678901234567.0",
    "12345678901234567.1",
    "1234567890123456.25K",
    "1234567890123456.26K",
    "9999999999999999K",
    "1234567890123456789012345678901234567890",
    "1234567890123456789012345678901234567891",
    "0.12345678901234567",
    "0.123456789012345678",
    "-0.12345678901234567",
    "-0.123456789012345678",
    "0.00000000000000000000000001",
    "0.000000000000000000000000011",
    "-0.00000000000000000000000001",
    "18446744073709551616",
    "18446744073709551617",
    "9223372036854775807.5",
    "36893488147419103233",
    "36893488147419103232",
    "-36893488147419103233",
};

/* A number of up to so many digits, most of them alike from line to line. */
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

static void add_number(struct text *text, uint64_t *seed)
{
    char number[64];
    const size_t kind = random_below(seed, 5);
    if (kind == 0) {
        const char *const spelling = spellings[random_below(seed, COUNT_OF(spellings))];
        text_add(text, spelling, strlen(spelling));
        return;
    }
    if (kind == 1)
        snprintf(number, sizeof number, "%d", (int)random_below(seed, 30) - 10);
    else if (kind == 2)
        snprintf(number, sizeof number, "%s%zu.%zu%.*s", random_below(seed, 3) ? "" : "-",
                 random_below(seed, 3), random_below(seed, 3), (int)random_below(seed, 2),
                 &"KMGk"[random_below(seed, 4)]);
    else if (kind == 3)
        snprintf(number, sizeof number, "%s%s%zue%d", random_below(seed, 4) ? "" : " ",
                 random_below(seed, 2) ? "" : "0", random_below(seed, 12),
                 (int)random_below(seed, 4) - 2);
    else
        snprintf(number, sizeof number, "%.17g", (double)random_next(seed) / 1e18);
    text_add(text, number, strlen(number));
}

/* Fields of numbers and words, few of each, parted by blanks and colons. */
static void add_fields(struct text *text, uint64_t *seed)
{
    static const char *const words[] = {"a", "ab", "abc", "abcdefg", "abcdefgh", "b", "B", "\xff"};
    static const char *const gaps[] = {" ", "  ", "\t", ":", ": ", " :"};
    const size_t fields = random_below(seed, 5);
    for (size_t i = 0; i < fields; ++i) {
        const char *const gap = gaps[random_below(seed, COUNT_OF(gaps))];
        const char *const word = words[random_below(seed, COUNT_OF(words))];
        if (i > 0 || random_below(seed, 8) == 0)
            text_add(text, gap, strlen(gap));
        if (random_below(seed, 2))
            text_add(text, word, strlen(word));
        else
            add_number(text, seed);
    }
}

/* What numbers are made of, in any order; there is no "a", and so no "nan". */
static void add_noise(struct text *text, uint64_t *seed)
{
    static const char alphabet[] = "0012579..--+eExXpinftyKMG \t\v:\x80";
    for (size_t left = random_below(seed, 9); left > 0; --left)
        text_add(text, &alphabet[random_below(seed, sizeof alphabet - 1)], 1);
}

typedef void add_line(struct text *text, uint64_t *seed);

/* Both ways for all orders, by 1 to 3 threads; with terminators, and some NULs in lines. */
static void check_orders(const char *const *options, size_t options_count, add_line *add,
                         size_t rounds, size_t count_max)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < options_count * rounds; ++i) {
        struct text input = {0};
        text_add(&input, "", 0);
        const size_t count = random_below(&seed, count_max);
        for (size_t line = 0; line < count; ++line) {
            add(&input, &seed);
            if (random_below(&seed, 40) == 0)
                text_add(&input, "\0x", random_below(&seed, 3));
            if (line + 1 < count || random_below(&seed, 2))
                text_add(&input, "\n", 1);
        }
        check_order(options[i % options_count], &input, 1 + (unsigned)(i % 3));
        char with_nul[128];
        snprintf(with_nul, sizeof with_nul, "%s -z", options[i % options_count]);
        for (size_t k = 0; k < input.bytes; ++k)
            if (input.data[k] == '\n' || (input.data[k] == 0 && random_below(&seed, 2)))
                input.data[k] = (char)(input.data[k] == 0 ? '\n' : 0);
        check_order(with_nul, &input, 1 + (unsigned)(i % 3));
        free(input.data);
    }
}

static void few_lines_are_in_any_order(void **state)
{
    (void)state;
    check_orders(orders, COUNT_OF(orders), add_number, 2, 80);
    check_orders(orders, COUNT_OF(orders), add_fields, 2, 80);
    check_orders(orders, COUNT_OF(orders), add_noise, 2, 200);
    check_orders(many_keys, COUNT_OF(many_keys), add_fields, 3, 100);
}

static void many_lines_are_in_any_order(void **state)
{
    (void)state;
    check_orders(orders, COUNT_OF(orders), add_number, 1, 12000);
    check_orders(many_keys, COUNT_OF(many_keys), add_fields, 1, 40000);
}

/* Enough for several threads to look for runs, with runs that are long and runs that are not. */
static void repeated_lines_are_left_out(void **state)
{
    (void)state;
    static const char *const options[] = {"-nu", "-gru", "-u -k1", "-hsu", "-u -k1,1n -k2", "-n"};
    static const size_t values[] = {5, 1000, 100000};
    uint64_t seed = 7;
    for (size_t i = 0; i < COUNT_OF(options) * COUNT_OF(values); ++i) {
        struct text input = {0};
        for (size_t line = 0; line < 200000; ++line) {
            char number[32];
            const size_t value = random_below(&seed, values[i / COUNT_OF(options)]);
            snprintf(number, sizeof number, "%zu%s\n", value, random_below(&seed, 2) ? "" : ".0");
            text_add(&input, number, strlen(number));
        }
        check_order(options[i % COUNT_OF(options)], &input, 3);
        free(input.data);
    }
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

/* A number or word of some 470 bytes that are nearly all the same, in all lines; where it ends and
 * where it is different lies near its end, so that words of it begin there in all ways. */
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

/* The longest runs are looked through by several threads. */
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

/* The beginning of one long text, and maybe something else: each line shares another number of
 * bytes with each other one, more than are compared at a time. */
static void add_ladder(struct text *text, uint64_t *seed)
{
    static const char *const rests[] = {"", "", "b", "\xff", " a", "a b", "\x01"};
    static char steps[2500];
    const char *const rest = rests[random_below(seed, COUNT_OF(rests))];
    memset(steps, 'a', sizeof steps);
    text_add(text, steps, random_below(seed, 50) * random_below(seed, 50) + random_below(seed, 99));
    text_add(text, rest, strlen(rest));
}

/* The same of digits, which go on for many words before they are different. */
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

/* So much that all share is not gone through step by step: whole lines are compared then. */
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

/* One of a few values, after zeros and before bytes that are no part of it, which end around the
 * bytes that lines of equal value are put in order by at a time. */
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

/* Longer than the blocks in which lines are found and the buffers in which they are written. */
static void very_long_lines_are_in_order(void **state)
{
    (void)state;
    static const char *const options[] = {"-n", "-k1", "-k2,2n -u", "-h", "-k2"};
    struct text input = {0};
    uint64_t seed = 5;
    char *const zeros = malloc(10000000);
    assert_non_null(zeros);
    memset(zeros, '0', 10000000);
    for (size_t i = 0; i < 18; ++i) {
        text_add(&input, "2", i % 2);
        text_add(&input, zeros, i < 4 ? 10000000 - i / 2 : random_below(&seed, 100000));
        text_add(&input, " 7 ", random_below(&seed, 4));
        text_add(&input, "1\n", 2);
        for (size_t k = 0; k < 500; ++k) {
            add_fields(&input, &seed);
            text_add(&input, "\n", 1);
        }
    }
    free(zeros);
    for (size_t i = 0; i < COUNT_OF(options); ++i)
        check_order(options[i], &input, 2);
    free(input.data);
}

/* ---- what is written out ----------------------------------------------------------------------
 */

struct written_case {
    const char *options;
    const char *input;
    const char *expected;
};

static const struct written_case written_cases[] = {
    /* No number, NaNs by sign and then as bytes, infinities. */
    {"-g", "nan(2)\n-inf\nx\nnan\n-nan(1)\n\n-nan\ninf\nnan(\n0\n",
     "\nx\n-nan\n-nan(1)\nnan\nnan(\nnan(2)\n-inf\n0\ninf\n"},
    {"-gs", "nan(2)\nx\nnan\n-nan(1)\na\n-nan\n", "x\na\n-nan(1)\n-nan\nnan(2)\nnan\n"},
    {"-gu", "nan(2)\nx\nnan\n-nan(1)\na\n-nan\n", "x\n-nan(1)\nnan(2)\n"},
    {"-k2,2g", "a nan(2)\nb x\nc -nan\nd nan\ne -inf\n", "b x\nc -nan\na nan(2)\nd nan\ne -inf\n"},
    {"-k1,1 -k2,2g", "a nan\na x\na -nan\na nan(7)\na -inf\n",
     "a x\na -nan\na nan\na nan(7)\na -inf\n"},
    /* All suffixes. */
    {"-h", "1Q\n1R\n1Y\n1Z\n1E\n1P\n1T\n1G\n1M\n1K\n1\n-1\n-1K\n-1Q\n-1R\n",
     "-1Q\n-1R\n-1K\n-1\n1\n1K\n1M\n1G\n1T\n1P\n1E\n1Z\n1Y\n1R\n1Q\n"},
    /* -u keeps the first of the input. */
    {"-nu", "3\n1.0\n1\n03\n1.00\n", "1.0\n3\n"},
    {"-nru", "3\n1.0\n1\n03\n1.00\n", "3\n1.0\n"},
    {"-hu", "1K\n1k\n-0\n0M\n", "-0\n1K\n"},
    {"-u -k1,1", "b 1\na 2\nb 2\na 1\n", "a 2\nb 1\n"},
};

static void written_orders_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(written_cases); ++i) {
        const struct written_case *const c = &written_cases[i];
        struct text input = {0}, expected = {0};
        text_add(&input, c->input, strlen(c->input));
        text_add(&expected, c->expected, strlen(c->expected));
        put_file("in", input.data, input.bytes);
        check_output(c->options, &input, 2, &expected);
        free(input.data);
        free(expected.data);
    }
}

static int remove_files(void **state)
{
    static const char *const names[] = {"in", "out", "expected"};
    return leave_scratch_without(state, names, COUNT_OF(names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_orders_hold),
        cmocka_unit_test(few_lines_are_in_any_order),
        cmocka_unit_test(many_lines_are_in_any_order),
        cmocka_unit_test(repeated_lines_are_left_out),
        cmocka_unit_test(long_numbers_are_exact),
        cmocka_unit_test(lines_that_begin_alike_are_in_order),
        cmocka_unit_test(ladders_are_in_order),
        cmocka_unit_test(few_lines_that_share_much_are_in_order),
        cmocka_unit_test(lines_of_equal_value_go_by_bytes),
        cmocka_unit_test(very_long_lines_are_in_order),
    };
    return cmocka_run_group_tests(tests, enter_scratch, remove_files);
}
