/* simt_runtime.cc - the host's side of the stand-in: memory, streams, events, launches.
 *
 * Device memory is the heap's, so that AddressSanitizer watches it, leaks included: addresses are
 * kept complemented, and so hold nothing alive. A limit stands for the size of the device.
 *
 * A stream is a queue of closures. With SIMT_STREAMS=lazy nothing of it is done until somebody
 * waits for it, so a buffer that is reused too early, or read too early, holds the wrong bytes
 * every time instead of once in a while. Waiting for a position of a stream is the one way in which
 * work is done, and runs just that stream and what it waits for itself.
 *
 * All calls are serialised by one lock; "the device" runs on the thread that waits.
 */
#include "cuda_runtime.h"

#include "simt_launch.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

namespace
{

constexpr unsigned char poison = 0xa5;
constexpr size_t default_memory_bytes = (size_t)4 << 30, device_alignment = 256;
constexpr int max_shared_bytes = 48 * 1024;
constexpr int shared_bytes_per_multiprocessor = 228 * 1024, reserved_shared_bytes = 1024;
constexpr int max_block_threads = 1024, max_resident_threads = 2048, max_resident_blocks = 32;

/* Few and small, so that small inputs already fill the device and overflow its cache. */
constexpr int multiprocessors = 4, l2_cache_bytes = 1 << 20;

/* What the environment says of the device, or the default. */
size_t number_from(const char *name, size_t otherwise)
{
    const char *const text = getenv(name);
    return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

int capability()
{
    return static_cast<int>(number_from("SIMT_CAPABILITY", 90));
}

int max_shared_optin_bytes()
{
    return static_cast<int>(number_from("SIMT_SHARED_BYTES", 227 * 1024));
}

std::recursive_mutex device_lock;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t remember(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

/* ---- faults on order ---- */

/* How often each function was called. Tells SIMT_CALLS at the end. */
class call_counts
{
  public:
    unsigned long add(const std::string &name)
    {
        return ++counts_[name];
    }
    ~call_counts()
    {
        const char *path = getenv("SIMT_CALLS");
        FILE *file = path == nullptr ? nullptr : fopen(path, "w");
        if (file == nullptr)
            return;
        for (const auto &[name, count] : counts_)
            fprintf(file, "%s %lu\n", name.c_str(), count);
        fclose(file);
    }

  private:
    std::map<std::string, unsigned long> counts_;
};
call_counts calls_counted;

/* A kernel has died, or SIMT_FAIL says so: nothing is left of the device but this error. */
bool device_is_lost = false;

cudaError_t error_named(const std::string &name)
{
#define X(error, value, text)                                                                      \
    if (name == #error)                                                                            \
        return error;
    SIMT_ERRORS(X)
#undef X
    fprintf(stderr, "simt: SIMT_FAIL: there is no error '%s'\n", name.c_str());
    abort();
}

/* How this call of `name` is to fail: as SIMT_FAIL says, or with `fault` where it does not say how.
 * cudaSuccess: it is not to. */
cudaError_t order_for_call(const char *name, cudaError_t fault)
{
    const char *order = getenv("SIMT_FAIL");
    if (order == nullptr && getenv("SIMT_CALLS") == nullptr)
        return cudaSuccess;
    const unsigned long call = calls_counted.add(name);
    if (order == nullptr)
        return cudaSuccess;
    const std::string list = std::string(",") + order + ",", key = std::string(",") + name + ":";
    for (size_t at = list.find(key); at != std::string::npos; at = list.find(key, at + 1)) {
        char *end;
        if (strtoul(list.c_str() + at + key.size(), &end, 10) == call)
            return *end == ':' ? error_named(std::string(end + 1, strcspn(end + 1, ","))) : fault;
    }
    return cudaSuccess;
}

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

/* ---- address ranges ---- */

/* Disjoint ranges of memory, by address. */
class ranges
{
  public:
    void add(const void *pointer, size_t bytes)
    {
        bytes_at_[key(pointer)] = bytes;
    }
    /* The size of the range that begins at pointer, which is dropped; false if none does. */
    bool remove(const void *pointer, size_t *bytes)
    {
        const auto found = bytes_at_.find(key(pointer));
        if (found == bytes_at_.end())
            return false;
        *bytes = found->second;
        bytes_at_.erase(found);
        return true;
    }
    bool contains(const void *pointer, size_t bytes) const
    {
        /* Keys fall as addresses rise: the first key not below ours begins at or before us. */
        const auto found = bytes_at_.lower_bound(key(pointer));
        if (found == bytes_at_.end())
            return false;
        const size_t offset = found->first - key(pointer);
        return offset <= found->second && bytes <= found->second - offset;
    }

  private:
    static uintptr_t key(const void *pointer)
    {
        return ~(uintptr_t)pointer;
    }
    std::map<uintptr_t, size_t> bytes_at_;
};

ranges device_ranges, pinned_ranges;
size_t device_bytes_used = 0;

size_t device_bytes_total()
{
    return number_from("SIMT_MEMORY_BYTES", default_memory_bytes);
}

/* ---- streams ---- */

struct stream_work {
    std::deque<std::function<void()>> queue;
    uint64_t given = 0, done = 0; /* pieces of work, since the stream was made */
    bool is_blocking = true;      /* takes turns with the default stream */
};
typedef std::shared_ptr<stream_work> work_pointer;

const work_pointer default_work = std::make_shared<stream_work>();
std::vector<work_pointer> streams; /* all but the default one */

void run_until(stream_work &stream, uint64_t position)
{
    while (stream.done < position) {
        const std::function<void()> work = std::move(stream.queue.front());
        stream.queue.pop_front();
        work();
        stream.done++;
    }
}

void run_all(stream_work &stream)
{
    run_until(stream, stream.given);
}

/* Consumers tend to be made after producers, so the last stream goes first: an order that only
 * luck kept right goes wrong. */
void run_device()
{
    for (size_t i = streams.size(); i-- > 0;)
        run_all(*streams[i]);
    run_all(*default_work);
}

bool is_eager()
{
    const char *text = getenv("SIMT_STREAMS");
    if (text == nullptr || strcmp(text, "lazy") == 0)
        return false;
    if (strcmp(text, "eager") == 0)
        return true;
    fprintf(stderr, "simt: SIMT_STREAMS is '%s', not lazy or eager\n", text);
    abort();
}

/* The rule of the default stream: its work waits for that of all blocking streams given before, and
 * theirs for its own. */
std::function<void()> work_in_turn(const work_pointer &stream, std::function<void()> work)
{
    std::vector<std::pair<work_pointer, uint64_t>> before;
    if (stream == default_work) {
        for (const work_pointer &other : streams)
            if (other->is_blocking && other->done < other->given)
                before.emplace_back(other, other->given);
    } else if (stream->is_blocking && default_work->done < default_work->given) {
        before.emplace_back(default_work, default_work->given);
    }
    if (before.empty())
        return work;
    return [before, work] {
        for (const auto &[other, position] : before)
            run_until(*other, position);
        work();
    };
}

void give_work(const work_pointer &stream, std::function<void()> work)
{
    stream->queue.push_back(work_in_turn(stream, std::move(work)));
    stream->given++;
    if (is_eager())
        run_all(*stream);
}

/* ---- copies ---- */

bool is_device_range(const void *pointer, size_t bytes)
{
    return bytes == 0 || device_ranges.contains(pointer, bytes);
}

cudaError_t check_copy(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault || bytes == 0)
        return cudaSuccess;
    if (to_device != device_ranges.contains(to, to_device ? bytes : 1) ||
        from_device != device_ranges.contains(from, from_device ? bytes : 1))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* The driver has copied pageable memory to or from its own buffer when the call returns. */
bool is_pageable(const void *pointer, size_t bytes)
{
    return !device_ranges.contains(pointer, bytes) && !pinned_ranges.contains(pointer, bytes);
}

void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memmove(to, from, bytes);
}

} // namespace

struct CUstream_st {
    work_pointer work;
};

/* A point that a stream reaches. */
struct simt_event_record {
    work_pointer stream;
    uint64_t position;
    long long time_ns;
};

struct CUevent_st {
    bool has_time;
    std::shared_ptr<simt_event_record> record; /* NULL: never recorded */
};

namespace
{

/* The handles 1 and 2 name the default stream, too. */
const work_pointer &work_of(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2 ? default_work : stream->work;
}

bool is_reached(const simt_event_record &record)
{
    return record.stream->done >= record.position;
}

/* ---- allocation ---- */

cudaError_t allocate_host(void **pointer, size_t bytes)
{
    *pointer = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    if (posix_memalign(pointer, 4096, bytes) != 0)
        return cudaErrorMemoryAllocation;
    memset(*pointer, poison, bytes);
    pinned_ranges.add(*pointer, bytes);
    return cudaSuccess;
}

cudaError_t allocate_device(void **pointer, size_t bytes)
{
    *pointer = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    const size_t total = device_bytes_total();
    if (device_bytes_used > total || bytes > total - device_bytes_used)
        run_device(); /* there may be a cudaFreeAsync to come */
    if (device_bytes_used > total || bytes > total - device_bytes_used ||
        posix_memalign(pointer, device_alignment, bytes) != 0)
        return cudaErrorMemoryAllocation;
    memset(*pointer, poison, bytes);
    device_ranges.add(*pointer, bytes);
    device_bytes_used += bytes;
    return cudaSuccess;
}

cudaError_t release_device(void *pointer)
{
    size_t bytes;
    if (pointer == nullptr)
        return cudaSuccess;
    if (!device_ranges.remove(pointer, &bytes))
        return cudaErrorInvalidValue;
    device_bytes_used -= bytes;
    free(pointer);
    return cudaSuccess;
}

} // namespace

/* ---- errors ---- */

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return #name;
        SIMT_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return text;
        SIMT_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return last_error;
}

/* ---- devices ---- */

namespace
{
const std::map<cudaDeviceAttr, int> attributes = {
    {cudaDevAttrMaxThreadsPerBlock, max_block_threads},
    {cudaDevAttrMaxSharedMemoryPerBlock, max_shared_bytes},
    {cudaDevAttrWarpSize, warpSize},
    {cudaDevAttrClockRate, 1000000},
    {cudaDevAttrMultiProcessorCount, multiprocessors},
    {cudaDevAttrMemoryClockRate, 1000000},
    {cudaDevAttrGlobalMemoryBusWidth, 64},
    {cudaDevAttrL2CacheSize, l2_cache_bytes},
    {cudaDevAttrMaxThreadsPerMultiProcessor, max_resident_threads},
    {cudaDevAttrComputeCapabilityMajor, capability() / 10},
    {cudaDevAttrComputeCapabilityMinor, capability() % 10},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, shared_bytes_per_multiprocessor},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 64 * 1024},
    {cudaDevAttrCooperativeLaunch, 0},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, max_shared_optin_bytes()},
    {cudaDevAttrMaxBlocksPerMultiprocessor, max_resident_blocks},
    {cudaDevAttrReservedSharedMemoryPerBlock, reserved_shared_bytes},
    {cudaDevAttrMemoryPoolsSupported, 1}};
} // namespace

/* SIMT_DEVICES=N: there are so many, of which CUDA_VISIBLE_DEVICES shows those that it names; how
 * many are shown is told among the calls. But for the first one they are only counted. */
static int devices_shown()
{
    const char *const count = getenv("SIMT_DEVICES"), *const names = getenv("CUDA_VISIBLE_DEVICES");
    int shown = count == nullptr ? 1 : atoi(count);
    if (count != nullptr && names != nullptr)
        shown = *names == '\0'
                    ? 0
                    : 1 + static_cast<int>(std::count(names, names + strlen(names), ','));
    if (count != nullptr)
        calls_counted.add("shown:" + std::to_string(shown));
    return shown;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    return api_call("cudaGetDeviceCount", cudaErrorNoDevice).run([&] {
        *count = devices_shown();
        return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return api_call("cudaSetDevice").run([&] {
        return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    return api_call("cudaGetDevice").run([&] {
        *device = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return api_call("cudaInitDevice").run([&] {
        return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    });
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    return api_call("cudaSetDeviceFlags").run([] { return cudaSuccess; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    return api_call("cudaGetDeviceProperties").run([&] {
        if (device != 0)
            return cudaErrorInvalidDevice;
        *properties = {};
        snprintf(properties->name, sizeof(properties->name), "SIMT stand-in");
        properties->totalGlobalMem = device_bytes_total();
        properties->sharedMemPerBlock = max_shared_bytes;
        properties->sharedMemPerBlockOptin = (size_t)max_shared_optin_bytes();
        properties->sharedMemPerMultiprocessor = shared_bytes_per_multiprocessor;
        properties->reservedSharedMemPerBlock = reserved_shared_bytes;
        properties->totalConstMem = 64 * 1024;
        properties->regsPerBlock = properties->regsPerMultiprocessor = 64 * 1024;
        properties->warpSize = warpSize;
        properties->maxThreadsPerBlock = max_block_threads;
        properties->maxThreadsPerMultiProcessor = max_resident_threads;
        properties->maxBlocksPerMultiProcessor = max_resident_blocks;
        properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = max_block_threads;
        properties->maxThreadsDim[2] = 64;
        properties->maxGridSize[0] = 0x7fffffff;
        properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
        properties->major = capability() / 10;
        properties->minor = capability() % 10;
        properties->multiProcessorCount = multiprocessors;
        properties->l2CacheSize = l2_cache_bytes;
        properties->memoryBusWidth = 64;
        properties->asyncEngineCount = 2;
        properties->unifiedAddressing = 1;
        properties->canMapHostMemory = 1;
        properties->concurrentKernels = 1;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    return api_call("cudaDeviceGetAttribute").run([&] {
        const auto found = attributes.find(attribute);
        if (device != 0)
            return cudaErrorInvalidDevice;
        if (found == attributes.end())
            return cudaErrorInvalidValue;
        *value = found->second;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize()
{
    return api_call("cudaDeviceSynchronize").run([] {
        run_device();
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceReset()
{
    return api_call("cudaDeviceReset").run([] {
        run_device();
        return cudaSuccess;
    });
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return api_call("cudaDriverGetVersion").run([&] {
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return api_call("cudaRuntimeGetVersion").run([&] {
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

/* ---- streams and events ---- */

static cudaError_t make_stream(cudaStream_t *stream, unsigned flags)
{
    if (flags > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    *stream = new CUstream_st{std::make_shared<stream_work>()};
    (*stream)->work->is_blocking = flags != cudaStreamNonBlocking;
    streams.push_back((*stream)->work);
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return api_call("cudaStreamCreate").run([&] { return make_stream(stream, cudaStreamDefault); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return api_call("cudaStreamCreateWithFlags").run([&] { return make_stream(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return api_call("cudaStreamCreateWithPriority").run([&] { return make_stream(stream, flags); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return api_call("cudaDeviceGetStreamPriorityRange").run([&] {
        *least = 0;
        *greatest = -5;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return api_call("cudaStreamDestroy").run_anyway([&] {
        if ((uintptr_t)stream <= 2)
            return cudaErrorInvalidResourceHandle;
        run_all(*stream->work);
        streams.erase(std::find(streams.begin(), streams.end(), stream->work));
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return api_call("cudaStreamSynchronize").run([&] {
        run_all(*work_of(stream));
        return cudaSuccess;
    });
}

/* Says "not ready" once, as a device would, and then does the work: a loop of queries ends. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return api_call("cudaStreamQuery").run([&] {
        stream_work &work = *work_of(stream);
        if (work.done == work.given)
            return cudaSuccess;
        run_all(work);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    return api_call("cudaStreamWaitEvent").run([&] {
        if (event->record == nullptr)
            return cudaSuccess;
        give_work(work_of(stream),
                  [record = event->record] { run_until(*record->stream, record->position); });
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return api_call("cudaLaunchHostFunc").run([&] {
        give_work(work_of(stream), [function, data] { function(data); });
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    return api_call("cudaEventCreate").run([&] {
        *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0, nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return api_call("cudaEventRecord").run([&] {
        const work_pointer &work = work_of(stream);
        event->record =
            std::make_shared<simt_event_record>(simt_event_record{work, work->given + 1, 0});
        give_work(work, [record = event->record] { record->time_ns = clock64(); });
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return api_call("cudaEventSynchronize").run([&] {
        if (event->record != nullptr)
            run_until(*event->record->stream, event->record->position);
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return api_call("cudaEventQuery").run([&] {
        if (event->record == nullptr || is_reached(*event->record))
            return cudaSuccess;
        run_until(*event->record->stream, event->record->position);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return api_call("cudaEventElapsedTime").run([&] {
        if (!start->has_time || !end->has_time || start->record == nullptr ||
            end->record == nullptr)
            return cudaErrorInvalidResourceHandle;
        if (!is_reached(*start->record) || !is_reached(*end->record))
            return cudaErrorNotReady;
        *milliseconds = (float)(end->record->time_ns - start->record->time_ns) * 1e-6f;
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return api_call("cudaEventDestroy").run_anyway([&] {
        delete event;
        return cudaSuccess;
    });
}

/* ---- memory ---- */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return api_call("cudaMemGetInfo").run([&] {
        *total_bytes = device_bytes_total();
        *free_bytes = *total_bytes - std::min(*total_bytes, device_bytes_used);
        return cudaSuccess;
    });
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return api_call("cudaMalloc", cudaErrorMemoryAllocation).run([&] {
        return allocate_device(pointer, bytes);
    });
}

cudaError_t cudaFree(void *pointer)
{
    return api_call("cudaFree").run_anyway([&] {
        run_device();
        return release_device(pointer);
    });
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t)
{
    return api_call("cudaMallocAsync", cudaErrorMemoryAllocation).run([&] {
        return allocate_device(pointer, bytes);
    });
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    return api_call("cudaFreeAsync").run([&] {
        if (pointer != nullptr && !device_ranges.contains(pointer, 1))
            return cudaErrorInvalidValue;
        give_work(work_of(stream), [pointer] {
            if (release_device(pointer) != cudaSuccess) {
                fprintf(stderr, "simt: cudaFreeAsync of what is not, or no longer, allocated\n");
                abort();
            }
        });
        return cudaSuccess;
    });
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes, unsigned)
{
    return api_call("cudaMallocHost", cudaErrorMemoryAllocation).run([&] {
        return allocate_host(pointer, bytes);
    });
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned)
{
    return api_call("cudaHostAlloc", cudaErrorMemoryAllocation).run([&] {
        return allocate_host(pointer, bytes);
    });
}

cudaError_t cudaFreeHost(void *pointer)
{
    return api_call("cudaFreeHost").run_anyway([&] {
        size_t bytes;
        run_device();
        if (pointer != nullptr && !pinned_ranges.remove(pointer, &bytes))
            return cudaErrorInvalidValue;
        free(pointer);
        return cudaSuccess;
    });
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned)
{
    return api_call("cudaHostRegister", cudaErrorMemoryAllocation).run([&] {
        if (pointer == nullptr || bytes == 0)
            return cudaErrorInvalidValue;
        if (pinned_ranges.contains(pointer, 1))
            return cudaErrorHostMemoryAlreadyRegistered;
        pinned_ranges.add(pointer, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void *pointer)
{
    return api_call("cudaHostUnregister").run_anyway([&] {
        size_t bytes;
        run_device();
        return pinned_ranges.remove(pointer, &bytes) ? cudaSuccess
                                                     : cudaErrorHostMemoryNotRegistered;
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return api_call("cudaMemcpy").run([&] {
        if (const cudaError_t error = check_copy(to, from, bytes, kind))
            return error;
        give_work(default_work, [=] { copy_bytes(to, from, bytes); });
        run_all(*default_work);
        return cudaSuccess;
    });
}

/* SIMT_FLIP=upload or download: the first copy of so many bytes or more, that way, turns a bit
 * over; tests/proof.sh. */
void flip_bit(void *to, size_t bytes, cudaMemcpyKind kind)
{
    static bool has_flipped;
    const char *const flip = getenv("SIMT_FLIP");
    if (!flip || has_flipped || bytes < 4096 ||
        strcmp(flip, kind == cudaMemcpyHostToDevice ? "upload" : "download") != 0 ||
        (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost))
        return;
    has_flipped = true;
    static_cast<unsigned char *>(to)[bytes / 2] ^= 1;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return api_call("cudaMemcpyAsync").run([&] {
        if (const cudaError_t error = check_copy(to, from, bytes, kind))
            return error;
        give_work(work_of(stream), [=] {
            copy_bytes(to, from, bytes);
            flip_bit(to, bytes, kind);
        });
        if (is_pageable(to, bytes) || is_pageable(from, bytes))
            run_all(*work_of(stream));
        return cudaSuccess;
    });
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    return api_call("cudaMemsetAsync").run([&] {
        if (!is_device_range(pointer, bytes))
            return cudaErrorInvalidValue;
        give_work(work_of(stream), [=] {
            if (bytes > 0)
                memset(pointer, value, bytes);
        });
        return cudaSuccess;
    });
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    return cudaMemsetAsync(pointer, value, bytes, nullptr);
}

/* ---- kernels ---- */

namespace
{

/* The dynamic shared memory that cudaFuncSetAttribute allowed each kernel. */
std::map<const void *, int> shared_bytes_allowed;

int shared_limit(const void *kernel)
{
    const auto found = shared_bytes_allowed.find(kernel);
    return found == shared_bytes_allowed.end() ? max_shared_bytes : found->second;
}

bool is_valid_grid(const dim3 &grid, const dim3 &block)
{
    return grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffff && grid.y <= 65535 &&
           grid.z <= 65535 && block.x >= 1 && block.y >= 1 && block.z >= 1 &&
           block.x <= max_block_threads && block.y <= max_block_threads && block.z <= 64 &&
           block.x * block.y * block.z <= max_block_threads;
}

cudaError_t check_launch(const cudaLaunchConfig_t &config, const void *kernel)
{
    if (kernel == nullptr)
        return cudaErrorInvalidDeviceFunction;
    if (!is_valid_grid(config.gridDim, config.blockDim) ||
        config.dynamicSmemBytes > (size_t)max_shared_optin_bytes())
        return cudaErrorInvalidConfiguration;
    if (config.dynamicSmemBytes > (size_t)shared_limit(kernel))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config.numAttrs; i++) {
        const cudaLaunchAttribute &attribute = config.attrs[i];
        const auto &cluster = attribute.val.clusterDim;
        if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0)
            return cudaErrorNotSupported;
        if (attribute.id == cudaLaunchAttributeClusterDimension &&
            (cluster.x != 1 || cluster.y != 1 || cluster.z != 1))
            return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

} // namespace

cudaError_t simt_launch(const cudaLaunchConfig_t *config, const void *kernel,
                        std::function<void()> run_thread)
{
    return api_call("cudaLaunchKernelEx", cudaErrorLaunchOutOfResources).run([&] {
        if (const cudaError_t error = check_launch(*config, kernel))
            return error;
        const struct simt_kernel launch = {kernel, std::move(run_thread), config->gridDim,
                                           config->blockDim, config->dynamicSmemBytes};
        give_work(work_of(config->stream), [launch] {
            if (order_for_call("kernel", cudaErrorLaunchFailure) != cudaSuccess)
                device_is_lost = true;
            if (!device_is_lost)
                simt_run_kernel(launch);
        });
        return cudaSuccess;
    });
}

cudaError_t simt_function_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    return api_call("cudaFuncSetAttribute").run([&] {
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
            return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            value > max_shared_optin_bytes())
            return cudaErrorInvalidValue;
        shared_bytes_allowed[kernel] = value;
        return cudaSuccess;
    });
}

cudaError_t simt_function_get_attributes(cudaFuncAttributes *attributes, const void *kernel)
{
    return api_call("cudaFuncGetAttributes").run([&] {
        *attributes = {};
        attributes->maxThreadsPerBlock = max_block_threads;
        attributes->numRegs = 32;
        attributes->ptxVersion = 90;
        attributes->maxDynamicSharedSizeBytes = shared_limit(kernel);
        return cudaSuccess;
    });
}

cudaError_t simt_occupancy(int *blocks, int block_threads, size_t dynamic_shared_bytes)
{
    return api_call("cudaOccupancyMaxActiveBlocksPerMultiprocessor").run([&] {
        if (block_threads < 1)
            return cudaErrorInvalidValue;
        const size_t by_shared = (size_t)shared_bytes_per_multiprocessor /
                                 (dynamic_shared_bytes + (size_t)reserved_shared_bytes);
        *blocks = std::min({max_resident_threads / block_threads, max_resident_blocks,
                            (int)std::min(by_shared, (size_t)max_resident_blocks)});
        return cudaSuccess;
    });
}
