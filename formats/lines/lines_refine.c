/* SPDX-License-Identifier: Apache-2.0 */
/* lines_refine.c - the exact order within tie groups; see lines.h.
 *
 * A tie group is sorted by multikey quicksort over the rows of lines_row.c (Bentley and Sedgewick,
 * "Fast algorithms for sorting and searching strings", SODA 1997). One position of a row is loaded
 * into the keys of the items. The items are cut three ways by a pivot. The equal ones continue
 * after that position, in the same row or the next one, until no row is left. The lines then have
 * the same bytes or, with a unique order, equal keys, and are done. With a unique order all of them
 * but the first are marked, and removed at the end.
 *
 * The loaded values are in the key field, because a tie group has only one key, which is restored
 * at the end. If pivots from samples cut badly, the pivot becomes the middle of the range of keys.
 * That halves the range, so one load takes at most 64 more cuts. If a row was loaded more often
 * than halving explains, whole rows are compared. So no input takes quadratic time. Large tie
 * groups, and large parts of one, are divided into tasks.
 */
#include "formats/lines/lines.h"
#include "formats/lines/lines_text.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of items sorted by insertion. */
#define SMALL_COUNT ((size_t)12)

/* Items that a thread searches for tie groups in one step. */
#define SEGMENT_COUNT ((size_t)65536)

/* Number of words of a row that are loaded one by one. After that, every other load compares rows
 * with a chosen one. */
#define ROUNDS_BY_WORDS 4u

/* Each load should halve the lines. Whole rows are compared after this many loads plus two for each
 * bit of the number of lines left. That happens if few lines share a long prefix, or if every
 * chosen line is near an end. */
#define ROUNDS_MORE 16u

/* The index of a line that is dropped because a line with equal keys comes before it. */
#define INDEX_LEFT_OUT UINT64_MAX

/* ---- A few lines at once ----
 *
 *   lines -> words of 128 bits: 15 bytes, and their number
 *     -> each word is compared with every other one, which gives its rank
 *
 * For tie groups with several spellings of the same value. No branch depends on the contents of
 * lines: branches on the order of equal values would be mispredicted half of the time.
 */

/* Maximum number of lines. */
#define LINES_FEW ((size_t)32)

/* Bytes of a line that are compared, including the end of a shorter line. */
#define LINES_FEW_BYTES ((size_t)15)

typedef unsigned __int128 few_word;

/* The lowest byte of the word of a line with more bytes. */
#define MORE_BYTES (LINES_FEW_BYTES + 1)

/* Returns 15 bytes, the first one on top, zeros after the end; in the lowest byte their number,
 * MORE_BYTES for more than 15. */
static inline few_word word_of(const char *line, uint64_t terminators)
{
    static const unsigned char all_and_none[16 + 16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                        255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t words[2], masks[2];
    memcpy(words, line, sizeof words);
    const uint64_t ends = byte_mask_bits(byte_mask(words[0], terminators)) |
                          byte_mask_bits(byte_mask(words[1], terminators)) << 8;
    const unsigned bytes = (unsigned)__builtin_ctzll(ends | (uint64_t)1 << MORE_BYTES);
    memcpy(masks, all_and_none + MORE_BYTES - bytes, sizeof masks);
    const uint64_t high = __builtin_bswap64(words[0] & masks[0]);
    const uint64_t low = __builtin_bswap64(words[1] & masks[1]) & ~(uint64_t)0xff;
    return (few_word)high << 64 | low | bytes;
}

/* Sorts 1..LINES_FEW items, whose keys are equal and whose lines are equal up to byte `from`; none
 * ends before that byte. They are sorted by the next LINES_FEW_BYTES bytes of their lines, in
 * reverse with is_descending. Lines that are equal in these bytes keep their order.
 * equal_before[i]: the line of items[i] has the same bytes as that of items[i - 1], and both
 * continue after them. Returns true if there are such items. */
static bool lines_few_sort(const struct lines *lines, struct key_index *items, size_t count,
                           size_t from, bool is_descending, bool *equal_before)
{
    const uint64_t terminators = byte_in_all(lines->order->terminator);
    const few_word complement = is_descending ? ~(few_word)0 : 0;
    few_word words[LINES_FEW], sorted[LINES_FEW];
    uint64_t indices[LINES_FEW];
    size_t places[LINES_FEW];
    for (size_t i = 0; i < count; ++i) {
        const few_word word = word_of(line_text(lines, items[i]) + from, terminators) ^ complement;
        size_t place = 0;
        for (size_t k = 0; k < i; ++k) {
            const bool goes_before = word < words[k];
            places[k] += goes_before;
            place += !goes_before;
        }
        words[i] = word;
        places[i] = place;
    }
    for (size_t i = 0; i < count; ++i) {
        sorted[places[i]] = words[i];
        indices[places[i]] = items[i].index;
    }
    bool any_equal = false;
    for (size_t i = 0; i < count; ++i) {
        items[i].index = indices[i];
        equal_before[i] = i > 0 && sorted[i] == sorted[i - 1] &&
                          (unsigned char)(sorted[i] ^ complement) == MORE_BYTES;
        any_equal |= equal_before[i];
    }
    return any_equal;
}

/* ---- Multikey quicksort ---- */

/* Items of a tie group that are equal in all rows up to the cursor. */
struct slice {
    struct key_index *items;
    size_t count;
    struct row_cursor cursor;
    bool is_loaded;   /* the keys are loaded from the cursor */
    bool is_relative; /* to a chosen line; see lines_load() */
    bool is_long;     /* lines_few_sort() cannot distinguish them */
    unsigned cuts;    /* cuts by sampled pivots still allowed with these keys */
    unsigned rounds;  /* number of loads of this row */
};

static inline struct row_cursor next_cursor(const struct lines *lines, const struct slice *slice,
                                            uint64_t key)
{
    return lines_load_next(lines, slice->cursor, key, slice->is_relative);
}

/* Compares two items of a loaded slice, without their positions in the text. Returns a value below
 * 0, 0, or above 0. */
static inline int compare_items(const struct lines *lines, const struct slice *slice,
                                struct key_index a, struct key_index b)
{
    if (a.key != b.key)
        return a.key < b.key ? -1 : 1;
    return lines_row_compare(lines, a, b, next_cursor(lines, slice, a.key));
}

/* As compare_items(), and finally by the positions. */
static inline int compare_all(const struct lines *lines, const struct slice *slice,
                              struct key_index a, struct key_index b)
{
    const int order = compare_items(lines, slice, a, b);
    return order != 0 ? order : (a.index > b.index) - (a.index < b.index);
}

static void sort_by_insertion(const struct lines *lines, const struct slice *slice)
{
    struct key_index *const items = slice->items;
    for (size_t i = 1; i < slice->count; ++i) {
        const struct key_index item = items[i];
        size_t place = i;
        while (place > 0 && compare_all(lines, slice, item, items[place - 1]) < 0) {
            items[place] = items[place - 1];
            --place;
        }
        items[place] = item;
    }
}

struct comparison {
    const struct lines *lines;
    const struct slice *slice;
};

static int compare_in_slice(const void *a, const void *b, void *context)
{
    const struct comparison *const comparison = context;
    return compare_all(comparison->lines, comparison->slice, *(const struct key_index *)a,
                       *(const struct key_index *)b);
}

static void sort_by_comparison(const struct lines *lines, const struct slice *slice)
{
    struct comparison comparison = {lines, slice};
    qsort_r(slice->items, slice->count, sizeof *slice->items, compare_in_slice, &comparison);
}

/* Marks the lines of the sorted slice whose keys equal the keys of the line before. */
static void leave_out_repeated(const struct lines *lines, const struct slice *slice)
{
    struct key_index kept = slice->items[0];
    for (size_t i = 1; i < slice->count; ++i) {
        if (compare_items(lines, slice, kept, slice->items[i]) == 0)
            slice->items[i].index = INDEX_LEFT_OUT;
        else
            kept = slice->items[i];
    }
}

/* Keeps only the first line in the input. All have equal keys. */
static void leave_out_all_but_first(struct key_index *items, size_t count)
{
    uint64_t first = INDEX_LEFT_OUT;
    for (size_t i = 0; i < count; ++i) {
        first = items[i].index < first ? items[i].index : first;
        items[i].index = INDEX_LEFT_OUT;
    }
    items[0].index = first;
}

/* Loads the keys from the cursor: by words at first, and then by turns relative to a chosen line
 * and by words. */
static void load_slice(const struct lines *lines, struct slice *slice)
{
    const size_t count = slice->count;
    slice->is_relative = slice->rounds >= ROUNDS_BY_WORDS && !slice->is_relative;
    lines_load(lines, slice->items, count, &slice->cursor, slice->is_relative);
    slice->is_loaded = true;
    slice->cuts = 2 * (64 - (unsigned)__builtin_clzll(count));
    ++slice->rounds;
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Returns the median of three medians of three items at equal distances or, if no cuts are left,
 * the middle of the range of keys. */
static uint64_t choose_pivot(struct slice *slice)
{
    const struct key_index *const items = slice->items;
    if (slice->cuts > 0) {
        --slice->cuts;
        const size_t step = (slice->count - 1) / 8;
        uint64_t medians[3];
        for (size_t i = 0; i < 3; ++i)
            medians[i] = median_of_three(items[3 * i * step].key, items[(3 * i + 1) * step].key,
                                         items[(3 * i + 2) * step].key);
        return median_of_three(medians[0], medians[1], medians[2]);
    }
    uint64_t least = UINT64_MAX, greatest = 0;
    for (size_t i = 0; i < slice->count; ++i) {
        least = items[i].key < least ? items[i].key : least;
        greatest = items[i].key > greatest ? items[i].key : greatest;
    }
    return least + (greatest - least) / 2;
}

/* Puts the items with keys below the pivot first and those above it last. The equal ones are
 * items[*equal_begin..*equal_end). This is Dijkstra's partition, which moves no item if all keys
 * are equal. */
static void cut_three_ways(struct key_index *items, size_t count, uint64_t pivot,
                           size_t *equal_begin, size_t *equal_end)
{
    size_t low = 0, high = count, i = 0;
    while (i < high) {
        const struct key_index item = items[i];
        if (item.key < pivot) {
            items[i++] = items[low];
            items[low++] = item;
        } else if (item.key > pivot) {
            items[i] = items[--high];
            items[high] = item;
        } else {
            ++i;
        }
    }
    *equal_begin = low;
    *equal_end = high;
}

static void refine_slice(const struct lines *lines, struct slice slice);

static void refine_part(const struct lines *lines, struct slice part)
{
    if (part.count > TASK_COUNT) {
#pragma omp task default(none) firstprivate(lines, part)
        refine_slice(lines, part);
    } else if (part.count > 1) {
        refine_slice(lines, part);
    }
}

/* Cuts the slice into three parts, the largest one last. */
static void cut_slice(const struct lines *lines, struct slice *slice, struct slice parts[3])
{
    const uint64_t pivot = choose_pivot(slice);
    size_t begin, end;
    cut_three_ways(slice->items, slice->count, pivot, &begin, &end);
    parts[0] = parts[1] = parts[2] = *slice;
    parts[0].count = begin;
    parts[1].items += begin;
    parts[1].count = end - begin;
    parts[1].cursor = next_cursor(lines, slice, pivot);
    parts[1].is_loaded = false;
    if (parts[1].cursor.column != slice->cursor.column) {
        parts[1].rounds = 0;
        parts[1].is_relative = false;
    }
    parts[2].items += end;
    parts[2].count -= end;
    for (int i = 0; i < 2; ++i) {
        if (parts[i].count > parts[2].count) {
            const struct slice larger = parts[i];
            parts[i] = parts[2];
            parts[2] = larger;
        }
    }
}

/* Returns true if no row is left, so that the items are done. With a unique order, then marks all
 * but the first. */
static bool finish_equal(const struct lines *lines, const struct slice *slice)
{
    if (slice->cursor.column < lines_columns(lines))
        return false;
    if (!lines->order->unique)
        return !lines->order->stable; /* if stable, positions are still to be compared */
    leave_out_all_but_first(slice->items, slice->count);
    return true;
}

/* Returns true if lines_few_sort() can sort the slice, which is not loaded: only the bytes of whole
 * lines remain to be compared. */
static bool is_few(const struct lines *lines, const struct slice *slice)
{
    return slice->count <= LINES_FEW && !slice->is_long &&
           slice->cursor.column + 1 == lines_columns(lines) &&
           lines->columns[slice->cursor.column].kind == ROW_LINE &&
           !line_order_is_stable(lines->order);
}

/* Sorts such a slice. Lines that are still equal continue after the compared bytes. */
static void refine_few(const struct lines *lines, const struct slice *slice)
{
    const struct row_cursor cursor = slice->cursor;
    bool equal_before[LINES_FEW + 1];
    equal_before[slice->count] = false;
    if (!lines_few_sort(lines, slice->items, slice->count, cursor.at,
                        lines->columns[cursor.column].complement != 0, equal_before))
        return;
    for (size_t begin = 0, end; begin < slice->count; begin = end) {
        for (end = begin + 1; equal_before[end]; ++end)
            ;
        struct slice part = *slice;
        part.items += begin;
        part.count = end - begin;
        part.cursor.at += LINES_FEW_BYTES;
        part.is_long = true;
        refine_slice(lines, part);
    }
}

static bool is_deep(const struct slice *slice)
{
    return slice->rounds > ROUNDS_MORE + 2 * (64 - (unsigned)__builtin_clzll(slice->count));
}

/* Iterates over the largest part and recurses into the others, so that the recursion is at most
 * logarithmically deep. */
static void refine_slice(const struct lines *lines, struct slice slice)
{
    while (slice.count > 1) {
        struct slice parts[3];
        if (!slice.is_loaded) {
            if (finish_equal(lines, &slice))
                return;
            if (is_few(lines, &slice)) {
                refine_few(lines, &slice);
                return;
            }
            load_slice(lines, &slice);
        }
        if (slice.count <= SMALL_COUNT || is_deep(&slice)) {
            if (slice.count <= SMALL_COUNT)
                sort_by_insertion(lines, &slice);
            else
                sort_by_comparison(lines, &slice);
            if (lines->order->unique)
                leave_out_repeated(lines, &slice);
            return;
        }
        cut_slice(lines, &slice, parts);
        refine_part(lines, parts[0]);
        refine_part(lines, parts[1]);
        slice = parts[2];
    }
}

static bool all_exact(const struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (!line_is_exact(items[i]))
            return false;
    return true;
}

/* Bytes of a row that are in its image; see core/line/line_image.h. */
#define IMAGE_BYTES 7

/* Returns the first position at which lines with equal images can differ. */
static struct row_cursor first_cursor(const struct lines *lines, bool is_exact)
{
    if (is_exact)
        return (struct row_cursor){1, 0};
    const enum row_kind kind = lines->columns[0].kind;
    return (struct row_cursor){0, kind == ROW_VALUE ? 0 : row_is_bytes(kind) ? IMAGE_BYTES : 1};
}

/* Sorts a tie group and restores its key, after the tasks of a large one have ended. */
static void refine_group(const struct lines *lines, struct key_index *items, size_t count)
{
    const uint64_t key = items[0].key;
    const bool is_exact = all_exact(items, count);
    if (is_exact && line_order_has_one_key(lines->order)) { /* equal, and in input order */
        if (lines->order->unique)
            leave_out_all_but_first(items, count);
        return;
    }
    const struct slice group = {items, count, first_cursor(lines, is_exact), .cuts = 0};
    if (count > TASK_COUNT) {
#pragma omp taskgroup
        refine_slice(lines, group);
    } else {
        refine_slice(lines, group);
    }
    for (size_t i = 0; i < count; ++i)
        items[i].key = key;
}

/* Refines the tie groups of items[0..count), which begins and ends with whole ones. Their lines are
 * prefetched. Keys are read ahead only from groups that are not being refined. */
static void refine_segment(const struct lines *lines, struct key_index *items, size_t count)
{
    const bool skips_exact = line_order_has_one_key(lines->order);
    size_t ahead = 1;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (; ahead < count && ahead < begin + LINES_AHEAD; ++ahead) {
            if (items[ahead].key == items[ahead - 1].key &&
                (!skips_exact || !line_is_exact(items[ahead]))) {
                __builtin_prefetch(line_text(lines, items[ahead - 1]));
                __builtin_prefetch(line_text(lines, items[ahead]));
                __builtin_prefetch(line_text(lines, items[ahead]) + LINES_AHEAD_LAST);
            }
        }
        end = begin + 1;
        while (end < count && items[end].key == items[begin].key)
            ++end;
        ahead = ahead > end ? ahead : end + 1;
        const size_t size = end - begin;
        if (size > TASK_COUNT) {
#pragma omp task default(none) firstprivate(lines, items, begin, size)
            refine_group(lines, items + begin, size);
        } else if (size > 1) {
            refine_group(lines, items + begin, size);
        }
    }
}

/* Returns the first start of a tie group at or after `place`. */
static size_t next_group(const struct key_index *items, size_t count, size_t place)
{
    if (place == 0 || place >= count || items[place].key != items[place - 1].key)
        return place < count ? place : count;
    const uint64_t key = items[place].key;
    size_t low = place, high = count; /* items[low] is in the group; items[high] is not */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].key == key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Removes dropped lines. Returns the number of lines kept. */
static size_t close_gaps(struct key_index *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        items[kept] = items[i];
        kept += items[i].index != INDEX_LEFT_OUT;
    }
    return kept;
}

/* As close_gaps(), over segments. starts[i] is the first item of segment i, starts[segments] the
 * end. */
static size_t close_all_gaps(const struct lines *lines, struct key_index *items,
                             const size_t *starts, size_t *kept, size_t segments)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)lines->threads)
    for (size_t i = 0; i < segments; ++i)
        kept[i] = close_gaps(items + starts[i], starts[i + 1] - starts[i]);
    size_t count = 0;
    for (size_t i = 0; i < segments; ++i) {
        if (count < starts[i])
            memmove(items + count, items + starts[i], kept[i] * sizeof *items);
        count += kept[i];
    }
    return count;
}

/* Returns true if all items are lines of the text: a device that sorted them may have failed. */
static bool are_within(const struct lines *lines, const struct key_index *items, size_t count)
{
    bool is_outside = false;
    for (size_t i = 0; i < count; ++i)
        is_outside |= line_offset(items[i]) >= lines->bytes;
    return !is_outside;
}

bool lines_refine(const struct lines *lines, struct key_index *items, size_t *count,
                  struct error *error)
{
    if (*count == 0) /* `items` may be NULL */
        return true;
    const size_t segments = *count / SEGMENT_COUNT + 1;
    size_t *const starts = malloc((2 * segments + 1) * sizeof *starts);
    if (starts == NULL)
        return error_set(error, "no memory to order equal lines");
    /* All starts are found before any key is overwritten. */
    for (size_t i = 0; i <= segments; ++i) {
        starts[i] = next_group(items, *count, i * SEGMENT_COUNT);
        if (i > 0 && starts[i] < starts[i - 1]) /* only if the items are not in order */
            starts[i] = starts[i - 1];
    }
    bool is_sound = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : is_sound) \
    num_threads((int)lines->threads)
    for (size_t i = 0; i < segments; ++i) {
        const size_t segment_count = starts[i + 1] - starts[i];
        if (are_within(lines, items + starts[i], segment_count))
            refine_segment(lines, items + starts[i], segment_count);
        else
            is_sound = false;
    }
    if (is_sound && lines->order->unique)
        *count = close_all_gaps(lines, items, starts, starts + segments + 1, segments);
    free(starts);
    return is_sound || error_set(error, "a sorted line is none of those that were read");
}
