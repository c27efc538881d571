/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_worker.cc - see cuda_worker.h. */
#include "cuda/engine/cuda_worker.h"

#include "core/clock.h"
#include "core/early_exit.h"
#include "cuda/engine/cuda_device.h"

#include <algorithm>

static bool worker_find_path(struct cuda_worker *worker, size_t tile_size, struct error *error)
{
    const struct algorithm *const algorithm = worker->algorithm;
    worker->path = cuda_path_find(algorithm);
    if (!worker->path)
        return error_set(error, "device %u: not a path of the gpu: %s", worker->device,
                         algorithm->name);
    return algorithm_has_tile(algorithm, tile_size) ||
           error_set(error, "device %u: %s has no tiles of %zu items", worker->device,
                     algorithm->name, tile_size);
}

/* Lets the process end before CUDA has released the devices (core/early_exit.h), unless a device
 * serves only one process: it must be free when the next process starts. */
static void worker_prepare_exit(const struct sort_spec *spec)
{
    int mode = cudaComputeModeDefault;
    struct error ignored = {};
    for (unsigned i = 0; mode == cudaComputeModeDefault && i < std::max(spec->device_count, 1u);
         i++) {
        const unsigned device = spec->device_count > 1 ? spec->devices[i].device : spec->device;
        if (!cuda_attribute(device, cudaDevAttrComputeMode, &mode, &ignored))
            return;
    }
    if (mode == cudaComputeModeDefault)
        early_exit_prepare();
}

/* Relates the device's clock to the host's, to some microseconds, if a trace is recorded. */
static bool worker_start_trace(struct cuda_worker *worker, struct error *error)
{
    const unsigned device = worker->device;
    if (!trace_is_recording())
        return true;
    const bool is_reached =
        cuda_check(cudaEventCreate(&worker->clock), device, "cudaEventCreate", error) &&
        cuda_check(cudaEventRecord(worker->clock, worker->stream), device, "cudaEventRecord",
                   error) &&
        cuda_check(cudaEventSynchronize(worker->clock), device, "cudaEventSynchronize", error);
    worker->clock_ns = clock_now_ns();
    return is_reached;
}

static bool worker_start_device(struct cuda_worker *worker, struct error *error)
{
    const unsigned device = worker->device;
    return cuda_device_find(device, error) && cuda_device_use(device, error) &&
           cuda_check(cudaStreamCreate(&worker->stream), device, "cudaStreamCreate", error) &&
           cuda_check(cudaEventCreate(&worker->started), device, "cudaEventCreate", error) &&
           cuda_check(cudaEventCreate(&worker->finished), device, "cudaEventCreate", error) &&
           worker_start_trace(worker, error);
}

static bool worker_make_status(struct cuda_worker *worker, struct error *error)
{
    if (!worker->path->finish)
        return true;
    return cuda_check(
        cudaMallocHost(reinterpret_cast<void **>(&worker->status), sizeof *worker->status),
        worker->device, "cudaMallocHost", error);
}

bool worker_open(struct cuda_worker *worker, const struct sort_spec *spec, struct error *error)
{
    worker->device = spec->device;
    worker->algorithm = spec->algorithm;
    if (!worker_find_path(worker, spec->tile_size, error) || !worker_start_device(worker, error))
        return false;
    worker_prepare_exit(spec);
    return worker_make_status(worker, error);
}

void worker_close(struct cuda_worker *worker)
{
    if (worker->status)
        (void)cudaFreeHost(worker->status);
    if (worker->finished)
        (void)cudaEventDestroy(worker->finished);
    if (worker->started)
        (void)cudaEventDestroy(worker->started);
    if (worker->clock)
        (void)cudaEventDestroy(worker->clock);
    if (worker->stream)
        (void)cudaStreamDestroy(worker->stream);
    *worker = {};
}

bool worker_check_count(const struct cuda_worker *worker, size_t count, struct error *error)
{
    const struct algorithm *const algorithm = worker->algorithm;
    return count <= algorithm->count_max ||
           error_set(error, "device %u: %s sorts at most %zu items, and there are %zu",
                     worker->device, algorithm->name, algorithm->count_max, count);
}

/* Adds the time from `start` to `end` to *ns. Both events must be complete. */
static bool add_elapsed(cudaEvent_t start, cudaEvent_t end, unsigned device, uint64_t *ns,
                        struct error *error)
{
    float milliseconds = 0;
    if (!cuda_check(cudaEventElapsedTime(&milliseconds, start, end), device, "cudaEventElapsedTime",
                    error))
        return false;
    *ns += static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
}

/* CUDA rounds a time some seconds away to a microsecond, so the part of a span that is before the
 * end of the lane's last span is cut off. */
bool worker_add_span(struct cuda_worker *worker, enum trace_lane lane, const char *name,
                     uint64_t bytes, cudaEvent_t start, cudaEvent_t end, uint64_t *ns,
                     struct error *error)
{
    const unsigned device = worker->device;
    const char *const call = lane == TRACE_KERNEL ? name : "cudaEventSynchronize";
    uint64_t begin_ns = worker->clock_ns, took_ns = 0;
    if (!cuda_check(cudaEventSynchronize(end), device, call, error) ||
        (worker->clock && !add_elapsed(worker->clock, start, device, &begin_ns, error)) ||
        !add_elapsed(start, end, device, &took_ns, error))
        return false;
    uint64_t *const reached_ns = &worker->reached_ns[lane];
    const uint64_t end_ns = std::max(begin_ns + took_ns, *reached_ns);
    trace_device_span(lane, device, name, std::max(begin_ns, *reached_ns), end_ns, bytes);
    *reached_ns = end_ns;
    *ns += took_ns;
    return true;
}

bool worker_start_clock(struct cuda_worker *worker, struct error *error)
{
    return cuda_check(cudaEventRecord(worker->started, worker->stream), worker->device,
                      "cudaEventRecord", error);
}

bool worker_mark_end(struct cuda_worker *worker, struct error *error)
{
    return cuda_check(cudaEventRecord(worker->finished, worker->stream), worker->device,
                      "cudaEventRecord", error);
}

bool worker_stop_clock(struct cuda_worker *worker, uint64_t bytes, uint64_t *busy_ns,
                       struct error *error)
{
    return worker_mark_end(worker, error) &&
           worker_add_span(worker, TRACE_KERNEL, worker->algorithm->name, bytes, worker->started,
                           worker->finished, busy_ns, error);
}

bool worker_sort(struct cuda_worker *worker, const struct cuda_sort &sort, uint64_t *busy_ns,
                 struct error *error)
{
    return worker_start_clock(worker, error) && cuda_path_sort(worker->path, &sort, error) &&
           worker_stop_clock(worker, sort.count * sort.item_bytes, busy_ns, error);
}
