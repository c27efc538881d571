/* SPDX-License-Identifier: Apache-2.0 */
/* merge_round.c - see merge_steps.h.
 *
 *   texts -> merge_cut: ranges -> each thread:
 *     items of the range, one array per text -> merged pairwise (item_merge.h)
 *       -> tie groups put in order -> the lines of the items, copied one after another
 *     -> sink, in order
 *
 * So a line is read only when it is copied, and when keys do not decide. If only one text has lines
 * in a range, as with inputs that follow one another, the lines are copied as a block, except with
 * -u.
 */
#include "formats/merge/merge_steps.h"

#include "core/check/check.h"
#include "core/check/check_line.h"
#include "core/item_merge.h"
#include "formats/io/piece_writer.h"
#include "formats/merge/lines_merge.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Lines of up to this many bytes are copied with this constant length; the next line overwrites the
 * excess. */
#define COPY_BYTES MERGE_SLACK_BYTES

/* Lines prefetched before their copies: they come from as many positions as there are texts. */
#define LINES_AHEAD ((size_t)16)

/* A range whose items are merged, while its lines are copied out. */
struct merge_range {
    const struct merge_texts *texts;
    const struct key_index *items; /* in the scratch, or of the only text */
    size_t count, next;
    size_t taken_bytes;                     /* of the next item's lines, with a unique order */
    struct key_index first_item, last_item; /* if there are any */
    bool is_block;               /* all items are of one text, and all lines are written */
    struct line_with_image last; /* the last line written, with a unique order */
    bool has_last;
    bool is_disordered;   /* out: a key is less than that of the line before it */
    struct check_sum sum; /* out: of lines written and left out, at their source positions */
};

/* The next line of a text, of lines with equal images. */
struct merge_head {
    const struct key_index *item, *end; /* the items of the text that are left */
    struct line_with_image line;
};

/* ---- Memory ---- */

static bool merge_scratch_reserve(struct merge_scratch *scratch, size_t items, size_t texts,
                                  struct error *error)
{
    if (items > scratch->item_room) {
        free(scratch->items);
        scratch->item_room = items + items / 8;
        scratch->items = calloc(scratch->item_room, 2 * sizeof *scratch->items);
    }
    if (texts > scratch->text_room) {
        free(scratch->arrays);
        free(scratch->heads);
        free(scratch->losers);
        scratch->text_room = texts;
        scratch->arrays = calloc(texts, sizeof *scratch->arrays);
        scratch->heads = calloc(texts, sizeof *scratch->heads);
        scratch->losers = calloc(texts, sizeof *scratch->losers);
    }
    if (scratch->items && scratch->arrays && scratch->heads && scratch->losers)
        return true;
    merge_scratch_free(scratch);
    return error_set(error, "no memory to merge %zu lines of %zu inputs", items, texts);
}

void merge_scratch_free(struct merge_scratch *scratch)
{
    free(scratch->items);
    free(scratch->arrays);
    free(scratch->heads);
    free(scratch->losers);
    *scratch = (struct merge_scratch){0};
}

/* ---- Equal images ----
 *
 *   items of lines with equal images -> the next line of each text, its head -> a tree of losers
 *     -> the first head is taken, and the next line of its text plays
 *
 * The key of a line is found once, when the line becomes a head.
 */

static void set_line_with_key(const struct merge_texts *texts, struct key_index item,
                              struct line_with_image *line)
{
    merge_item_set_line(texts, item, line);
    line_find_key(texts->order, line);
}

/* Returns true if the line of `a` comes before that of `b`. If they are equal, the line of the
 * earlier text comes first, as its items do. A text without items left is last. */
static bool head_is_before(const struct merge_texts *texts, const struct merge_head *a,
                           const struct merge_head *b)
{
    if (a->item == a->end || b->item == b->end)
        return b->item == b->end;
    const int found = line_image_compare_equal(texts->order, &a->line, &b->line);
    return found < 0 || (found == 0 && a->item < b->item);
}

/* Plays the games of a head, from its leaf up to the root of a tree of losers: losers[n] lost the
 * game of node n, whose children are nodes 2 n and 2 n + 1; losers[0] won all. Ends at a game
 * without an opponent yet. */
static void play_games(const struct merge_texts *texts, struct merge_head **losers, size_t node,
                       struct merge_head *head)
{
    for (node /= 2; node > 0; node /= 2) {
        struct merge_head *const other = losers[node];
        if (!other || head_is_before(texts, other, head)) {
            losers[node] = head;
            head = other;
        }
        if (!other)
            return;
    }
    losers[0] = head;
}

/* Makes the heads of the texts, the last text first. Returns how many there are, or 0 if the lines
 * are in order already. */
static size_t make_heads(const struct merge_texts *texts, const struct key_index *items,
                         size_t count, struct merge_head *heads)
{
    size_t made = 0;
    bool is_in_order = true;
    for (size_t end = count, begin; end > 0; end = begin) {
        const size_t text = merge_item_text(texts->text_shift, items[end - 1]);
        for (begin = end - 1; begin > 0; begin--) {
            if (merge_item_text(texts->text_shift, items[begin - 1]) != text)
                break;
            __builtin_prefetch(merge_item_line(texts, items[begin - 1]));
        }
        heads[made].item = items + begin;
        heads[made].end = items + end;
        set_line_with_key(texts, items[begin], &heads[made].line);
        if (is_in_order && made > 0) {
            struct line_with_image last;
            set_line_with_key(texts, items[end - 1], &last);
            is_in_order = line_image_compare_equal(texts->order, &last, &heads[made - 1].line) <= 0;
        }
        made++;
    }
    return is_in_order ? 0 : made;
}

/* Sorts lines with equal images. They are in the order of the texts, and the lines of each text are
 * in order already. */
static void sort_lines(const struct merge_texts *texts, struct key_index *items, size_t count,
                       struct merge_scratch *scratch)
{
    const unsigned shift = texts->text_shift;
    struct key_index *const other = scratch->items + scratch->item_room;
    struct merge_head *const heads = scratch->heads, **const losers = scratch->losers;
    if (merge_item_text(shift, items[0]) == merge_item_text(shift, items[count - 1]))
        return;
    memcpy(other, items, count * sizeof *items);
    const size_t made = make_heads(texts, other, count, heads);
    if (made == 0)
        return;
    memset(losers, 0, made * sizeof *losers);
    for (size_t i = 0; i < made; i++)
        play_games(texts, losers, made + i, &heads[i]);
    for (size_t left = made; left > 1;) {
        struct merge_head *const first = losers[0];
        *items++ = *first->item++;
        if (first->item < first->end)
            set_line_with_key(texts, *first->item, &first->line);
        else
            left--;
        play_games(texts, losers, made + (size_t)(first - heads), first);
    }
    const struct merge_head *const last = losers[0];
    memcpy(items, last->item, (size_t)(last->end - last->item) * sizeof *items);
}

static bool are_exact(const struct key_index *items, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= items[i].index & 1;
    return any == 0;
}

static void sort_equal_keys(const struct merge_texts *texts, struct key_index *items, size_t count,
                            struct merge_scratch *scratch)
{
    /* With one key, lines with equal keys are in order already if all are exact. */
    const bool is_enough = line_order_has_one_key(texts->order);
    for (size_t i = 1; i < count; i++) {
        if (items[i].key != items[i - 1].key)
            continue;
        const size_t first = i - 1;
        while (i < count && items[i].key == items[first].key)
            i++;
        if (!is_enough || !are_exact(items + first, i - first))
            sort_lines(texts, items + first, i - first, scratch);
    }
}

/* ---- A range, in one thread and in its caches ---- */

/* Merges items [begins[k], ends[k]) of all active texts. If they are of one text, its array is used
 * as it is. `scratch` has room for them, and is in use until the range's last line is copied. The
 * caller sets `last` and `has_last` before. */
static void merge_range_start(struct merge_range *range, const struct merge_texts *texts,
                              const size_t *begins, const size_t *ends,
                              struct merge_scratch *scratch)
{
    size_t arrays = 0;
    range->texts = texts;
    range->count = range->next = range->taken_bytes = 0;
    for (size_t k = 0; k < texts->active_count; k++) {
        if (begins[k] == ends[k])
            continue;
        const size_t count = ends[k] - begins[k];
        const struct key_index *const items = texts->texts[texts->active[k]].items;
        scratch->arrays[arrays++] = (struct item_array){items + begins[k], count};
        range->count += count;
    }
    if (arrays == 0)
        return;
    range->is_block = arrays == 1 && !texts->order->unique;
    range->items = scratch->arrays[0].items;
    if (arrays > 1) {
        item_merge(sizeof *scratch->items, scratch->arrays, arrays, scratch->items,
                   scratch->items + scratch->item_room);
        sort_equal_keys(texts, scratch->items, range->count, scratch);
        range->items = scratch->items;
    }
    range->first_item = range->items[0];
    range->last_item = range->items[range->count - 1];
    range->is_disordered = !check_keys_rise(range->items, range->count);
}

/* ---- Output of a range ----
 *
 *   items      |   a   |           b           |   c   |     two lines follow that of b
 *   lines      |   a   |   b   |   b1  |   b2  |   c   |
 *   units      |   1   |           2           |   3   |     written as a whole, or left out
 *   with -u    |   1   |   2   |   3   |   4   |   5   |     b1 may be left out, as it may equal b
 *
 * A unit that was written or left out is taken: the checksum of the range includes it, and the unit
 * after it is next. `taken_bytes` is 0, except within b with -u: the bytes of units 2 and 3 while
 * unit 4 is next.
 */

/* As set_next_unit(), with a unique order. */
static inline void set_next_unique_line(const struct merge_range *range, struct key_index item,
                                        struct line_with_image *line)
{
    const struct merge_texts *const texts = range->texts;
    if (range->taken_bytes == 0) {
        merge_item_set_line(texts, item, line);
        return;
    }
    const char *const text = merge_item_line(texts, item) + range->taken_bytes;
    const char *const end = rawmemchr(text, texts->order->terminator);
    (void)line_image_make(texts->order, text, (size_t)(end - text), line);
}

/* Sets `line` to the text of the next unit, without the last terminator. It has an image only with
 * a unique order. */
static inline void set_next_unit(const struct merge_range *range, struct line_with_image *line)
{
    const struct merge_texts *const texts = range->texts;
    const struct key_index item = range->items[range->next];
    if (texts->order->unique) {
        set_next_unique_line(range, item, line);
        return;
    }
    line->text = merge_item_line(texts, item);
    line->length = merge_item_bytes(texts, item) - 1;
}

static inline uint64_t next_position(const struct merge_range *range)
{
    return merge_item_position(range->texts, range->items[range->next]) + range->taken_bytes;
}

/* Takes a line of the next item. Returns true if it was the last one of the item. */
static inline bool take_unique_line(struct merge_range *range, const struct line_with_image *line)
{
    range->taken_bytes += line->length + 1;
    if (range->taken_bytes < merge_item_bytes(range->texts, range->items[range->next]))
        return false;
    range->taken_bytes = 0;
    return true;
}

static inline void take_unit(struct merge_range *range, const struct line_with_image *line)
{
    if (!range->texts->order->unique || take_unique_line(range, line))
        range->next++;
}

/* Takes the next unit without copying it, and adds its checksum. */
static void take_unit_uncopied(struct merge_range *range, const struct line_with_image *line)
{
    range->sum.count += line->length + 1;
    range->sum.hash += check_sum_line(next_position(range), (const unsigned char *)line->text,
                                      line->length + 1, MERGE_SLACK_BYTES);
    take_unit(range, line);
}

static inline void note_written(struct merge_range *range, const struct line_with_image *line)
{
    if (range->texts->order->unique) {
        range->last = *line;
        range->has_last = true;
    }
}

/* Returns true if the line equals the last one written, with a unique order. Keys are found only of
 * equal images, and then once. */
static bool is_duplicate(struct merge_range *range, struct line_with_image *line)
{
    const struct line_order *const order = range->texts->order;
    if (!range->has_last || range->last.image != line->image)
        return false;
    line_find_key(order, &range->last);
    line_find_key(order, line);
    return line_image_compare_equal(order, &range->last, line) == 0;
}

/* Copies the next lines of a range of one text, as many as fit. */
static size_t fill_block(struct merge_range *range, unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = range->texts;
    if (range->next == range->count)
        return 0;
    const struct key_index item = range->items[range->next];
    const size_t text = merge_item_text(texts->text_shift, item);
    const size_t begin = merge_item_offset(texts->text_shift, item);
    const size_t first = (size_t)(range->items - texts->texts[text].items);
    size_t fitting = range->count; /* the items before this one fit */
    if (merge_text_offset(texts, text, first + fitting) - begin > room)
        fitting = merge_text_find(texts, text, first + range->next, first + fitting, begin + room) -
                  first;
    const size_t bytes = merge_text_offset(texts, text, first + fitting) - begin;
    memcpy(buffer, merge_item_line(texts, item), bytes);
    check_sum_add(&range->sum, text_check_sum(merge_item_position(texts, item), buffer, bytes));
    range->next = fitting;
    return bytes;
}

/* Appends lines to the buffer, as many as fit it and `gathered`. Returns the bytes in the
 * buffer. */
static size_t fill_lines(struct merge_range *range, struct check_lines *gathered,
                         unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = range->texts;
    size_t bytes = gathered->bounds[0];
    while (gathered->count < CHECK_LINES_MAX && range->next < range->count) {
        if (range->count - range->next > LINES_AHEAD)
            __builtin_prefetch(merge_item_line(texts, range->items[range->next + LINES_AHEAD]));
        struct line_with_image line;
        set_next_unit(range, &line);
        if (texts->order->unique && is_duplicate(range, &line)) {
            take_unit_uncopied(range, &line);
            continue;
        }
        const size_t size = line.length + 1, left = room - bytes;
        if (size > left)
            break;
        if (size <= COPY_BYTES && left >= COPY_BYTES)
            memcpy(buffer + bytes, line.text, COPY_BYTES);
        else
            memcpy(buffer + bytes, line.text, size);
        note_written(range, &line);
        bytes += size;
        check_lines_add(gathered, bytes, next_position(range));
        take_unit(range, &line);
    }
    return bytes;
}

static size_t fill_sources(struct merge_range *range, unsigned char *buffer, size_t room)
{
    const struct merge_texts *const texts = range->texts;
    size_t bytes = 0;
    while (range->next < range->count && room - bytes >= sizeof(uint32_t)) {
        struct line_with_image line;
        set_next_unit(range, &line);
        uint32_t source = (uint32_t)merge_item_text(texts->text_shift, range->items[range->next]);
        if (texts->order->unique && is_duplicate(range, &line))
            source |= LINES_MERGE_LEFT_OUT;
        else
            note_written(range, &line);
        take_unit_uncopied(range, &line);
        memcpy(buffer + bytes, &source, sizeof source);
        bytes += sizeof source;
    }
    return bytes;
}

/* Copies lines, or the numbers of their sources, to `buffer` up to the first one that does not fit
 * in `room` bytes. Returns the number of bytes copied. With a unique order, lines whose keys equal
 * those of the line written before are omitted, and their sources get LINES_MERGE_LEFT_OUT. */
static size_t merge_range_fill(struct merge_range *range, unsigned char *buffer, size_t room)
{
    struct check_lines gathered;
    size_t bytes = 0;
    if (range->texts->writes_sources)
        return fill_sources(range, buffer, room);
    if (range->is_block)
        return fill_block(range, buffer, room);
    do {
        check_lines_start(&gathered, bytes);
        bytes = fill_lines(range, &gathered, buffer, room);
        check_sum_add(&range->sum, check_sum_lines(&gathered, buffer, room));
    } while (gathered.count == CHECK_LINES_MAX);
    return bytes;
}

/* ---- All ranges ---- */

struct merging {
    const struct merge_round *round;
    struct merge_range *ranges;
    size_t *cuts; /* as made by merge_cut_evenly */
    size_t range_count;
    size_t first_range; /* the first one with items */
};

/* Starts the range if *position is 0. Later the range itself has the position. One thread makes all
 * of it, in its scratch. */
static bool make_range(const void *context, size_t index, size_t *position, unsigned char *buffer,
                       size_t *bytes)
{
    const struct merging *const merging = context;
    const struct merge_round *const round = merging->round;
    const size_t *const begins = merging->cuts + index * round->texts.active_count;
    struct merge_range *const range = &merging->ranges[index];
    if (*position == 0) {
        range->last = round->last;
        range->has_last = round->has_last && index <= merging->first_range;
        merge_range_start(range, &round->texts, begins, begins + round->texts.active_count,
                          &round->scratches[omp_get_thread_num()]);
    }
    *position = 1;
    *bytes = merge_range_fill(range, buffer, SINK_BUFFER_BYTES);
    return range->next == range->count;
}

/* Writes the next unit directly from its text, with its checksum. */
static bool write_long_line(const void *context, size_t index, size_t *position, struct sink *sink,
                            struct error *error)
{
    const struct merging *const merging = context;
    struct merge_range *const range = &merging->ranges[index];
    struct line_with_image line;
    struct text_check check;
    (void)position;
    set_next_unit(range, &line);
    text_check_start(&check);
    text_check_begin_chunk(&check, line.text, next_position(range));
    note_written(range, &line);
    take_unit(range, &line);
    const bool written = sink_write_observed(sink, line.text, line.length + 1, &check.tap, error);
    check_sum_add(&range->sum, check.sum);
    return written;
}

/* Returns true if the range begins out of order. before: the last line of the ranges before it;
 * NULL: there is none, and the key of the last round counts. */
static bool is_out_of_order(const struct merge_round *round, const struct key_index *before,
                            const struct merge_range *range)
{
    if (!before)
        return range->first_item.key < round->last_key;
    const int highest = round->texts.order->unique ? -1 : 0; /* greatest result in order */
    return merge_item_compare(&round->texts, *before, range->first_item) > highest;
}

/* At least one range has items. */
static void join_ranges(struct merge_round *round, const struct merging *merging)
{
    const struct key_index *before = NULL;
    for (size_t i = 0; i < merging->range_count; i++) {
        const struct merge_range *const range = &merging->ranges[i];
        check_sum_add(&round->sum, range->sum);
        round->items += range->count;
        if (range->count == 0)
            continue;
        round->is_disordered |= range->is_disordered || is_out_of_order(round, before, range);
        if (!before)
            round->first_item = range->first_item;
        before = &range->last_item;
    }
    round->last_key = before->key;
    round->last_item = *before;
}

static void end_round(struct merge_round *round, const struct merging *merging)
{
    for (size_t k = 0; k < round->texts.active_count; k++) {
        struct merge_text *const text = &round->texts.texts[round->texts.active[k]];
        text->begin = text->end;
    }
    for (size_t i = merging->range_count; i-- > 0;) {
        if (merging->ranges[i].count > 0) { /* its `last` is the last line written, also if it wrote
                                               none */
            round->last = merging->ranges[i].last;
            round->has_last = merging->ranges[i].has_last;
            break;
        }
    }
}

static bool allocate(struct merging *merging, struct error *error)
{
    const struct merge_texts *const texts = &merging->round->texts;
    size_t total_bytes = 0, items = 0, cells;
    for (size_t k = 0; k < texts->active_count; k++) {
        const size_t i = texts->active[k];
        const struct merge_text *const text = &texts->texts[i];
        total_bytes += merge_text_bytes(texts, i);
        items += text->end - text->begin;
    }
    total_bytes += items * sizeof *texts->texts->items;
    merging->range_count = total_bytes / merging->round->range_bytes;
    merging->range_count = merging->range_count < items ? merging->range_count : items;
    merging->range_count += merging->range_count == 0;
    if (!__builtin_mul_overflow(merging->range_count + 1, texts->active_count, &cells)) {
        merging->ranges = calloc(merging->range_count, sizeof *merging->ranges);
        merging->cuts = calloc(cells, sizeof *merging->cuts);
    }
    return (merging->ranges && merging->cuts) ||
           error_set(error, "no memory to merge %zu inputs", texts->count);
}

/* Returns false if a range ends before it begins, or no text has a line up to the bound. Then texts
 * that should be in order are not: a run may have changed on disk. */
static bool are_cuts_in_order(const struct merging *merging)
{
    const size_t count = merging->round->texts.active_count;
    for (size_t i = 0; i < merging->range_count * count; i++)
        if (merging->cuts[i] > merging->cuts[i + count])
            return false;
    return count > 0;
}

/* Reserves memory for the largest range, for each thread. Finds the first range with items. */
static bool reserve_scratches(struct merging *merging, struct error *error)
{
    const struct merge_round *const round = merging->round;
    const size_t count = round->texts.active_count;
    size_t most = 0;
    for (size_t range = 0; range < merging->range_count; range++) {
        const size_t *const begins = merging->cuts + range * count, *const ends = begins + count;
        size_t items = 0;
        for (size_t i = 0; i < count; i++)
            items += ends[i] - begins[i];
        merging->first_range += most == 0 && items == 0;
        most = items > most ? items : most;
    }
    for (size_t i = 0; i < round->threads && i < merging->range_count; i++)
        if (!merge_scratch_reserve(&round->scratches[i], most, count, error))
            return false;
    return true;
}

bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merging merging = {.round = round};
    TRY(allocate(&merging, error));
    TRY(merge_cut_evenly(&round->texts, merging.range_count, merging.cuts, round->threads, error));
    if (!are_cuts_in_order(&merging)) {
        round->is_disordered = ok = true;
        goto done;
    }
    TRY(reserve_scratches(&merging, error));
    const struct piece_maker maker = {
        .context = &merging,
        .pieces = merging.range_count,
        .threads = round->threads,
        .make = make_range,
        .write_long = write_long_line,
    };
    TRY(piece_writer_run(&maker, sink, error));
    join_ranges(round, &merging);
    end_round(round, &merging);
    ok = true;
done:
    free(merging.ranges);
    free(merging.cuts);
    return ok;
}
