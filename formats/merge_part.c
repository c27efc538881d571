/* merge_part.c - see merge_part.h. */
#include "formats/merge_part.h"

#include "formats/line_block.h"
#include "formats/line_hash.h"

#include <stdlib.h>
#include <string.h>

/* Lines of so many bytes are copied as if they had so many: what is too much is written over. */
#define COPY_BYTES LINE_BLOCK_SLACK_BYTES

/* Lines that are fetched ahead of their copies: they come from as many places as there are texts.
 */
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

/* Merges items[0..middle) and items[middle..count), each in order, by what lines are compared by.
 */
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

/* Sorts lines of equal keys. They stand in the order of the texts, and so are mostly in order, in
 * as many pieces as they are of texts: what is in order takes a look at each border. */
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

/* Whether lines of equal keys, all exact, are in order as they stand. */
static bool keys_tell_all(const struct line_order *order)
{
    return order->key_count == 1 && line_order_is_stable(order);
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
    const bool is_enough = keys_tell_all(texts->order);
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

void merge_part_start(struct merge_part *part, const struct merge_texts *texts,
                      const size_t *begins, const size_t *ends, struct merge_scratch *scratch)
{
    size_t arrays = 0;
    part->texts = texts;
    part->count = part->next = 0;
    for (size_t i = 0; i < texts->count; i++) {
        if (begins[i] == ends[i])
            continue;
        const size_t count = ends[i] - begins[i];
        scratch->arrays[arrays++] = (struct item_array){texts->texts[i].items + begins[i], count};
        part->count += count;
    }
    struct key_index *const items = scratch->items, *const other = items + scratch->item_room;
    part->items = items;
    if (arrays == 0)
        return;
    item_merge(sizeof *items, scratch->arrays, arrays, items, other);
    sort_equal_keys(texts, items, part->count, other);
}

static void note_written(struct merge_part *part, struct key_index item)
{
    part->has_written = true;
    if (!part->texts->order->unique)
        return;
    part->last = merge_item_ranked(part->texts, item);
    part->has_last = true;
}

/* The next line, of which the bytes are at `text`, is written or left out. */
static inline void pass_line(struct merge_part *part, const char *text, size_t bytes,
                             const char *end)
{
    const struct key_index *const item = &part->items[part->next];
    part->is_disordered |= part->next > 0 && item->key < item[-1].key;
    part->passed.hash += line_hash(text, bytes, end);
    part->passed.count++;
    part->next++;
}

/* Passes by lines that are left out of the output. */
static void skip_duplicates(struct merge_part *part)
{
    while (part->has_last && part->next < part->count) {
        const struct key_index item = part->items[part->next];
        if (item.key != part->last.rank)
            break;
        const struct ranked_line line = merge_item_ranked(part->texts, item);
        if (line_rank_compare_equal(part->texts->order, &part->last, &line) != 0)
            break;
        pass_line(part, line.text, line.length + 1, line.text);
    }
}

size_t merge_part_fill(struct merge_part *part, unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = part->texts;
    size_t bytes = 0;
    for (;;) {
        if (texts->order->unique)
            skip_duplicates(part);
        if (part->next == part->count)
            break;
        const struct key_index item = part->items[part->next];
        if (part->count - part->next > LINES_AHEAD)
            __builtin_prefetch(merge_item_line(texts, part->items[part->next + LINES_AHEAD]));
        const char *const line = merge_item_line(texts, item);
        const size_t size = merge_item_length(texts, item) + 1, left = room - bytes;
        if (size > left)
            break;
        if (size <= COPY_BYTES && left >= COPY_BYTES)
            memcpy(buffer + bytes, line, COPY_BYTES);
        else
            memcpy(buffer + bytes, line, size);
        note_written(part, item);
        pass_line(part, (const char *)buffer + bytes, size, (const char *)buffer + room);
        bytes += size;
    }
    return bytes;
}

struct ranked_line merge_part_take(struct merge_part *part)
{
    const struct key_index item = part->items[part->next];
    const struct ranked_line line = merge_item_ranked(part->texts, item);
    note_written(part, item);
    pass_line(part, line.text, line.length + 1, line.text);
    return line;
}
