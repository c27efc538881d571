/* npy.c - NumPy's array files (numpy.lib.format, versions 1.0, 2.0 and 3.0), one-dimensional.
 *
 *   "\x93NUMPY" | major | minor | length of the header: 2 bytes, from version 2.0 on 4 | header
 *   header: the literal of a Python dictionary, padded with spaces, and a newline
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
 *   then the numbers
 *
 * A header is a promise that is checked: the grammar is parsed, not searched; every key is there
 * once and none besides; and the bytes behind it are exactly as many as the shape says.
 */
#include "core/backend.h"
#include "formats/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define PREFIX_BYTES (MAGIC_BYTES + 2) /* magic and version */

/* The header of one dimension takes about a hundred bytes; one of more than this is an attack or an
 * accident. */
#define HEADER_BYTES_MAX ((size_t)64 << 10)

/* The header that is being parsed, and what has been found in it. */
struct header {
    const char *file; /* for messages */
    const char *at;   /* the next byte to parse */
    const char *end;
    struct layout layout;
    unsigned seen; /* a bit for each of header_keys */
    struct error *error;
};

/* A run of bytes of the header. */
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

/* True, and passed over, if the next byte behind spaces is `byte`. */
static bool accept(struct header *header, char byte)
{
    skip_spaces(header);
    if (header->at == header->end || *header->at != byte)
        return false;
    header->at++;
    return true;
}

static bool parse_string(struct header *header, struct span *string)
{
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

/* A dtype of one number: the letter is NumPy's, and so are the sizes ("i8" has 8 bytes). */
static bool parse_descr(struct header *header)
{
    struct layout *layout = &header->layout;
    struct span dtype;
    skip_spaces(header);
    if (header->at < header->end && memchr("[(", *header->at, 2))
        return error_set(header->error,
                         "%s: a structured dtype is not a number type that gpusort sorts",
                         header->file);
    if (!parse_string(header, &dtype))
        return false;
    /* Without the byte order it may be one of our own names, where i8 has 8 bits. */
    if (dtype.bytes > 0 && memchr("<>=|", dtype.data[0], 4))
        layout->type = key_type_find(dtype.data, dtype.bytes, &layout->endian);
    return layout->type ||
           error_set(header->error, "%s: dtype '%.*s' is not a number type that gpusort sorts",
                     header->file, (int)(dtype.bytes < 64 ? dtype.bytes : 64), dtype.data);
}

/* The order of one dimension is the same either way. */
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

/* A whole number as Python writes it; Python 2 puts an L behind a large one. */
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

static bool parse_shape(struct header *header)
{
    size_t dimensions = 0, size = 0;
    bool comma = true;
    if (!accept(header, '('))
        return malformed(header, "'shape' is not a tuple");
    const char *first = header->at;
    while (!accept(header, ')')) {
        if (!comma)
            return malformed(header, "'shape' is not a tuple of whole numbers");
        if (!parse_size(header, &size))
            return false;
        dimensions++;
        comma = accept(header, ',');
    }
    const char *last = header->at - 1;
    if (dimensions == 1 && !comma)
        return malformed(header, "'shape' is a number, not a tuple");
    if (dimensions != 1)
        return error_set(header->error,
                         "%s: the array has %zu dimensions, shape (%.*s); gpusort sorts arrays of "
                         "one",
                         header->file, dimensions, (int)(last - first < 64 ? last - first : 64),
                         first);
    header->layout.count = size;
    return true;
}

static const struct header_key {
    const char *name;
    bool (*parse)(struct header *header);
} header_keys[] = {
    {"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
#define HEADER_KEY_COUNT (sizeof header_keys / sizeof header_keys[0])

/* A key, a colon and its value. */
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

/* Reads exactly `bytes` bytes of what stands before the numbers. */
static bool read_exactly(struct source *source, void *data, size_t bytes, struct error *error)
{
    size_t got;
    if (!source_read(source, data, bytes, &got, error))
        return false;
    return got == bytes || error_set(error, "%s: the NumPy header is cut off", source_name(source));
}

/* Reads up to the dictionary; *bytes is its length. */
static bool read_prefix(struct source *source, size_t *bytes, struct error *error)
{
    unsigned char prefix[PREFIX_BYTES], length[4] = {0};
    const unsigned char *head;
    size_t head_bytes;
    if (!source_peek(source, MAGIC_BYTES, &head, &head_bytes, error))
        return false;
    if (memcmp(head, MAGIC, head_bytes < MAGIC_BYTES ? head_bytes : MAGIC_BYTES) != 0)
        return error_set(error,
                         "%s: not a NumPy file: it does not start with \\x93NUMPY (--format says "
                         "what it is)",
                         source_name(source));
    if (!read_exactly(source, prefix, sizeof prefix, error))
        return false;
    const unsigned major = prefix[MAGIC_BYTES], minor = prefix[MAGIC_BYTES + 1];
    if (major < 1 || major > 3 || minor != 0)
        return error_set(error,
                         "%s: version %u.%u of NumPy's format is not known; 1.0, 2.0 and "
                         "3.0 are",
                         source_name(source), major, minor);
    if (!read_exactly(source, length, major == 1 ? 2 : 4, error))
        return false;
    *bytes = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
             (size_t)length[3] << 24;
    if (*bytes > HEADER_BYTES_MAX)
        return error_set(error, "%s: a header of %zu bytes is too long for numbers",
                         source_name(source), *bytes);
    return true;
}

/* The header of an array of numbers, whatever the user says. */
static bool read_layout(struct source *source, struct layout *layout, struct error *error)
{
    size_t bytes = 0;
    if (!read_prefix(source, &bytes, error))
        return false;
    char *text = malloc(bytes > 0 ? bytes : 1);
    if (!text)
        return error_set(error, "%s: no memory for its header", source_name(source));
    struct header header = {.file = source_name(source),
                            .at = text,
                            .end = text + bytes,
                            .layout = {.endian = ENDIAN_LITTLE}, /* '=' is this machine's */
                            .error = error};
    const bool parsed = read_exactly(source, text, bytes, error) && parse_dictionary(&header);
    free(text);
    *layout = header.layout;
    return parsed;
}

/* The file's data is not what its header says. */
static bool refuse_data(const struct reader *reader, uint64_t bytes, const char *comparison,
                        struct error *error)
{
    const struct layout *layout = &reader->layout;
    return error_set(error,
                     "%s: the header says %zu items (%" PRIu64 " bytes), the file holds %s%" PRIu64
                     " bytes of data",
                     source_name(reader->source), layout->count,
                     (uint64_t)layout->count * layout->type->bytes, comparison, bytes);
}

static bool npy_recognises(const unsigned char *head, size_t bytes, bool whole)
{
    (void)whole;
    return bytes >= MAGIC_BYTES && memcmp(head, MAGIC, MAGIC_BYTES) == 0;
}

static bool npy_read_header(struct reader *reader, struct error *error)
{
    struct layout layout;
    if (!read_layout(reader->source, &layout, error))
        return false;
    const char *name = source_name(reader->source);
    const struct key_type *wanted = reader->layout.type;
    if (wanted && wanted != layout.type)
        return error_set(error, "%s: the header says %s, the type given is %s", name,
                         layout.type->name, wanted->name);
    /* Not SIZE_MAX itself: that stands for an unknown size. */
    if (layout.count >= SIZE_MAX / layout.type->bytes)
        return error_set(error, "%s: the header's shape is too large", name);
    reader->layout = layout;
    const uint64_t bytes = source_bytes_left(reader->source);
    return bytes == SIZE_UNKNOWN || bytes == (uint64_t)layout.count * layout.type->bytes ||
           refuse_data(reader, bytes, "", error);
}

/* All numbers have been read: nothing may stand behind them. */
static bool check_end(struct reader *reader, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(reader->source, 1, &data, &bytes, error))
        return false;
    return bytes == 0 ||
           refuse_data(reader, (uint64_t)reader->layout.count * reader->layout.type->bytes,
                       "more than ", error);
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
    if (!source_read_seen(reader->source, items, want * item_bytes, reader->tap, &got, error))
        return false;
    if (got < want * item_bytes)
        return refuse_data(reader, (uint64_t)reader->keys_read * item_bytes + got, "", error);
    *count = want;
    reader->keys_read += want;
    return true;
}

#define WRITTEN_HEADER_MAX ((size_t)256)

/* Makes the header, byte for byte what numpy.save writes: spaces for a shape that grows to 21
 * digits, then 1 to 64 more, so that the numbers start at a multiple of 64. Returns its bytes, 0 if
 * NumPy has no such type. */
static size_t make_header(const struct layout *layout, char header[WRITTEN_HEADER_MAX])
{
    enum { SHAPE_DIGITS = 21, ALIGNMENT = 64 };
    char dtype[5];
    if (!key_type_numpy_dtype(layout->type, layout->endian, dtype))
        return 0;
    const size_t prefix_bytes = PREFIX_BYTES + 2;
    memset(header, ' ', WRITTEN_HEADER_MAX);
    memcpy(header, MAGIC "\x01\x00", PREFIX_BYTES);
    char digits[SHAPE_DIGITS + 1];
    const int digit_count = snprintf(digits, sizeof digits, "%zu", layout->count);
    char *text = header + prefix_bytes;
    const int text_bytes =
        snprintf(text, WRITTEN_HEADER_MAX - prefix_bytes,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", dtype, digits);
    text[text_bytes] = ' '; /* instead of the NUL */
    const size_t filled =
        prefix_bytes + (size_t)text_bytes + (size_t)(SHAPE_DIGITS - digit_count) + 1;
    const size_t total = filled + ALIGNMENT - filled % ALIGNMENT;
    const size_t header_bytes = total - prefix_bytes;
    header[PREFIX_BYTES] = (char)(header_bytes & 0xff);
    header[PREFIX_BYTES + 1] = (char)(header_bytes >> 8);
    header[total - 1] = '\n';
    return total;
}

static uint64_t npy_file_bytes(const struct layout *layout)
{
    char header[WRITTEN_HEADER_MAX];
    const uint64_t bytes = layout_bytes(layout);
    return bytes == SIZE_UNKNOWN ? SIZE_UNKNOWN : bytes + make_header(layout, header);
}

static bool npy_write_header(struct sink *sink, const struct layout *layout, struct error *error)
{
    char header[WRITTEN_HEADER_MAX];
    const size_t bytes = make_header(layout, header);
    if (bytes == 0)
        return error_set(error, "%s: NumPy has no %s", sink_name(sink), layout->type->name);
    return sink_write(sink, header, bytes, error);
}

static bool npy_write_keys(struct sink *sink, const struct layout *layout, const void *items,
                           size_t count, struct tap *tap, struct error *error)
{
    return sink_write_seen(sink, items, count * layout->type->bytes, tap, error);
}

static const char *const npy_extensions[] = {".npy", NULL};

const struct format format_npy = {
    .name = "npy",
    .summary = "NumPy arrays of one dimension",
    .extensions = npy_extensions,
    .recognises = npy_recognises,
    .read_header = npy_read_header,
    .read_keys = npy_read_keys,
    .file_bytes = npy_file_bytes,
    .write_header = npy_write_header,
    .write_keys = npy_write_keys,
};
