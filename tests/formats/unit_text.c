/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text.c - the text format: text to items and back, blocks, errors, detection. */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/unit_text.XXXXXX";
static char input_path[64], output_path[64];

static void write_input(const char *data, size_t bytes)
{
    FILE *file = fopen(input_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Reads the input in calls for `step` items; NULL with the error set on failure. */
static void *read_items(enum key_type_id id, size_t room, size_t step, size_t *count,
                        struct error *error)
{
    struct reader reader = {.layout = {&key_types[id], ENDIAN_LITTLE, 0}};
    const size_t item_bytes = key_types[id].bytes;
    unsigned char *items = malloc(room * item_bytes + 1);
    assert_non_null(items);
    assert_true(source_open(input_path, 2, &reader.source, error));
    bool is_read = format_text.read_header(&reader, error);
    size_t got = 1;
    for (*count = 0; is_read && got > 0; *count += got) {
        const size_t capacity = room - *count < step ? room - *count : step;
        unsigned char spare[8];
        is_read = format_text.read_keys(&reader, capacity > 0 ? items + *count * item_bytes : spare,
                                        capacity > 0 ? capacity : 1, &got, error);
        if (is_read)
            assert_int_equal(reader.keys_read, *count + got);
    }
    source_close(reader.source);
    if (is_read)
        return items;
    free(items);
    return NULL;
}

static void write_items(enum key_type_id id, const void *items, size_t count)
{
    struct error error = {0};
    const struct layout layout = {.type = &key_types[id], .endian = ENDIAN_LITTLE, .count = count};
    const struct sink_spec spec = {output_path, &codecs[0], 0, 2, false, NULL};
    struct sink *sink;
    if (!sink_open(&spec, &sink, &error) || !format_text.write_header(sink, &layout, &error) ||
        !format_text.write_keys(sink, &layout, items, count, NULL, &error) ||
        !sink_commit(sink, &error))
        fail_msg("%s", error.message);
}

/* Written numbers are the text that printf writes, and are read back unchanged. */
static void integers_go_there_and_back(void **state)
{
    (void)state;
    const size_t count = 700000, steps[] = {1000000, 262144, 9999};
    int32_t *items = malloc(count * sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < count; ++i)
        items[i] = (int32_t)(i * 2654435761u) >> i % 20;
    write_items(KEY_TYPE_i32, items, count);

    FILE *file = fopen(output_path, "r");
    char *expected = malloc(count * 12);
    assert_non_null(file);
    assert_non_null(expected);
    char *end = expected;
    for (size_t i = 0; i < count; ++i)
        end += sprintf(end, "%d\n", items[i]);
    char *found = malloc(count * 12);
    assert_non_null(found);
    assert_int_equal(fread(found, 1, count * 12, file), end - expected);
    assert_memory_equal(found, expected, (size_t)(end - expected));
    fclose(file);
    free(found);

    for (size_t i = 0; i < 6; ++i) { /* with and without the last newline */
        struct error error = {0};
        size_t got;
        write_input(expected, (size_t)(end - expected) - i % 2);
        int32_t *again = read_items(KEY_TYPE_i32, count, steps[i / 2], &got, &error);
        if (again == NULL)
            fail_msg("%s", error.message);
        assert_int_equal(got, count);
        assert_memory_equal(again, items, count * sizeof *items);
        free(again);
    }
    free(expected);
    free(items);
}

static void big_endian_items_are_written(void **state)
{
    (void)state;
    struct error error = {0};
    static const unsigned char items[] = {0x01, 0x02, 0xff, 0xfe};
    const struct layout layout = {
        .type = &key_types[KEY_TYPE_i16], .endian = ENDIAN_BIG, .count = 2};
    const struct sink_spec spec = {output_path, &codecs[0], 0, 2, false, NULL};
    struct sink *sink;
    char found[32];
    assert_true(sink_open(&spec, &sink, &error));
    assert_true(format_text.write_keys(sink, &layout, items, 2, NULL, &error));
    assert_true(sink_commit(sink, &error));
    FILE *file = fopen(output_path, "r");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof found, file), 7);
    assert_memory_equal(found, "258\n-2\n", 7);
    fclose(file);
}

static void check_refusal_of(enum key_type_id id, const char *data, size_t bytes,
                             const char *expected)
{
    struct error error = {0};
    size_t count;
    write_input(data, bytes);
    assert_null(read_items(id, 2000000, 2000000, &count, &error));
    const char *const slash = strrchr(error.message, '/');
    assert_non_null(slash);
    assert_string_equal(slash + 1, expected);
}

static void check_refusal(enum key_type_id id, const char *data, const char *expected)
{
    check_refusal_of(id, data, strlen(data), expected);
}

static void errors_name_line_and_cause(void **state)
{
    (void)state;
    check_refusal(KEY_TYPE_f64, "1\nabc\nx\n", "in:2: 'abc' is not a number");
    check_refusal(KEY_TYPE_f64, "1\n\n", "in:2: empty line, not a number");
    check_refusal(KEY_TYPE_f64, "1\n \t", "in:2: empty line, not a number");
    check_refusal(KEY_TYPE_u8, "300\n", "in:1: 300 is out of the range of u8");
    check_refusal(KEY_TYPE_u8, "1.5", "in:1: 1.5 is not a whole number, as u8 needs");
    check_refusal(KEY_TYPE_u8, "nan", "in:1: nan is not a whole number, as u8 needs");
    check_refusal(KEY_TYPE_f32, "0\n1e39", "in:2: 1e39 is out of the range of f32");
    check_refusal_of(KEY_TYPE_f64, "1\n2\0\n", 5,
                     "in:2: '2\\000' has a NUL byte in it and is not a number");
    check_refusal(
        KEY_TYPE_f64, "0123456789012345678901234567890123456789x",
        "in:1: '0123456789012345678901234567890123456789...' is not a number: what follows "
        "the number has to be removed");
    check_refusal(KEY_TYPE_bf16, "1\n1e39\n", "in:2: 1e39 is out of the range of bf16");
    check_refusal(KEY_TYPE_f16, "65520\n", "in:1: 65520 is out of the range of f16");

    const size_t bytes = 6 << 20;
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    for (size_t i = 0; i < bytes; ++i)
        text[i] = "7654321\n"[i % 8];
    text[bytes] = 0;
    text[8 * 600000] = text[8 * 700000] = 'x';
    check_refusal(KEY_TYPE_f64, text, "in:600001: 'x654321' is not a number");
    memset(text + 16, '1', (size_t)1 << 20);
    check_refusal(KEY_TYPE_f64, text, "in:3: lines of 1 MiB and more are not read");
    free(text);
}

static bool recognises(const char *head, size_t bytes)
{
    return format_text.recognises((const unsigned char *)head, bytes, true);
}

static void text_is_recognised(void **state)
{
    (void)state;
    assert_true(recognises("", 0));
    static const char numbers[] = "1\n-2.5e+10\n0x1Fp-3\n nan\tInfinity\r\n";
    assert_true(recognises(numbers, sizeof numbers - 1));
    assert_false(recognises("1\0", 2));
    assert_false(recognises("1,2\n", 4));
    assert_false(recognises("\x93NUMPY", 6));
    assert_false(recognises("\0\0\0\0\0\0\xf0?", 8));
}

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(input_path, sizeof input_path, "%s/in", directory);
    snprintf(output_path, sizeof output_path, "%s/out", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(input_path);
    unlink(output_path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_go_there_and_back),
        cmocka_unit_test(big_endian_items_are_written),
        cmocka_unit_test(errors_name_line_and_cause),
        cmocka_unit_test(text_is_recognised),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
