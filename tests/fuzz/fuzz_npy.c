/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - NumPy's files: which headers are accepted, their meaning, and the numbers after
 * them.
 *
 * The reference splits the header into tokens. Only one sequence of tokens is valid, except for the
 * order of the three items. The reference does not judge dtypes other than plain numbers.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "tests/fuzz/fuzz.h"

#define PREFIX "\x93NUMPY"

/* ---- the reference ---- */

/* kind: a byte of punctuation; s: a string, whose text has no quotes; n: a number; w: a word; 0:
 * the end; ?: anything else. */
struct token {
    char kind;
    struct fuzz_span span;
};

static bool is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static struct token next_token(struct fuzz_span *rest)
{
    const char *p = rest->text, *const end = p + rest->length;
    while (p < end && is_in(*p, " \t\r\n"))
        p++;
    const char *const first = p;
    char kind = p == end ? '\0' : is_in(*p, "{}(),:") ? *p++ : '?';
    p += kind == '?' && end - p > 1 && *p == 'u' && is_in(p[1], "'\"");
    const char *const quote = p;
    if (kind == '?' && is_in(*p, "'\"")) {
        for (p++; p < end && *p != *quote && *p != '\\' && (unsigned char)*p >= ' '; p++)
            ;
        kind = p < end && *p == *quote ? 's' : '?';
        p += kind == 's';
    } else if (kind == '?') {
        while (p < end && is_in(*p, "0123456789"))
            p++;
        kind = p > first ? 'n' : '?';
        p += kind == 'n' && p < end && *p == 'L';
        while (p < end && kind == '?' && is_in(*p, "TrueFalse"))
            p++;
        kind = kind == '?' && p > first ? 'w' : kind;
    }
    *rest = (struct fuzz_span){p, (size_t)(end - p)};
    if (kind == 's')
        return (struct token){kind, {quote + 1, (size_t)(p - quote) - 2}};
    return (struct token){kind, {first, (size_t)(p - first)}};
}

static bool is_text(struct token token, char kind, const char *text)
{
    return token.kind == kind && token.span.length == strlen(text) &&
           memcmp(token.span.text, text, token.span.length) == 0;
}

struct model_header {
    struct token dtype;
    unsigned __int128 count;
};

static bool read_count(struct token token, unsigned __int128 *count)
{
    *count = 0;
    for (size_t i = 0; i < token.span.length && token.span.text[i] != 'L'; i++)
        if (*count <= SIZE_MAX)
            *count = *count * 10 + (unsigned)(token.span.text[i] - '0');
    return token.kind == 'n' &&
           (token.span.text[0] != '0' || token.span.length == 1 || token.span.text[1] == 'L');
}

/* Reads a shape after its opening parenthesis. At most one size may differ from 1, unless one is 0.
 */
static bool read_shape(struct fuzz_span *rest, unsigned __int128 *count)
{
    unsigned dimensions = 0, others = 0;
    struct token token = next_token(rest);
    bool comma = false, is_empty = false;
    *count = 1;
    for (; token.kind == 'n'; dimensions++) {
        unsigned __int128 size;
        if (!read_count(token, &size) || size > SIZE_MAX)
            return false;
        others += size != 1;
        is_empty |= size == 0;
        *count = size != 1 ? size : *count;
        token = next_token(rest);
        comma = token.kind == ',';
        if (comma)
            token = next_token(rest);
        else if (token.kind == 'n')
            return false;
    }
    if (is_empty)
        *count = 0;
    return token.kind == ')' && (others <= 1 || is_empty) && dimensions <= 64 &&
           (dimensions != 1 || comma);
}

/* Reads one item of the dictionary; sets its bit in *seen. */
static bool read_item(struct fuzz_span *rest, struct model_header *header, unsigned *seen)
{
    const struct token name = next_token(rest);
    const unsigned bit = is_text(name, 's', "descr")           ? 1
                         : is_text(name, 's', "fortran_order") ? 2
                         : is_text(name, 's', "shape")         ? 4
                                                               : 0;
    if (bit == 0 || (*seen & bit) || next_token(rest).kind != ':')
        return false;
    *seen |= bit;
    const struct token value = next_token(rest);
    if (bit == 1)
        header->dtype = value;
    return bit == 1   ? value.kind == 's'
           : bit == 2 ? is_text(value, 'w', "True") || is_text(value, 'w', "False")
                      : value.kind == '(' && read_shape(rest, &header->count);
}

static bool read_dictionary(struct fuzz_span rest, struct model_header *header)
{
    unsigned seen = 0;
    char kind = ',';
    if (next_token(&rest).kind != '{')
        return false;
    while (kind == ',') {
        struct fuzz_span after = rest;
        if (next_token(&after).kind != '}' && !read_item(&rest, header, &seen))
            return false;
        kind = next_token(&rest).kind;
    }
    return kind == '}' && seen == 7 && next_token(&rest).kind == '\0';
}

/* The dtypes of the numbers that the model knows. */
static const struct {
    const char *dtype, *type;
} dtypes[] = {{"i1", "i8"},  {"i2", "i16"}, {"i4", "i32"}, {"i8", "i64"},
              {"u1", "u8"},  {"u2", "u16"}, {"u4", "u32"}, {"u8", "u64"},
              {"f2", "f16"}, {"f4", "f32"}, {"f8", "f64"}};

/* Returns the name of the type; NULL if the model does not know it. */
static const char *find_type(struct token dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtype.span.length == 3 && is_in(dtype.span.text[0], "<>=") &&
            memcmp(dtype.span.text + 1, dtypes[i].dtype, 2) == 0)
            return dtypes[i].type;
    return NULL;
}

/* Finds the length of the prefix, and the header. Returns false if the file has none. */
static bool split_file(const uint8_t *file, size_t bytes, struct fuzz_span *header, size_t *data)
{
    if (bytes < 10 || memcmp(file, PREFIX, 6) != 0 || file[6] < 1 || file[6] > 3 || file[7] != 0)
        return false;
    const size_t prefix = file[6] == 1 ? 10 : 12;
    if (bytes < prefix)
        return false;
    size_t length = file[8] | (size_t)file[9] << 8;
    if (file[6] > 1)
        length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
    *header = (struct fuzz_span){(const char *)file + prefix, length};
    *data = prefix + length;
    return *data <= bytes;
}

/* ---- the code under test ---- */

/* Reads all numbers, and compares them with the bytes from `expected` on. */
static bool read_numbers(struct reader *reader, const uint8_t *expected, struct error *error)
{
    unsigned char items[64];
    size_t count = 1, done = 0;
    while (count > 0) {
        if (!format_npy.read_keys(reader, items, sizeof items / 8, &count, error))
            return false;
        const size_t bytes = count * reader->layout.type->bytes;
        if (memcmp(items, expected + done, bytes) != 0)
            fuzz_fail("the numbers at byte %zu of the data", done);
        done += bytes;
    }
    return true;
}

static void check_layout(const struct layout *layout, const struct model_header *header,
                         size_t data_bytes)
{
    const char *const type = find_type(header->dtype);
    const enum key_endian endian = header->dtype.span.text[0] == '>' ? ENDIAN_BIG : ENDIAN_LITTLE;
    if (layout->count != header->count || layout->count * layout->type->bytes != data_bytes)
        fuzz_fail("%zu numbers are read", layout->count);
    if (type && (strcmp(layout->type->name, type) != 0 ||
                 (layout->type->bytes > 1 && layout->endian != endian)))
        fuzz_fail("dtype %s is read as %s", type, layout->type->name);
}

static void check_file(const uint8_t *file, size_t bytes)
{
    static struct error error;
    struct fuzz_span header_text;
    struct model_header header = {{0}, 0};
    struct reader reader = {.layout = {.type = NULL}};
    size_t data = 0;
    error.is_set = false;
    const bool is_header = split_file(file, bytes, &header_text, &data) &&
                           header_text.length <= 65536 && read_dictionary(header_text, &header);
    const char *const type = is_header ? find_type(header.dtype) : NULL;
    const bool is_right = type && header.count <= bytes &&
                          (size_t)header.count * (size_t)(atoi(type + 1) / 8) == bytes - data;
    const int memory = fuzz_open_file(file, bytes);
    if (!source_open_file(memory, "x.npy", codecs[0], 1, &reader.source, &error))
        fuzz_fail("%s", error.message);
    const bool is_read =
        format_npy.read_header(&reader, &error) && read_numbers(&reader, file + data, &error);
    source_close(reader.source);
    close(memory);
    if (is_read != is_right && (type || !is_header))
        fuzz_fail("a file that is %s: %s", is_right ? "right" : "wrong",
                  is_read ? "it is taken" : error.message);
    if (is_read)
        check_layout(&reader.layout, &header, bytes - data);
}

/* Input: a whole file; or, for most first bytes, a header up to a NUL, to which the prefix is
 * added, and data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t file[FUZZ_TEXT_MAX + 4096];
    struct fuzz_input input = {data, bytes};
    if (bytes > 0 && data[0] == PREFIX[0]) {
        check_file(data, bytes);
        return 0;
    }
    const unsigned version = fuzz_take(&input) % 3 + 1;
    const struct fuzz_span header =
        fuzz_take_text(&input, '\0', version == 1 ? 1000 : FUZZ_TEXT_MAX);
    const size_t prefix = version == 1 ? 10 : 12;
    const size_t rest = input.bytes < 4000 ? input.bytes : 4000;
    memcpy(file, PREFIX, 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    for (size_t i = 8; i < prefix; i++)
        file[i] = (uint8_t)(header.length >> 8 * (i - 8));
    memcpy(file + prefix, header.text, header.length);
    memcpy(file + prefix + header.length, input.data, rest);
    check_file(file, prefix + header.length + rest);
    free((char *)header.text);
    return 0;
}
