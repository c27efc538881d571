/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.c - see npy_header.h. */
#include "formats/array/npy_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parsing ---- */

/* A header while it is parsed. */
struct header {
    const char *file; /* for messages */
    const char *at;   /* the next byte to parse */
    const char *end;
    struct layout layout; /* on entry layout.type is the user's type, or NULL */
    unsigned seen;        /* a bit for each of header_keys */
    struct error *error;
};

/* Some bytes of the header. */
struct span {
    const char *data;
    size_t bytes;
};

static bool malformed(struct header *header, const char *what)
{
    return error_set(header->error, "%s: malformed NumPy header: %s", header->file, what);
}

static void skip_spaces(struct header *header)
{
    while (header->at < header->end && memchr(" \t\r\n", *header->at, 4))
        header->at++;
}

/* Skips spaces, and then `byte`. Returns false if another byte is there. */
static bool accept(struct header *header, char byte)
{
    skip_spaces(header);
    if (header->at == header->end || *header->at != byte)
        return false;
    header->at++;
    return true;
}

/* Python 2 writes a u before a Unicode string. */
static bool parse_string(struct header *header, struct span *string)
{
    skip_spaces(header);
    if (header->end - header->at > 1 && *header->at == 'u' && memchr("'\"", header->at[1], 2))
        header->at++;
    const char quote = accept(header, '\'') ? '\'' : accept(header, '"') ? '"' : '\0';
    if (!quote)
        return malformed(header, "a string is missing");
    const char *close = memchr(header->at, quote, (size_t)(header->end - header->at));
    if (!close)
        return malformed(header, "a string has no end");
    *string = (struct span){header->at, (size_t)(close - header->at)};
    for (size_t i = 0; i < string->bytes; i++)
        if (string->data[i] == '\\' || (unsigned char)string->data[i] < ' ')
            return malformed(header, "a string with an escape in it");
    header->at = close + 1;
    return true;
}

static bool span_equals(struct span span, const char *text)
{
    return span.bytes == strlen(text) && memcmp(span.data, text, span.bytes) == 0;
}

/* Keeps the dtype as numpy.save writes it, if the type alone does not determine it: "<M8[25s]".
 * bf16 is saved as raw bytes, for which ml_dtypes writes the byte order, and NumPy itself '|'. */
static void keep_descr(struct layout *layout, struct span dtype)
{
    key_type_numpy_dtype(layout->type, layout->endian, layout->descr);
    if (layout->type->kind != KEY_TIME && memchr("|V", dtype.data[0], 2))
        layout->descr[0] = '|';
    const char *const bracket = memchr(dtype.data, '[', dtype.bytes);
    if (!bracket || bracket[1] == 'g') /* "[generic]" means no unit */
        return;
    char *unit;
    const unsigned long multiple = strtoul(bracket + 1, &unit, 10);
    const bool is_one = unit == bracket + 1 || multiple == 1;
    const int unit_bytes = (int)(dtype.data + dtype.bytes - unit);
    char number[12] = "";
    if (!is_one)
        snprintf(number, sizeof number, "%lu", multiple);
    const size_t used = strlen(layout->descr);
    snprintf(layout->descr + used, sizeof layout->descr - used, "[%s%.*s", number, unit_bytes,
             unit);
}

/* Parses a dtype of one number, in NumPy's notation: "i8" has 8 bytes. */
static bool parse_descr(struct header *header)
{
    struct layout *layout = &header->layout;
    const struct key_type *const wanted = layout->type;
    struct span dtype;
    skip_spaces(header);
    if (header->at < header->end && memchr("[(", *header->at, 2))
        return error_set(header->error,
                         "%s: a structured dtype is not a number type that gpusort sorts",
                         header->file);
    if (!parse_string(header, &dtype))
        return false;
    const int shown = (int)(dtype.bytes < 64 ? dtype.bytes : 64);
    layout->type = key_type_find_dtype(dtype.data, dtype.bytes, &layout->endian);
    if (!layout->type)
        return error_set(header->error, "%s: dtype '%.*s' is not a number type that gpusort sorts",
                         header->file, shown, dtype.data);
    const bool is_bf16 = layout->type->id == KEY_TYPE_bf16;
    if (is_bf16 && wanted != layout->type && memchr(dtype.data, 'V', dtype.bytes))
        return error_set(header->error,
                         "%s: dtype '%.*s' says 2 bytes of no type; if they are bfloat16, say "
                         "--type=bf16",
                         header->file, shown, dtype.data);
    if (is_bf16 || layout->type->kind == KEY_TIME)
        keep_descr(layout, dtype);
    return true;
}

/* With one dimension, both orders are the same. */
static bool parse_fortran_order(struct header *header)
{
    static const char *const words[] = {"True", "False"};
    skip_spaces(header);
    const size_t left = (size_t)(header->end - header->at);
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(words[i]);
        if (left >= length && memcmp(header->at, words[i], length) == 0) {
            header->at += length;
            return true;
        }
    }
    return malformed(header, "'fortran_order' is neither True nor False");
}

/* Parses a whole number in Python's notation; Python 2 writes an L after a large one. */
static bool parse_size(struct header *header, size_t *size)
{
    skip_spaces(header);
    const char *first = header->at;
    size_t value = 0;
    for (; header->at < header->end && *header->at >= '0' && *header->at <= '9'; header->at++) {
        const size_t digit = (size_t)(*header->at - '0');
        if (value > (SIZE_MAX - digit) / 10)
            return error_set(header->error, "%s: the header's shape is too large", header->file);
        value = value * 10 + digit;
    }
    if (header->at == first || (*first == '0' && header->at > first + 1))
        return malformed(header, "'shape' is not a tuple of whole numbers");
    if (header->at < header->end && *header->at == 'L')
        header->at++;
    *size = value;
    return true;
}

/* Adds a dimension of the array. At most one may differ from 1; that one is the count. */
static bool add_dimension(struct layout *layout, size_t size)
{
    layout->is_scalar = false;
    if (size == 1) {
        layout->ones_after++;
        return true;
    }
    if (layout->count != 1)
        return false;
    layout->count = size;
    layout->ones_before = layout->ones_after;
    layout->ones_after = 0;
    return true;
}

/* Maximum number of dimensions in NumPy. */
#define DIMENSIONS_MAX 64

static bool parse_shape(struct header *header)
{
    struct layout *layout = &header->layout;
    size_t dimensions = 0, size = 0;
    bool comma = true, is_flat = true;
    if (!accept(header, '('))
        return malformed(header, "'shape' is not a tuple");
    const char *first = header->at;
    layout->count = 1;
    layout->is_scalar = true;
    while (!accept(header, ')')) {
        if (!comma)
            return malformed(header, "'shape' is not a tuple of whole numbers");
        if (!parse_size(header, &size))
            return false;
        dimensions++;
        is_flat &= add_dimension(layout, size);
        comma = accept(header, ',');
    }
    const char *last = header->at - 1;
    if (dimensions == 1 && !comma)
        return malformed(header, "'shape' is a number, not a tuple");
    if (dimensions > DIMENSIONS_MAX)
        return malformed(header, "'shape' has more dimensions than NumPy's arrays");
    if (!is_flat)
        return error_set(header->error,
                         "%s: the array has %zu dimensions, shape (%.*s); gpusort sorts arrays of "
                         "one (numpy.ravel makes one of it)",
                         header->file, dimensions, (int)(last - first < 64 ? last - first : 64),
                         first);
    if (layout->count == 1 && dimensions > 0) /* one of the ones is the count */
        layout->ones_after--;
    return true;
}

static const struct header_key {
    const char *name;
    bool (*parse)(struct header *header);
} header_keys[] = {
    {"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
#define HEADER_KEY_COUNT (sizeof header_keys / sizeof header_keys[0])

/* Parses a key, a colon and its value. */
static bool parse_item(struct header *header)
{
    struct span name;
    if (!parse_string(header, &name))
        return false;
    if (!accept(header, ':'))
        return malformed(header, "a colon is missing");
    for (size_t i = 0; i < HEADER_KEY_COUNT; i++) {
        if (!span_equals(name, header_keys[i].name))
            continue;
        if (header->seen & 1u << i)
            return error_set(header->error, "%s: malformed NumPy header: '%s' is there twice",
                             header->file, header_keys[i].name);
        header->seen |= 1u << i;
        return header_keys[i].parse(header);
    }
    return error_set(header->error, "%s: malformed NumPy header: unknown key '%.*s'", header->file,
                     (int)(name.bytes < 64 ? name.bytes : 64), name.data);
}

static bool parse_dictionary(struct header *header)
{
    bool comma = true;
    if (!accept(header, '{'))
        return malformed(header, "it is not a dictionary");
    while (!accept(header, '}')) {
        if (!comma)
            return malformed(header, "a comma is missing");
        if (!parse_item(header))
            return false;
        comma = accept(header, ',');
    }
    for (size_t i = 0; i < HEADER_KEY_COUNT; i++)
        if (!(header->seen & 1u << i))
            return error_set(header->error, "%s: malformed NumPy header: '%s' is missing",
                             header->file, header_keys[i].name);
    skip_spaces(header);
    return header->at == header->end || malformed(header, "something stands behind it");
}

bool npy_header_parse(const char *file, const char *text, size_t bytes, struct layout *layout,
                      struct error *error)
{
    struct header header = {.file = file,
                            .at = text,
                            .end = text + bytes,
                            /* The byte order of '=' is this machine's, little. */
                            .layout = {.type = layout->type, .endian = ENDIAN_LITTLE},
                            .error = error};
    const bool is_parsed = parse_dictionary(&header);
    *layout = header.layout;
    return is_parsed;
}

/* ---- Writing ---- */

#define PREFIX_BYTES (sizeof NPY_MAGIC - 1 + 2) /* magic and version */

/* Appends to text[0..*length), which has room for NPY_HEADER_BYTES bytes. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t *length,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *length += (size_t)vsnprintf(text + *length, NPY_HEADER_BYTES - *length, format, arguments);
    va_end(arguments);
}

/* Appends the shape as a Python tuple: "(3,)", "(3, 1)". A scalar that is dropped or duplicated
 * becomes an array. */
static void append_shape(const struct layout *layout, char *text, size_t *length)
{
    const bool is_tuple = !layout->is_scalar || layout->count != 1;
    const unsigned dimensions = is_tuple ? layout->ones_before + 1 + layout->ones_after : 0;
    append(text, length, "(");
    for (unsigned i = 0; i < dimensions; i++)
        append(text, length, "%s%zu", i > 0 ? ", " : "",
               i == layout->ones_before ? layout->count : (size_t)1);
    append(text, length, dimensions == 1 ? ",)" : ")");
}

/* NumPy pads the header with spaces for a first dimension that may grow to 21 digits, and then with
 * 1 to 64 more, so that the numbers start at a multiple of 64. */
size_t npy_header_make(const struct layout *layout, char header[NPY_HEADER_BYTES])
{
    enum { SIZE_DIGITS = 21, ALIGNMENT = 64 };
    const size_t prefix_bytes = PREFIX_BYTES + 2;
    char descr[5];
    key_type_numpy_dtype(layout->type, layout->endian, descr);
    memset(header, 0, NPY_HEADER_BYTES);
    memcpy(header, NPY_MAGIC "\x01\x00", PREFIX_BYTES);
    size_t filled = prefix_bytes;
    append(header, &filled, "{'descr': '%s', 'fortran_order': False, 'shape': ",
           layout->descr[0] ? layout->descr : descr);
    const size_t shape = filled;
    append_shape(layout, header, &filled);
    append(header, &filled, ", }");
    const size_t digits = strspn(header + shape + 1, "0123456789");
    const size_t least = filled + (digits > 0 ? SIZE_DIGITS - digits : 0) + 1;
    const size_t total = least + ALIGNMENT - least % ALIGNMENT;
    const size_t header_bytes = total - prefix_bytes;
    memset(header + filled, ' ', total - filled);
    header[PREFIX_BYTES] = (char)(header_bytes & 0xff);
    header[PREFIX_BYTES + 1] = (char)(header_bytes >> 8);
    header[total - 1] = '\n';
    return total;
}
