/* SPDX-License-Identifier: Apache-2.0 */
/* lines_header.c - see lines_header.h. */
#include "formats/lines/lines_header.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are peeked at once, after all peeked bytes are used. */
#define AHEAD_BYTES ((size_t)64 << 10)

/* Makes room for `bytes` more bytes and a terminator. The room at least doubles, so that a long
 * header is not copied again and again. */
static bool reserve(struct lines_header *header, size_t bytes, const struct source *source,
                    struct error *error)
{
    const size_t need = header->bytes + bytes + 1; /* both are in memory, so no overflow */
    if (need <= header->room)
        return true;
    const size_t room = need > 2 * header->room ? need : 2 * header->room;
    char *const text = realloc(header->text, room);
    if (!text)
        return error_set(error, "%s: out of memory: no room for its header", source_name(source));
    header->text = text;
    header->room = room;
    return true;
}

/* Reads to the end of the line, or as many bytes as the source has peeked. *ended: the line has
 * ended. *got is 0 at the end of the source. */
static bool read_part(struct source *source, char terminator, struct lines_header *header,
                      bool *ended, size_t *got, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(source, 0, &data, &bytes, error) ||
        (bytes == 0 && !source_peek(source, AHEAD_BYTES, &data, &bytes, error)))
        return false;
    const unsigned char *const end = memchr(data, terminator, bytes);
    const size_t part = end ? (size_t)(end - data) + 1 : bytes;
    *ended = end != NULL;
    *got = 0;
    if (part == 0)
        return true;
    if (!reserve(header, part, source, error) ||
        !source_read(source, header->text + header->bytes, part, got, error))
        return false;
    header->bytes += *got;
    return true;
}

bool lines_header_read(struct source *source, char terminator, size_t lines,
                       struct lines_header *header, struct error *error)
{
    bool ended = true;
    for (size_t i = 0; i < lines; i += ended) {
        size_t got;
        const bool is_within = !ended;
        if (!read_part(source, terminator, header, &ended, &got, error))
            return false;
        if (got > 0)
            continue;
        if (is_within)
            header->text[header->bytes++] = terminator;
        break;
    }
    return true;
}
