/* lines_words.c - see lines_words.h.
 *
 * Of words: those that are the same in all lines are passed over, then one is loaded. Of bytes, and
 * of words if that does not come to an end soon: one of the lines is chosen, and each line is
 * compared with it,
 *
 *   the chosen line   a b c d e f g h i j k
 *   a line            a b c d e X Y Z ...     behind it in order, 5 bytes shared, then X Y Z
 *
 * which puts the lines in order as far as it goes: of those before the chosen one the more bytes
 * they share with it the later, of those behind it the sooner. A line goes on behind what it shares
 * with the chosen one, so no byte is compared twice but for the choice; and if that is near the
 * middle, lines that are not told apart are half as many each time, however much they share. This
 * is multikey quicksort by whole prefixes: of n lines whose rows are found at once it takes time by
 * their bytes and n log n. lines_refine.c sees to lines for which the choice is no good.
 */
#include "formats/lines_words.h"

#include "core/bytes_common.h"

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

/* ---- Loading words ---- */

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
            *slot = (struct known_value){span.text, span.length, row.value[cursor.at]};
        }
        item->key = slot->word ^ complement;
    }
}

static void load_words(const struct lines *lines, struct key_index *items, size_t count,
                       struct row_cursor cursor)
{
    const enum row_kind kind = lines->columns[cursor.column].kind;
    const uint64_t complement = lines->columns[cursor.column].complement;
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(lines, items[i]));
    if (kind == ROW_VALUE && count > KNOWN_VALUES) {
        load_value_words(lines, items, count, cursor);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        items[i].key = lines_row_word(&row, cursor.at) ^ complement;
    }
}

/* ---- Passing over words ---- */

/* Lowers *end to the first word from the cursor's on that may tell one of the items from the first
 * item, whose row is given. Stops where there is nothing to gain. */
static void find_end(const struct lines *lines, const struct key_index *items, size_t count,
                     struct row_cursor cursor, struct line_row first, _Atomic size_t *end)
{
    for (size_t i = 0; i < count; ++i) {
        size_t most = atomic_load_explicit(end, memory_order_relaxed);
        if (most == cursor.at)
            return;
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        const size_t common = lines_row_common(&first, &row, cursor.at);
        while (common < most && !atomic_compare_exchange_weak_explicit(
                                    end, &most, common, memory_order_relaxed, memory_order_relaxed))
            ;
    }
}

/* ---- Beside a chosen line ---- */

enum side { SIDE_BEFORE, SIDE_SAME, SIDE_BEHIND };

static const uint64_t key_equal = (uint64_t)SIDE_SAME << 62;

/* More items than so many are worth a choice. */
#define CHOICE_COUNT ((size_t)32)

/* One of the items, near the middle in their order. */
static struct key_index choose_line(const struct lines *lines, const struct key_index *items,
                                    size_t count, struct row_cursor cursor)
{
    const struct key_index a = items[count / 8], b = items[count / 2], c = items[count / 8 * 7];
    if (count <= CHOICE_COUNT)
        return b;
    const bool a_b = lines_row_compare(lines, a, b, cursor) < 0;
    const bool b_c = lines_row_compare(lines, b, c, cursor) < 0;
    if (a_b == b_c)
        return b;
    return (lines_row_compare(lines, a, c, cursor) < 0) == a_b ? c : a;
}

/* The key of a row of words: 2 bits for the side, then the word that is different, complemented if
 * behind. */
#define WORDS_MAX (UINT64_MAX >> 2)

/* As load_words, beside a row. */
static void load_words_beside(const struct lines *lines, struct key_index *items, size_t count,
                              struct row_cursor cursor, struct line_row chosen)
{
    const uint64_t complement = lines->columns[cursor.column].complement;
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        size_t at = cursor.at;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        const int order = lines_row_differ(&row, &chosen, &at);
        const uint64_t key = order < 0   ? at
                             : order > 0 ? (uint64_t)SIDE_BEHIND << 62 | (WORDS_MAX - at)
                                         : key_equal;
        items[i].key = key ^ complement;
    }
}

static struct row_cursor next_beside(struct row_cursor cursor, uint64_t key)
{
    if (key == key_equal)
        return (struct row_cursor){cursor.column + 1, 0};
    const uint64_t place = key & WORDS_MAX;
    return (struct row_cursor){cursor.column, key >> 62 == SIDE_BEHIND ? WORDS_MAX - place : place};
}

/* ---- Bytes ---- */

/* The row of bytes that others are compared with, from the cursor on; of a whole line with its
 * terminator, so that the end of others need not be known. */
struct chosen {
    const char *text;
    size_t bytes;
    struct row_cursor cursor;
};

/* The key of a line beside the chosen one, from the top bit on:
 *   2 bits    0 before it, 1 the same as far as it goes, 2 behind it
 *   11 bits   bytes shared, complemented if behind it; SHARED_MAX if the same so far
 *   48 bits   the next 6 bytes, zeros after the end
 *   3 bits    how many of these there are, 7 for more than 6 */
#define SHARED_MAX ((size_t)2047)
#define NEXT_BYTES ((size_t)6)
#define MORE_BYTES 7

static inline uint64_t make_key(enum side side, size_t shared, uint64_t next)
{
    const uint64_t place = side == SIDE_BEHIND ? SHARED_MAX - shared : shared;
    return (uint64_t)side << 62 | place << 51 | next;
}

static const uint64_t key_same_so_far =
    (uint64_t)SIDE_SAME << 62 | (uint64_t)SHARED_MAX << 51 | MORE_BYTES;

struct row_cursor lines_words_next(const struct lines *lines, struct row_cursor cursor,
                                   uint64_t key, bool beside)
{
    const struct row_column column = lines->columns[cursor.column];
    const struct row_cursor next_row = {cursor.column + 1, 0};
    key ^= column.complement;
    if (!row_is_bytes(column.kind) && beside)
        return next_beside(cursor, key);
    if (!row_is_bytes(column.kind))
        return lines_row_word_is_last(column.kind, key, cursor.at)
                   ? next_row
                   : (struct row_cursor){cursor.column, cursor.at + 1};
    if ((key & 7) < MORE_BYTES)
        return next_row;
    const size_t place = key >> 51 & SHARED_MAX;
    if (key == key_same_so_far)
        return (struct row_cursor){cursor.column, cursor.at + SHARED_MAX};
    const size_t shared = key >> 62 == SIDE_BEHIND ? SHARED_MAX - place : place;
    return (struct row_cursor){cursor.column, cursor.at + shared + NEXT_BYTES};
}

/* The next bytes at text, of which the row has so many left; reads 8, whatever is behind it. */
static inline uint64_t next_bytes(const char *text, size_t left)
{
    uint64_t word;
    if (left == 0)
        return 0;
    memcpy(&word, text, 8);
    word = __builtin_bswap64(word) & ~(uint64_t)0
                                         << 8 * (8 - (left < NEXT_BYTES ? left : NEXT_BYTES));
    return word >> 13 | (left <= NEXT_BYTES ? left : MORE_BYTES);
}

/* Bytes of the line at text that stand before its end, 8 if there are more. */
static inline size_t bytes_left(const char *text, uint64_t terminators)
{
    uint64_t word;
    memcpy(&word, text, 8);
    const uint64_t ends = byte_mask(word, terminators);
    return ends != 0 ? (size_t)__builtin_ctzll(ends) / 8 : 8;
}

/* As load_words, for bytes of whole lines. */
static void load_lines(const struct lines *lines, struct key_index *items, size_t count,
                       const struct chosen *chosen)
{
    const char terminator = lines->order->terminator;
    const uint64_t terminators = byte_in_all(terminator);
    const uint64_t complement = lines->columns[chosen->cursor.column].complement;
    const size_t at = chosen->cursor.at;
    const size_t most = chosen->bytes < SHARED_MAX ? chosen->bytes : SHARED_MAX;
    for (size_t i = 0; i < count; ++i) {
        const char *const text = line_text(lines, items[i]) + at;
        __builtin_prefetch(line_ahead(lines, items, count, i) + at);
        const size_t shared = bytes_common(text, chosen->text, most);
        uint64_t key = chosen->bytes <= SHARED_MAX ? key_equal : key_same_so_far;
        if (shared < most) {
            const size_t left = bytes_left(text + shared, terminators);
            const bool is_before =
                left == 0 || (chosen->text[shared] != terminator &&
                              (unsigned char)text[shared] < (unsigned char)chosen->text[shared]);
            key = make_key(is_before ? SIDE_BEFORE : SIDE_BEHIND, shared,
                           next_bytes(text + shared, left));
        }
        items[i].key = key ^ complement;
    }
}

/* As load_words, for bytes of parts of lines. */
static void load_parts(const struct lines *lines, struct key_index *items, size_t count,
                       const struct chosen *chosen)
{
    const uint64_t complement = lines->columns[chosen->cursor.column].complement;
    const size_t at = chosen->cursor.at;
    for (size_t i = 0; i < count; ++i) {
        __builtin_prefetch(line_ahead(lines, items, count, i));
        const struct line_span span = lines_row_span(lines, items[i], chosen->cursor.column);
        const char *const text = span.text + at;
        const size_t bytes = span.length - at;
        const size_t both = bytes < chosen->bytes ? bytes : chosen->bytes;
        const size_t most = both < SHARED_MAX ? both : SHARED_MAX;
        const size_t shared = bytes_common(text, chosen->text, most);
        uint64_t key;
        if (shared == SHARED_MAX)
            key = key_same_so_far;
        else if (shared == bytes && shared == chosen->bytes)
            key = key_equal;
        else
            key = make_key(shared == bytes || (shared < chosen->bytes &&
                                               (unsigned char)text[shared] <
                                                   (unsigned char)chosen->text[shared])
                               ? SIDE_BEFORE
                               : SIDE_BEHIND,
                           shared, next_bytes(text + shared, bytes - shared));
        items[i].key = key ^ complement;
    }
}

/* The row that others are compared with. */
static struct chosen choose_row(const struct lines *lines, const struct key_index *items,
                                size_t count, struct row_cursor cursor)
{
    const struct key_index item = choose_line(lines, items, count, cursor);
    const struct line_span span =
        lines->columns[cursor.column].kind == ROW_LINE
            ? (struct line_span){line_text(lines, item), line_length(lines, item) + 1}
            : lines_row_span(lines, item, cursor.column);
    return (struct chosen){span.text + cursor.at, span.length - cursor.at, cursor};
}

static void load_bytes(const struct lines *lines, struct key_index *items, size_t count,
                       const struct chosen *chosen)
{
    const bool is_whole = lines->columns[chosen->cursor.column].kind == ROW_LINE;
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(lines, items[i]) + (is_whole ? chosen->cursor.at : 0));
    if (is_whole)
        load_lines(lines, items, count, chosen);
    else
        load_parts(lines, items, count, chosen);
}

/* ---- Both, in parts ---- */

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

/* Moves the cursor on over words that are the same in all lines and the last of none; not over all
 * such words, but that some are left is rare. The last item is looked at before all others: in text
 * that is nearly in order, it is the one that is most unlike the first. */
static void pass_over_words(const struct lines *lines, const struct key_index *items, size_t count,
                            struct row_cursor *cursor)
{
    const struct row_cursor at = *cursor;
    const size_t parts = part_count(count);
    const enum row_kind kind = lines->columns[at.column].kind;
    if (!lines_row_may_share(kind, at.at))
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
    cursor->at = atomic_load_explicit(&end, memory_order_relaxed);
}

static void load_words_in_parts(const struct lines *lines, struct key_index *items, size_t count,
                                struct row_cursor cursor)
{
    const size_t parts = part_count(count);
    if (parts < 2) {
        load_words(lines, items, count, cursor);
        return;
    }
#pragma omp taskloop grainsize(1) default(none) firstprivate(lines, items, count, cursor, parts)
    for (size_t part = 0; part < parts; ++part) {
        const size_t first = part_begin(count, parts, part);
        load_words(lines, items + first, part_begin(count, parts, part + 1) - first, cursor);
    }
}

static void load_words_beside_in_parts(const struct lines *lines, struct key_index *items,
                                       size_t count, struct row_cursor cursor)
{
    const size_t parts = part_count(count);
    struct line_row chosen;
    lines_row_open(lines, choose_line(lines, items, count, cursor), cursor.column, &chosen);
    if (parts < 2) {
        load_words_beside(lines, items, count, cursor, chosen);
        return;
    }
#pragma omp taskloop grainsize(1) default(none)                                                    \
    firstprivate(lines, items, count, cursor, chosen, parts)
    for (size_t part = 0; part < parts; ++part) {
        const size_t first = part_begin(count, parts, part);
        load_words_beside(lines, items + first, part_begin(count, parts, part + 1) - first, cursor,
                          chosen);
    }
}

static void load_bytes_in_parts(const struct lines *lines, struct key_index *items, size_t count,
                                struct row_cursor cursor)
{
    const size_t parts = part_count(count);
    const struct chosen chosen = choose_row(lines, items, count, cursor);
    if (parts < 2) {
        load_bytes(lines, items, count, &chosen);
        return;
    }
#pragma omp taskloop grainsize(1) default(none) firstprivate(lines, items, count, parts)           \
    shared(chosen)
    for (size_t part = 0; part < parts; ++part) {
        const size_t first = part_begin(count, parts, part);
        load_bytes(lines, items + first, part_begin(count, parts, part + 1) - first, &chosen);
    }
}

void lines_words_load(const struct lines *lines, struct key_index *items, size_t count,
                      struct row_cursor *cursor, bool beside)
{
    if (row_is_bytes(lines->columns[cursor->column].kind)) {
        load_bytes_in_parts(lines, items, count, *cursor);
        return;
    }
    if (beside) {
        load_words_beside_in_parts(lines, items, count, *cursor);
        return;
    }
    pass_over_words(lines, items, count, cursor);
    load_words_in_parts(lines, items, count, *cursor);
}
