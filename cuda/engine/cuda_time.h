/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_time.h - measures the device time between two events, and maps it to the host's clock. */
#ifndef CUDA_CUDA_TIME_H
#define CUDA_CUDA_TIME_H

#include "core/clock.h"
#include "core/trace.h"
#include "cuda/cuda_check.h"

#include <algorithm>
#include <stdint.h>

/* An event whose time on the host's clock is known to some microseconds. */
struct cuda_clock {
    cudaEvent_t event; /* NULL: no trace is recorded */
    uint64_t host_ns;
    uint64_t reached_ns[TRACE_LANE_COUNT]; /* end of the lane's last span */
};

/* Creates the clock of an idle stream, if a trace is recorded. */
static inline bool cuda_clock_open(struct cuda_clock *clock, cudaStream_t stream, unsigned device,
                                   struct error *error)
{
    if (!trace_is_recording())
        return true;
    const bool is_reached =
        cuda_check(cudaEventCreate(&clock->event), device, "cudaEventCreate", error) &&
        cuda_check(cudaEventRecord(clock->event, stream), device, "cudaEventRecord", error) &&
        cuda_check(cudaEventSynchronize(clock->event), device, "cudaEventSynchronize", error);
    clock->host_ns = clock_now_ns();
    return is_reached;
}

static inline void cuda_clock_close(struct cuda_clock *clock)
{
    if (clock->event)
        (void)cudaEventDestroy(clock->event);
    clock->event = NULL;
}

/* Adds the time from `start` to `end` to *ns. Both events must be complete. */
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

/* As cuda_add_elapsed, and also reports a span of work on `bytes` bytes to core/trace.h. CUDA
 * rounds a time some seconds away to a microsecond, so the part of a span that is before the end of
 * the lane's last span is cut off. */
static inline bool cuda_add_span(struct cuda_clock *clock, enum trace_lane lane, const char *name,
                                 uint64_t bytes, cudaEvent_t start, cudaEvent_t end,
                                 unsigned device, uint64_t *ns, struct error *error)
{
    uint64_t begin_ns = clock->host_ns, took_ns = 0;
    if ((clock->event && !cuda_add_elapsed(clock->event, start, device, &begin_ns, error)) ||
        !cuda_add_elapsed(start, end, device, &took_ns, error))
        return false;
    const uint64_t end_ns = std::max(begin_ns + took_ns, clock->reached_ns[lane]);
    trace_device_span(lane, device, name, std::max(begin_ns, clock->reached_ns[lane]), end_ns,
                      bytes);
    clock->reached_ns[lane] = end_ns;
    *ns += took_ns;
    return true;
}

#endif
