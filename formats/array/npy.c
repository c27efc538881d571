/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - NumPy's array files (numpy.lib.format, versions 1.0, 2.0 and 3.0), with one dimension in
 * effect: every other dimension is 1, or the array is empty.
 *
 *   "\x93NUMPY" | major | minor | length of the header: 2 bytes, from version 2.0 on 4 | header
 *   header: the literal of a Python dictionary, padded with spaces, and a newline
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
 *   then the numbers
 *
 * The grammar of the header is parsed, not searched, and every key must occur once. The dtype and
 * the shape may have every notation that NumPy reads and programs write. They are written as
 * numpy.save does, except that a file that is sorted in place keeps its header. Python reads more
 * notations, such as comments, for which the message names a remedy.
 *
 * The size of the data must be exactly as the header's shape states.
 */
#include "core/backend.h"
#include "formats/array/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPY_MAGIC "\x93NUMPY"
#define MAGIC_BYTES (sizeof NPY_MAGIC - 1)
#define PREFIX_BYTES (MAGIC_BYTES + 2) /* magic and version */

/* Maximum header size. A header with one dimension takes about a hundred bytes; one above this
 * maximum is an attack or an accident. */
#define HEADER_BYTES_MAX ((size_t)64 << 10)

/* Maximum bytes of a header by npy_header_make(). */
#define NPY_HEADER_BYTES ((size_t)512)

/* ---- Parsing the header ---- */

struct header {
    const char *file; /* for messages */
    const char *at;   /* the next byte to parse */
    const char *end;
    struct layout layout; /* on entry layout.type is the user's type, or NULL */
    unsigned seen;        /* a bit for each of header_keys */
    struct error *error;
};

struct span {
    const char *data;
    size_t bytes;
};

static bool malformed(struct header *header, const char *what)
{
    return error_set(header->error,
                     "%s: malformed NumPy header: %s; if numpy.load reads it, "
                     "numpy.save(NEW, numpy.load(FILE)) writes a usual one",
                     header->file, what);
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

/* Parses a string without escapes that begins at header->at, after any spaces; Python 2 writes a u
 * before a Unicode string. Refuses strings that follow each other without a comma, which Python
 * joins, and those in three quotes. */
static bool parse_string(struct header *header, struct span *string)
{
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
    skip_spaces(header);
    return header->at == header->end || !memchr("'\"", *header->at, 2) ||
           malformed(header, "a string in several parts");
}

static bool span_equals(struct span span, const char *text)
{
    return span.bytes == strlen(text) && memcmp(span.data, text, span.bytes) == 0;
}

/* Keeps a dtype that the type alone does not determine, as numpy.save writes it: "<M8[25s]". bf16
 * is saved as raw bytes, for which ml_dtypes writes the byte order, and NumPy itself '|'. */
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
                         "%s: a structured dtype is not a number type that gpusort sorts; save one "
                         "field of it",
                         header->file);
    if (!parse_string(header, &dtype))
        return false;
    const int shown = (int)(dtype.bytes < 64 ? dtype.bytes : 64);
    layout->type = key_type_find_dtype(dtype.data, dtype.bytes, &layout->endian);
    if (!layout->type) {
        const struct foreign_type *const foreign = key_type_find_foreign(dtype.data, dtype.bytes);
        const char *const remedy = foreign ? foreign->remedy : "";
        return error_set(header->error,
                         "%s: dtype '%.*s' is not a number type that gpusort sorts%s%s",
                         header->file, shown, dtype.data, *remedy ? "; " : "", remedy);
    }
    const bool is_void = layout->type->numpy_letter == 'V'; /* a type that NumPy does not have */
    if (is_void && wanted && wanted->numpy_letter == 'V' && wanted->bytes == layout->type->bytes)
        layout->type = wanted;
    else if (is_void && memchr(dtype.data, 'V', dtype.bytes))
        return error_set(header->error,
                         "%s: dtype '%.*s' means %u byte%s of no type; if they are %s, use "
                         "--type=%s",
                         header->file, shown, dtype.data, layout->type->bytes,
                         layout->type->bytes == 1 ? "" : "s", layout->type->numpy_name,
                         layout->type->name);
    if (is_void || layout->type->kind == KEY_TIME)
        keep_descr(layout, dtype);
    return true;
}

static bool accept_word(struct header *header, const char *word)
{
    const size_t length = strlen(word), left = (size_t)(header->end - header->at);
    const bool is_there = left >= length && memcmp(header->at, word, length) == 0;
    header->at += is_there ? length : 0;
    return is_there;
}

/* With one dimension, both orders are the same. */
static bool parse_fortran_order(struct header *header)
{
    skip_spaces(header);
    return accept_word(header, "True") || accept_word(header, "False") ||
           malformed(header, "'fortran_order' is neither True nor False");
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
        return malformed(header, "'shape' is not a tuple of plain whole numbers");
    if (header->at < header->end && *header->at == 'L')
        header->at++;
    *size = value;
    return true;
}

/* Adds a dimension of the array. At most one may differ from 1; that one is the count. Returns
 * false for another. */
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
    bool comma = true, is_flat = true, is_empty = false;
    if (!accept(header, '('))
        return malformed(header, "'shape' is not a tuple");
    const char *first = header->at;
    layout->count = 1;
    layout->is_scalar = true;
    while (!accept(header, ')')) {
        if (!comma)
            return malformed(header, "'shape' is not a tuple of plain whole numbers");
        if (!parse_size(header, &size))
            return false;
        dimensions++;
        is_flat &= add_dimension(layout, size);
        is_empty |= size == 0;
        comma = accept(header, ',');
    }
    const char *last = header->at - 1;
    if (dimensions == 1 && !comma)
        return malformed(header, "'shape' is a number, not a tuple");
    if (dimensions > DIMENSIONS_MAX)
        return malformed(header, "'shape' has more dimensions than NumPy's arrays");
    if (is_empty && !is_flat) { /* becomes one dimension of 0, as by numpy.ravel */
        layout->count = 0;
        layout_flatten(layout);
        return true;
    }
    if (!is_flat)
        return error_set(header->error,
                         "%s: the array has %zu dimensions, shape (%.*s); gpusort sorts arrays of "
                         "one: numpy.ravel makes one of it, to sort all numbers together, not each "
                         "row",
                         header->file, dimensions, (int)(last - first < 64 ? last - first : 64),
                         first);
    if (layout->count == 1 && dimensions > 0) /* one of the dimensions of 1 is the count */
        layout->ones_after--;
    return true;
}

static const struct header_key {
    const char *name;
    bool (*parse)(struct header *header);
} header_keys[] = {
    {"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
#define HEADER_KEY_COUNT (sizeof header_keys / sizeof header_keys[0])

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
    return header->at == header->end || malformed(header, "something follows it");
}

/* Parses the dictionary text[0..bytes) into *layout. On entry layout->type is the user's type or
 * NULL: a dtype of raw bytes needs it. `file` is for messages. */
static bool npy_header_parse(const char *file, const char *text, size_t bytes,
                             struct layout *layout, struct error *error)
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

/* ---- Making the header ---- */

/* Appends to text[0..*length), which has room for NPY_HEADER_BYTES bytes. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t *length,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *length += (size_t)vsnprintf(text + *length, NPY_HEADER_BYTES - *length, format, arguments);
    va_end(arguments);
}

/* Appends the shape as a Python tuple: "(3,)", "(3, 1)". A scalar becomes an array if the count is
 * not 1. */
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

/* Makes everything before the numbers, with the same bytes as numpy.save. Returns its length. NumPy
 * pads the header with spaces for a first dimension that may grow to 21 digits, and then with 1 to
 * 64 more, so that the numbers start at a multiple of 64. */
static size_t npy_header_make(const struct layout *layout, char header[NPY_HEADER_BYTES])
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

/* ---- Files ---- */

static bool read_exactly(struct source *source, void *data, size_t bytes, struct error *error)
{
    size_t got;
    if (!source_read(source, data, bytes, &got, error))
        return false;
    return got == bytes || error_set(error, "%s: the NumPy header is cut off", source_name(source));
}

/* Reads up to the dictionary. Sets *bytes to its length, and *prefix_bytes to the bytes before it.
 */
static bool read_prefix(struct source *source, size_t *bytes, size_t *prefix_bytes,
                        struct error *error)
{
    unsigned char prefix[PREFIX_BYTES], length[4] = {0};
    const unsigned char *head;
    size_t head_bytes;
    if (!source_peek(source, MAGIC_BYTES, &head, &head_bytes, error))
        return false;
    if (head_bytes == 0)
        return error_set(error, "%s: it is empty, without a NumPy header", source_name(source));
    if (memcmp(head, NPY_MAGIC, head_bytes < MAGIC_BYTES ? head_bytes : MAGIC_BYTES) != 0)
        return error_set(error,
                         "%s: not a NumPy file: it does not start with \\x93NUMPY (for numbers "
                         "without a header, use --format=raw and --type; for text, --format=text)",
                         source_name(source));
    if (!read_exactly(source, prefix, sizeof prefix, error))
        return false;
    const unsigned major = prefix[MAGIC_BYTES], minor = prefix[MAGIC_BYTES + 1];
    if (major < 1 || major > 3 || minor != 0)
        return error_set(error,
                         "%s: version %u.%u of NumPy's format is not known; 1.0, 2.0 and "
                         "3.0 are",
                         source_name(source), major, minor);
    const size_t length_bytes = major == 1 ? 2 : 4;
    *prefix_bytes = PREFIX_BYTES + length_bytes;
    if (!read_exactly(source, length, length_bytes, error))
        return false;
    *bytes = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
             (size_t)length[3] << 24;
    if (*bytes > HEADER_BYTES_MAX)
        return error_set(error, "%s: a header of %zu bytes is too long for numbers",
                         source_name(source), *bytes);
    return true;
}

/* Adds to a message with a command that this is for the file, once decompressed, if it is
 * compressed. Returns false. */
static bool add_note(struct error *error, const struct source *source)
{
    const char *const note = source_command_note(source);
    if (*note && strstr(error->message, "numpy.load(FILE)")) {
        error_add(error, "; FILE is the array");
        error_add(error, note);
    }
    return false;
}

/* Reads the header of an array of numbers. On entry layout->type is the user's type or NULL; some
 * dtypes need it. */
static bool read_layout(struct source *source, struct layout *layout, struct error *error)
{
    size_t bytes = 0, prefix_bytes = 0;
    if (!read_prefix(source, &bytes, &prefix_bytes, error))
        return false;
    char *text = malloc(bytes > 0 ? bytes : 1);
    if (!text)
        return error_set(error, "%s: no memory for its header", source_name(source));
    const bool parsed = read_exactly(source, text, bytes, error) &&
                        npy_header_parse(source_name(source), text, bytes, layout, error);
    free(text);
    layout->header_bytes = prefix_bytes + bytes;
    return parsed || add_note(error, source);
}

/* Sets the error for `bytes` bytes of data, where the header states another size. comparison: words
 * before that number. numpy.load ignores bytes after the array. Returns false. */
static bool refuse_data(const struct reader *reader, uint64_t bytes, const char *comparison,
                        struct error *error)
{
    const struct layout *layout = &reader->layout;
    const bool is_short = bytes < layout_bytes(layout);
    error_set(error,
              "%s: the header says %zu items (%" PRIu64 " bytes), the file holds %s%" PRIu64
              " bytes of data%s",
              source_name(reader->source), layout->count, layout_bytes(layout), comparison, bytes,
              is_short ? ": it is cut off, or still being written"
                       : "; numpy.save(NEW, numpy.load(FILE)) leaves the rest out");
    return add_note(error, reader->source);
}

static bool npy_recognises(const unsigned char *head, size_t bytes)
{
    return bytes >= MAGIC_BYTES && memcmp(head, NPY_MAGIC, MAGIC_BYTES) == 0;
}

/* Sets the error for a file with `left` bytes, or SIZE_UNKNOWN, after the numbers. rest[0..bytes)
 * are the first of them. Returns false. */
static bool refuse_rest(const struct reader *reader, const unsigned char *rest, size_t bytes,
                        uint64_t left, struct error *error)
{
    const uint64_t data_bytes = layout_bytes(&reader->layout);
    if (npy_recognises(rest, bytes))
        return error_set(error,
                         "%s: another array follows the first one, of %zu items; gpusort sorts one "
                         "array a file: save each to its own, and name all",
                         source_name(reader->source), reader->layout.count);
    return left == SIZE_UNKNOWN ? refuse_data(reader, data_bytes, "more than ", error)
                                : refuse_data(reader, data_bytes + left, "", error);
}

/* Checks that the number of bytes after the header is as stated, if the source knows it. */
static bool check_size(const struct reader *reader, struct error *error)
{
    const uint64_t bytes = source_stop_and_get_left(reader->source);
    const uint64_t data_bytes = layout_bytes(&reader->layout);
    if (bytes == SIZE_UNKNOWN || bytes == data_bytes)
        return true;
    if (bytes < data_bytes)
        return refuse_data(reader, bytes, "", error);
    unsigned char rest[MAGIC_BYTES];
    size_t got;
    if (!source_can_read_at(reader->source)) /* check_end() reports it */
        return true;
    return source_read_at(reader->source, data_bytes, rest, sizeof rest, &got, error) &&
           refuse_rest(reader, rest, got, bytes - data_bytes, error);
}

static bool npy_read_header(struct reader *reader, struct error *error)
{
    const char *name = source_name(reader->source);
    const struct key_type *wanted = reader->layout.type;
    struct layout layout = {.type = wanted};
    if (!read_layout(reader->source, &layout, error))
        return false;
    if (wanted && wanted != layout.type)
        return error_set(error, "%s: the header says %s, the type given is %s", name,
                         layout.type->name, wanted->name);
    /* Excludes SIZE_MAX, which means an unknown size. */
    if (layout.count >= SIZE_MAX / layout.type->bytes)
        return error_set(error, "%s: the header's shape is too large", name);
    reader->layout = layout;
    return check_size(reader, error);
}

static bool check_end(struct reader *reader, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(reader->source, MAGIC_BYTES, &data, &bytes, error))
        return false;
    return bytes == 0 ||
           refuse_rest(reader, data, bytes, source_stop_and_get_left(reader->source), error);
}

static bool npy_read_keys(struct reader *reader, void *items, size_t capacity, size_t *count,
                          struct error *error)
{
    const size_t item_bytes = reader->layout.type->bytes;
    const size_t left = reader->layout.count - reader->keys_read;
    const size_t want = left < capacity ? left : capacity;
    size_t got;
    *count = 0;
    if (left == 0)
        return check_end(reader, error);
    if (!source_read_observed(reader->source, items, want * item_bytes, reader->tap, &got, error))
        return false;
    const uint64_t bytes_read = (uint64_t)reader->keys_read * item_bytes + got;
    *count = got / item_bytes;
    reader->keys_read += *count;
    return got == want * item_bytes || refuse_data(reader, bytes_read, "", error);
}

static uint64_t npy_file_bytes(const struct layout *layout)
{
    char header[NPY_HEADER_BYTES];
    const uint64_t bytes = layout_bytes(layout);
    return bytes == SIZE_UNKNOWN ? SIZE_UNKNOWN : bytes + npy_header_make(layout, header);
}

static bool npy_write_header(struct sink *sink, const struct layout *layout, struct error *error)
{
    char header[NPY_HEADER_BYTES];
    if (sink_is_trial(sink) || sink_is_overwriting(sink)) {
        sink_skip(sink, layout->header_bytes);
        return true;
    }
    return sink_write(sink, header, npy_header_make(layout, header), error);
}

static const char *const npy_extensions[] = {".npy", NULL};

const struct format format_npy = {
    .name = "npy",
    .summary = "NumPy arrays of one dimension",
    .extensions = npy_extensions,
    .is_array = true,
    .recognises = npy_recognises,
    .read_header = npy_read_header,
    .read_keys = npy_read_keys,
    .file_bytes = npy_file_bytes,
    .write_header = npy_write_header,
    .write_keys = format_write_binary_keys,
};
