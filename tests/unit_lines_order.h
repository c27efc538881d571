/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines_order.h - sorts lines in any order of sort(1) and compares them with sort(1) itself;
 * for unit tests.
 *
 *   options of sort(1) -> struct line_order -> lines by gpusort
 *                      -> LC_ALL=C sort     -> lines by sort(1): the same bytes
 */
#ifndef TESTS_UNIT_LINES_ORDER_H
#define TESTS_UNIT_LINES_ORDER_H

#include "core/line_order.h"
#include "formats/codec.h"
#include "formats/lines.h"
#include "tests/append_lines.h"
#include "tests/unit_text_file.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static inline size_t random_below(uint64_t *state, size_t end)
{
    return (size_t)(random_next(state) % end);
}

/* ---- the options of sort(1) ---- */

#define KEYS_MAX 8

/* An order, and the keys to which it points. */
struct order {
    struct line_key keys[KEYS_MAX];
    struct line_order order;
};

/* The meaning of option letters. A key without letters has the global ones. */
struct letters {
    enum line_kind kind;
    bool reverse, skip_begin, skip_end, any;
};

static inline size_t read_count(const char **p)
{
    char *end;
    const size_t count = strtoul(*p, &end, 10);
    assert_true(end != *p);
    *p = end;
    return count;
}

static inline void read_letters(const char **p, struct letters *letters, bool is_end)
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

/* Reads a field and a character, counted from 1. */
static inline struct line_place read_place(const char **p, size_t *character)
{
    struct line_place place = {.field = read_count(p) - 1};
    *character = 0;
    if (**p == '.') {
        ++*p;
        *character = read_count(p);
    }
    return place;
}

static inline void read_key(const char **p, struct line_key *key, struct letters *letters)
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

/* Reads "-k2,3n -t: -su" as sort(1) does. */
static inline void read_order(const char *options, struct order *order)
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

/* ---- sorting in both ways ---- */

/* Sorts the file "in" to the file "out". Sets *numbers to the line numbers; the caller frees
 * them. */
static inline void sort_ours(const struct line_order *order, unsigned threads,
                             struct key_index **numbers)
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
    const struct sink_spec spec = {"out", &codecs[0], 0, threads, false, NULL};
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

static inline void sort_theirs(const char *options)
{
    char command[256];
    snprintf(command, sizeof command, "LC_ALL=C sort %s -o expected in", options);
    assert_int_equal(system(command), 0);
}

/* Returns the positions at which the lines of the input start. */
static inline size_t *find_lines(const struct text *text, char terminator)
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

/* Checks that the line numbers lead to the lines that were written. */
static inline void check_numbers(const struct text *input, const struct text *output,
                                 char terminator, const struct key_index *numbers)
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

static inline void fail_at_difference(const char *options, const struct text *found,
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

static inline void check_output(const char *options, const struct text *input, unsigned threads,
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

/* Sorts the input, whose lines end in newlines, in both ways. With -z the lines end in NULs. */
static inline void check_order(const char *options, const struct text *input, unsigned threads)
{
    put_file("in", input->data, input->bytes);
    sort_theirs(options);
    struct text expected = read_text("expected");
    check_output(options, input, threads, &expected);
    free(expected.data);
}

/* ---- random lines ---- */

/* Adds a line without its newline. */
typedef void add_line(struct text *text, uint64_t *seed);

/* Checks all orders, with 1 to 3 threads. The lines have terminators, and some of them NULs. */
static inline void check_orders(const char *const *options, size_t options_count, add_line *add,
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

static inline int remove_files(void **state)
{
    static const char *const names[] = {"in", "out", "expected"};
    return leave_scratch_without(state, names, COUNT_OF(names));
}

#endif
