/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_lines.h - lines of text on the device: makes the items that a text is sorted by, puts them
 * in exact order, and gathers the lines.
 *
 *   text -> cuda_lines_count -> number of lines
 *        -> cuda_lines_key -> items in the order of the input; a few of them flagged
 *        -> cuda_lines_key_flagged -> the host's keys for these
 *
 * An item is a struct key_index as core/line/line_image.h defines it: the offset of the line's
 * first byte, a bit that is 0 if the key is exact, and the key. The key has the same bits as
 * the host's key for the line (complemented if the first key of the order is reversed). So items
 * made by the host and by the device can be mixed.
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
#include "cuda/engine/cuda_memory.h"
#include "cuda/engine/cuda_worker.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* Bytes after a text that can be read; their values do not matter. */
#define CUDA_TEXT_SLACK_BYTES ((size_t)64)

/* The part of a struct line_order that kernels need, passed by value. */
struct cuda_line_order {
    struct line_key key;  /* the first key */
    size_t key_count;     /* at least 1 */
    int separator;        /* as in struct line_order, like the bools below */
    uint64_t terminators; /* the terminator in each byte */
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
 * must not change from cuda_lines_count to cuda_lines_key_flagged. Afterwards its content is not
 * needed. */
size_t cuda_lines_workspace_bytes(size_t bytes);

/* Sets text->count to the number of lines in text->text[0..bytes). Waits for the stream. */
bool cuda_lines_count(struct cuda_text *text, void *workspace, struct error *error);

/* Makes items[0..text->count), aligned to 16 bytes, and sets *flagged to the number of flagged
 * items. Waits for the stream. */
bool cuda_lines_key(const struct cuda_text *text, void *workspace, struct key_index *items,
                    size_t *flagged, struct error *error);

/* The flagged items, and what it takes to key them. */
struct cuda_flagged {
    size_t count;
    void *scratch; /* on the device; any size from 24 bytes on */
    size_t scratch_bytes;
    const struct line_helper *helper; /* its function `key` is called, in the order of the input */
};

/* Lets the helper key the flagged items among items[0..text->count). Waits for the stream. */
bool cuda_lines_key_flagged(const struct cuda_text *text, void *workspace, struct key_index *items,
                            const struct cuda_flagged *flagged, struct error *error);

/* Fails unless the offsets in items[0..count), in host memory, are in the text: a helper reads it
 * there. */
bool cuda_lines_check_items(const struct cuda_text *text, const struct key_index *items,
                            size_t count, struct error *error);

/* ---- lines_refine.cu ----
 *
 * Sorts tie groups (lines with equal keys) exactly. It does what lines_refine does on the host,
 * with the same items and the same result.
 *
 *   sorted items -> tie groups that are not in order -> by the bytes of their lines, in rounds
 *                                                    -> by anything else: the helper, on the host
 *                -> with -u, only the first line of each tie group
 *
 * Nearly all tie groups need no work: their lines have the same bytes, or are in order already. */

struct cuda_refine {
    const struct cuda_text *text;
    struct cuda_sort sort;        /* the items, sorted by key, then by index; fewer than 2^32. The
                                     scratch is overwritten; the workspace has the size below */
    const struct cuda_path *path; /* sorts the words of a round; must accept text->count items */
    struct cuda_pool *pool;       /* gives the memory of the rounds */
    const struct line_helper *helper; /* its function `refine` is called, at most once */
};

/* Returns the bytes of workspace for `count` items, about two thirds of a byte each. */
size_t cuda_refine_workspace_bytes(size_t count);

/* Puts the items into the exact order of their lines. Allocates about 25 bytes for each line that
 * the device is to sort, and the path's workspace; if there is no room, the host sorts these lines.
 * *count becomes the number of items kept: text->count, or fewer if the order is unique.
 * Reads the text and the slack after it. Keys do not change. Lines with the same bytes keep their
 * input order, unless the host sorted them. Waits for the stream. Fails if a kernel or the helper
 * fails, or if the host has no memory for the lines that it must sort. */
bool cuda_lines_refine(const struct cuda_refine *refine, size_t *count, struct error *error);

/* ---- lines_gather.cu ----
 *
 * Gathers the lines of a text in the order of their items, which makes the output in pieces.
 *
 *   items -> cuda_gather_measure -> size of the output; the workspace has the start of each line
 *         -> { cuda_gather_copy -> the bytes [begin, end) of the output }*
 *
 * Both read the text in place. The items, the text and the workspace must not change until the last
 * copy is done. */

struct cuda_gather {
    const struct cuda_text *text;  /* its text, bytes, terminator, device and stream are used */
    const struct key_index *items; /* count items of distinct lines, in output order */
    size_t count;                  /* at most text->count */
    void *workspace; /* cuda_gather_workspace_bytes(text->bytes, count), aligned to 16 */
    size_t bytes;    /* size of the output; set by cuda_gather_measure */
};

/* Returns the bytes of workspace for `count` lines of a text of `text_bytes` bytes: a little more
 * than 8 bytes per line, plus 1/2000 of the text. They are enough for fewer lines too. */
size_t cuda_gather_workspace_bytes(size_t text_bytes, size_t count);

/* Finds the length of each line, with its terminator, and its position in the output. With at least
 * one line, checks that no key of the items is less than the one before. Sets gather->bytes, for
 * which it waits; its last kernel may still be in flight on return. */
bool cuda_gather_measure(struct cuda_gather *gather, struct error *error);

/* Starts the check of copies that cover the output, each byte once. Does not wait. */
bool cuda_gather_start_check(const struct cuda_gather *gather, struct error *error);

/* Sets *proof to the checksums of the copies and the first line that is out of order. Waits for all
 * copies. */
bool cuda_gather_finish_check(const struct cuda_gather *gather, struct text_proof *proof,
                              struct error *error);

/* Copies the bytes [begin, end) of the output, begin <= end <= gather->bytes, to target[0..end -
 * begin). Either end may cut a line. Any begin and target are valid. The copy is fastest if begin
 * is a multiple of GATHER_TILE_BYTES (tuning.h) and target is aligned to 16 bytes. Adds the bytes
 * to the totals of the check. Starts one kernel and does not wait. */
bool cuda_gather_copy(const struct cuda_gather *gather, size_t begin, size_t end,
                      unsigned char *target, struct error *error);

#endif
