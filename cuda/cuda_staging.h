/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_staging.h - the ring of pinned buffers that items pass through between the caller and the
 * device, both ways.
 *
 *   up:    staging_lend -> the caller fills -> staging_take: copied behind the caller's back, while
 *          the next slot is lent
 *   down:  copies run ahead into all slots; staging_give waits for the oldest
 *          -> the caller reads -> staging_take_back: the next copy starts into the slot
 *
 * A slot is either with the caller or idle (in_flight false), or a copy to or from it is on its way
 * (in_flight true, until it is waited for). A slot's memory is pinned when it is first needed, so
 * that small inputs pin little. The stream and its clock belong to the engine, as do the times.
 */
#ifndef CUDA_CUDA_STAGING_H
#define CUDA_CUDA_STAGING_H

#include "core/backend.h"
#include "cuda/cuda_time.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

struct staging_slot {
    void *memory; /* NULL: not pinned yet */
    cudaEvent_t copy_started;
    cudaEvent_t copy_finished;
    bool in_flight;
    bool is_upload; /* the copy in flight */
    size_t bytes;   /* of it */
    size_t count;   /* its items */
};

/* Slots whose copy was started, oldest first. */
struct staging_queue {
    size_t slots[STAGING_SLOTS];
    size_t first;
    size_t count;
};

/* What comes down. */
struct staging_output {
    size_t count; /* items in all */
    /* Sees to it, by the stream, that items [begin, end) are in one place on the device; NULL on
     * failure. */
    const void *(*place)(struct engine *engine, size_t begin, size_t end, struct error *error);
    struct engine *engine;
};

struct staging {
    struct staging_slot slots[STAGING_SLOTS];
    size_t slot_bytes;
    size_t item_bytes;
    unsigned device;
    cudaStream_t stream;
    struct cuda_clock *clock;
    struct engine_times *times; /* start, upload and download are added to */
    size_t upload_slot;         /* of the chunk lent next, or now */
    size_t lent;                /* items of room in the chunk that the caller has */
    bool is_giving;
    struct staging_output output; /* if it is giving, as is what follows */
    size_t next;                  /* item that the next copy starts with */
    struct staging_queue copies;
};

/* The size of slots, of which all but the last are filled, for so many items or more. */
void staging_set_slots(struct staging *staging, size_t item_bytes, size_t count);

/* Pins the memory of the slots that so many items will pass through; without it, that of a slot is
 * pinned when it is first used. */
bool staging_prepare(struct staging *staging, size_t count, struct error *error);

/* Lends room for 1..want items, as struct engine_functions has it. */
bool staging_lend(struct staging *staging, size_t want, struct chunk *chunk, struct error *error);

/* Starts to copy the items of the chunk to device memory. */
bool staging_take(struct staging *staging, struct chunk chunk, void *to, struct error *error);

/* Waits for all copies that were started. */
bool staging_finish_uploads(struct staging *staging, struct error *error);

/* The next items of the output, as struct engine_functions has it. The first call starts as many
 * copies as there are slots; it comes when all uploads are done, and says the output for all calls
 * until staging_restart. */
bool staging_give(struct staging *staging, const struct staging_output *output, struct chunk *chunk,
                  struct error *error);
bool staging_take_back(struct staging *staging, struct chunk chunk, struct error *error);

/* All has been given and taken back: there may be uploads again, and then another output. */
void staging_restart(struct staging *staging);

/* Frees all. No copy may be on its way any more. */
void staging_close(struct staging *staging);

#endif
