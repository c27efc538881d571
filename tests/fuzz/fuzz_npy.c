/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - NumPy's files: which headers are accepted, their meaning, and the numbers after
 * them.
 *
 * The reference reads the header by regular expressions. Its three items may come in any order. The
 * reference does not judge dtypes other than plain numbers.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "tests/fuzz/fuzz.h"

#include <regex.h>

#define PREFIX "\x93NUMPY"

/* ---- the reference ---- */

#define BLANK_BYTES " \t\r\n"
#define BLANKS "[" BLANK_BYTES "]*"
#define NAME(name) "^" BLANKS "u?('" name "'|\"" name "\")" BLANKS ":" BLANKS
/* A string has no backslash and no control character. */
#define NO_STRING "\\\001-\037"

enum { DESCR, FORTRAN_ORDER, SHAPE, ITEMS };
static const char *const patterns[ITEMS] = {
    [DESCR] = NAME("descr") "u?('[^'" NO_STRING "]*'|\"[^\"" NO_STRING "]*\")",
    [FORTRAN_ORDER] = NAME("fortran_order") "(True|False)",
    [SHAPE] = NAME("shape") "(\\([^()]*\\))",
};

struct model_header {
    struct fuzz_span dtype;
    unsigned __int128 count;
};

/* Reads a size, which may end with an L as in Python 2. */
static bool read_size(const char **p, unsigned __int128 *size)
{
    const size_t digits = strspn(*p, "0123456789");
    if (digits == 0 || (digits > 1 && **p == '0'))
        return false;
    *size = 0;
    for (size_t i = 0; i < digits && *size <= SIZE_MAX; i++)
        *size = *size * 10 + (unsigned)((*p)[i] - '0');
    *p += digits;
    *p += **p == 'L';
    return *size <= SIZE_MAX;
}

/* Reads a shape in parentheses. At most one size may differ from 1, unless one is 0. */
static bool read_shape(const char *p, unsigned __int128 *count)
{
    unsigned dimensions = 0, others = 0;
    bool comma = false, is_empty = false;
    *count = 1;
    for (p++; *(p += strspn(p, BLANK_BYTES)) != ')'; dimensions++) {
        unsigned __int128 size;
        if ((dimensions > 0 && !comma) || !read_size(&p, &size))
            return false;
        others += size != 1;
        is_empty |= size == 0;
        *count = size != 1 ? size : *count;
        p += strspn(p, BLANK_BYTES);
        comma = *p == ',';
        p += comma;
    }
    *count = is_empty ? 0 : *count;
    return (others <= 1 || is_empty) && dimensions <= 64 && (dimensions != 1 || comma);
}

/* Finds the item at *p, reads it and moves *p to its end. */
static bool read_item(const char **p, struct model_header *header, unsigned *seen)
{
    static regex_t items[ITEMS];
    regmatch_t found[3];
    unsigned item = 0;
    for (unsigned i = 0; i < ITEMS && items[i].re_nsub == 0; i++)
        if (regcomp(&items[i], patterns[i], REG_EXTENDED) != 0)
            abort();
    while (item < ITEMS && regexec(&items[item], *p, 3, found, 0) != 0)
        item++;
    if (item == ITEMS || (*seen & 1u << item))
        return false;
    *seen |= 1u << item;
    const char *const value = *p + found[2].rm_so;
    *p += found[0].rm_eo;
    if (item == DESCR)
        header->dtype = (struct fuzz_span){value + 1, (size_t)(*p - value) - 2};
    return item != SHAPE || read_shape(value, &header->count);
}

static bool read_dictionary(struct fuzz_span span, struct model_header *header)
{
    static char text[65537];
    unsigned seen = 0;
    bool is_next = true;
    if (memchr(span.text, '\0', span.length))
        return false;
    memcpy(text, span.text, span.length);
    text[span.length] = '\0';
    const char *p = text + strspn(text, BLANK_BYTES);
    if (*p++ != '{')
        return false;
    while (is_next && *(p += strspn(p, BLANK_BYTES)) != '}') {
        if (!read_item(&p, header, &seen))
            return false;
        p += strspn(p, BLANK_BYTES);
        is_next = *p == ',';
        p += is_next;
    }
    return *p == '}' && seen == 7 && p[1 + strspn(p + 1, BLANK_BYTES)] == '\0';
}

/* The dtypes of the numbers that the model knows. */
static const struct {
    const char *dtype, *type;
} dtypes[] = {{"i1", "i8"},  {"i2", "i16"}, {"i4", "i32"}, {"i8", "i64"},
              {"u1", "u8"},  {"u2", "u16"}, {"u4", "u32"}, {"u8", "u64"},
              {"f2", "f16"}, {"f4", "f32"}, {"f8", "f64"}};

/* Returns the name of the type; NULL if the model does not know it. */
static const char *find_type(struct fuzz_span dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtype.length == 3 && memchr("<>=", dtype.text[0], 3) &&
            memcmp(dtype.text + 1, dtypes[i].dtype, 2) == 0)
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
    const enum key_endian endian = header->dtype.text[0] == '>' ? ENDIAN_BIG : ENDIAN_LITTLE;
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
