/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_gather.h - the lines of a text on the device, put one behind the other in the order of their
 * items: the output, made by pieces.
 *
 *   items -> cuda_gather_measure -> bytes, and in the workspace where each line begins
 *         -> { cuda_gather_copy -> the bytes [begin, end) of the output }*
 *
 * Both read the text where it lies; the items, the text and the workspace are to stay as they are
 * until the last copy is done. All memory is the caller's, and on the device.
 */
#ifndef CUDA_CUDA_GATHER_H
#define CUDA_CUDA_GATHER_H

#include "cuda/cuda_lines.h"

struct cuda_gather {
    const struct cuda_text *text;  /* its bytes, terminator, device and stream are used */
    const struct key_index *items; /* count items, of different lines, in the order of the output */
    size_t count;                  /* text->count or fewer */
    void *workspace;  /* cuda_gather_workspace_bytes(text->bytes, count), aligned to 16 */
    size_t bytes;     /* of the output; cuda_gather_measure sets it */
    uint64_t *totals; /* CUDA_GATHER_TOTALS, for the proof of what is copied; NULL: none is made */
};
#define CUDA_GATHER_TOTALS 3

/* Of `count` lines of a text of so many bytes: a little more than 8 bytes a line and a
 * sixteen-hundredth of the text. So the 16 bytes a line that an array of items takes are enough
 * where there are 100 lines or more, of 10,000 bytes or less in the mean. More lines or bytes take
 * no less. */
size_t cuda_gather_workspace_bytes(size_t text_bytes, size_t count);

/* Finds how long each line is and where it begins in the output, whose bytes gather->bytes then
 * says. Each line counts with its terminator. Waits. */
bool cuda_gather_measure(struct cuda_gather *gather, struct error *error);

/* Begins the proof of copies that are of all of the output, each byte once; and looks whether the
 * items are in order. Starts a kernel, and does not wait. */
bool cuda_gather_start_check(const struct cuda_gather *gather, struct error *error);

/* Says what was copied. Waits for all copies. */
bool cuda_gather_finish_check(const struct cuda_gather *gather, struct text_proof *proof,
                              struct error *error);

/* Copies the bytes [begin, end) of the output, begin <= end <= gather->bytes, to target[0..end -
 * begin). Lines may be cut by either end. Any begin and target do; they are fastest if begin is a
 * multiple of GATHER_TILE_BYTES (tuning.h) and target of 16. Starts one kernel on the text's
 * stream, and does not wait. */
bool cuda_gather_copy(const struct cuda_gather *gather, size_t begin, size_t end,
                      unsigned char *target, struct error *error);

#endif
