/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_range.h - marks phases of the host's work for a profiler: nsys shows the ranges above the
 * kernels.
 *
 * NVTX consists of headers only. Without a profiler, a range is two calls that return at once.
 */
#ifndef CUDA_NVTX_RANGE_H
#define CUDA_NVTX_RANGE_H

#include <nvtx3/nvToolsExt.h>

/* A range named `name`, from here to the end of the scope. The name is only read. */
struct nvtx_range {
    explicit nvtx_range(const char *name)
    {
        (void)nvtxRangePushA(name);
    }
    ~nvtx_range()
    {
        (void)nvtxRangePop();
    }
    nvtx_range(const nvtx_range &) = delete;
    nvtx_range &operator=(const nvtx_range &) = delete;
};

#endif
