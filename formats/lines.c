/* lines.c - see lines.h: the text in memory, where its lines are, and their keys. lines_refine.c,
 * lines_number.c and lines_write.c have the rest.
 *
 *   sources -> one text -> blocks of 1 MiB -> newlines counted -> keys, a block a thread at a time
 *
 * The text is mapped, not allocated: it grows by moving pages, not bytes, and large pages make the
 * random reads of lines_write cheaper. A line belongs to the block that its newline is in; with the
 * newlines before each block known, any range of lines can be keyed by many threads, each straight
 * into its place among the items. No table of lines is kept: an item itself says where its line is.
 */
#include "formats/lines.h"

#include "formats/line_error.h"
#include "formats/lines_text.h"
#include "formats/number_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the text grows by at least, where the source does not say how much is left. */
#define GROWTH_BYTES ((size_t)64 << 20)

struct lines *lines_create(unsigned threads, const struct line_order *order)
{
    struct lines *lines = calloc(1, sizeof *lines);
    if (lines != NULL) {
        lines->threads = threads > 0 ? threads : 1;
        lines->descending = order->keys[0].reverse;
        lines->stable = line_order_is_stable(order);
    }
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

static bool add_input(struct lines *lines, const char *name, struct error *error)
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
    inputs[lines->input_count++] = (struct lines_input){copy, lines->bytes};
    return true;
}

bool lines_append(struct lines *lines, struct source *source, struct error *error)
{
    if (!add_input(lines, source_name(source), error))
        return false;
    const size_t begin = lines->bytes;
    size_t want, got;
    do {
        const uint64_t left = source_bytes_left(source);
        want = left < SIZE_MAX / 4 ? (size_t)left + 1 : GROWTH_BYTES;
        if (!reserve_text(lines, want + 1, error) ||
            !source_read(source, lines->text + lines->bytes, want, &got, error))
            return false;
        lines->bytes += got;
    } while (got == want);
    if (lines->bytes > begin && lines->text[lines->bytes - 1] != '\n')
        lines->text[lines->bytes++] = '\n';
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
        before[i + 1] =
            newlines_count(lines->text + i * LINES_BLOCK_BYTES, lines_block_bytes(lines, i));
    for (size_t i = 0; i < blocks; ++i)
        before[i + 1] += before[i];
    lines->lines_before = before;
    lines->block_count = blocks;
    return true;
}

/* The lines [first, end) that are to be keyed, and what has been found wrong with them. */
struct keying {
    const struct lines *lines;
    struct key_index *items; /* items[0] is of line `first` */
    size_t first, end;
    size_t bad_line;   /* the first line that is not a number, so far; SIZE_MAX if none */
    size_t bad_offset; /* where it starts */
};

static void note_bad_line(struct keying *keying, size_t line, size_t offset)
{
#pragma omp critical(lines_note_bad_line)
    if (line < keying->bad_line) {
        keying->bad_line = line;
        keying->bad_offset = offset;
    }
}

/* Where the line starts that the first newline of the block ends. */
static size_t first_line_of_block(const struct lines *lines, size_t block)
{
    const char *const newline = memrchr(lines->text, '\n', block * LINES_BLOCK_BYTES);
    return newline == NULL ? 0 : (size_t)(newline - lines->text) + 1;
}

/* Keys the lines of the block that are asked for, up to the first that is not a number. */
static void key_block(struct keying *keying, size_t block)
{
    const struct lines *const lines = keying->lines;
    const uint64_t complement = lines->descending ? UINT64_MAX : 0;
    size_t line = lines->lines_before[block], end = lines->lines_before[block + 1];
    if (line == end)
        return;
    end = end < keying->end ? end : keying->end;
    const char *p = lines->text + first_line_of_block(lines, block);
    const char *const text_end = lines->text + lines->bytes;
    for (; line < end; ++line) {
        const char *const newline = memchr(p, '\n', (size_t)(text_end - p));
        if (line >= keying->first) {
            uint64_t key;
            bool exact;
            const size_t offset = (size_t)(p - lines->text);
            if (!number_line_key(p, (size_t)(newline - p), &key, &exact)) {
                note_bad_line(keying, line, offset);
                return;
            }
            keying->items[line - keying->first] =
                (struct key_index){line_index(offset, exact), key ^ complement};
        }
        p = newline + 1;
    }
}

/* The input that the text at `offset` is of. */
static const struct lines_input *input_at(const struct lines *lines, size_t offset)
{
    size_t i = lines->input_count - 1;
    while (lines->inputs[i].begin > offset)
        --i;
    return &lines->inputs[i];
}

static bool refuse_line(const struct lines *lines, size_t offset, struct error *error)
{
    const struct lines_input *const input = input_at(lines, offset);
    const size_t before = newlines_count(lines->text + input->begin, offset - input->begin);
    const char *const line = lines->text + offset;
    const char *const newline = memchr(line, '\n', lines->bytes - offset);
    return line_error_set(error, input->name, before + 1, line, (size_t)(newline - line),
                          NUMBER_MALFORMED, NULL);
}

/* The block whose newlines end the line. */
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
    struct keying keying = {lines, items, lines->keyed, lines->keyed + *count, SIZE_MAX, 0};
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
