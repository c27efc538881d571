/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_refine.h - the exact order within runs of equal keys, on the device: what lines_refine does
 * on the host, of the same items to the same order.
 *
 *   items, sorted -> which runs are not in order yet -> by bytes of their lines, in rounds: here
 *                                                    -> by anything else: a function of the host's
 *                 -> with -u, the first line of each run alone
 *
 * Nearly all runs need nothing: their lines are the same bytes, or the order of the input is
 * theirs.
 */
#ifndef CUDA_CUDA_REFINE_H
#define CUDA_CUDA_REFINE_H

#include "cuda/cuda_lines.h"
#include "cuda/cuda_paths.h"

/* Puts items[0..*count), whole runs of equal keys one after the other, in the host's memory, into
 * the exact order. If the order is unique, *count says how many are kept. */
typedef bool cuda_refine_function(void *context, struct key_index *items, size_t *count,
                                  struct error *error);

/* Memory is on the device, and the caller's. */
struct cuda_refine {
    const struct cuda_text *text;
    struct key_index *items;      /* text->count, below 2^32; sorted by key, equal keys by index */
    void *scratch;                /* room of as many items, aligned as they are; is overwritten */
    void *workspace;              /* cuda_refine_workspace_bytes */
    size_t room;                  /* lines that workspace has room to order here */
    const struct cuda_path *path; /* what sorts the words of a round; of any number of items */
    size_t tile_size;             /* one of the path's */
    struct sort_note *note;       /* as in struct cuda_sort */
    cuda_refine_function *refine;
    void *context; /* of refine */
};

/* What was done, for who wants to know. */
struct cuda_refine_counts {
    size_t device; /* lines that were ordered on the device */
    size_t host;   /* lines that were given to the host */
    unsigned rounds;
    uint64_t mark_ns, device_ns, host_ns, unique_ns; /* times of the steps */
};

/* Bytes of workspace for `count` items of which up to `room` are ordered on the device: half a byte
 * for each item; 24 bytes, and what the path wants, for each line of room. With a room of `count`
 * all runs can be; where more lines need it than there is room for, they all go to the host. */
size_t cuda_refine_workspace_bytes(const struct cuda_path *path, size_t tile_size, size_t count,
                                   size_t room);

/* Puts refine->items into the order of their lines. *count says how many are kept, if the order is
 * unique; else it is text->count. The text is read, and slack behind it. Keys stay what they are;
 * of lines of the same bytes, those that the host has not ordered stay in the order of the input.
 * Waits for all that was started on the stream. Fails when a kernel fails, when `refine` does, or
 * when the host has no memory for the lines that it is to order. *counts may be NULL. */
bool cuda_lines_refine(const struct cuda_refine *refine, size_t *count,
                       struct cuda_refine_counts *counts, struct error *error);

#endif
