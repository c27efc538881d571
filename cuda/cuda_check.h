/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_check.h - the one place where the result of a CUDA call, or a figure that a device returns,
 * becomes an error.
 */
#ifndef CUDA_CUDA_CHECK_H
#define CUDA_CUDA_CHECK_H

#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* True if `status` is success. Otherwise sets "device N: CALL: what CUDA says" and clears CUDA's
 * own note of a failure that is not final, so that it is not blamed on a later call. */
static inline bool cuda_check(cudaError_t status, unsigned device, const char *call,
                              struct error *error)
{
    if (status == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    return error_set(error, "device %u: %s: %s", device, call, cudaGetErrorString(status));
}

/* True if a figure that the device returned is at most `most`. To be called before the host sizes
 * or indexes anything by it. */
static inline bool cuda_check_figure(size_t figure, size_t most, unsigned device, const char *what,
                                     struct error *error)
{
    return figure <= most ||
           error_set(error,
                     "gpu %u: returned an impossible %s, %zu where %zu is the most; --device=cpu "
                     "does without it",
                     device, what, figure, most);
}

#endif
