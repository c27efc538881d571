/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_check.h - turns failed CUDA calls, and impossible numbers from a device, into errors; and
 * the calls that most files make.
 */
#ifndef CUDA_CUDA_CHECK_H
#define CUDA_CUDA_CHECK_H

#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* Returns true if `status` is success. Otherwise sets the error "device N: CALL: CUDA's message",
 * with is_of_device, and clears CUDA's last error, so that a later call does not report it. */
static inline bool cuda_check(cudaError_t status, unsigned device, const char *call,
                              struct error *error)
{
    if (status == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    return error_set_of_device(error, device, "%s: %s", call, cudaGetErrorString(status));
}

/* ---- work on a stream; `on` has a device and its stream: a sort, a text, a worker ---- */

/* Starts to set each byte of the memory to `byte`. */
template <typename On>
static bool cuda_fill(const On &on, void *memory, int byte, size_t bytes, struct error *error)
{
    return cuda_check(cudaMemsetAsync(memory, byte, bytes, on.stream), on.device, "cudaMemsetAsync",
                      error);
}

/* Starts a copy within the device, or from or to the host. */
template <typename On>
static bool cuda_copy(const On &on, void *to, const void *from, size_t bytes, struct error *error)
{
    return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on.stream), on.device,
                      "cudaMemcpyAsync", error);
}

/* Waits for all work on the stream. */
template <typename On>
static bool cuda_wait(const On &on, struct error *error)
{
    return cuda_check(cudaStreamSynchronize(on.stream), on.device, "cudaStreamSynchronize", error);
}

/* Copies, and waits for all work on the stream. */
template <typename On>
static bool cuda_fetch(const On &on, void *to, const void *from, size_t bytes, struct error *error)
{
    return cuda_copy(on, to, from, bytes, error) && cuda_wait(on, error);
}

/* ---- numbers from a device ---- */

/* Sets *value to an attribute of the device. */
static inline bool cuda_attribute(unsigned device, cudaDeviceAttr attribute, int *value,
                                  struct error *error)
{
    return cuda_check(cudaDeviceGetAttribute(value, attribute, static_cast<int>(device)), device,
                      "cudaDeviceGetAttribute", error);
}

/* Returns true if a number that the device returned is at most `most`. Otherwise sets an error that
 * names the number `what`. The host calls it before it uses the number as a size or an index. */
static inline bool cuda_check_value(size_t value, size_t most, unsigned device, const char *what,
                                    struct error *error)
{
    return value <= most ||
           error_set(
               error,
               "device %u: returned an impossible %s, %zu where %zu is the most; --device=cpu "
               "does without it",
               device, what, value, most);
}

#endif
