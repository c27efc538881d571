/* SPDX-License-Identifier: Apache-2.0 */
/* simt_state.h - what the stand-in's functions of the host share: the lock, faults on order, and
 * the work that streams have to do; for simt_runtime.cc, simt_memory.cc and
 * simt_streams.cc.
 *
 * All calls are serialised by one lock; "the device" runs on the thread that waits.
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

/* What the environment says, or the default. */
size_t number_from(const char *name, size_t otherwise);

extern std::recursive_mutex device_lock;
extern thread_local cudaError_t last_error;

/* Keeps an error for cudaGetLastError, and returns it. */
cudaError_t remember(cudaError_t error);

/* ---- faults on order ---- */

/* A kernel has died, or SIMT_FAIL says so: nothing is left of the device but this error. */
extern bool device_is_lost;

/* Counts a call for SIMT_CALLS, which is told at the end; returns how many there were. */
unsigned long count_call(const std::string &name);

/* How this call of `name` is to fail: as SIMT_FAIL says, or with `fault` where it does not say how.
 * cudaSuccess: it is not to. */
cudaError_t order_for_call(const char *name, cudaError_t fault);

/* What each API function begins with: takes the lock, and fails where SIMT_FAIL says so. */
class api_call
{
  public:
    explicit api_call(const char *name, cudaError_t fault = cudaErrorUnknown)
        : lock_(device_lock), fault_(order_for_call(name, fault))
    {
        device_is_lost = device_is_lost || fault_ == cudaErrorLaunchFailure;
    }
    /* The error of the call: the fault ordered, or what `work` returns. */
    template <class F>
    cudaError_t run(F work) const
    {
        const bool is_done = fault_ == cudaSuccess && !device_is_lost;
        return result(is_done ? work() : fault_);
    }
    /* The same, but the work is done in any case: nothing is kept of what is let go. */
    template <class F>
    cudaError_t run_anyway(F work) const
    {
        const cudaError_t error = work();
        return result(fault_ != cudaSuccess ? fault_ : error);
    }

  private:
    static cudaError_t result(cudaError_t error)
    {
        return remember(device_is_lost ? cudaErrorLaunchFailure : error);
    }
    const std::lock_guard<std::recursive_mutex> lock_;
    const cudaError_t fault_;
};

/* SIMT_MEMORY_BYTES: the size of the device. */
size_t device_bytes_total();

/* ---- streams ---- */

struct stream_work {
    std::deque<std::function<void()>> queue;
    uint64_t given = 0, done = 0; /* pieces of work, since the stream was made */
    bool is_blocking = true;      /* takes turns with the default stream */
};
typedef std::shared_ptr<stream_work> work_pointer;

extern const work_pointer default_work;
extern std::vector<work_pointer> streams; /* all but the default one */

/* Does the stream's work up to a position; all of it; all of all streams. */
void run_until(stream_work &stream, uint64_t position);
void run_all(stream_work &stream);
void run_device();

/* Puts work behind what the stream has; done at once with SIMT_STREAMS=eager. */
void give_work(const work_pointer &stream, std::function<void()> work);

/* The handles 1 and 2 name the default stream, too. */
const work_pointer &work_of(cudaStream_t stream);

} // namespace simt

struct CUstream_st {
    simt::work_pointer work;
};

#endif
