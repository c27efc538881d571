/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - NumPy's array files (numpy.lib.format, versions 1.0, 2.0 and 3.0), with one dimension in
 * effect: every other dimension is 1.
 *
 *   "\x93NUMPY" | major | minor | length of the header: 2 bytes, from version 2.0 on 4 | header
 *   header: the literal of a Python dictionary (npy_header.h), padded with spaces, and a newline
 *   then the numbers
 *
 * The size of the data must be exactly as the header's shape states.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/array/npy_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_BYTES (sizeof NPY_MAGIC - 1)
#define PREFIX_BYTES (MAGIC_BYTES + 2) /* magic and version */

/* Maximum header size. A header with one dimension takes about a hundred bytes; a longer one is an
 * attack or an accident. */
#define HEADER_BYTES_MAX ((size_t)64 << 10)

/* Reads exactly `bytes` bytes of the header. */
static bool read_exactly(struct source *source, void *data, size_t bytes, struct error *error)
{
    size_t got;
    if (!source_read(source, data, bytes, &got, error))
        return false;
    return got == bytes || error_set(error, "%s: the NumPy header is cut off", source_name(source));
}

/* Reads up to the dictionary, and sets *bytes to its length. */
static bool read_prefix(struct source *source, size_t *bytes, struct error *error)
{
    unsigned char prefix[PREFIX_BYTES], length[4] = {0};
    const unsigned char *head;
    size_t head_bytes;
    if (!source_peek(source, MAGIC_BYTES, &head, &head_bytes, error))
        return false;
    if (memcmp(head, NPY_MAGIC, head_bytes < MAGIC_BYTES ? head_bytes : MAGIC_BYTES) != 0)
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

/* Reads the header of an array of numbers. On entry layout->type is the user's type or NULL; some
 * dtypes need it. */
static bool read_layout(struct source *source, struct layout *layout, struct error *error)
{
    size_t bytes = 0;
    if (!read_prefix(source, &bytes, error))
        return false;
    char *text = malloc(bytes > 0 ? bytes : 1);
    if (!text)
        return error_set(error, "%s: no memory for its header", source_name(source));
    const bool parsed = read_exactly(source, text, bytes, error) &&
                        npy_header_parse(source_name(source), text, bytes, layout, error);
    free(text);
    return parsed;
}

/* Sets the error for data whose size differs from the header. */
static bool refuse_data(const struct reader *reader, uint64_t bytes, const char *comparison,
                        struct error *error)
{
    const struct layout *layout = &reader->layout;
    return error_set(error,
                     "%s: the header says %zu items (%" PRIu64 " bytes), the file holds %s%" PRIu64
                     " bytes of data",
                     source_name(reader->source), layout->count, layout_bytes(layout), comparison,
                     bytes);
}

static bool npy_recognises(const unsigned char *head, size_t bytes, bool whole)
{
    (void)whole;
    return bytes >= MAGIC_BYTES && memcmp(head, NPY_MAGIC, MAGIC_BYTES) == 0;
}

/* Fails for a file with more bytes after the numbers: `left` bytes, or SIZE_UNKNOWN. rest[0..bytes)
 * are the first of them. */
static bool refuse_rest(const struct reader *reader, const unsigned char *rest, size_t bytes,
                        uint64_t left, struct error *error)
{
    const uint64_t data_bytes = layout_bytes(&reader->layout);
    if (npy_recognises(rest, bytes, false))
        return error_set(error,
                         "%s: another array follows the first one, of %zu items; gpusort sorts one "
                         "array a file",
                         source_name(reader->source), reader->layout.count);
    return left == SIZE_UNKNOWN ? refuse_data(reader, data_bytes, "more than ", error)
                                : refuse_data(reader, data_bytes + left, "", error);
}

/* Checks that the number of bytes after the header is as stated, if the source knows it. */
static bool check_size(const struct reader *reader, struct error *error)
{
    const uint64_t bytes = source_bytes_left(reader->source);
    const uint64_t data_bytes = layout_bytes(&reader->layout);
    if (bytes == SIZE_UNKNOWN || bytes == data_bytes)
        return true;
    if (bytes < data_bytes)
        return refuse_data(reader, bytes, "", error);
    unsigned char rest[MAGIC_BYTES];
    size_t got;
    if (!source_has_places(reader->source)) /* check_end() reports it */
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

/* Checks, after all numbers were read, that nothing follows them. */
static bool check_end(struct reader *reader, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(reader->source, MAGIC_BYTES, &data, &bytes, error))
        return false;
    return bytes == 0 || refuse_rest(reader, data, bytes, source_bytes_left(reader->source), error);
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

static uint64_t npy_file_bytes(const struct layout *layout)
{
    char header[NPY_HEADER_BYTES];
    const uint64_t bytes = layout_bytes(layout);
    return bytes == SIZE_UNKNOWN ? SIZE_UNKNOWN : bytes + npy_header_make(layout, header);
}

static bool npy_write_header(struct sink *sink, const struct layout *layout, struct error *error)
{
    char header[NPY_HEADER_BYTES];
    return sink_write(sink, header, npy_header_make(layout, header), error);
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
