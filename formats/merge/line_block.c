/* SPDX-License-Identifier: Apache-2.0 */
/* line_block.c - see line_block.h. */
#include "formats/merge/line_block.h"

#include <stdlib.h>
#include <string.h>

bool line_block_open(struct line_block *block, struct source *source, char terminator,
                     size_t capacity, struct error *error)
{
    *block = (struct line_block){.source = source, .terminator = terminator, .capacity = capacity};
    text_check_start(&block->read);
    block->text = malloc(capacity + LINE_BLOCK_SLACK_BYTES);
    return block->text || error_set(error, "%s: no memory to read it", source_name(source));
}

static bool grow(struct line_block *block, struct error *error)
{
    char *const text = block->capacity <= SIZE_MAX / 4
                           ? realloc(block->text, block->capacity * 2 + LINE_BLOCK_SLACK_BYTES)
                           : NULL;
    if (!text)
        return error_set(error, "%s: no memory for a line of more than %zu bytes",
                         source_name(block->source), block->filled - block->bytes);
    block->text = text;
    block->capacity *= 2;
    return true;
}

/* Fills the block, except for the byte that a missing last terminator may need. */
static bool read_more(struct line_block *block, struct error *error)
{
    const size_t want = block->capacity - block->filled - 1;
    size_t got;
    char *const target = block->text + block->filled;
    text_check_begin_chunk(&block->read, block->text, block->place);
    if (!source_read_seen(block->source, target, want, &block->read.tap, &got, error))
        return false;
    const char *const found = memrchr(target, block->terminator, got);
    block->filled += got;
    block->ended = got < want;
    if (found)
        block->bytes = (size_t)(found - block->text) + 1;
    if (block->ended && block->filled > block->bytes) {
        block->text[block->filled] = block->terminator;
        check_sum_add(&block->read.sum,
                      text_check_sum(block->place + block->filled, &block->terminator, 1));
        block->bytes = ++block->filled;
    }
    return true;
}

bool line_block_refill(struct line_block *block, size_t drop, struct error *error)
{
    block->bytes -= drop;
    block->filled -= drop;
    block->place += drop;
    memmove(block->text, block->text + drop, block->filled);
    const size_t kept = block->bytes;
    while (!block->ended && block->bytes == kept) {
        if (block->filled >= block->capacity / 2 && !grow(block, error))
            return false;
        if (!read_more(block, error))
            return false;
    }
    return true;
}

void line_block_close(struct line_block *block)
{
    free(block->text);
    block->text = NULL;
}
