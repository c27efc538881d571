/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - see lines.h: the text in memory, the positions, keys and numbers of its lines.
 * lines_refine.c and lines_write.c have the rest.
 *
 *   sources -> one text -> blocks of 256 KiB -> terminators counted
 *     -> one block per thread and step -> lines -> keys
 *
 * Short lines take more memory for their items than for their text. So if lines may not fit, the
 * terminators are counted while text is read. Lines that do not fit are moved to the next part.
 *
 * The text is mapped, not allocated: it grows by moving pages, not bytes, and large pages make the
 * random reads of lines_write cheaper. A line belongs to the block with its terminator. There is no
 * table of lines, because each item has the position of its line. Because the number of terminators
 * before each block is known, many threads can key any range of lines, each writing directly to
 * their items. A key is the line's image; see line_compare.h.
 */
#include "formats/lines/lines.h"

#include "core/check/check_kernels.h"
#include "core/host_limits.h"
#include "core/trace.h"
#include "formats/lines/line_compare.h"
#include "formats/lines/line_error.h"
#include "formats/lines/lines_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maximum bytes of a read if what is left may not fit, or its size is unknown. */
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

/* Unmaps the memory that the text does not use, because items may need the address space. */
static void trim_text(struct lines *lines)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (lines->bytes + TEXT_SLACK_BYTES + page - 1) / page * page;
    if (lines->text != NULL && used < lines->mapped_bytes &&
        munmap(lines->text + used, lines->mapped_bytes - used) == 0)
        lines->mapped_bytes = used;
}

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

bool lines_begin_input(struct lines *lines, const char *name, const char *note, size_t lines_read,
                       struct error *error)
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
    inputs[lines->input_count++] = (struct lines_input){copy, note, lines->bytes, lines_read};
    return true;
}

static const struct lines_input *input_at(const struct lines *lines, size_t offset)
{
    size_t i = lines->input_count - 1;
    while (lines->inputs[i].begin > offset)
        --i;
    return &lines->inputs[i];
}

/* ---- Reading ---- */

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

/* Returns an upper bound of the memory used: uncounted text may be empty lines. While this bound
 * fits, counting is unnecessary. */
static size_t memory_used_at_most(const struct lines *lines)
{
    return memory_of(lines->bytes, lines_count(lines) + lines->tail_lines +
                                       (lines->bytes - lines->counted_bytes));
}

/* Text that might exceed the room was counted by lines_read_input(), so the bound is exact. */
bool lines_exceed(const struct lines *lines, size_t room)
{
    return memory_used_at_most(lines) > room && lines_count(lines) + lines->tail_lines > 0;
}

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
 * double, up to GROWTH_BYTES. */
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
 * room. If everything fits, its memory is reserved at once, so that the text is never moved. */
bool lines_read_input(struct lines *lines, struct source *source, size_t room, size_t most,
                      bool *ended, struct error *error)
{
    const uint64_t left = source_stop_and_get_left(source);
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
    const size_t need = lines->bytes + want;
    const bool has_whole_lines = lines_count(lines) + lines->tail_lines > 0;
    if (need > room && !has_whole_lines && !memory_holds(need))
        return line_error_set_no_memory(error, source_name(source), lines->bytes);
    text_check_begin_chunk(&lines->read, lines->text, 0);
    if (!source_read_observed(source, lines->text + lines->bytes, want, &lines->read.tap, &got,
                              error))
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

/* Begins, in `moved`, the inputs that have text from `split` on. */
static bool begin_moved_inputs(const struct lines *lines, size_t split, struct lines *moved,
                               struct error *error)
{
    const struct lines_input *const end = lines->inputs + lines->input_count;
    for (const struct lines_input *input = input_at(lines, split); input < end; ++input) {
        const size_t before = input->begin < split ? split - input->begin : 0;
        const size_t lines_read = input->lines_read + bytes_count(lines->text + input->begin,
                                                                  before, lines->order->terminator);
        moved->bytes = input->begin + before - split;
        if (!lines_begin_input(moved, input->name, input->note, lines_read, error))
            return false;
    }
    moved->bytes = 0;
    return true;
}

bool lines_split(struct lines *lines, size_t room, struct lines **rest, struct error *error)
{
    *rest = NULL;
    if (!count_read(lines, error)) /* lines_index() has counted the last block like whole ones */
        return false;
    const size_t split = find_split(lines, room);
    struct lines *const moved = lines_create(lines->threads, lines->order);
    *rest = moved;
    if (!moved)
        return error_set(error, "out of memory");
    const size_t bytes = lines->bytes - split;
    if (!begin_moved_inputs(lines, split, moved, error) || !reserve_text(moved, bytes + 1, error))
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

/* ---- Keys ---- */

/* Keying of lines [first, end), and the first error. */
struct keying {
    const struct lines *lines;
    struct key_index *items; /* items[0] is that of line `first` */
    struct check_sum *made;  /* sum of the items */
    size_t first, end;
    size_t bad_line;   /* the first line that is not a number, so far; SIZE_MAX if none */
    size_t bad_offset; /* its offset */
};

static void note_bad_line(struct keying *keying, size_t line, size_t offset)
{
#pragma omp critical(lines_note_bad_line)
    if (line < keying->bad_line) {
        keying->bad_line = line;
        keying->bad_offset = offset;
    }
}

/* Returns the offset of the line that the first terminator of the block ends. */
static size_t first_line_of_block(const struct lines *lines, size_t block)
{
    const char *const end =
        memrchr(lines->text, lines->order->terminator, block * LINES_BLOCK_BYTES);
    return end == NULL ? 0 : (size_t)(end - lines->text) + 1;
}

/* Keys the requested lines of the block, up to the first one that is not a number. */
static void key_block(struct keying *keying, size_t block)
{
    const struct lines *const lines = keying->lines;
    const struct line_order *const order = lines->order;
    size_t line = lines->lines_before[block], end = lines->lines_before[block + 1];
    if (line == end)
        return;
    const uint64_t begin_ns = trace_begin();
    end = end < keying->end ? end : keying->end;
    const char *p = lines->text + first_line_of_block(lines, block);
    const char *const text_end = lines->text + lines->bytes;
    const size_t first = line > keying->first ? line : keying->first;
    struct check_sum made = {end > first ? end - first : 0, 0};
    for (; line < end; ++line) {
        const char *const line_end = memchr(p, order->terminator, (size_t)(text_end - p));
        if (line >= keying->first) {
            struct line_with_image keyed;
            const size_t offset = (size_t)(p - lines->text);
            if (!line_image_make(order, p, (size_t)(line_end - p), &keyed)) {
                note_bad_line(keying, line, offset);
                return;
            }
            const struct key_index item = {line_index(offset, keyed.is_exact), keyed.image};
            keying->items[line - keying->first] = item;
            made.hash += check_bind_pair(item.key, item.index);
        }
        p = line_end + 1;
    }
    trace_end(TRACE_PARSE, begin_ns, lines_block_bytes(lines, block));
    check_sum_add(keying->made, made);
}

static bool refuse_line(const struct lines *lines, size_t offset, struct error *error)
{
    const struct lines_input *const input = input_at(lines, offset);
    const char terminator = lines->order->terminator;
    const size_t before = input->lines_read + bytes_count(lines->text + input->begin,
                                                          offset - input->begin, terminator);
    const char *const line = lines->text + offset;
    const char *const line_end = memchr(line, terminator, lines->bytes - offset);
    return line_error_set(error, input->name, input->note, before + 1, line,
                          (size_t)(line_end - line), NUMBER_MALFORMED, NULL);
}

static size_t block_of_line(const struct lines *lines, size_t line)
{
    size_t low = 0, high = lines->block_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (lines->lines_before[middle] <= line)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool lines_key(struct lines *lines, struct key_index *items, size_t capacity, size_t *count,
               struct error *error)
{
    const size_t left = lines_count(lines) - lines->keyed;
    *count = left < capacity ? left : capacity;
    if (*count == 0)
        return true;
    struct keying keying = {
        .lines = lines,
        .items = items,
        .made = &lines->made,
        .first = lines->keyed,
        .end = lines->keyed + *count,
        .bad_line = SIZE_MAX,
    };
    const size_t first = block_of_line(lines, keying.first);
    const size_t last = block_of_line(lines, keying.end - 1);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)lines->threads)
    for (size_t block = first; block <= last; ++block)
        key_block(&keying, block);
    if (keying.bad_line != SIZE_MAX)
        return refuse_line(lines, keying.bad_offset, error);
    lines->keyed += *count;
    return true;
}

/* Items that a thread keys in one step. */
#define ITEMS_COUNT ((size_t)1024)

bool lines_key_items(const struct lines *lines, struct key_index *items, size_t count,
                     struct error *error)
{
    size_t bad_item = SIZE_MAX; /* the first line that is not a number */
#pragma omp parallel for schedule(dynamic, ITEMS_COUNT) num_threads((int)lines->threads)           \
    reduction(min                                                                                  \
              : bad_item) if (count > ITEMS_COUNT)
    for (size_t i = 0; i < count; ++i) {
        const char *const text = line_text(lines, items[i]);
        struct line_with_image line;
        if (line_image_make(lines->order, text, line_length(lines, items[i]), &line))
            items[i] =
                (struct key_index){line_index(line_offset(items[i]), line.is_exact), line.image};
        else if (i < bad_item)
            bad_item = i;
    }
    return bad_item == SIZE_MAX || refuse_line(lines, line_offset(items[bad_item]), error);
}

/* ---- Line numbers ----
 *
 *   text -> cells of 64 bytes -> terminators in the block before each cell
 *   position of a line -> terminators before its block, before its cell, and in the cell before it
 *
 * Lines come in any order, so each needs two cache lines at random positions, which are prefetched.
 * The table has a sixteenth of the size of the text.
 */

#define CELL_BYTES ((size_t)64)
#define CELLS_PER_BLOCK (LINES_BLOCK_BYTES / CELL_BYTES)

/* Items that a thread numbers in one step. */
#define SEGMENT_COUNT ((size_t)65536)

/* Sets before[i] to the terminators from the start of the block to cell i, for each i in it. */
static void count_block(const struct lines *lines, size_t block, uint32_t *before)
{
    const char *const text = lines->text + block * LINES_BLOCK_BYTES;
    const size_t bytes = lines_block_bytes(lines, block);
    uint32_t count = 0;
    for (size_t at = 0; at < bytes; at += CELL_BYTES) {
        before[block * CELLS_PER_BLOCK + at / CELL_BYTES] = count;
        count += (uint32_t)bytes_count(text + at, bytes - at < CELL_BYTES ? bytes - at : CELL_BYTES,
                                       lines->order->terminator);
    }
}

static void number_segment(const struct lines *lines, const uint32_t *before,
                           struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (count - i > LINES_AHEAD) {
            const size_t ahead = line_offset(items[i + LINES_AHEAD]);
            __builtin_prefetch(lines->text + ahead / CELL_BYTES * CELL_BYTES);
            __builtin_prefetch(before + ahead / CELL_BYTES);
        }
        const size_t offset = line_offset(items[i]), cell = offset / CELL_BYTES;
        items[i].index = lines->lines_before[offset / LINES_BLOCK_BYTES] + before[cell] +
                         bytes_count(lines->text + cell * CELL_BYTES, offset % CELL_BYTES,
                                     lines->order->terminator);
    }
}

bool lines_number(const struct lines *lines, struct key_index *items, size_t count,
                  struct error *error)
{
    if (count == 0) /* `items` may be NULL */
        return true;
    const size_t cells = lines->bytes / CELL_BYTES + 1, segments = count / SEGMENT_COUNT + 1;
    uint32_t *const before = malloc(cells * sizeof *before);
    if (before == NULL)
        return error_set(error, "no memory to number %zu lines", count);
#pragma omp parallel num_threads((int)lines->threads)
    {
#pragma omp for schedule(static)
        for (size_t block = 0; block < lines->block_count; ++block)
            count_block(lines, block, before);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < segments; ++i) {
            const size_t first = i * SEGMENT_COUNT, left = count - first;
            number_segment(lines, before, items + first,
                           left < SEGMENT_COUNT ? left : SEGMENT_COUNT);
        }
    }
    free(before);
    return true;
}

/* ---- The header ---- */

/* Bytes of a header that are peeked at once, after all peeked bytes are used. */
#define HEADER_AHEAD_BYTES ((size_t)64 << 10)

/* Makes room for `bytes` more bytes and a terminator. The room at least doubles, so that a long
 * header is not copied again and again. */
static bool reserve_header(struct lines_header *header, size_t bytes, const struct source *source,
                           struct error *error)
{
    const size_t need = header->bytes + bytes + 1; /* both are in memory, so no overflow */
    if (need <= header->room)
        return true;
    const size_t room = need > 2 * header->room ? need : 2 * header->room;
    char *const text = realloc(header->text, room);
    if (!text)
        return error_set(error, "%s: out of memory: no room for its header", source_name(source));
    header->text = text;
    header->room = room;
    return true;
}

/* Reads to the end of the line, or as many bytes as the source has peeked. *ended: the line has
 * ended. *got is 0 at the end of the source. */
static bool read_header_part(struct source *source, char terminator, struct lines_header *header,
                             bool *ended, size_t *got, struct error *error)
{
    const unsigned char *data;
    size_t bytes;
    if (!source_peek(source, 0, &data, &bytes, error) ||
        (bytes == 0 && !source_peek(source, HEADER_AHEAD_BYTES, &data, &bytes, error)))
        return false;
    const unsigned char *const end = memchr(data, terminator, bytes);
    const size_t part = end ? (size_t)(end - data) + 1 : bytes;
    *ended = end != NULL;
    *got = 0;
    if (part == 0)
        return true;
    if (!reserve_header(header, part, source, error) ||
        !source_read(source, header->text + header->bytes, part, got, error))
        return false;
    header->bytes += *got;
    return true;
}

bool lines_header_read(struct source *source, char terminator, size_t lines,
                       struct lines_header *header, struct error *error)
{
    bool ended = true;
    for (size_t i = 0; i < lines; i += ended) {
        size_t got;
        const bool is_within = !ended;
        if (!read_header_part(source, terminator, header, &ended, &got, error))
            return false;
        if (got > 0)
            continue;
        if (is_within)
            header->text[header->bytes++] = terminator;
        break;
    }
    return true;
}
