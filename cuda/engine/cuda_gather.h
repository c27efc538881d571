/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_gather.h - gathers the lines of a text on the device in the order of their items, which
 * makes the output in pieces.
 *
 *   items -> cuda_gather_measure -> size of the output; the workspace has the start of each line
 *         -> { cuda_gather_copy -> the bytes [begin, end) of the output }*
 *
 * Both read the text in place. The items, the text and the workspace must not change until the last
 * copy is done. The caller owns all memory, which is on the device.
 */
#ifndef CUDA_CUDA_GATHER_H
#define CUDA_CUDA_GATHER_H

#include "cuda/engine/cuda_lines.h"

struct cuda_gather {
    const struct cuda_text *text;  /* its text, bytes, terminator, device and stream are used */
    const struct key_index *items; /* count items of distinct lines, in output order */
    size_t count;                  /* at most text->count */
    void *workspace;  /* cuda_gather_workspace_bytes(text->bytes, count), aligned to 16 */
    size_t bytes;     /* size of the output; set by cuda_gather_measure */
    uint64_t *totals; /* CUDA_GATHER_TOTALS words for the check of the copies; NULL: no check */
};
#define CUDA_GATHER_TOTALS 3

/* Returns the bytes of workspace for `count` lines of a text of `text_bytes` bytes: a little more
 * than 8 bytes per line, plus 1/1600 of the text. So the 16 bytes per line of an array of items are
 * enough for 100 lines or more with a mean length of at most 10,000 bytes. The result never falls
 * as either argument grows. */
size_t cuda_gather_workspace_bytes(size_t text_bytes, size_t count);

/* Finds the length of each line, with its terminator, and its position in the output. Sets
 * gather->bytes, for which it waits; its last kernel may still be in flight on return. */
bool cuda_gather_measure(struct cuda_gather *gather, struct error *error);

/* Starts the check: of copies that cover the output, each byte once, and of the order of the items.
 * Starts a kernel and does not wait. */
bool cuda_gather_start_check(const struct cuda_gather *gather, struct error *error);

/* Returns the checksums of the copies in *proof. Waits for all copies. */
bool cuda_gather_finish_check(const struct cuda_gather *gather, struct text_proof *proof,
                              struct error *error);

/* Copies the bytes [begin, end) of the output, begin <= end <= gather->bytes, to target[0..end -
 * begin). Either end may cut a line. Any begin and target are valid. The copy is fastest if begin
 * is a multiple of GATHER_TILE_BYTES (tuning.h) and target is aligned to 16 bytes. Starts one
 * kernel on the text's stream and does not wait. */
bool cuda_gather_copy(const struct cuda_gather *gather, size_t begin, size_t end,
                      unsigned char *target, struct error *error);

#endif
