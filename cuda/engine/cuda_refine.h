/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_refine.h - sorts tie groups (lines with equal keys) exactly, on the device. It does what
 * lines_refine does on the host, with the same items and the same result.
 *
 *   sorted items -> tie groups that are not in order -> by the bytes of their lines, in rounds:
 * here
 *                                                    -> by anything else: a function of the host
 *                -> with -u, only the first line of each tie group
 *
 * Nearly all tie groups need no work: their lines have the same bytes, or are in order already.
 */
#ifndef CUDA_CUDA_REFINE_H
#define CUDA_CUDA_REFINE_H

#include "cuda/engine/cuda_lines.h"
#include "cuda/engine/cuda_paths.h"

/* Puts items[0..*count), which are consecutive whole tie groups in host memory, into the exact
 * order. If the order is unique, sets *count to the number of items kept. */
typedef bool cuda_refine_function(void *context, struct key_index *items, size_t *count,
                                  struct error *error);

/* The caller owns the memory, which is on the device, except the status block. */
struct cuda_refine {
    const struct cuda_text *text;
    struct key_index *items;      /* text->count items, fewer than 2^32; sorted by key, then by
                                     index */
    void *scratch;                /* room for as many items, with the same alignment; overwritten */
    void *workspace;              /* cuda_refine_workspace_bytes */
    size_t room;                  /* maximum number of lines that workspace has room to sort here */
    const struct cuda_path *path; /* sorts the words of a round; must accept any number of items */
    size_t tile_size;             /* one of the path's sizes */
    struct sort_note *note;       /* as in struct cuda_sort */
    cuda_refine_function *refine;
    void *context; /* argument of `refine` */
};

/* Statistics. */
struct cuda_refine_counts {
    size_t device; /* lines sorted on the device */
    size_t host;   /* lines sorted by the host */
    unsigned rounds;
    uint64_t mark_ns, device_ns, host_ns, unique_ns; /* times of the steps */
};

/* Returns the bytes of workspace for `count` items of which up to `room` are sorted on the device:
 * half a byte per item, plus 24 bytes and the path's workspace per line of `room`. A room of
 * `count` is enough for all tie groups. If more than `room` lines need sorting, the host sorts all
 * of them. */
size_t cuda_refine_workspace_bytes(const struct cuda_path *path, size_t tile_size, size_t count,
                                   size_t room);

/* Puts refine->items into the exact order of their lines. *count becomes the number of items kept:
 * text->count, or fewer if the order is unique. Reads the text and the slack after it. Keys do not
 * change. Lines with the same bytes keep their input order, unless the host sorted them. Waits for
 * the stream. Fails if a kernel or `refine` fails, or if the host has no memory for the lines that
 * it must sort. `counts` may be NULL. */
bool cuda_lines_refine(const struct cuda_refine *refine, size_t *count,
                       struct cuda_refine_counts *counts, struct error *error);

#endif
