/* lines_write.c - gathers the lines in their new order; see lines.h.
 *
 * A piece is a run of items whose lines, at the mean length, fill most of a buffer; what does not
 * fit, where lines are longer than the mean, is written in the piece's turn. The lines are anywhere
 * in memory, so a gather waits for memory and little else: lines are fetched ahead of their use.
 */
#include "formats/lines.h"
#include "formats/lines_text.h"
#include "formats/piece_writer.h"

#include <stdlib.h>

struct gather {
    const struct lines *lines;
    const struct key_index *items;
    size_t count;
    size_t piece_items;
};

/* Copies a line with its terminator to out, if there is room before end; else returns NULL. Whole
 * words are copied, of which the last one is cut by what comes after it. */
static inline unsigned char *copy_line(const char *line, char terminator, unsigned char *out,
                                       const unsigned char *end)
{
    const uint64_t terminators = byte_in_all(terminator);
    for (; end - out >= 8; line += 8, out += 8) {
        uint64_t word;
        memcpy(&word, line, 8);
        memcpy(out, &word, 8);
        const uint64_t found = byte_mask(word, terminators);
        if (found != 0)
            return out + __builtin_ctzll(found) / 8 + 1;
    }
    for (; out < end; ++line, ++out) {
        *out = (unsigned char)*line;
        if (*line == terminator)
            return out + 1;
    }
    return NULL;
}

/* Gathers lines [first, end), or as many as fit the buffer; returns where to go on. */
static size_t gather_lines(const struct gather *gather, size_t first, size_t end,
                           unsigned char *buffer, size_t *bytes)
{
    const char terminator = gather->lines->order->terminator;
    unsigned char *out = buffer;
    const unsigned char *const buffer_end = buffer + SINK_BUFFER_BYTES;
    size_t i;
    for (i = first; i < end; ++i) {
        if (gather->count - i > LINES_AHEAD)
            __builtin_prefetch(line_text(gather->lines, gather->items[i + LINES_AHEAD]));
        unsigned char *const next =
            copy_line(line_text(gather->lines, gather->items[i]), terminator, out, buffer_end);
        if (next == NULL)
            break;
        out = next;
    }
    *bytes = (size_t)(out - buffer);
    return i;
}

static size_t piece_end(const struct gather *gather, size_t piece)
{
    const size_t first = piece * gather->piece_items;
    const size_t left = gather->count - first;
    return first + (left < gather->piece_items ? left : gather->piece_items);
}

static size_t make_piece(const void *context, size_t piece, unsigned char *buffer, size_t *bytes)
{
    const struct gather *const gather = context;
    return gather_lines(gather, piece * gather->piece_items, piece_end(gather, piece), buffer,
                        bytes);
}

/* A line that fits no buffer is written from where it is. */
static bool write_rest(const void *context, size_t piece, size_t position, struct sink *sink,
                       struct error *error)
{
    const struct gather *const gather = context;
    const size_t end = piece_end(gather, piece);
    if (position == end)
        return true;
    unsigned char *const buffer = malloc(SINK_BUFFER_BYTES);
    bool written = buffer != NULL || error_set(error, "%s: no memory to write it", sink_name(sink));
    while (written && position < end) {
        size_t bytes;
        const struct key_index item = gather->items[position];
        const size_t next = gather_lines(gather, position, end, buffer, &bytes);
        if (next > position)
            written = sink_write(sink, buffer, bytes, error);
        else
            written = sink_write(sink, line_text(gather->lines, item),
                                 line_length(gather->lines, item) + 1, error);
        position = next > position ? next : position + 1;
    }
    free(buffer);
    return written;
}

bool lines_write(const struct lines *lines, const struct key_index *items, size_t count,
                 struct sink *sink, struct error *error)
{
    if (count == 0)
        return true;
    const size_t mean_bytes = lines->bytes / lines_count(lines) + 1;
    const size_t filled = SINK_BUFFER_BYTES / 8 * 7;
    struct gather gather = {lines, items, count, filled / mean_bytes};
    if (gather.piece_items == 0)
        gather.piece_items = 1;
    const struct piece_maker maker = {
        .context = &gather,
        .pieces = (count - 1) / gather.piece_items + 1,
        .threads = lines->threads,
        .make = make_piece,
        .rest = write_rest,
    };
    return piece_writer_run(&maker, sink, error);
}
