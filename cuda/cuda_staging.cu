/* cuda_staging.cu - see cuda_staging.h. */
#include "cuda/cuda_staging.h"

#include "cuda/cuda_check.h"
#include "cuda/nvtx_range.h"

bool staging_prepare(struct staging *staging, size_t slot, struct error *error)
{
    struct staging_slot *const s = &staging->slots[slot];
    const unsigned device = staging->device;
    if (!s->memory && !cuda_check(cudaMallocHost(&s->memory, staging->slot_bytes), device,
                                  "cudaMallocHost", error))
        return false;
    if (!s->copy_started &&
        !cuda_check(cudaEventCreate(&s->copy_started), device, "cudaEventCreate", error))
        return false;
    return s->copy_finished ||
           cuda_check(cudaEventCreate(&s->copy_finished), device, "cudaEventCreate", error);
}

bool staging_copy(struct staging *staging, size_t slot, void *to, const void *from, size_t bytes,
                  cudaMemcpyKind kind, struct error *error)
{
    struct staging_slot *const s = &staging->slots[slot];
    const unsigned device = staging->device;
    const cudaStream_t stream = staging->stream;
    s->in_flight = true;
    s->is_upload = kind == cudaMemcpyHostToDevice;
    s->bytes = bytes;
    return cuda_check(cudaEventRecord(s->copy_started, stream), device, "cudaEventRecord", error) &&
           cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream), device, "cudaMemcpyAsync",
                      error) &&
           cuda_check(cudaEventRecord(s->copy_finished, stream), device, "cudaEventRecord", error);
}

bool staging_wait(struct staging *staging, size_t slot, uint64_t *busy_ns, struct error *error)
{
    struct staging_slot *const s = &staging->slots[slot];
    if (!s->in_flight)
        return true;
    const struct nvtx_range range(s->is_upload ? "wait for upload" : "wait for download");
    s->in_flight = false;
    return cuda_check(cudaEventSynchronize(s->copy_finished), staging->device,
                      "cudaEventSynchronize", error) &&
           cuda_add_span(staging->clock, s->is_upload ? TRACE_UPLOAD : TRACE_DOWNLOAD,
                         s->is_upload ? "upload" : "download", s->bytes, s->copy_started,
                         s->copy_finished, staging->device, busy_ns, error);
}

void staging_close(struct staging *staging)
{
    for (size_t slot = 0; slot < STAGING_SLOTS; slot++) {
        struct staging_slot *const s = &staging->slots[slot];
        if (s->copy_finished)
            (void)cudaEventDestroy(s->copy_finished);
        if (s->copy_started)
            (void)cudaEventDestroy(s->copy_started);
        if (s->memory)
            (void)cudaFreeHost(s->memory);
        *s = {};
    }
}
