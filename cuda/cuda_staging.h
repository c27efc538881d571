/* cuda_staging.h - the ring of pinned buffers that the numbers pass through between the caller and
 * the device.
 *
 * A slot is either with the caller or idle (in_flight false), or a copy to or from it is on its way
 * (in_flight true, until staging_wait). A slot's memory is pinned when it is first needed, so that
 * small inputs pin little. The stream and its clock belong to the engine.
 */
#ifndef CUDA_CUDA_STAGING_H
#define CUDA_CUDA_STAGING_H

#include "core/error.h"
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

struct staging {
    struct staging_slot slots[STAGING_SLOTS];
    size_t slot_bytes;
    unsigned device;
    cudaStream_t stream;
    struct cuda_clock *clock;
};

/* Slots whose copy was started, oldest first. */
struct staging_queue {
    size_t slots[STAGING_SLOTS];
    size_t first;
    size_t count;
};

/* There are no more slots than fit. */
static inline void staging_queue_push(struct staging_queue *queue, size_t slot)
{
    queue->slots[(queue->first + queue->count++) % STAGING_SLOTS] = slot;
}

/* Of a queue that is not empty. */
static inline size_t staging_queue_pop(struct staging_queue *queue)
{
    const size_t slot = queue->slots[queue->first];
    queue->first = (queue->first + 1) % STAGING_SLOTS;
    queue->count--;
    return slot;
}

/* Pins the slot's memory and makes its events, once. */
bool staging_prepare(struct staging *staging, size_t slot, struct error *error);

/* Starts a copy between the slot and device memory, `bytes` of `to` from `from`. */
bool staging_copy(struct staging *staging, size_t slot, void *to, const void *from, size_t bytes,
                  cudaMemcpyKind kind, struct error *error);

/* Waits for the slot's copy, if there is one, and adds the time it took to *busy_ns. */
bool staging_wait(struct staging *staging, size_t slot, uint64_t *busy_ns, struct error *error);

/* Frees all. No copy may be on its way any more. */
void staging_close(struct staging *staging);

#endif
