/* SPDX-License-Identifier: Apache-2.0 */
/* merge_texts.h - the lines to merge, from several texts in memory, with an item for each.
 *
 * An item's key is the image of its line (line_compare.h). Its index has, from the top: the line's
 * text, its offset there, its approximate length, whether other lines follow it, and whether its
 * key is inexact. So the items of a text are in the order of its lines, and of equal keys the items
 * of the first text come first.
 *
 * A line that belongs before an earlier line of its text has no item: it follows that line. A merge
 * that takes the least of the next lines of all texts, as sort -m does, takes it right after that
 * line, because no other line comes before it. So the items of any text are in order.
 */
#ifndef FORMATS_MERGE_TEXTS_H
#define FORMATS_MERGE_TEXTS_H

#include "core/backend.h"
#include "formats/lines/line_compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The length in an item: its first 8 bits, and how many groups of three bits after them are
 * omitted. So the end of a long line is searched only in the last 32nd of it, and that of a short
 * line not at all. */
#define MERGE_LENGTH_BITS 8
#define MERGE_THREES_BITS 4

/* Set in the number of a source if its line is left out, with a unique order. */
#define LINES_MERGE_LEFT_OUT ((uint32_t)1 << 31)

#define MERGE_IS_FOLLOWED ((uint64_t)1 << 1)
#define MERGE_LENGTH_SHIFT 2
#define MERGE_OFFSET_SHIFT (MERGE_LENGTH_SHIFT + MERGE_THREES_BITS + MERGE_LENGTH_BITS)

/* Readable bytes after the lines of a text; their values do not matter. */
#define MERGE_SLACK_BYTES ((size_t)32)

/* Lines of a text; borrowed. */
struct merge_text {
    const char *text;              /* MERGE_SLACK_BYTES after it are readable */
    const struct key_index *items; /* of all its lines, except lines that follow another */
    size_t begin, end;             /* items to merge */
    size_t item_count;             /* of all items; some may be after `end` */
    size_t bytes;                  /* of all its lines */
    uint64_t place;                /* position of `text` in its source */
};

struct merge_texts {
    const struct line_order *order;
    bool writes_sources; /* as in lines_merge.h */
    struct merge_text *texts;
    size_t count;
    size_t *active; /* texts with lines to merge now, in any order; the others are ignored */
    size_t active_count;
    unsigned text_shift; /* bits of an index below the number of its text */
};

/* Returns the bits below the number of a text, with `count` texts. */
static inline unsigned merge_text_shift(size_t count)
{
    return count > 1 ? (unsigned)__builtin_clzll(count - 1) : 63;
}

/* Returns the greatest offset of a line. */
static inline size_t merge_offset_max(unsigned text_shift)
{
    return ((size_t)1 << (text_shift - MERGE_OFFSET_SHIFT)) - 1;
}

static inline struct key_index merge_item(unsigned text_shift, size_t text, size_t offset,
                                          size_t length, bool is_exact, uint64_t image)
{
    uint64_t threes = 0;
    for (; length >> MERGE_LENGTH_BITS != 0; length >>= 3)
        threes++;
    return (struct key_index){
        (uint64_t)text << text_shift | (uint64_t)offset << MERGE_OFFSET_SHIFT |
            (length << MERGE_THREES_BITS | threes) << MERGE_LENGTH_SHIFT | !is_exact,
        image};
}

static inline size_t merge_item_text(unsigned text_shift, struct key_index item)
{
    return item.index >> text_shift;
}

static inline size_t merge_item_offset(unsigned text_shift, struct key_index item)
{
    return (item.index & (((uint64_t)1 << text_shift) - 1)) >> MERGE_OFFSET_SHIFT;
}

static inline bool merge_item_is_exact(struct key_index item)
{
    return (item.index & 1) == 0;
}

/* Returns the beginning of the item's line in memory. */
static inline const char *merge_item_line(const struct merge_texts *texts, struct key_index item)
{
    return texts->texts[merge_item_text(texts->text_shift, item)].text +
           merge_item_offset(texts->text_shift, item);
}

/* Returns the position of the item's line in its source. */
static inline uint64_t merge_item_place(const struct merge_texts *texts, struct key_index item)
{
    return texts->texts[merge_item_text(texts->text_shift, item)].place +
           merge_item_offset(texts->text_shift, item);
}

/* Returns the length of the item's line, without the terminator. */
static inline size_t merge_item_length(const struct merge_texts *texts, struct key_index item)
{
    const uint64_t threes = item.index >> MERGE_LENGTH_SHIFT & ((1 << MERGE_THREES_BITS) - 1);
    const uint64_t first_bits =
        item.index >> (MERGE_LENGTH_SHIFT + MERGE_THREES_BITS) & ((1 << MERGE_LENGTH_BITS) - 1);
    if (threes == 0)
        return first_bits;
    const char *const line = merge_item_line(texts, item);
    const char *const near_end = line + (first_bits << 3 * threes);
    return (size_t)((const char *)rawmemchr(near_end, texts->order->terminator) - line);
}

static inline struct line_with_image merge_item_with_image(const struct merge_texts *texts,
                                                           struct key_index item)
{
    return (struct line_with_image){merge_item_line(texts, item), merge_item_length(texts, item),
                                    item.key, merge_item_is_exact(item)};
}

/* As line_image_compare(), for the lines of two items. */
static inline int merge_item_compare(const struct merge_texts *texts, struct key_index a,
                                     struct key_index b)
{
    if (a.key != b.key)
        return a.key < b.key ? -1 : 1;
    const struct line_with_image x = merge_item_with_image(texts, a),
                                 y = merge_item_with_image(texts, b);
    return line_image_compare_equal(texts->order, &x, &y);
}

/* Returns the offset of item k of the text; k may be the number of items. */
static inline size_t merge_text_offset(const struct merge_texts *texts, size_t text, size_t k)
{
    const struct merge_text *const t = &texts->texts[text];
    return k < t->item_count ? merge_item_offset(texts->text_shift, t->items[k]) : t->bytes;
}

/* Returns the bytes of the item's line and of the lines that follow it. */
static inline size_t merge_item_bytes(const struct merge_texts *texts, struct key_index item)
{
    if ((item.index & MERGE_IS_FOLLOWED) == 0)
        return merge_item_length(texts, item) + 1;
    const size_t text = merge_item_text(texts->text_shift, item);
    size_t begin = 0, end = texts->texts[text].item_count; /* the next item is in [begin, end] */
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (texts->texts[text].items[middle].index <= item.index)
            begin = middle + 1;
        else
            end = middle;
    }
    return merge_text_offset(texts, text, end) - merge_item_offset(texts->text_shift, item);
}

/* Returns the bytes of the lines to merge. */
static inline size_t merge_text_bytes(const struct merge_texts *texts, size_t text)
{
    const struct merge_text *const t = &texts->texts[text];
    return t->begin == t->end
               ? 0
               : merge_text_offset(texts, text, t->end) - merge_text_offset(texts, text, t->begin);
}

#endif
