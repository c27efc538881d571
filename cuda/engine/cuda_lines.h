/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_lines.h - lines of text on the device: makes the items that a text is sorted by.
 *
 *   text -> cuda_lines_count -> number of lines
 *        -> cuda_lines_key -> items in the order of the input; a few of them flagged
 *        -> { cuda_lines_take_flagged -> the host's keys -> cuda_lines_put_flagged }*
 *
 * An item is a struct key_index as core/line/line_key.h defines it: the offset of the line's first
 * byte, a bit that says whether the key is exact, and the key. The key has the same bits as the
 * host's key for the line (complemented if the first key of the order is reversed). So items made
 * by the host and by the device can be mixed.
 *
 * A flagged item (line_item_flagged) is keyed by the host: a number that the device cannot round
 * with certainty, a rare spelling, a line that LINE_STRICT refuses, or a line with too many bytes
 * to read.
 *
 * All functions start kernels on the text's stream, and wait for it only where the comment says so.
 * The caller owns all memory, which is on the device unless the comment says otherwise.
 */
#ifndef CUDA_CUDA_LINES_H
#define CUDA_CUDA_LINES_H

#include "core/backend.h"
#include "core/error.h"
#include "core/line/line_key.h"
#include "core/line/line_order.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* Bytes after a text that can be read; their values do not matter. */
#define CUDA_TEXT_SLACK_BYTES ((size_t)64)

/* The part of a struct line_order that kernels need, passed by value. */
struct cuda_line_order {
    struct line_key key; /* the first key */
    size_t key_count;    /* at least 1 */
    int separator;       /* as in struct line_order, like the members below */
    char terminator;
    bool reverse;
    bool stable;
    bool unique;
};

/* A text on the device, and the stream for work on it. Borrows the memory. */
struct cuda_text {
    const unsigned char *text; /* aligned to 16 bytes; every line has its terminator */
    size_t bytes;
    size_t count; /* number of lines; set by cuda_lines_count */
    struct cuda_line_order order;
    unsigned device;
    cudaStream_t stream;
};

/* ---- lines_key.cu ---- */

struct cuda_line_order cuda_line_order_make(const struct line_order *order);

/* Returns the bytes of workspace for a text of `bytes` bytes: about 1/500 of them. The workspace
 * must not change from cuda_lines_count to the last cuda_lines_take_flagged. Afterwards its content
 * is not needed. */
size_t cuda_lines_workspace_bytes(size_t bytes);

/* Sets text->count to the number of lines in text->text[0..bytes). Waits for the stream. */
bool cuda_lines_count(struct cuda_text *text, void *workspace, struct error *error);

/* Makes items[0..text->count), aligned to 16 bytes, and sets *flagged to the number of flagged
 * items. Waits for the stream. */
bool cuda_lines_key(const struct cuda_text *text, void *workspace, struct key_index *items,
                    size_t *flagged, struct error *error);

/* Flagged items that are copied out for the host to key. */
struct cuda_flagged {
    struct key_index *items; /* array of `room` items */
    uint64_t *lines;         /* array of `room` positions in the array of all items */
    size_t room;
};

/* Copies flagged items in the order of the input: of all that cuda_lines_key counted, those from
 * number `first` on, at most taken->room. All flagged items before `first` must have been put back.
 * Does not wait.
 *
 *   for (size_t first = 0; first < flagged; first += taken.room)
 *       cuda_lines_take_flagged; the host's keys for min(taken.room, flagged - first) items;
 *       cuda_lines_put_flagged
 */
bool cuda_lines_take_flagged(const struct cuda_text *text, void *workspace,
                             const struct key_index *items, size_t first,
                             const struct cuda_flagged *taken, struct error *error);

/* Sets items[taken->lines[i]] = taken->items[i] for all i < count. Does not wait. */
bool cuda_lines_put_flagged(const struct cuda_text *text, const struct cuda_flagged *taken,
                            size_t count, struct key_index *items, struct error *error);

#endif
