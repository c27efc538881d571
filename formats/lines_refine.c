/* lines_refine.c - the exact order within runs of equal keys; see lines.h.
 *
 * Lines are compared as rows of 64-bit words, the most significant first:
 *
 *   level 0, 1      the long double: sign and exponent, then significand (only where a line of the
 *                   run has an inexact key; else all values are equal)
 *   level 2, 3, ... the bytes of the line, 8 at a time, zeros after its end;
 *                   or, if equal values keep their order, level 2 alone: where the line stands
 *
 * A run is sorted by multikey quicksort over these words (Bentley and Sedgewick, "Fast algorithms
 * for sorting and searching strings", SODA 1997): load the word of one level into the key of every
 * item, cut the items three ways by a pivot, and go on with the equal ones at the next level, until
 * a word has the end of the line in it: then the lines are the same bytes, and done, however many
 * they are. A line holds no byte 0, so zeros sort a shorter line first, as memcmp with lengths
 * does.
 *
 * The words sit in the key field, as the key is the same in all of a run; it is put back at the
 * end. Descending is the complement of every word. Where pivots from samples cut badly, the middle
 * of the range of words is the pivot: that halves the range, so a level takes at most 64 cuts more,
 * and no input makes it quadratic. Large runs, and the large parts of one, are shared out as tasks.
 */
#include "formats/lines.h"
#include "formats/lines_text.h"
#include "formats/number_value.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_SIGN_EXPONENT 0
#define LEVEL_SIGNIFICAND 1
#define LEVEL_TEXT 2

/* Up to so many items are sorted by insertion. */
#define SMALL_COUNT ((size_t)12)

/* More than so many are worth a task; some 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* What is searched for runs by one thread at a time. */
#define SEGMENT_COUNT ((size_t)65536)

/* Items of a run that are equal in all levels before `level`. */
struct slice {
    struct key_index *items;
    size_t count;
    size_t level;
    bool is_loaded; /* the keys are the words of `level` */
    unsigned cuts;  /* by sampled pivots, that may still be made in this level */
};

/* The long double as two words whose order is that of the values, -0 as 0 (a NaN never
 * gets here: its key is exact). x87 has its sign and exponent in bytes 8 and 9; IEEE 754's of 128
 * bits in the top of byte 15 and 14, with more of the significand below them in the same word. */
static void value_words(long double value, uint64_t words[2])
{
    const bool is_x87 = LDBL_MANT_DIG == 64;
    const uint64_t sign = is_x87 ? 0x8000 : (uint64_t)1 << 63;
    uint64_t halves[2] = {0, 0};
    value = value == 0 ? 0 : value;
    memcpy(halves, &value, is_x87 ? 10 : sizeof value);
    const bool negative = (halves[1] & sign) != 0;
    words[0] = negative ? ~halves[1] & (sign | (sign - 1)) : halves[1] | sign;
    words[1] = negative ? ~halves[0] : halves[0];
}

static inline uint64_t complement_of(const struct lines *lines)
{
    return lines->descending ? UINT64_MAX : 0;
}

/* The word of the line at the level, before it is complemented for descending order; the place of a
 * line, which goes upwards in either order, is complemented here to undo that. */
static inline uint64_t line_word(const struct lines *lines, struct key_index item, size_t level)
{
    if (level < LEVEL_TEXT) {
        uint64_t words[2];
        const size_t length = line_length(lines, item);
        value_words(number_line_value(line_text(lines, item), length), words);
        return words[level];
    }
    if (lines->stable)
        return item.index ^ complement_of(lines);
    uint64_t word;
    memcpy(&word, line_text(lines, item) + (level - LEVEL_TEXT) * 8, 8);
    const uint64_t newline = newline_mask(word);
    if (newline != 0)
        word &= ((uint64_t)1 << (__builtin_ctzll(newline) / 8 * 8)) - 1;
    return __builtin_bswap64(word);
}

/* True when lines that have the word, complemented or not, at this level, are the same bytes, or
 * the same line. */
static inline bool is_last_word(const struct lines *lines, uint64_t word, size_t level)
{
    return level >= LEVEL_TEXT && (lines->stable || ((word ^ complement_of(lines)) & 0xff) == 0);
}

/* Whether a stands before b, by the words from `level` on. */
static bool is_before(const struct lines *lines, struct key_index a, struct key_index b,
                      size_t level)
{
    for (;; ++level) {
        const uint64_t word_a = line_word(lines, a, level) ^ complement_of(lines);
        const uint64_t word_b = line_word(lines, b, level) ^ complement_of(lines);
        if (word_a != word_b)
            return word_a < word_b;
        if (is_last_word(lines, word_a, level))
            return false;
    }
}

/* Sorts a few items whose words are loaded. */
static void sort_by_insertion(const struct lines *lines, const struct slice *slice)
{
    struct key_index *const items = slice->items;
    for (size_t i = 1; i < slice->count; ++i) {
        const struct key_index item = items[i];
        const bool is_last = is_last_word(lines, item.key, slice->level);
        size_t place = i;
        while (place > 0 && (item.key < items[place - 1].key ||
                             (item.key == items[place - 1].key && !is_last &&
                              is_before(lines, item, items[place - 1], slice->level + 1)))) {
            items[place] = items[place - 1];
            --place;
        }
        items[place] = item;
    }
}

/* Lines of an inexact run whose value is known, by a hash of their bytes: reading a value from a
 * long text is slow, and a run of many lines often has few texts. */
#define KNOWN_VALUES 64
struct known_value {
    const char *text; /* NULL: no line yet */
    size_t length;
    uint64_t word;
};

/* The last bytes tell lines of a run apart, as the first ones are those of equal values. */
static size_t known_value_slot(const char *text, size_t length)
{
    uint64_t word = 0;
    const size_t used = length < 8 ? length : 8;
    memcpy(&word, text + length - used, used);
    return ((word ^ length << 56) * 0x9e3779b97f4a7c15u) >> 58;
}

/* As load_words, for the levels of the value. */
static void load_value_words(const struct lines *lines, const struct slice *slice, size_t first,
                             size_t end)
{
    struct known_value known[KNOWN_VALUES] = {{NULL, 0, 0}};
    for (size_t i = first; i < end; ++i) {
        struct key_index *const item = &slice->items[i];
        const char *const text = line_text(lines, *item);
        const size_t length = line_length(lines, *item);
        struct known_value *const slot = &known[known_value_slot(text, length)];
        if (slice->count - i > LINES_AHEAD)
            __builtin_prefetch(line_text(lines, item[LINES_AHEAD]));
        if (slot->text == NULL || slot->length != length || memcmp(slot->text, text, length) != 0)
            *slot = (struct known_value){text, length, line_word(lines, *item, slice->level)};
        item->key = slot->word ^ complement_of(lines);
    }
}

static void load_words(const struct lines *lines, const struct slice *slice, size_t first,
                       size_t end)
{
    if (slice->level < LEVEL_TEXT && end - first > KNOWN_VALUES) {
        load_value_words(lines, slice, first, end);
        return;
    }
    struct key_index *const items = slice->items;
    for (size_t i = first; i < end; ++i) {
        if (slice->count - i > LINES_AHEAD)
            __builtin_prefetch(line_text(lines, items[i + LINES_AHEAD]) +
                               (slice->level < LEVEL_TEXT ? 0 : (slice->level - LEVEL_TEXT) * 8));
        items[i].key = line_word(lines, items[i], slice->level) ^ complement_of(lines);
    }
}

/* Loads the words of the slice's level; large slices by many threads. */
static void load_slice(const struct lines *lines, struct slice *slice)
{
    const size_t count = slice->count, parts = count / TASK_COUNT;
    if (parts < 2) {
        load_words(lines, slice, 0, count);
    } else {
#pragma omp taskloop grainsize(1) default(none) firstprivate(lines, slice, count, parts)
        for (size_t part = 0; part < parts; ++part)
            load_words(lines, slice, part * TASK_COUNT,
                       part + 1 == parts ? count : (part + 1) * TASK_COUNT);
    }
    slice->is_loaded = true;
    slice->cuts = 2 * (64 - (unsigned)__builtin_clzll(count));
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The median of three medians of three, spread evenly; or, once the cuts are used up, the middle of
 * the range of the words. */
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

/* Puts the items with keys below the pivot first and those above it last; the equal ones are
 * items[*equal_begin..*equal_end). Dijkstra's cut, which passes over equal keys without a move. */
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

/* The three parts of the slice after a cut, the largest one last. */
static void cut_slice(const struct lines *lines, struct slice *slice, struct slice parts[3])
{
    const uint64_t pivot = choose_pivot(slice);
    size_t begin, end;
    cut_three_ways(slice->items, slice->count, pivot, &begin, &end);
    parts[0] = parts[1] = parts[2] = *slice;
    parts[0].count = begin;
    parts[1].items += begin;
    parts[1].count = is_last_word(lines, pivot, slice->level) ? 0 : end - begin;
    parts[1].level++;
    parts[1].is_loaded = false;
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

/* Goes on with the largest part and leaves the others to recursion, which so is at most
 * logarithmically deep. */
static void refine_slice(const struct lines *lines, struct slice slice)
{
    while (slice.count > 1) {
        struct slice parts[3];
        if (!slice.is_loaded)
            load_slice(lines, &slice);
        if (slice.count <= SMALL_COUNT) {
            sort_by_insertion(lines, &slice);
            return;
        }
        cut_slice(lines, &slice, parts);
        refine_part(lines, parts[0]);
        refine_part(lines, parts[1]);
        slice = parts[2];
    }
}

/* Whether the line is to be read where it is in a run: lines of equal exact keys that keep their
 * order are not, as the engine has left them in it. */
static inline bool needs_text(const struct lines *lines, struct key_index item)
{
    return !lines->stable || !line_is_exact(item);
}

static bool all_exact(const struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (!line_is_exact(items[i]))
            return false;
    return true;
}

/* Sorts a run of equal keys and puts the key back. The tasks of a large one must end before that.
 */
static void refine_run(const struct lines *lines, struct key_index *items, size_t count)
{
    const uint64_t key = items[0].key;
    const bool is_exact = all_exact(items, count);
    if (is_exact && lines->stable)
        return;
    const size_t level = is_exact ? LEVEL_TEXT : LEVEL_SIGN_EXPONENT;
    const struct slice run = {items, count, level, false, 0};
    if (count > TASK_COUNT) {
#pragma omp taskgroup
        refine_slice(lines, run);
    } else {
        refine_slice(lines, run);
    }
    for (size_t i = 0; i < count; ++i)
        items[i].key = key;
}

/* Refines the runs of items[0..count), which starts and ends with whole runs. The lines of runs are
 * fetched ahead; keys ahead are never those of a run that is being refined. */
static void refine_segment(const struct lines *lines, struct key_index *items, size_t count)
{
    size_t ahead = 1;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (; ahead < count && ahead < begin + LINES_AHEAD; ++ahead) {
            if (items[ahead].key == items[ahead - 1].key && needs_text(lines, items[ahead])) {
                __builtin_prefetch(line_text(lines, items[ahead - 1]));
                __builtin_prefetch(line_text(lines, items[ahead]));
            }
        }
        end = begin + 1;
        while (end < count && items[end].key == items[begin].key)
            ++end;
        ahead = ahead > end ? ahead : end + 1;
        const size_t run = end - begin;
        if (run > TASK_COUNT) {
#pragma omp task default(none) firstprivate(lines, items, begin, run)
            refine_run(lines, items + begin, run);
        } else if (run > 1) {
            refine_run(lines, items + begin, run);
        }
    }
}

/* The first start of a run at or after `place`. */
static size_t next_run(const struct key_index *items, size_t count, size_t place)
{
    if (place == 0 || place >= count || items[place].key != items[place - 1].key)
        return place < count ? place : count;
    const uint64_t key = items[place].key;
    size_t low = place, high = count; /* items[low] is in the run; items[high] is not */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].key == key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool lines_refine(const struct lines *lines, struct key_index *items, size_t count,
                  struct error *error)
{
    const size_t segments = count / SEGMENT_COUNT + 1;
    size_t *const starts = malloc((segments + 1) * sizeof *starts);
    if (starts == NULL)
        return error_set(error, "no memory to order equal lines");
    /* All starts are found before any key is overwritten. */
    for (size_t i = 0; i <= segments; ++i)
        starts[i] = next_run(items, count, i * SEGMENT_COUNT);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)lines->threads)
    for (size_t i = 0; i < segments; ++i)
        refine_segment(lines, items + starts[i], starts[i + 1] - starts[i]);
    free(starts);
    return true;
}
