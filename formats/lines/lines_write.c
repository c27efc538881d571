/* SPDX-License-Identifier: Apache-2.0 */
/* lines_write.c - gathers the lines in their new order, and checks the result; see lines.h.
 *
 * A piece is a range of items whose lines, at the mean length, fill most of a buffer. The lines are
 * at random positions in memory, so gathering mostly waits for memory, and lines are prefetched.
 */
#include "core/check/check_line.h"
#include "core/check/tap.h"
#include "core/host_limits.h"
#include "core/vector_code.h"
#include "formats/io/piece_writer.h"
#include "formats/lines/line_compare.h"
#include "formats/lines/lines.h"
#include "formats/lines/lines_text.h"

#include <stdlib.h>

/* Number of lines prefetched before their copy, and bytes of each: 32 bytes are in two cache lines
 * as often as in one. 10,000,000 integers of 1 to 18 digits at random positions, one core of an AMD
 * EPYC (Zen 5), 2026-11, cycles per line: 24, 48, 64, 96 and 128 ahead 38, 27, 20, 19 and 20.
 * Copied by words instead of vectors: 70 if only the first byte is prefetched, 24 ahead, and 40 as
 * here. */
#define FETCH_AHEAD ((size_t)96)
#define FETCH_BYTES ((size_t)32)

struct gather;
typedef void line_copier(const struct gather *gather, size_t first, size_t most,
                         unsigned char *buffer, struct check_lines *gathered);

struct gather {
    const struct lines *lines;
    const struct key_index *items;
    size_t count;
    size_t piece_items;
    struct lines_written *written;
    line_copier *copy;
};

/* Copies the rest of a line with its terminator to `out`. Returns the end, or NULL if there is no
 * room before `end`. Whole words are copied; the next line overwrites the end of the last one. */
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

/* ---- Checks ---- */

static struct line_with_image line_with_image_of(const struct gather *gather, size_t i)
{
    const struct key_index item = gather->items[i];
    return (struct line_with_image){.text = line_text(gather->lines, item),
                                    .length = line_length(gather->lines, item),
                                    .image = item.key,
                                    .is_exact = line_is_exact(item)};
}

/* Returns gathered line k from its copy in `buffer`, which is in the cache and has a known
 * length. */
static struct line_with_image gathered_line(struct key_index item,
                                            const struct check_lines *gathered, size_t k,
                                            const unsigned char *buffer)
{
    const size_t begin = gathered->bounds[k], end = gathered->bounds[k + 1];
    return (struct line_with_image){.text = (const char *)buffer + begin,
                                    .length = end - begin - 1,
                                    .image = item.key,
                                    .is_exact = line_is_exact(item)};
}

static bool is_in_order(const struct line_order *order, struct line_with_image previous,
                        struct line_with_image line)
{
    return line_image_compare(order, &previous, &line) <= (order->unique ? -1 : 0);
}

/* Checks the order of the gathered lines, from `first` on, where keys alone do not decide. */
static void check_order(const struct gather *gather, size_t first, struct check_items found,
                        const struct check_lines *gathered, const unsigned char *buffer)
{
    const struct key_index *const items = gather->items + first;
    const struct line_order *const order = gather->lines->order;
    uint64_t open = first > 0 ? found.not_above : found.not_above & ~(uint64_t)1;
    if (line_order_has_one_key(order) && !order->unique)
        open &= ~found.tied;
    if (line_order_is_by_bytes(order) && !order->unique)
        open = check_lines_open(gathered, open, UINT64_MAX, order->keys[0].reverse, buffer);
    else if (!line_order_is_stable(order))
        open = check_lines_open(gathered, open, order->key_count == 1 ? found.tied : 0,
                                order->reverse, buffer);
    for (; open != 0; open &= open - 1) {
        const size_t k = (size_t)__builtin_ctzll(open);
        const struct line_with_image previous =
            k > 0 ? gathered_line(items[k - 1], gathered, k - 1, buffer)
                  : line_with_image_of(gather, first - 1);
        if (!is_in_order(order, previous, gathered_line(items[k], gathered, k, buffer)))
            first_position_note(&gather->written->disorder, first + k);
    }
}

/* ---- Lines ---- */

/* Prefetches a line that will be copied soon. Always inlined: GCC 12 removes calls of a function
 * that does nothing else. */
static inline __attribute__((always_inline)) void fetch_line(const char *line)
{
    __builtin_prefetch(line);
    __builtin_prefetch(line + FETCH_BYTES - 1);
}

/* Copies at most `most` lines, from item `first` on, to `buffer` from gathered->bounds[0] on, while
 * they fit. Adds their bounds. */
static void copy_by_words(const struct gather *gather, size_t first, size_t most,
                          unsigned char *buffer, struct check_lines *gathered)
{
    const struct lines *const lines = gather->lines;
    const struct key_index *const items = gather->items;
    const size_t last = gather->count - 1;
    unsigned char *out = buffer + gathered->bounds[0];
    for (size_t k = 0; k < most; ++k) {
        const size_t i = first + k;
        fetch_line(line_text(lines, items[last - i > FETCH_AHEAD ? i + FETCH_AHEAD : last]));
        out = copy_line(line_text(lines, items[i]), lines->order->terminator, out,
                        buffer + SINK_BUFFER_BYTES);
        if (!out)
            break;
        gathered->bounds[++gathered->count] = (size_t)(out - buffer);
    }
}

#ifdef HAVE_VECTOR_CODE

/* As copy_by_words(), 32 bytes per step: shorter lines end in the first step, so that its branch is
 * mostly predicted. */
AVX2_CODE static void copy_by_vectors(const struct gather *gather, size_t first, size_t most,
                                      unsigned char *buffer, struct check_lines *gathered)
{
    const char *const text = gather->lines->text;
    const char terminator = gather->lines->order->terminator;
    const struct key_index *const items = gather->items;
    const size_t last = gather->count - 1;
    const __m256i terminators = _mm256_set1_epi8(terminator);
    const size_t step = sizeof terminators;
    size_t k, end = gathered->bounds[0];
    for (k = 0; k < most; gathered->bounds[++k] = end) {
        const size_t i = first + k;
        fetch_line(text + line_offset(items[last - i > FETCH_AHEAD ? i + FETCH_AHEAD : last]));
        const char *line = text + line_offset(items[i]);
        uint32_t found = 0;
        for (; found == 0 && SINK_BUFFER_BYTES - end >= step; line += step, end += step) {
            const __m256i bytes = _mm256_loadu_si256((const void *)line);
            _mm256_storeu_si256((void *)(buffer + end), bytes);
            found = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, terminators));
        }
        if (found != 0) {
            end += (size_t)__builtin_ctz(found) + 1 - step;
            continue;
        }
        const unsigned char *const out =
            copy_line(line, terminator, buffer + end, buffer + SINK_BUFFER_BYTES);
        if (!out)
            break;
        end = (size_t)(out - buffer);
    }
    gathered->count = k;
}

#endif

static line_copier *line_copier_of_machine(void)
{
#ifdef HAVE_VECTOR_CODE
    if (has_avx2())
        return copy_by_vectors;
#endif
    return copy_by_words;
}

/* Gathers lines [first, end), or as many as fit the buffer. Returns the line to continue with. */
static size_t gather_lines(const struct gather *gather, size_t first, size_t end,
                           unsigned char *buffer, size_t *bytes)
{
    struct check_sum text = {0, 0}, items = {0, 0};
    struct check_lines gathered;
    size_t i = first;
    *bytes = 0;
    for (bool fits = true; fits && i < end;) {
        const size_t most = end - i < CHECK_LINES_MAX ? end - i : CHECK_LINES_MAX;
        check_lines_start(&gathered, *bytes);
        gather->copy(gather, i, most, buffer, &gathered);
        const uint64_t previous_key = i > 0 ? gather->items[i - 1].key : 0;
        const struct check_items found =
            check_line_items(&gathered, gather->items + i, previous_key);
        items.hash += found.hash;
        check_order(gather, i, found, &gathered, buffer);
        const struct check_sum sum = check_sum_lines(&gathered, buffer, SINK_BUFFER_BYTES);
        text.count += sum.count;
        text.hash += sum.hash;
        i += gathered.count;
        *bytes = gathered.bounds[gathered.count];
        fits = gathered.count == most;
    }
    items.count = i - first;
    check_sum_add(&gather->written->text, text);
    check_sum_add(&gather->written->items, items);
    return i;
}

static bool make_piece(const void *context, size_t piece, size_t *position, unsigned char *buffer,
                       size_t *bytes)
{
    const struct gather *const gather = context;
    const size_t begin = piece * gather->piece_items;
    const size_t end = begin + smaller(gather->count - begin, gather->piece_items);
    *position = gather_lines(gather, begin + *position, end, buffer, bytes) - begin;
    return begin + *position == end;
}

static bool write_long_line(const void *context, size_t piece, size_t *position, struct sink *sink,
                            struct error *error)
{
    const struct gather *const gather = context;
    const size_t i = piece * gather->piece_items + (*position)++;
    const struct key_index item = gather->items[i];
    const char *const line = line_text(gather->lines, item);
    const size_t length = line_length(gather->lines, item);
    if (i > 0 && !is_in_order(gather->lines->order, line_with_image_of(gather, i - 1),
                              line_with_image_of(gather, i)))
        first_position_note(&gather->written->disorder, i);
    check_sum_add(&gather->written->items,
                  (struct check_sum){1, check_bind_pair(item.key, item.index)});
    check_sum_add(&gather->written->text, text_check_sum(line_offset(item), line, length + 1));
    return sink_write(sink, line, length + 1, error);
}

bool lines_write(const struct lines *lines, const struct key_index *items, size_t count,
                 struct sink *sink, struct lines_written *written, struct error *error)
{
    *written = (struct lines_written){{0, 0}, {0, 0}, 0};
    if (count == 0)
        return true;
    const size_t mean_bytes = lines->bytes / lines_count(lines) + 1;
    const size_t filled = SINK_BUFFER_BYTES / 8 * 7;
    struct gather gather = {
        lines, items, count, filled / mean_bytes, written, line_copier_of_machine()};
    if (gather.piece_items == 0)
        gather.piece_items = 1;
    const struct piece_maker maker = {
        .context = &gather,
        .pieces = (count - 1) / gather.piece_items + 1,
        .threads = lines->threads,
        .make = make_piece,
        .write_long = write_long_line,
    };
    return piece_writer_run(&maker, sink, error);
}
