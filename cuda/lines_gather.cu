/* lines_gather.cu - see cuda_gather.h. */
#include "cuda/lines_gather.cuh"

size_t cuda_gather_workspace_bytes(size_t text_bytes, size_t count)
{
    return gather_layout_make(text_bytes, count).bytes;
}

/* Waits for the sum over all lines. */
static bool gather_fetch_bytes(struct cuda_gather *gather, struct error *error)
{
    const struct cuda_text *const text = gather->text;
    uint64_t bytes = 0;
    if (!cuda_check(cudaMemcpyAsync(&bytes, gather->workspace, sizeof bytes, cudaMemcpyDeviceToHost,
                                    text->stream),
                    text->device, "cudaMemcpyAsync", error) ||
        !cuda_check(cudaStreamSynchronize(text->stream), text->device, "gather_measure_kernel",
                    error))
        return false;
    gather->bytes = static_cast<size_t>(bytes);
    return true;
}

bool cuda_gather_measure(struct cuda_gather *gather, struct error *error)
{
    gather->bytes = 0;
    if (gather->count == 0)
        return true;
    return gather_start_mark(gather, error) && gather_start_measure(gather, error) &&
           gather_start_scan(gather, error) && gather_fetch_bytes(gather, error) &&
           gather_start_find(gather, error);
}

bool cuda_gather_copy(const struct cuda_gather *gather, size_t begin, size_t end,
                      unsigned char *target, struct error *error)
{
    return gather_start_copy<GATHER_THREAD_LINES, true>(gather, begin, end, target, error);
}
