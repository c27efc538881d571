/* SPDX-License-Identifier: Apache-2.0 */
/* merge_part.c - see merge_part.h. */
#include "formats/merge/merge_part.h"

#include "core/check/check.h"
#include "core/check/check_line.h"

#include <stdlib.h>
#include <string.h>

/* Shorter lines are copied with this constant length; the next line overwrites the excess. */
#define COPY_BYTES MERGE_SLACK_BYTES

/* Lines prefetched before their copies: they come from as many positions as there are texts. */
#define LINES_AHEAD ((size_t)16)

/* ---- Memory ---- */

bool merge_scratch_reserve(struct merge_scratch *scratch, size_t items, size_t texts,
                           struct error *error)
{
    if (items > scratch->item_room) {
        free(scratch->items);
        scratch->item_room = items + items / 8;
        scratch->items = calloc(scratch->item_room, 2 * sizeof *scratch->items);
    }
    if (texts > scratch->array_room) {
        free(scratch->arrays);
        scratch->array_room = texts;
        scratch->arrays = calloc(texts, sizeof *scratch->arrays);
    }
    if ((scratch->items || items == 0) && scratch->arrays)
        return true;
    merge_scratch_free(scratch);
    return error_set(error, "no memory to merge %zu lines of %zu inputs", items, texts);
}

void merge_scratch_free(struct merge_scratch *scratch)
{
    free(scratch->items);
    free(scratch->arrays);
    *scratch = (struct merge_scratch){0};
}

/* ---- Equal keys ---- */

/* Merges items[0..middle) and items[middle..count), each in order, by comparing lines. */
static void merge_halves(const struct merge_texts *texts, struct key_index *items, size_t middle,
                         size_t count, struct key_index *other)
{
    if (merge_item_compare(texts, items[middle - 1], items[middle]) <= 0)
        return;
    memcpy(other, items, middle * sizeof *items);
    size_t a = 0, b = middle, out = 0;
    while (a < middle && b < count)
        items[out++] = merge_item_compare(texts, items[b], other[a]) < 0 ? items[b++] : other[a++];
    memcpy(items + out, other + a, (middle - a) * sizeof *items);
}

/* Sorts lines with equal keys. They are in the order of the texts, so they consist of one sorted
 * piece per text. Pieces that are in order cost one comparison at each border. */
static void sort_lines(const struct merge_texts *texts, struct key_index *items, size_t count,
                       struct key_index *other)
{
    if (count < 2)
        return;
    const size_t middle = count / 2;
    sort_lines(texts, items, middle, other);
    sort_lines(texts, items + middle, count - middle, other);
    merge_halves(texts, items, middle, count, other);
}

static bool are_exact(const struct key_index *items, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= items[i].index & 1;
    return any == 0;
}

static void sort_equal_keys(const struct merge_texts *texts, struct key_index *items, size_t count,
                            struct key_index *other)
{
    /* If all keys are exact, lines with equal keys are already in order. */
    const bool is_enough = line_order_has_one_key(texts->order);
    for (size_t i = 1; i < count; i++) {
        if (items[i].key != items[i - 1].key)
            continue;
        const size_t first = i - 1;
        while (i < count && items[i].key == items[first].key)
            i++;
        if (!is_enough || !are_exact(items + first, i - first))
            sort_lines(texts, items + first, i - first, other);
    }
}

/* ---- A part ---- */

/* Merges the arrays. If there is only one, its lines are contiguous in their text. */
static const struct key_index *merge_arrays(struct merge_part *part, size_t arrays,
                                            struct merge_scratch *scratch)
{
    part->is_block = arrays == 1 && !part->texts->order->unique;
    if (arrays == 1)
        return scratch->arrays[0].items;
    struct key_index *const items = scratch->items, *const other = items + scratch->item_room;
    item_merge(sizeof *items, scratch->arrays, arrays, items, other);
    sort_equal_keys(part->texts, items, part->count, other);
    return items;
}

void merge_part_start(struct merge_part *part, const struct merge_texts *texts,
                      const size_t *begins, const size_t *ends, struct merge_scratch *scratch)
{
    size_t arrays = 0;
    part->texts = texts;
    part->count = part->next = part->passed_bytes = 0;
    for (size_t k = 0; k < texts->active_count; k++) {
        if (begins[k] == ends[k])
            continue;
        const size_t count = ends[k] - begins[k];
        const struct key_index *const items = texts->texts[texts->active[k]].items;
        scratch->arrays[arrays++] = (struct item_array){items + begins[k], count};
        part->count += count;
    }
    if (arrays == 0)
        return;
    part->items = merge_arrays(part, arrays, scratch);
    part->first_item = part->items[0];
    part->last_item = part->items[part->count - 1];
    part->is_disordered = !check_keys_rise(part->items, part->count);
}

/* ---- Output ---- */

/* Returns the next lines to write as a unit: with a unique order one line, because the next one may
 * be left out, otherwise a line and the lines that follow it, without a rank. */
static inline struct ranked_line next_line(const struct merge_part *part)
{
    const struct merge_texts *const texts = part->texts;
    const struct key_index item = part->items[part->next];
    struct ranked_line line;
    if (!texts->order->unique)
        return (struct ranked_line){.text = merge_item_line(texts, item),
                                    .length = merge_item_bytes(texts, item) - 1};
    if (part->passed_bytes == 0)
        return merge_item_ranked(texts, item);
    const char *const text = merge_item_line(texts, item) + part->passed_bytes;
    const char *const end = rawmemchr(text, texts->order->terminator);
    (void)line_rank(texts->order, text, (size_t)(end - text), &line);
    return line;
}

static inline uint64_t next_place(const struct merge_part *part)
{
    return merge_item_place(part->texts, part->items[part->next]) + part->passed_bytes;
}

static inline void step_over(struct merge_part *part, const struct ranked_line *line)
{
    if (part->texts->order->unique) {
        part->passed_bytes += line->length + 1;
        if (part->passed_bytes < merge_item_bytes(part->texts, part->items[part->next]))
            return;
        part->passed_bytes = 0;
    }
    part->next++;
}

static inline void note_written(struct merge_part *part, const struct ranked_line *line)
{
    part->has_written = true;
    if (!part->texts->order->unique)
        return;
    part->last = *line;
    part->has_last = true;
}

/* Leaves the line out. */
static void leave_out(struct merge_part *part, const struct ranked_line *line)
{
    part->passed.count += line->length + 1;
    part->passed.hash += check_sum_line(next_place(part), (const unsigned char *)line->text,
                                        line->length + 1, MERGE_SLACK_BYTES);
    step_over(part, line);
}

static bool is_duplicate(const struct merge_part *part, const struct ranked_line *line)
{
    return part->has_last && line_rank_compare(part->texts->order, &part->last, line) == 0;
}

/* Copies contiguous lines of a text. */
static size_t fill_block(struct merge_part *part, unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = part->texts;
    if (part->next == part->count)
        return 0;
    const struct key_index item = part->items[part->next];
    const size_t text = merge_item_text(texts->text_shift, item);
    const size_t begin = merge_item_offset(texts->text_shift, item);
    const size_t first = (size_t)(part->items - texts->texts[text].items);
    size_t fitting = part->next, end = part->count; /* items up to `fitting` fit */
    if (merge_text_offset(texts, text, first + end) - begin <= room)
        fitting = end;
    while (end - fitting > 1) {
        const size_t middle = fitting + (end - fitting) / 2;
        if (merge_text_offset(texts, text, first + middle) - begin <= room)
            fitting = middle;
        else
            end = middle;
    }
    const size_t bytes = merge_text_offset(texts, text, first + fitting) - begin;
    memcpy(buffer, merge_item_line(texts, item), bytes);
    check_sum_add(&part->passed, text_check_sum(merge_item_place(texts, item), buffer, bytes));
    part->has_written |= bytes > 0;
    part->next = fitting;
    return bytes;
}

/* Appends lines to the buffer, as many as fit it and `gathered`. Returns the bytes in the
 * buffer. */
static size_t fill_lines(struct merge_part *part, struct check_lines *gathered,
                         unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = part->texts;
    size_t bytes = gathered->bounds[0];
    while (gathered->count < CHECK_LINES_MAX && part->next < part->count) {
        if (part->count - part->next > LINES_AHEAD)
            __builtin_prefetch(merge_item_line(texts, part->items[part->next + LINES_AHEAD]));
        const struct ranked_line line = next_line(part);
        if (texts->order->unique && is_duplicate(part, &line)) {
            leave_out(part, &line);
            continue;
        }
        const size_t size = line.length + 1, left = room - bytes;
        if (size > left)
            break;
        if (size <= COPY_BYTES && left >= COPY_BYTES)
            memcpy(buffer + bytes, line.text, COPY_BYTES);
        else
            memcpy(buffer + bytes, line.text, size);
        note_written(part, &line);
        bytes += size;
        check_lines_add(gathered, bytes, next_place(part));
        step_over(part, &line);
    }
    return bytes;
}

size_t merge_part_fill(struct merge_part *part, unsigned char *buffer, size_t room)
{
    struct check_lines gathered;
    size_t bytes = 0;
    if (part->is_block)
        return fill_block(part, buffer, room);
    do {
        check_lines_start(&gathered, bytes);
        bytes = fill_lines(part, &gathered, buffer, room);
        const struct check_sum sum = check_sum_lines(&gathered, buffer, room);
        part->passed.count += sum.count;
        part->passed.hash += sum.hash;
    } while (gathered.count == CHECK_LINES_MAX);
    return bytes;
}

struct ranked_line merge_part_take(struct merge_part *part, uint64_t *place)
{
    const struct ranked_line line = next_line(part);
    *place = next_place(part);
    note_written(part, &line);
    step_over(part, &line);
    return line;
}
