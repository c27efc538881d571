/* SPDX-License-Identifier: Apache-2.0 */
/* lines_key.c - the keys of lines; see lines.h.
 *
 *   blocks of the text, one block per thread and step -> lines -> keys
 *
 * Because the number of terminators before each block is known, many threads can key any range of
 * lines, each writing directly to their items. A key is the line's rank; see line_rank.h.
 */
#include "formats/lines/lines.h"

#include "core/check/check_hash.h"
#include "core/trace.h"
#include "formats/lines/line_error.h"
#include "formats/lines/line_rank.h"
#include "formats/lines/lines_text.h"

#include <string.h>

/* Keying of lines [first, end), and the first error. */
struct keying {
    const struct lines *lines;
    struct key_index *items; /* items[0] is that of line `first` */
    struct check_sum *made;  /* sum of the items */
    size_t first, end;
    line_ranker *ranker;
    size_t bad_line;   /* the first line that is not a number, so far; SIZE_MAX if none */
    size_t bad_offset; /* its offset */
};

static void note_bad_line(struct keying *keying, size_t line, size_t offset)
{
#pragma omp critical(lines_note_bad_line)
    if (line < keying->bad_line) {
        keying->bad_line = line;
        keying->bad_offset = offset;
    }
}

/* Returns the offset of the line that the first terminator of the block ends. */
static size_t first_line_of_block(const struct lines *lines, size_t block)
{
    const char *const end =
        memrchr(lines->text, lines->order->terminator, block * LINES_BLOCK_BYTES);
    return end == NULL ? 0 : (size_t)(end - lines->text) + 1;
}

/* Keys the requested lines of the block, up to the first one that is not a number. */
static void key_block(struct keying *keying, size_t block)
{
    const struct lines *const lines = keying->lines;
    const struct line_order *const order = lines->order;
    const uint64_t complement = order->keys[0].reverse ? UINT64_MAX : 0;
    size_t line = lines->lines_before[block], end = lines->lines_before[block + 1];
    if (line == end)
        return;
    const uint64_t begin_ns = trace_begin();
    end = end < keying->end ? end : keying->end;
    const char *p = lines->text + first_line_of_block(lines, block);
    const char *const text_end = lines->text + lines->bytes;
    const size_t first = line > keying->first ? line : keying->first;
    struct check_sum made = {end > first ? end - first : 0, 0};
    for (; line < end; ++line) {
        const char *const line_end = memchr(p, order->terminator, (size_t)(text_end - p));
        if (line >= keying->first) {
            uint64_t image;
            bool exact;
            const size_t offset = (size_t)(p - lines->text);
            if (!keying->ranker(order, p, (size_t)(line_end - p), &image, &exact)) {
                note_bad_line(keying, line, offset);
                return;
            }
            const struct key_index item = {line_index(offset, exact), image ^ complement};
            keying->items[line - keying->first] = item;
            made.hash += check_bind_pair(item.key, item.index);
        }
        p = line_end + 1;
    }
    trace_end(TRACE_PARSE, begin_ns, lines_block_bytes(lines, block));
    check_sum_add(keying->made, made);
}

/* Returns the input that has the text at `offset`. */
static const struct lines_input *input_at(const struct lines *lines, size_t offset)
{
    size_t i = lines->input_count - 1;
    while (lines->inputs[i].begin > offset)
        --i;
    return &lines->inputs[i];
}

static bool refuse_line(const struct lines *lines, size_t offset, struct error *error)
{
    const struct lines_input *const input = input_at(lines, offset);
    const char terminator = lines->order->terminator;
    const size_t before = input->lines_read + bytes_count(lines->text + input->begin,
                                                          offset - input->begin, terminator);
    const char *const line = lines->text + offset;
    const char *const line_end = memchr(line, terminator, lines->bytes - offset);
    return line_error_set(error, input->name, before + 1, line, (size_t)(line_end - line),
                          NUMBER_MALFORMED, NULL);
}

/* Returns the block that the line ends in. */
static size_t block_of_line(const struct lines *lines, size_t line)
{
    size_t low = 0, high = lines->block_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (lines->lines_before[middle] <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool lines_key(struct lines *lines, struct key_index *items, size_t capacity, size_t *count,
               struct error *error)
{
    const size_t left = lines_count(lines) - lines->keyed;
    *count = left < capacity ? left : capacity;
    if (*count == 0)
        return true;
    struct keying keying = {
        .lines = lines,
        .items = items,
        .made = &lines->made,
        .first = lines->keyed,
        .end = lines->keyed + *count,
        .ranker = line_ranker_of(lines->order),
        .bad_line = SIZE_MAX,
    };
    const size_t first = block_of_line(lines, keying.first);
    const size_t last = block_of_line(lines, keying.end - 1);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)lines->threads)
    for (size_t block = first; block <= last; ++block)
        key_block(&keying, block);
    if (keying.bad_line != SIZE_MAX)
        return refuse_line(lines, keying.bad_offset, error);
    lines->keyed += *count;
    return true;
}

/* Items that a thread keys in one step. */
#define ITEMS_COUNT ((size_t)1024)

bool lines_key_items(const struct lines *lines, struct key_index *items, size_t count,
                     struct error *error)
{
    const struct line_order *const order = lines->order;
    line_ranker *const ranker = line_ranker_of(order);
    const uint64_t complement = order->keys[0].reverse ? UINT64_MAX : 0;
    size_t bad_item = SIZE_MAX; /* the first line that is not a number */
#pragma omp parallel for schedule(dynamic, ITEMS_COUNT) num_threads((int)lines->threads)           \
    reduction(min                                                                                  \
              : bad_item) if (count > ITEMS_COUNT)
    for (size_t i = 0; i < count; ++i) {
        bool exact;
        if (ranker(order, line_text(lines, items[i]), line_length(lines, items[i]), &items[i].key,
                   &exact)) {
            items[i].index = line_index(line_offset(items[i]), exact);
            items[i].key ^= complement;
        } else if (i < bad_item) {
            bad_item = i;
        }
    }
    return bad_item == SIZE_MAX || refuse_line(lines, line_offset(items[bad_item]), error);
}
