/* cuda_time.h - device time between two events. */
#ifndef CUDA_CUDA_TIME_H
#define CUDA_CUDA_TIME_H

#include "cuda/cuda_check.h"

#include <stdint.h>

/* Adds the time from `start` to `end`, both reached, to *ns. */
static inline bool cuda_add_elapsed(cudaEvent_t start, cudaEvent_t end, unsigned device,
                                    uint64_t *ns, struct error *error)
{
    float milliseconds = 0;
    if (!cuda_check(cudaEventElapsedTime(&milliseconds, start, end), device, "cudaEventElapsedTime",
                    error))
        return false;
    *ns += static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
}

#endif
