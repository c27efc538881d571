/* SPDX-License-Identifier: Apache-2.0 */
/* simt_state.h - shared by the stand-in's host functions in simt_runtime.cc and simt_memory.cc: the
 * lock, injected faults, and the work of streams.
 *
 * One lock serializes all calls. "The device" runs on the thread that waits.
 */
#ifndef SIMT_STATE_H
#define SIMT_STATE_H

#include "cuda_runtime.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace simt
{

/* Returns the number in the environment variable `name`, or `otherwise` if that is not set. Aborts
 * if it is not a number. */
size_t number_from(const char *name, size_t otherwise);

extern std::recursive_mutex device_lock;

/* Stores an error for cudaGetLastError, and returns it. */
cudaError_t remember(cudaError_t error);

/* ---- injected faults ---- */

/* A kernel died on the device, or SIMT_FAIL simulates it: all later calls for this device return
 * cudaErrorLaunchFailure, and those for other devices do not. */
bool is_lost(int device);
void lose(int device);

/* The device of cudaSetDevice. */
extern thread_local int current_device;

/* Returns the error of this call of `name`: as SIMT_FAIL sets it, or `fault` if that sets none.
 * cudaSuccess: the call must not fail. SIMT_FAIL=NAME:3 is the third call of all, NAME@1:3 the
 * third while device 1 is current. */
cudaError_t order_for_call(const char *name, cudaError_t fault, int device = current_device);

/* The beginning of each API function: takes the lock, and fails if SIMT_FAIL requests it. */
class api_call
{
  public:
    explicit api_call(const char *name, cudaError_t fault = cudaErrorUnknown)
        : lock_(device_lock), fault_(order_for_call(name, fault))
    {
        if (fault_ == cudaErrorLaunchFailure)
            lose(current_device);
    }
    /* Returns the error of the call: the injected fault, or the result of `work`. */
    template <class F>
    cudaError_t run(F work) const
    {
        const bool is_done = fault_ == cudaSuccess && !is_lost(current_device);
        return result(is_done ? work() : fault_);
    }
    /* As `run`, for a call that does not use the current device. */
    template <class F>
    cudaError_t run_without_device(F work) const
    {
        return remember(fault_ == cudaSuccess ? work() : fault_);
    }
    /* As `run`, but does the work in any case, so that memory is always released. */
    template <class F>
    cudaError_t run_anyway(F work) const
    {
        const cudaError_t error = work();
        return result(fault_ != cudaSuccess ? fault_ : error);
    }

  private:
    static cudaError_t result(cudaError_t error)
    {
        return remember(is_lost(current_device) ? cudaErrorLaunchFailure : error);
    }
    const std::lock_guard<std::recursive_mutex> lock_;
    const cudaError_t fault_;
};

/* ---- devices ---- */

/* Returns the number of devices. Reads SIMT_DEVICES and CUDA_VISIBLE_DEVICES on the first call, as
 * CUDA does. */
int device_count();

/* Returns the memory of a device, of SIMT_MEMORY_BYTES. */
size_t device_bytes_total(int device);

/* ---- streams ---- */

struct stream_work {
    std::deque<std::function<void()>> queue;
    uint64_t given = 0, done = 0; /* pieces of work since the stream was created */
    int device = 0;
};
typedef std::shared_ptr<stream_work> work_pointer;

/* Runs the stream's work up to a position; all of its work; all work of a device. */
void run_until(stream_work &stream, uint64_t position);
void run_all(stream_work &stream);
void run_device(int device);

/* Appends work to the stream. With SIMT_STREAMS=eager it runs at once. */
void give_work(const work_pointer &stream, std::function<void()> work);

/* Returns the work of a stream; of the current device's default stream for NULL. */
const work_pointer &work_of(cudaStream_t stream);

} // namespace simt

struct CUstream_st {
    simt::work_pointer work;
};

#endif
