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

static struct ranked_line ranked_line_of(const struct gather *gather, size_t i)
{
    const struct key_index item = gather->items[i];
    return (struct ranked_line){line_text(gather->lines, item), line_length(gather->lines, item),
                                item.key, line_is_exact(item)};
}

/* Line k of those gathered, where it was copied to: it is in the cache, and its length known. */
static struct ranked_line gathered_line(struct key_index item, const struct check_lines *gathered,
                                        size_t k, const unsigned char *buffer)
{
    const size_t begin = k > 0 ? gathered->ends[k - 1] : gathered->begin;
    return (struct ranked_line){(const char *)buffer + begin, gathered->ends[k] - begin - 1,
                                item.key, line_is_exact(item)};
}

/* Whether a line may stand behind another. */
static bool is_in_order(const struct line_order *order, struct ranked_line previous,
                        struct ranked_line line)
{
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

/* Whether lines k - 1 and k of those gathered are the same bytes; false where that is not seen at
 * once. */
static bool are_same(const struct check_lines *gathered, size_t k, const unsigned char *buffer)
{
    if (k == 0)
        return false;
    const size_t begin = gathered->ends[k - 1], end = gathered->ends[k], bytes = end - begin;
    const size_t previous = k > 1 ? gathered->ends[k - 2] : gathered->begin;
    return begin - previous == bytes && bytes <= CHECK_LINE_BYTES &&
           SINK_BUFFER_BYTES - end >= CHECK_LINE_SLACK &&
           is_same_line(buffer + previous, buffer + begin, bytes);
}

/* Whether lines k - 1 and k of those gathered, which go by their bytes alone, are in order by the
 * first 8; false where that is not seen by them. */
static bool are_in_byte_order(const struct check_lines *gathered, size_t k,
                              const unsigned char *buffer, bool reverse)
{
    const size_t begin = gathered->ends[k - 1], bytes = gathered->ends[k] - begin;
    const size_t previous = k > 1 ? gathered->ends[k - 2] : gathered->begin;
    const size_t previous_bytes = begin - previous;
    const size_t shared = (previous_bytes < bytes ? previous_bytes : bytes) - 1;
    uint64_t a, b;
    if (SINK_BUFFER_BYTES - begin < sizeof b)
        return false;
    memcpy(&a, buffer + previous, sizeof a);
    memcpy(&b, buffer + begin, sizeof b);
    const size_t same = a != b ? (size_t)__builtin_ctzll(a ^ b) / 8 : sizeof a;
    if (same > shared || same == sizeof a)
        return same > shared;
    const bool is_ascending =
        same < shared ? __builtin_bswap64(a) < __builtin_bswap64(b) : previous_bytes < bytes;
    return is_ascending != reverse;
}

/* Whether what is known of two lines leaves nothing to go by but their bytes. */
static inline bool goes_by_bytes(const struct line_order *order, struct key_index a,
                                 struct key_index b)
{
    return order->key_count == 1 && !line_order_is_stable(order) && a.key == b.key &&
           line_is_exact(a) && line_is_exact(b);
}

/* Looks at the order of lines from `first` on, which were gathered, where keys alone do not tell.
 */
static void check_order(const struct gather *gather, size_t first,
                        const struct check_lines *gathered, const unsigned char *buffer)
{
    const struct key_index *const items = gather->items + first;
    const struct line_order *const order = gather->lines->order;
    for (size_t k = first == 0; k < gathered->count; k++) {
        if (items[k].key > items[k - 1].key ||
            (k > 0 && goes_by_bytes(order, items[k - 1], items[k]) &&
             are_in_byte_order(gathered, k, buffer, order->reverse)) ||
            (!order->unique && are_same(gathered, k, buffer)))
            continue;
        const struct ranked_line previous =
            k > 0 ? gathered_line(items[k - 1], gathered, k - 1, buffer)
                  : ranked_line_of(gather, first - 1);
        if (!is_in_order(order, previous, gathered_line(items[k], gathered, k, buffer)))
            first_place_note(&gather->written->disorder, first + k);
    }
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
    struct check_sum text = {0, 0}, items = {0, 0};
    for (bool fits = true; fits && i < end;) {
        struct check_lines gathered;
        uint64_t previous_key = i > 0 ? gather->items[i - 1].key : 0;
        bool is_ascending = true;
        gathered.count = 0;
        gathered.begin = (size_t)(out - buffer);
        for (; i < end && gathered.count < CHECK_LINES_MAX; ++i) {
            const struct key_index item = gather->items[i];
            if (gather->count - i > LINES_AHEAD) {
                const char *const ahead = line_text(gather->lines, gather->items[i + LINES_AHEAD]);
                __builtin_prefetch(ahead);
                __builtin_prefetch(ahead + LINES_AHEAD_LAST);
            }
            unsigned char *const next =
                copy_line(line_text(gather->lines, item), terminator, out, buffer_end);
            fits = next != NULL;
            if (!fits)
                break;
            out = next;
            is_ascending &= item.key > previous_key;
            previous_key = item.key;
            items.hash += check_bind_pair(item.key, item.index);
            check_lines_add(&gathered, (size_t)(out - buffer), line_offset(item));
        }
        if (!is_ascending)
            check_order(gather, i - gathered.count, &gathered, buffer);
        const struct check_sum sum = check_sum_lines(&gathered, buffer, SINK_BUFFER_BYTES);
        text.count += sum.count;
        text.hash += sum.hash;
    }
    items.count = i - first;
    check_sum_add(&gather->written->text, text);
    check_sum_add(&gather->written->items, items);
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
    if (i > 0 && !is_in_order(gather->lines->order, ranked_line_of(gather, i - 1),
                              ranked_line_of(gather, i)))
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
