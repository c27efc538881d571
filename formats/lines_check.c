/* lines_check.c - see lines_check.h.
 *
 * The last line of a block stays in memory as the first of the next one, and each piece looks at
 * the line before its own first; so every two neighbours are compared once.
 */
#include "formats/lines_check.h"

#include "formats/line_block.h"
#include "formats/line_error.h"
#include "formats/line_run.h"

#include <stdlib.h>
#include <string.h>

/* Reused, so that it stays in the caches; large enough that threads share the reading of it, if
 * there are many. */
#define BLOCK_BYTES_PER_THREAD ((size_t)4 << 20)

/* Looks through the lines from `begin` on; the result is the one of the first piece that has
 * anything out of order, with all lines before it counted. */
static bool check_block(const struct line_block *block, const struct line_order *order,
                        size_t begin, unsigned threads, struct line_run *result,
                        struct error *error)
{
    const size_t pieces = (block->bytes - begin + LINE_RUN_PIECE_BYTES - 1) / LINE_RUN_PIECE_BYTES;
    struct line_run *const runs = calloc(pieces + 1, sizeof *runs);
    if (!runs)
        return error_set(error, "%s: no memory to check it", source_name(block->source));
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
    for (size_t i = 0; i < pieces; i++) {
        const size_t start = begin + i * LINE_RUN_PIECE_BYTES;
        const size_t left = block->bytes - start;
        runs[i] =
            line_run_check(order, block->text, block->bytes, start,
                           start + (left < LINE_RUN_PIECE_BYTES ? left : LINE_RUN_PIECE_BYTES));
    }
    size_t lines = 0;
    *result = (struct line_run){.state = LINE_RUN_IN_ORDER};
    for (size_t i = 0; i < pieces && result->state == LINE_RUN_IN_ORDER; i++) {
        lines += runs[i].lines;
        *result = runs[i];
    }
    result->lines = lines;
    free(runs);
    return true;
}

static bool keep_disorder(struct lines_check *check, const char *line, size_t length,
                          struct error *error)
{
    check->is_disordered = true;
    check->length = length;
    check->text = malloc(length + 1);
    if (!check->text)
        return error_set(error, "no memory for the line that is out of order");
    memcpy(check->text, line, length);
    return true;
}

/* Where the last of the whole lines starts; 0 if there is none. */
static size_t last_line(const struct line_block *block)
{
    if (block->bytes == 0)
        return 0;
    const char *const found = memrchr(block->text, block->terminator, block->bytes - 1);
    return found ? (size_t)(found - block->text) + 1 : 0;
}

bool lines_check(struct source *source, const struct line_order *order, uint64_t lines_before,
                 unsigned threads, struct lines_check *check, struct error *error)
{
    bool ok = false;
    struct line_block block;
    *check = (struct lines_check){0};
    TRY(line_block_open(&block, source, order->terminator, threads * BLOCK_BYTES_PER_THREAD,
                        error));
    while (!block.ended) {
        struct line_run run = {.state = LINE_RUN_IN_ORDER};
        const size_t drop = last_line(&block), kept = block.bytes - drop;
        TRY(line_block_refill(&block, drop, error));
        TRY(check_block(&block, order, kept, threads, &run, error));
        check->lines += run.lines;
        check->bytes += block.bytes - kept;
        if (run.state == LINE_RUN_IN_ORDER)
            continue;
        const char *const line = block.text + run.offset;
        const size_t length = line_run_length(order, block.text, block.bytes, run.offset);
        if (run.state == LINE_RUN_DISORDER)
            TRY(keep_disorder(check, line, length, error));
        else
            TRY(line_error_set(error, source_name(source), lines_before + check->lines + 1, line,
                               length, NUMBER_MALFORMED, NULL));
        break;
    }
    ok = true;
done:
    line_block_close(&block);
    return ok;
}
