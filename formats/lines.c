/* lines.c - see lines.h: the text in memory, and where its lines are. lines_key.c, lines_refine.c,
 * lines_number.c and lines_write.c have the rest.
 *
 *   sources -> one text -> blocks of 256 KiB -> terminators counted
 *
 * The text is mapped, not allocated: it grows by moving pages, not bytes, and large pages make the
 * random reads of lines_write cheaper. A line belongs to the block that its terminator is in. No
 * table of lines is kept: an item itself says where its line is.
 */
#include "formats/lines.h"

#include "formats/lines_row.h"
#include "formats/lines_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the text grows by at least, where the source does not say how much is left. */
#define GROWTH_BYTES ((size_t)64 << 20)

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
    madvise(text, bytes, MADV_HUGEPAGE); /* only a wish */
    lines->text = text;
    lines->mapped_bytes = bytes;
    return true;
}

/* Makes room for so many bytes more, and the slack. */
static bool reserve_text(struct lines *lines, size_t more, struct error *error)
{
    size_t need;
    if (__builtin_add_overflow(lines->bytes, more, &need) ||
        __builtin_add_overflow(need, TEXT_SLACK_BYTES, &need) || need > SIZE_MAX / 4)
        return error_set(error, "the text is too large for the memory of this machine");
    if (need <= lines->mapped_bytes)
        return true;
    /* Doubling makes few moves; where there is no room for twice as much, there may be for this. */
    const size_t twice = lines->mapped_bytes * 2;
    if ((twice > need && map_text(lines, twice)) || map_text(lines, need))
        return true;
    return error_set_errno(error, "no memory for %zu bytes of text", need);
}

bool lines_begin_input(struct lines *lines, const struct source *source, size_t lines_read,
                       struct error *error)
{
    struct lines_input *inputs =
        realloc(lines->inputs, (lines->input_count + 1) * sizeof *lines->inputs);
    char *const name = strdup(source_name(source));
    if (inputs != NULL)
        lines->inputs = inputs;
    if (inputs == NULL || name == NULL) {
        free(name);
        return error_set(error, "%s: no memory to read it", source_name(source));
    }
    inputs[lines->input_count++] = (struct lines_input){name, lines->bytes, lines_read};
    return true;
}

/* The input begun last has been read to its end. */
static void end_last_line(struct lines *lines)
{
    const char terminator = lines->order->terminator;
    if (lines->bytes > lines->inputs[lines->input_count - 1].begin &&
        lines->text[lines->bytes - 1] != terminator)
        lines->text[lines->bytes++] = terminator;
}

/* There is always room for a last terminator too. One byte more than are left is asked for, so that
 * the end shows; what has grown since it was opened is then read on as far as there is room. */
bool lines_read_input(struct lines *lines, struct source *source, size_t most, bool *ended,
                      struct error *error)
{
    const uint64_t left = source_bytes_left(source);
    const size_t coming = left < SIZE_MAX / 4 ? (size_t)left + 1 : GROWTH_BYTES;
    if (!reserve_text(lines, coming + 1, error))
        return false;
    const size_t room = lines->mapped_bytes - lines->bytes - TEXT_SLACK_BYTES - 1;
    const size_t wanted = left > 0 ? coming : room, want = wanted < most ? wanted : most;
    size_t got;
    if (!source_read(source, lines->text + lines->bytes, want, &got, error))
        return false;
    lines->bytes += got;
    *ended = got < want;
    if (*ended)
        end_last_line(lines);
    return true;
}

bool lines_append(struct lines *lines, struct source *source, size_t lines_read,
                  struct error *error)
{
    bool ended = false;
    if (!lines_begin_input(lines, source, lines_read, error))
        return false;
    while (!ended)
        if (!lines_read_input(lines, source, SIZE_MAX, &ended, error))
            return false;
    return true;
}

bool lines_index(struct lines *lines, struct error *error)
{
    const size_t blocks =
        lines->bytes / LINES_BLOCK_BYTES + (lines->bytes % LINES_BLOCK_BYTES != 0);
    size_t *const before = calloc(blocks + 1, sizeof *before);
    if (before == NULL)
        return error_set(error, "no memory for the places of the lines");
#pragma omp parallel for schedule(static, 1) num_threads((int)lines->threads)
    for (size_t i = 0; i < blocks; ++i)
        before[i + 1] = bytes_count(lines->text + i * LINES_BLOCK_BYTES,
                                    lines_block_bytes(lines, i), lines->order->terminator);
    for (size_t i = 0; i < blocks; ++i)
        before[i + 1] += before[i];
    lines->lines_before = before;
    lines->block_count = blocks;
    return true;
}
