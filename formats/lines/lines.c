/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - see lines.h: the text in memory, and the positions of its lines. lines_key.c,
 * lines_refine.c, lines_number.c and lines_write.c have the rest.
 *
 *   sources -> one text -> blocks of 256 KiB -> terminators counted
 *
 * If memory is limited, terminators are counted while text is read, from when the lines could be
 * too many: the memory of lines depends on their number more than on their text. Lines that do not
 * fit are moved to the next part.
 *
 * The text is mapped, not allocated: it grows by moving pages, not bytes, and large pages make the
 * random reads of lines_write cheaper. A line belongs to the block with its terminator. There is no
 * table of lines, because each item has the position of its line.
 */
#include "formats/lines/lines.h"

#include "formats/lines/lines_row.h"
#include "formats/lines/lines_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Minimum growth of the text if the source does not know how much is left. */
#define GROWTH_BYTES ((size_t)64 << 20)

/* Minimum bytes of a read, if there is little room. */
#define STEP_BYTES_MIN ((size_t)64 << 10)

struct lines *lines_create(unsigned threads, const struct line_order *order)
{
    struct lines *const lines = calloc(1, sizeof *lines);
    struct row_column *const columns = lines_row_columns(order);
    if (lines == NULL || columns == NULL) {
        free(lines);
        free(columns);
        return NULL;
    }
    lines->threads = threads > 0 ? threads : 1;
    lines->order = order;
    lines->columns = columns;
    text_check_start(&lines->read);
    return lines;
}

void lines_free(struct lines *lines)
{
    if (lines == NULL)
        return;
    if (lines->text != NULL)
        munmap(lines->text, lines->mapped_bytes);
    for (size_t i = 0; i < lines->input_count; ++i)
        free(lines->inputs[i].name);
    free(lines->inputs);
    free(lines->lines_before);
    free(lines->columns);
    free(lines);
}

size_t lines_count(const struct lines *lines)
{
    return lines->block_count > 0 ? lines->lines_before[lines->block_count] : 0;
}

size_t lines_bytes(const struct lines *lines)
{
    return lines->bytes;
}

struct check_sum lines_sum(const struct lines *lines)
{
    return lines->read.sum;
}

struct check_sum lines_items_sum(const struct lines *lines)
{
    return lines->made;
}

const char *lines_whole_text(const struct lines *lines)
{
    return lines->text;
}

static bool map_text(struct lines *lines, size_t bytes)
{
    void *text = lines->text == NULL
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : mremap(lines->text, lines->mapped_bytes, bytes, MREMAP_MAYMOVE);
    if (text == MAP_FAILED)
        return false;
    madvise(text, bytes, MADV_HUGEPAGE); /* a hint */
    lines->text = text;
    lines->mapped_bytes = bytes;
    return true;
}

/* Unmaps memory for text that did not come, because items may need the addresses. */
static void trim_text(struct lines *lines)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (lines->bytes + TEXT_SLACK_BYTES + page - 1) / page * page;
    if (lines->text != NULL && used < lines->mapped_bytes &&
        munmap(lines->text + used, lines->mapped_bytes - used) == 0)
        lines->mapped_bytes = used;
}

/* Makes room for `more` bytes, and the slack. */
static bool reserve_text(struct lines *lines, size_t more, struct error *error)
{
    size_t need;
    if (__builtin_add_overflow(lines->bytes, more, &need) ||
        __builtin_add_overflow(need, TEXT_SLACK_BYTES, &need) || need > SIZE_MAX / 4)
        return error_set(error, "the text is too large for the memory of this machine");
    if (need <= lines->mapped_bytes)
        return true;
    /* Doubling needs few moves. If twice as much is not available, the exact size may be. */
    const size_t twice = lines->mapped_bytes * 2;
    if ((twice > need && map_text(lines, twice)) || map_text(lines, need))
        return true;
    return error_set(error, "no memory for %zu bytes of text", need);
}

static bool add_input(struct lines *lines, const char *name, size_t lines_read, struct error *error)
{
    struct lines_input *inputs =
        realloc(lines->inputs, (lines->input_count + 1) * sizeof *lines->inputs);
    char *const copy = strdup(name);
    if (inputs != NULL)
        lines->inputs = inputs;
    if (inputs == NULL || copy == NULL) {
        free(copy);
        return error_set(error, "%s: no memory to read it", name);
    }
    inputs[lines->input_count++] = (struct lines_input){copy, lines->bytes, lines_read};
    return true;
}

bool lines_begin_input(struct lines *lines, const struct source *source, size_t lines_read,
                       struct error *error)
{
    return add_input(lines, source_name(source), lines_read, error);
}

/* ---- Reading ---- */

/* Counts the terminators of blocks [block_count, blocks). */
static bool count_blocks(struct lines *lines, size_t blocks, struct error *error)
{
    if (!lines->lines_before || blocks > lines->block_room) {
        const size_t room = blocks + lines->block_room;
        size_t *const before = realloc(lines->lines_before, (room + 1) * sizeof *before);
        if (before == NULL)
            return error_set(error, "no memory for the places of the lines");
        before[0] = 0;
        lines->lines_before = before;
        lines->block_room = room;
    }
    size_t *const before = lines->lines_before;
    const size_t first = lines->block_count;
#pragma omp parallel for schedule(static, 1) num_threads((int)lines->threads)
    for (size_t i = first; i < blocks; ++i)
        before[i + 1] = bytes_count(lines->text + i * LINES_BLOCK_BYTES,
                                    lines_block_bytes(lines, i), lines->order->terminator);
    for (size_t i = first; i < blocks; ++i)
        before[i + 1] += before[i];
    lines->block_count = blocks;
    return true;
}

/* Returns the memory of text and items, with an engine that has a second array of items. */
static size_t memory_of(size_t bytes, size_t lines)
{
    return bytes + lines * 2 * sizeof(struct key_index);
}

/* Returns an upper bound of the memory used: uncounted text may be empty lines. While that fits,
 * counting is unnecessary. */
static size_t memory_used_at_most(const struct lines *lines)
{
    return memory_of(lines->bytes, lines_count(lines) + lines->tail_lines +
                                       (lines->bytes - lines->counted_bytes));
}

/* Counted lines exceed the room. */
bool lines_exceed(const struct lines *lines, size_t room)
{
    return memory_used_at_most(lines) > room && lines_count(lines) + lines->tail_lines > 0;
}

/* Counts the lines of all text that is not counted yet. */
static bool count_read(struct lines *lines, struct error *error)
{
    if (!count_blocks(lines, lines->bytes / LINES_BLOCK_BYTES, error))
        return false;
    const size_t counted = lines->block_count * LINES_BLOCK_BYTES;
    lines->tail_lines =
        bytes_count(lines->text + counted, lines->bytes - counted, lines->order->terminator);
    lines->counted_bytes = lines->bytes;
    return true;
}

/* Returns how many bytes to read next: all that are left if they fit in any case, otherwise as many
 * as fit if new lines are like the lines before. A line longer than that is read in steps that
 * double. */
static size_t step_bytes(const struct lines *lines, size_t all, size_t room)
{
    const bool is_counted = lines->bytes > 0 && lines->bytes == lines->counted_bytes;
    const size_t used = memory_used_at_most(lines);
    const size_t spare = used < room ? room - used : 0;
    size_t step = spare / memory_of(1, 1);
    if (all <= step)
        return all;
    if (is_counted)
        step = used < room ? (size_t)((double)spare / (double)used * (double)lines->bytes)
                           : lines->bytes;
    step = step > STEP_BYTES_MIN ? step : STEP_BYTES_MIN;
    step = step < GROWTH_BYTES ? step : GROWTH_BYTES;
    return step < all ? step : all;
}

/* Adds a missing terminator at the end of the last input. */
static void end_last_line(struct lines *lines)
{
    const char terminator = lines->order->terminator;
    if (lines->bytes == lines->inputs[lines->input_count - 1].begin ||
        lines->text[lines->bytes - 1] == terminator)
        return;
    lines->text[lines->bytes] = terminator;
    check_sum_add(&lines->read.sum, text_check_sum(lines->bytes, &terminator, 1));
    lines->bytes++;
}

/* Makes room for `want` bytes and a terminator, or for fewer if memory is short. Returns the number
 * of bytes; 0 on failure. */
static size_t reserve_some(struct lines *lines, size_t want, struct error *error)
{
    for (; want > STEP_BYTES_MIN; want /= 2) {
        struct error shortage = {0};
        if (reserve_text(lines, want + 1, &shortage))
            return want;
    }
    return reserve_text(lines, want + 1, error) ? want : 0;
}

/* There is always room for a missing last terminator. One byte more than is left is requested, to
 * detect the end. If a file has grown since it was opened, the rest is read as far as there is
 * room. If everything fits, it is reserved at once, so that it is never moved. */
bool lines_read_input(struct lines *lines, struct source *source, size_t room, size_t most,
                      bool *ended, struct error *error)
{
    const uint64_t left = source_bytes_left(source);
    const size_t coming = left < SIZE_MAX / 4 ? (size_t)left + 1 : GROWTH_BYTES;
    const bool has_room = lines->bytes < room && left < room - lines->bytes;
    struct error shortage = {0};
    if (!(has_room && reserve_text(lines, coming + 1, &shortage)) && !reserve_text(lines, 2, error))
        return false;
    const size_t reserved = lines->mapped_bytes - lines->bytes - TEXT_SLACK_BYTES - 1;
    const size_t step = step_bytes(lines, left > 0 ? coming : reserved, room);
    const size_t want = reserve_some(lines, step < most ? step : most, error);
    size_t got;
    if (want == 0)
        return false;
    text_check_begin_chunk(&lines->read, lines->text, 0);
    if (!source_read_seen(source, lines->text + lines->bytes, want, &lines->read.tap, &got, error))
        return false;
    lines->bytes += got;
    *ended = got < want;
    if (*ended)
        end_last_line(lines);
    return memory_used_at_most(lines) <= room || count_read(lines, error);
}

/* ---- Parts ---- */

/* Returns the end of the lines that fit, at least of the first line. */
static size_t find_split(const struct lines *lines, size_t room)
{
    const char terminator = lines->order->terminator;
    size_t block = 0;
    while (block < lines->block_count &&
           memory_of((block + 1) * LINES_BLOCK_BYTES, lines->lines_before[block + 1]) <= room)
        ++block;
    const char *const begin = lines->text, *const end = begin + lines->bytes;
    const char *const before = memrchr(begin, terminator, block * LINES_BLOCK_BYTES);
    size_t count = lines->lines_before[block];
    const char *split = before ? before + 1 : begin;
    for (;;) {
        const char *const found = memchr(split, terminator, (size_t)(end - split));
        if (!found || (split > begin && memory_of((size_t)(found + 1 - begin), count + 1) > room))
            return (size_t)(split - begin);
        split = found + 1;
        ++count;
    }
}

bool lines_split(struct lines *lines, size_t room, struct lines **rest, struct error *error)
{
    *rest = NULL;
    if (!count_read(lines, error)) /* to sort it, the last block may be counted as a whole one */
        return false;
    const size_t split = find_split(lines, room);
    const struct lines_input *const input = &lines->inputs[lines->input_count - 1];
    const size_t begin = input->begin < split ? input->begin : split;
    const size_t lines_read = input->lines_read + bytes_count(lines->text + begin, split - begin,
                                                              lines->order->terminator);
    struct lines *const moved = lines_create(lines->threads, lines->order);
    *rest = moved;
    if (!moved)
        return error_set(error, "out of memory");
    const size_t bytes = lines->bytes - split;
    if (!add_input(moved, input->name, lines_read, error) || !reserve_text(moved, bytes + 1, error))
        return false;
    memcpy(moved->text, lines->text + split, bytes);
    moved->bytes = bytes;
    moved->read.sum = text_check_sum(0, moved->text, bytes);
    lines->bytes = split;
    trim_text(lines);
    check_sum_subtract(&lines->read.sum, text_check_sum(split, moved->text, bytes));
    const size_t blocks = split / LINES_BLOCK_BYTES;
    lines->block_count = blocks < lines->block_count ? blocks : lines->block_count;
    lines->counted_bytes = lines->block_count * LINES_BLOCK_BYTES;
    lines->tail_lines = 0;
    return count_read(moved, error);
}

bool lines_halve(struct lines *lines, struct lines **rest, struct error *error)
{
    if (!count_read(lines, error))
        return false;
    return lines_split(lines, memory_used_at_most(lines) / 2, rest, error);
}

bool lines_index(struct lines *lines, struct error *error)
{
    lines->tail_lines = 0;
    trim_text(lines);
    return count_blocks(
        lines, lines->bytes / LINES_BLOCK_BYTES + (lines->bytes % LINES_BLOCK_BYTES != 0), error);
}
