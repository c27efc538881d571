/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_staging.cc - see cuda_staging.h. */
#include "cuda/engine/cuda_staging.h"

#include "core/clock.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"

#include <algorithm>
#include <atomic>
#include <stdlib.h>
#include <sys/mman.h>

constexpr size_t HUGE_PAGE_BYTES = (size_t)2 << 20;

/* ---- a slot ---- */

/* Allocates the slot's memory in huge pages, if the system has them, and pins it. Returns false if
 * there is no memory, or CUDA cannot pin it, as on systems where it pins only its own. */
static bool slot_register(unsigned device, size_t bytes, struct staging_slot *slot)
{
    void *const memory = aligned_alloc(HUGE_PAGE_BYTES, bytes);
    if (!memory)
        return false;
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* a hint */
    cuda_node_prefer(device, memory, bytes);
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess) {
        (void)cudaGetLastError();
        free(memory);
        return false;
    }
    slot->memory = memory;
    return true;
}

/* Allocates the slot's pinned memory. Pinning 64 MiB takes 5 ms by slot_register(), and 30 to 45 ms
 * by cudaMallocHost, whose pages are small (H100 host, driver 580, 2026-11). */
static bool slot_pin(const struct staging *staging, struct staging_slot *slot, struct error *error)
{
    const size_t bytes = (staging->slot_bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    slot->is_registered = slot_register(staging->worker->device, bytes, slot);
    return slot->is_registered || cuda_check(cudaMallocHost(&slot->memory, bytes),
                                             staging->worker->device, "cudaMallocHost", error);
}

/* Pins the slot's memory and creates its events on the first call. Adds the time to start_ns. */
static bool slot_start(const struct staging *staging, struct staging_slot *slot,
                       struct error *error)
{
    const unsigned device = staging->worker->device;
    if (slot->copy_finished)
        return true;
    const uint64_t start_ns = clock_now_ns();
    const bool is_ready =
        slot_pin(staging, slot, error) &&
        cuda_check(cudaEventCreate(&slot->copy_started), device, "cudaEventCreate", error) &&
        cuda_check(cudaEventCreate(&slot->copy_finished), device, "cudaEventCreate", error);
    staging->times->start_ns += clock_now_ns() - start_ns;
    return is_ready;
}

/* Starts a copy between the slot and device memory. */
static bool slot_copy(const struct staging *staging, struct staging_slot *slot, void *to,
                      const void *from, size_t bytes, cudaMemcpyKind kind, struct error *error)
{
    const unsigned device = staging->worker->device;
    const cudaStream_t stream = staging->worker->stream;
    slot->in_flight = true;
    slot->is_upload = kind == cudaMemcpyHostToDevice;
    slot->bytes = bytes;
    return cuda_check(cudaEventRecord(slot->copy_started, stream), device, "cudaEventRecord",
                      error) &&
           cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream), device, "cudaMemcpyAsync",
                      error) &&
           cuda_check(cudaEventRecord(slot->copy_finished, stream), device, "cudaEventRecord",
                      error);
}

/* Waits for the slot's copy, if one is in flight, and adds its time to the engine's times. */
static bool slot_wait(const struct staging *staging, struct staging_slot *slot, struct error *error)
{
    if (!slot->in_flight)
        return true;
    slot->in_flight = false;
    struct engine_times *const times = staging->times;
    return slot->is_upload
               ? worker_add_span(staging->worker, TRACE_UPLOAD, "upload", slot->bytes,
                                 slot->copy_started, slot->copy_finished, &times->upload_ns, error)
               : worker_add_span(staging->worker, TRACE_DOWNLOAD, "download", slot->bytes,
                                 slot->copy_started, slot->copy_finished, &times->download_ns,
                                 error);
}

/* ---- all slots ---- */

void staging_open(struct staging *staging, struct cuda_worker *worker, struct engine_times *times,
                  size_t item_bytes, size_t count)
{
    staging->worker = worker;
    staging->times = times;
    staging->item_bytes = item_bytes;
    staging->slot_bytes =
        std::min(STAGING_SLOT_BYTES / item_bytes, std::max<size_t>(count, 1)) * item_bytes;
}

bool staging_prepare(struct staging *staging, size_t count, struct error *error)
{
    const size_t slots = count / (staging->slot_bytes / staging->item_bytes) + 1;
    for (size_t i = 0; i < std::min(slots, STAGING_SLOTS); i++)
        if (!slot_start(staging, &staging->slots[i], error))
            return false;
    return true;
}

/* Keeps memory that CUDA could not unpin, as the device is lost, until the process ends: other
 * devices would take whatever is at its address later for pinned memory. Each piece stores the
 * address of the one before it. */
static void keep_memory(void *memory)
{
    static std::atomic<void *> last;
    *static_cast<void **>(memory) = last.exchange(memory);
}

static void slot_release(struct staging_slot *slot)
{
    if (slot->is_registered && cudaHostUnregister(slot->memory) == cudaSuccess)
        free(slot->memory);
    else if (slot->is_registered)
        keep_memory(slot->memory);
    else if (slot->memory)
        (void)cudaFreeHost(slot->memory);
}

void staging_close(struct staging *staging)
{
    for (struct staging_slot &slot : staging->slots) {
        if (slot.copy_finished)
            (void)cudaEventDestroy(slot.copy_finished);
        if (slot.copy_started)
            (void)cudaEventDestroy(slot.copy_started);
        slot_release(&slot);
        slot = {};
    }
}

/* ---- up ---- */

bool staging_lend(struct staging *staging, size_t want, struct chunk *chunk, struct error *error)
{
    struct staging_slot *const slot = &staging->slots[staging->upload_slot];
    if (!cuda_device_use(staging->worker->device, error) || !slot_wait(staging, slot, error) ||
        !slot_start(staging, slot, error))
        return false;
    staging->lent = std::min(want, staging->slot_bytes / staging->item_bytes);
    *chunk = {slot->memory, staging->lent, 0, staging->upload_slot};
    return true;
}

bool staging_take(struct staging *staging, struct chunk chunk, void *to, struct error *error)
{
    if (chunk.slot != staging->upload_slot || chunk.count > staging->lent)
        return error_set(error, "device %u: the chunk taken is not the one lent",
                         staging->worker->device);
    staging->lent = 0;
    if (chunk.count == 0)
        return true;
    struct staging_slot *const slot = &staging->slots[chunk.slot];
    if (!cuda_device_use(staging->worker->device, error) ||
        !slot_copy(staging, slot, to, slot->memory, chunk.count * staging->item_bytes,
                   cudaMemcpyHostToDevice, error))
        return false;
    staging->upload_slot = (chunk.slot + 1) % STAGING_SLOTS;
    return true;
}

bool staging_finish_uploads(struct staging *staging, struct error *error)
{
    for (struct staging_slot &slot : staging->slots)
        if (!slot_wait(staging, &slot, error))
            return false;
    return true;
}

/* ---- down ---- */

/* Starts to copy the next items into an idle slot. Does nothing at the end of the output. */
static bool start_copy(struct staging *staging, size_t i, struct error *error)
{
    const struct staging_output *const output = &staging->output;
    struct staging_slot *const slot = &staging->slots[i];
    const size_t begin = staging->next;
    const size_t count = std::min(output->count - begin, staging->slot_bytes / staging->item_bytes);
    if (count == 0)
        return true;
    if (!slot_start(staging, slot, error))
        return false;
    const void *const from = output->place(output->engine, begin, begin + count, error);
    if (!from || !slot_copy(staging, slot, slot->memory, from, count * staging->item_bytes,
                            cudaMemcpyDeviceToHost, error))
        return false;
    staging->next += count;
    staging->copies++;
    return true;
}

static bool start_copies(struct staging *staging, const struct staging_output *output,
                         struct error *error)
{
    staging->is_giving = true;
    staging->output = *output;
    for (size_t i = 0; i < STAGING_SLOTS; i++)
        if (!start_copy(staging, i, error))
            return false;
    return true;
}

bool staging_give(struct staging *staging, const struct staging_output *output, struct chunk *chunk,
                  struct error *error)
{
    *chunk = {};
    if (!cuda_device_use(staging->worker->device, error) ||
        (!staging->is_giving && !start_copies(staging, output, error)))
        return false;
    if (staging->copies == 0)
        return staging->next == staging->output.count ||
               error_set(error, "device %u: all chunks are with the caller",
                         staging->worker->device);
    const size_t i = staging->give_slot;
    struct staging_slot *const slot = &staging->slots[i];
    if (!slot_wait(staging, slot, error))
        return false;
    staging->give_slot = (i + 1) % STAGING_SLOTS;
    staging->copies--;
    const size_t count = slot->bytes / staging->item_bytes;
    *chunk = {slot->memory, count, count, i};
    return true;
}

bool staging_take_back(struct staging *staging, struct chunk chunk, struct error *error)
{
    if (!chunk.items)
        return true; /* the empty chunk at the end has no slot */
    return cuda_device_use(staging->worker->device, error) &&
           start_copy(staging, chunk.slot, error);
}

void staging_restart(struct staging *staging)
{
    staging->is_giving = false;
    staging->output = {};
    staging->next = 0;
    staging->give_slot = staging->copies = 0;
}
