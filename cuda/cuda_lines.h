/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_lines.h - lines of text on the device: from a text to the items that it is sorted by.
 *
 *   text -> cuda_lines_count -> lines
 *        -> cuda_lines_key -> items in the order of the input; few of them flagged
 *        -> { cuda_lines_take_flagged -> the host's keys -> cuda_lines_put_flagged }*
 *
 * An item is a struct key_index as core/line_item.h has it: the place of the line's first byte,
 * whether its key is exact, and the key, which is bit for bit what the host makes of the line
 * (complemented if the first key of the order is reversed). So items of either go together.
 *
 * A flagged item is one that the device leaves to the host, line_item_flagged: a number that it
 * cannot round for sure, a rare spelling, a line that LINE_STRICT refuses, or one that it would
 * have to walk too far in.
 *
 * All functions start kernels on the text's stream; those that say so wait for it. All memory is
 * the caller's, and on the device unless it says otherwise.
 */
#ifndef CUDA_CUDA_LINES_H
#define CUDA_CUDA_LINES_H

#include "core/backend.h"
#include "core/error.h"
#include "core/line_item.h"
#include "core/line_order.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* Bytes behind a text that can be read, though they mean nothing. */
#define CUDA_TEXT_SLACK_BYTES ((size_t)64)

/* What kernels need of a struct line_order, by value. */
struct cuda_line_order {
    struct line_key key; /* the first one */
    size_t key_count;    /* at least 1 */
    int separator;       /* as in struct line_order, and what follows too */
    char terminator;
    bool reverse;
    bool stable;
    bool unique;
};

/* A text on the device, and where work on it runs. Borrows the memory. */
struct cuda_text {
    const unsigned char *text; /* aligned to 16 bytes; every line has its terminator */
    size_t bytes;
    size_t count; /* lines; cuda_lines_count sets it */
    struct cuda_line_order order;
    unsigned device;
    cudaStream_t stream;
};

/* ---- lines_key.cu ---- */

struct cuda_line_order cuda_line_order_make(const struct line_order *order);

/* Bytes of workspace for a text of so many bytes: about a five-hundredth of them. From
 * cuda_lines_count to the last cuda_lines_take_flagged it is to be left as it is, and is of no use
 * afterwards. */
size_t cuda_lines_workspace_bytes(size_t bytes);

/* Counts the lines of text->text[0..bytes) into text->count. Waits. */
bool cuda_lines_count(struct cuda_text *text, void *workspace, struct error *error);

/* Makes items[0..text->count), aligned to 16 bytes, and says how many are flagged. Waits. */
bool cuda_lines_key(const struct cuda_text *text, void *workspace, struct key_index *items,
                    size_t *flagged, struct error *error);

/* Flagged items taken out, to be keyed by the host. */
struct cuda_flagged {
    struct key_index *items; /* room of them */
    uint64_t *lines;         /* room of them: which items they are */
    size_t room;
};

/* Takes a copy of flagged items, in the order of the input: of all that cuda_lines_key counted,
 * from the first-th on, as many as there are and there is room for. Those before must have come
 * back. Does not wait.
 *
 *   for (size_t first = 0; first < flagged; first += taken.room)
 *       cuda_lines_take_flagged; the host's keys for min(taken.room, flagged - first) items;
 *       cuda_lines_put_flagged
 */
bool cuda_lines_take_flagged(const struct cuda_text *text, void *workspace,
                             const struct key_index *items, size_t first,
                             const struct cuda_flagged *taken, struct error *error);

/* items[taken->lines[i]] = taken->items[i], i < count. Does not wait. */
bool cuda_lines_put_flagged(const struct cuda_text *text, const struct cuda_flagged *taken,
                            size_t count, struct key_index *items, struct error *error);

#endif
