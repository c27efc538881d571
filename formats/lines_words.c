/* lines_words.c - see lines_words.h. */
#include "formats/lines_words.h"

#include <omp.h>
#include <stdatomic.h>

/* Tasks for each thread, at most. Of more than 64 libgomp makes none: one thread does the work of
 * all, with their records, of 216 bytes, in an array on its stack, which 40,000 of them overflow.
 */
#define TASKS_PER_THREAD 16

/* The line that is looked at some time after that of item i. (Not prefetched here: a function that
 * does nothing else has no effect to a compiler, and may go.) */
static inline const char *line_ahead(const struct lines *lines, const struct key_index *items,
                                     size_t count, size_t i)
{
    const size_t last = count - 1;
    return line_text(lines, items[last - i > LINES_AHEAD ? i + LINES_AHEAD : last]);
}

/* ---- Loading ---- */

/* Values that are known, by a hash of their text: reading a value from a long text is slow, and a
 * run of many lines often has few texts. */
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

/* As load_words, for a row of values. */
static void load_value_words(const struct lines *lines, struct key_index *items, size_t count,
                             struct row_cursor cursor)
{
    struct known_value known[KNOWN_VALUES] = {{NULL, 0, 0}};
    const uint64_t complement = lines->columns[cursor.column].complement;
    for (size_t i = 0; i < count; ++i) {
        struct key_index *const item = &items[i];
        __builtin_prefetch(line_ahead(lines, items, count, i));
        const struct line_span span = lines_row_span(lines, *item, cursor.column);
        struct known_value *const slot = &known[known_value_slot(span.text, span.length)];
        if (slot->text == NULL || slot->length != span.length ||
            memcmp(slot->text, span.text, span.length) != 0) {
            struct line_row row;
            lines_row_open(lines, *item, cursor.column, &row);
            *slot = (struct known_value){span.text, span.length, row.value[cursor.word]};
        }
        item->key = slot->word ^ complement;
    }
}

/* As load_words, for bytes of whole lines. */
static void load_line_words(const struct lines *lines, struct key_index *items, size_t count,
                            struct row_cursor cursor)
{
    const uint64_t terminators = byte_in_all(lines->order->terminator);
    const uint64_t complement = lines->columns[cursor.column].complement;
    const size_t word = cursor.word;
    for (size_t i = 0; i < count; ++i) {
        struct key_index *const item = &items[i];
        __builtin_prefetch(line_ahead(lines, items, count, i) + word * 7);
        item->key = line_bytes_word(line_text(lines, *item), terminators, word) ^ complement;
    }
}

static void load_words(const struct lines *lines, struct key_index *items, size_t count,
                       struct row_cursor cursor)
{
    const enum row_kind kind = lines->columns[cursor.column].kind;
    const uint64_t complement = lines->columns[cursor.column].complement;
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(lines, items[i]) + (kind == ROW_LINE ? cursor.word * 7 : 0));
    if (kind == ROW_LINE) {
        load_line_words(lines, items, count, cursor);
        return;
    }
    if (kind == ROW_VALUE && count > KNOWN_VALUES) {
        load_value_words(lines, items, count, cursor);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        items[i].key = lines_row_word(lines, &row, cursor.word) ^ complement;
    }
}

/* In how many parts, a task each, so many items are looked through. */
static size_t part_count(size_t count)
{
    const size_t parts = count / TASK_COUNT;
    const size_t most = TASKS_PER_THREAD * (size_t)omp_get_num_threads();
    return parts < most ? parts : most;
}

/* The items of a part are [part_begin(..., part), part_begin(..., part + 1)). */
static size_t part_begin(size_t count, size_t parts, size_t part)
{
    const size_t longer = count % parts; /* so many are longer by an item */
    return count / parts * part + (part < longer ? part : longer);
}

void lines_words_load(const struct lines *lines, struct key_index *items, size_t count,
                      struct row_cursor cursor)
{
    const size_t parts = part_count(count);
    if (parts < 2) {
        load_words(lines, items, count, cursor);
        return;
    }
#pragma omp taskloop grainsize(1) default(none) firstprivate(lines, items, count, cursor, parts)
    for (size_t part = 0; part < parts; ++part) {
        const size_t begin = part_begin(count, parts, part);
        load_words(lines, items + begin, part_begin(count, parts, part + 1) - begin, cursor);
    }
}

/* ---- Passing over ---- */

/* Lowers *end to the first word from the cursor's on that may tell one of the items from the first
 * item, whose row is given. Stops where there is nothing to gain. */
static void find_end(const struct lines *lines, const struct key_index *items, size_t count,
                     struct row_cursor cursor, struct line_row first, _Atomic size_t *end)
{
    for (size_t i = 0; i < count; ++i) {
        size_t most = atomic_load_explicit(end, memory_order_relaxed);
        if (most == cursor.word)
            return;
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        const size_t common = lines_row_common(lines, &first, &row, cursor.word, most);
        while (common < most && !atomic_compare_exchange_weak_explicit(
                                    end, &most, common, memory_order_relaxed, memory_order_relaxed))
            ;
    }
}

/* The last item is looked at before all others: in text that is nearly in order, it is the one that
 * is most unlike the first. */
void lines_words_skip(const struct lines *lines, const struct key_index *items, size_t count,
                      struct row_cursor *cursor)
{
    const struct row_cursor at = *cursor;
    const size_t parts = part_count(count);
    const enum row_kind kind = lines->columns[at.column].kind;
    if (!lines_row_may_share(kind, at.word))
        return;
    struct line_row first;
    _Atomic size_t end = SIZE_MAX;
    lines_row_open(lines, items[0], at.column, &first);
    find_end(lines, items + count - 1, 1, at, first, &end);
    if (parts < 2) {
        find_end(lines, items, count, at, first, &end);
    } else {
#pragma omp taskloop grainsize(1) default(none)                                                    \
    firstprivate(lines, items, count, at, first, parts) shared(end)
        for (size_t part = 0; part < parts; ++part) {
            const size_t begin = part_begin(count, parts, part);
            find_end(lines, items + begin, part_begin(count, parts, part + 1) - begin, at, first,
                     &end);
        }
    }
    cursor->word = atomic_load_explicit(&end, memory_order_relaxed);
}
