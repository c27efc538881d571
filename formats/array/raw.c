/* SPDX-License-Identifier: Apache-2.0 */
/* raw.c - only numbers: the bytes of an array in memory.
 *
 * There is no header, so the file has no type and no count. The type comes from the user or the
 * file's name, the count from the file's size, if it is known. A size that is not a multiple of the
 * type's size is an error: the file is truncated, or the type is wrong.
 */
#include "core/backend.h"
#include "formats/array/format.h"

#include <inttypes.h>

static bool refuse_size(const struct reader *reader, uint64_t bytes, struct error *error)
{
    const struct key_type *type = reader->layout.type;
    return error_set(error,
                     "%s: %" PRIu64 " bytes is not a multiple of %u, the size of %s: the file is "
                     "cut off, has a header, or is of another type (--type)",
                     source_name(reader->source), bytes, type->bytes, type->name);
}

static bool raw_read_header(struct reader *reader, struct error *error)
{
    struct layout *layout = &reader->layout;
    const uint64_t bytes = source_stop_and_get_left(reader->source);
    layout->count = COUNT_UNKNOWN;
    if (bytes == SIZE_UNKNOWN)
        return true;
    if (bytes % layout->type->bytes != 0)
        return refuse_size(reader, bytes, error);
    layout->count = bytes / layout->type->bytes;
    return true;
}

static bool check_end(struct reader *reader, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(reader->source, 1, &data, &bytes, error))
        return false;
    return bytes == 0 ||
           error_set(error, "%s: the file grew while it was read", source_name(reader->source));
}

static bool raw_read_keys(struct reader *reader, void *items, size_t capacity, size_t *count,
                          struct error *error)
{
    const struct layout *layout = &reader->layout;
    const bool is_counted = layout->count != COUNT_UNKNOWN;
    const size_t item_bytes = layout->type->bytes;
    size_t want = capacity, got;
    *count = 0;
    if (is_counted && layout->count - reader->keys_read < want)
        want = layout->count - reader->keys_read;
    if (is_counted && want == 0)
        return check_end(reader, error);
    if (!source_read_observed(reader->source, items, want * item_bytes, reader->tap, &got, error))
        return false;
    const uint64_t bytes_read = (uint64_t)reader->keys_read * item_bytes + got;
    *count = got / item_bytes;
    reader->keys_read += *count;
    if (is_counted && got < want * item_bytes)
        return error_set(error, "%s: the file was cut off while it was read, at %" PRIu64 " bytes",
                         source_name(reader->source), bytes_read);
    return got % item_bytes == 0 || refuse_size(reader, bytes_read, error);
}

static const char *const raw_extensions[] = {
#define X(id, bytes, kind, exponent_bits, numpy_name, numpy_letter) "." #id, "." numpy_name,
    KEY_TYPES(X)
#undef X
        ".bin",
    ".raw", NULL};

const struct format format_raw = {
    .name = "raw",
    .summary = "binary numbers without a header",
    .extensions = raw_extensions,
    .is_array = true,
    .read_header = raw_read_header,
    .read_keys = raw_read_keys,
    .file_bytes = layout_bytes,
    .write_header = format_write_no_header,
    .write_keys = format_write_binary_keys,
};
