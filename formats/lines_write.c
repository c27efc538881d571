/* lines_write.c - gathers the lines in their new order, and proves it; see lines.h.
 *
 * A piece is a run of items whose lines, at the mean length, fill most of a buffer; what does not
 * fit, where lines are longer than the mean, is written in the piece's turn. The lines are anywhere
 * in memory, so a gather waits for memory and little else: lines are fetched ahead of their use.
 */
#include "core/check_line.h"
#include "core/first_place.h"
#include "formats/line_rank.h"
#include "formats/lines.h"
#include "formats/lines_text.h"
#include "formats/piece_writer.h"

#include <stdlib.h>

struct gather {
    const struct lines *lines;
    const struct key_index *items;
    size_t count;
    size_t piece_items;
    struct lines_written *written;
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

/* ---- Proof ---- */

/* Lines that are looked at when they are gathered: by then they are in the first cache, and no more
 * on their way to it. */
#define GROUP_LINES 64

static struct ranked_line ranked_line_of(const struct gather *gather, size_t i)
{
    const struct key_index item = gather->items[i];
    return (struct ranked_line){line_text(gather->lines, item), line_length(gather->lines, item),
                                item.key, line_is_exact(item)};
}

/* Whether line i may stand behind the one before it. */
static bool is_in_order(const struct gather *gather, size_t i)
{
    const struct line_order *const order = gather->lines->order;
    const struct ranked_line previous = ranked_line_of(gather, i - 1);
    const struct ranked_line line = ranked_line_of(gather, i);
    return line_rank_compare(order, &previous, &line) <= (order->unique ? -1 : 0);
}

/* Whether two lines of so many bytes, at most CHECK_LINE_BYTES, are the same. */
static inline bool is_same_line(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    const ptrdiff_t left = (ptrdiff_t)bytes;
    uint64_t difference = 0;
    for (ptrdiff_t at = 0; at < left; at += 8)
        difference |= check_first_bytes(a + at, left - at) ^ check_first_bytes(b + at, left - at);
    return difference == 0;
}

/* Lines [first, first + count), of which line k ends at ends[k] of the buffer, and begins where the
 * one before it ends; the first one at `begin`. */
static void check_group(const struct gather *gather, size_t first, size_t count,
                        const unsigned char *buffer, size_t begin, const size_t *ends)
{
    struct check_sum sum = {ends[count - 1] - begin, 0}, items = {count, 0};
    size_t previous_bytes = 0; /* 0: it is not in the buffer */
    const bool can_be_same = !gather->lines->order->unique;
    for (size_t k = 0; k < count; begin = ends[k++]) {
        const unsigned char *const line = buffer + begin;
        const size_t bytes = ends[k] - begin;
        const struct key_index *const item = &gather->items[first + k];
        const size_t slack = SINK_BUFFER_BYTES - ends[k];
        sum.hash += check_sum_line(line_offset(*item), line, bytes, slack);
        items.hash += check_bind_pair(item->key, item->index);
        const bool is_greater = first + k == 0 || item[-1].key < item->key;
        const bool may_be_same = can_be_same && bytes == previous_bytes &&
                                 bytes <= CHECK_LINE_BYTES && slack >= CHECK_LINE_SLACK;
        if (!is_greater && !(may_be_same && is_same_line(line - bytes, line, bytes)) &&
            !is_in_order(gather, first + k))
            first_place_note(&gather->written->disorder, first + k);
        previous_bytes = bytes;
    }
    check_sum_add(&gather->written->text, sum);
    check_sum_add(&gather->written->items, items);
}

/* ---- Lines ---- */

/* Gathers lines [first, end), or as many as fit the buffer; returns where to go on. */
static size_t gather_lines(const struct gather *gather, size_t first, size_t end,
                           unsigned char *buffer, size_t *bytes)
{
    const char terminator = gather->lines->order->terminator;
    unsigned char *out = buffer;
    const unsigned char *const buffer_end = buffer + SINK_BUFFER_BYTES;
    size_t i = first;
    for (bool fits = true; fits && i < end;) {
        const size_t group = i, begin = (size_t)(out - buffer);
        size_t ends[GROUP_LINES];
        for (; i < end && i - group < GROUP_LINES; ++i) {
            if (gather->count - i > LINES_AHEAD)
                __builtin_prefetch(line_text(gather->lines, gather->items[i + LINES_AHEAD]));
            unsigned char *const next =
                copy_line(line_text(gather->lines, gather->items[i]), terminator, out, buffer_end);
            fits = next != NULL;
            if (!fits)
                break;
            out = next;
            ends[i - group] = (size_t)(out - buffer);
        }
        if (i > group)
            check_group(gather, group, i - group, buffer, begin, ends);
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

static bool write_long_line(const struct gather *gather, size_t i, struct sink *sink,
                            struct error *error)
{
    const struct key_index item = gather->items[i];
    const char *const line = line_text(gather->lines, item);
    const size_t length = line_length(gather->lines, item);
    if (i > 0 && !is_in_order(gather, i))
        first_place_note(&gather->written->disorder, i);
    check_sum_add(&gather->written->items,
                  (struct check_sum){1, check_bind_pair(item.key, item.index)});
    check_sum_add(&gather->written->text, text_check_sum(line_offset(item), line, length + 1));
    return sink_write(sink, line, length + 1, error);
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
        const size_t next = gather_lines(gather, position, end, buffer, &bytes);
        if (next > position)
            written = sink_write(sink, buffer, bytes, error);
        else
            written = write_long_line(gather, position, sink, error);
        position = next > position ? next : position + 1;
    }
    free(buffer);
    return written;
}

bool lines_write(const struct lines *lines, const struct key_index *items, size_t count,
                 struct sink *sink, struct lines_written *written, struct error *error)
{
    *written = (struct lines_written){{0, 0}, {0, 0}, 0};
    if (count == 0)
        return true;
    const size_t mean_bytes = lines->bytes / lines_count(lines) + 1;
    const size_t filled = SINK_BUFFER_BYTES / 8 * 7;
    struct gather gather = {lines, items, count, filled / mean_bytes, written};
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
