/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_staging.h - a ring of pinned buffers through which items are copied to the device and back.
 *
 *   up:    staging_lend -> the caller fills -> staging_take: the copy starts
 *          (the next slot is lent meanwhile)
 *
 *   down:  copies start into all slots; staging_give waits for the oldest
 *          -> the caller reads -> staging_take_back: the next copy starts into the slot
 *
 * A slot is held by the caller or idle (in_flight false), or a copy to or from it was started and
 * not yet waited for (in_flight true). The memory of a slot is pinned when it is first needed, so
 * small inputs pin little. The engine owns the worker and the times.
 */
#ifndef CUDA_CUDA_STAGING_H
#define CUDA_CUDA_STAGING_H

#include "core/backend.h"
#include "cuda/engine/cuda_worker.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

struct staging_slot {
    void *memory;       /* NULL: not pinned yet */
    bool is_registered; /* pinned by cudaHostRegister, not allocated by cudaMallocHost */
    cudaEvent_t copy_started;
    cudaEvent_t copy_finished;
    bool in_flight;
    bool is_upload; /* direction of the copy in flight */
    size_t bytes;   /* of the copy */
};

/* The source of the downloads. */
struct staging_output {
    size_t count; /* total number of items */
    /* Makes items [begin, end) contiguous on the device, by work on the stream, and returns their
     * address; NULL on failure. */
    const void *(*place)(struct engine *engine, size_t begin, size_t end, struct error *error);
    struct engine *engine;
};

struct staging {
    struct staging_slot slots[STAGING_SLOTS];
    size_t slot_bytes;
    size_t item_bytes;
    struct cuda_worker *worker; /* its device, stream and clock are used */
    struct engine_times *times; /* start_ns, upload_ns and download_ns are increased */
    size_t upload_slot;         /* slot of the chunk that is lent, or will be lent next */
    size_t lent;                /* capacity of the chunk that the caller holds, in items */
    bool is_giving;
    struct staging_output output; /* valid if is_giving, like the members below */
    size_t next;                  /* first item of the next copy */
    size_t give_slot;             /* slot of the oldest copy, which the others follow */
    size_t copies;                /* copies started and not given */
};

/* Opens the staging of an engine. No slot gets more room than for `count` items; more items than
 * that may be moved. *staging must be {} before. The worker may be opened later. */
void staging_open(struct staging *staging, struct cuda_worker *worker, struct engine_times *times,
                  size_t item_bytes, size_t count);

/* Pins the memory of the slots that `count` items need. Otherwise a slot is pinned when it is first
 * used. */
bool staging_prepare(struct staging *staging, size_t count, struct error *error);

/* Lends room for 1..want items, as `lend` of struct engine_functions. */
bool staging_lend(struct staging *staging, size_t want, struct chunk *chunk, struct error *error);

/* Starts to copy the chunk's items to device memory at `to`. */
bool staging_take(struct staging *staging, struct chunk chunk, void *to, struct error *error);

/* Waits for all copies that were started. */
bool staging_finish_uploads(struct staging *staging, struct error *error);

/* Gives the next items of the output, as `give` of struct engine_functions. The first call may come
 * when all uploads are done. It sets the output for all calls until staging_restart, and starts as
 * many copies as there are slots. */
bool staging_give(struct staging *staging, const struct staging_output *output, struct chunk *chunk,
                  struct error *error);
bool staging_take_back(struct staging *staging, struct chunk chunk, struct error *error);

/* Prepares for new uploads and another output. Everything must have been given and taken back. */
void staging_restart(struct staging *staging);

/* Frees all slots. No copy may be in flight. */
void staging_close(struct staging *staging);

#endif
