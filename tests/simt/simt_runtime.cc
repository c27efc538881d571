/* SPDX-License-Identifier: Apache-2.0 */
/* simt_runtime.cc - the host's part of the stand-in: faults, errors, devices, streams, events,
 * launches. Memory is in simt_memory.cc.
 *
 * A stream is a queue of closures. With SIMT_STREAMS=lazy none of them runs until a call waits for
 * it. So a buffer that is reused or read too early holds the wrong bytes every time, instead of now
 * and then. A wait for a position of a stream runs just that stream. The default stream is one like
 * the others: CUDA's other rule for it would hide a missing wait.
 */
#include "simt_launch.h"
#include "simt_state.h"

#include <algorithm>
#include <chrono>
#include <ctype.h>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace simt
{

size_t number_from(const char *name, size_t otherwise)
{
    const char *const text = getenv(name);
    char *end = nullptr;
    const size_t number = text == nullptr ? otherwise : strtoull(text, &end, 10);
    if (end != nullptr && (end == text || *end != '\0')) {
        fprintf(stderr, "simt: %s is '%s', not a number\n", name, text);
        abort();
    }
    return number;
}

std::recursive_mutex device_lock;
static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t remember(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

/* ---- injected faults ---- */

namespace
{

/* The number of calls of each function. Writes SIMT_CALLS at exit. */
struct call_counts {
    std::map<std::string, unsigned long> of;

    ~call_counts()
    {
        const char *path = getenv("SIMT_CALLS");
        FILE *file = path == nullptr ? nullptr : fopen(path, "w");
        if (file == nullptr)
            return;
        for (const auto &[name, count] : of)
            fprintf(file, "%s %lu\n", name.c_str(), count);
        fclose(file);
    }
} calls;

} // namespace

/* Counts a call for SIMT_CALLS. Returns the number of calls so far. */
static unsigned long count_call(const std::string &name)
{
    return ++calls.of[name];
}

static std::set<int> lost_devices;

bool is_lost(int device)
{
    return lost_devices.count(device) > 0;
}

void lose(int device)
{
    lost_devices.insert(device);
}

static cudaError_t error_named(const std::string &name)
{
#define X(error, value, text)                                                                      \
    if (name == #error)                                                                            \
        return error;
    SIMT_ERRORS(X)
#undef X
    fprintf(stderr, "simt: SIMT_FAIL: there is no error '%s'\n", name.c_str());
    abort();
}

/* Counts this call of `name`, and returns the error that `order`, the text of SIMT_FAIL, has for
 * it. */
static cudaError_t order_for_name(const char *order, const std::string &name, cudaError_t fault)
{
    const unsigned long call = count_call(name);
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

cudaError_t order_for_call(const char *name, cudaError_t fault, int device)
{
    const char *const order = getenv("SIMT_FAIL");
    if (order == nullptr && getenv("SIMT_CALLS") == nullptr)
        return cudaSuccess;
    const cudaError_t error = order_for_name(order, name, fault);
    if (error != cudaSuccess || order == nullptr || strchr(order, '@') == nullptr)
        return error;
    return order_for_name(order, std::string(name) + "@" + std::to_string(device), fault);
}

/* ---- devices ---- */

thread_local int current_device = 0;

static int read_device_count()
{
    const char *const count = getenv("SIMT_DEVICES"), *const names = getenv("CUDA_VISIBLE_DEVICES");
    if (count == nullptr)
        return 1;
    const int all = atoi(count);
    if (names == nullptr)
        return all;
    /* The devices after a number that does not exist are hidden. */
    int shown = 0;
    for (const char *name = names; *name != '\0'; shown++) {
        if (isdigit((unsigned char)*name) && atoi(name) >= all)
            break;
        name += strcspn(name, ",");
        name += *name == ',';
    }
    return shown;
}

int device_count()
{
    static const int count = read_device_count();
    return count;
}

/* Returns the device's number in the list in the environment variable `name`, whose last number is
 * for the other devices; `otherwise` if that is not set. */
static size_t number_of_device(const char *name, int device, size_t otherwise)
{
    size_t number = otherwise;
    const char *text = getenv(name);
    for (int i = 0; text != nullptr && i <= device; i++) {
        char *end;
        number = strtoull(text, &end, 10);
        text = *end == ',' ? end + 1 : nullptr;
    }
    return number;
}

size_t device_bytes_total(int device)
{
    return number_of_device("SIMT_MEMORY_BYTES", device, (size_t)4 << 30);
}

/* ---- streams ---- */

static std::vector<work_pointer> streams;

static work_pointer make_stream(int device)
{
    streams.push_back(std::make_shared<stream_work>());
    streams.back()->device = device;
    return streams.back();
}

static const work_pointer &default_work(int device)
{
    static std::map<int, work_pointer> works;
    work_pointer &work = works[device];
    if (work == nullptr)
        work = make_stream(device);
    return work;
}

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

/* Consumers tend to be created after producers, so the last stream runs first: an order that was
 * right only by luck fails. */
void run_device(int device)
{
    for (size_t i = streams.size(); i-- > 0;)
        if (streams[i]->device == device)
            run_all(*streams[i]);
}

static bool is_eager()
{
    const char *text = getenv("SIMT_STREAMS");
    if (text == nullptr || strcmp(text, "lazy") == 0)
        return false;
    if (strcmp(text, "eager") == 0)
        return true;
    fprintf(stderr, "simt: SIMT_STREAMS is '%s', not lazy or eager\n", text);
    abort();
}

void give_work(const work_pointer &stream, std::function<void()> work)
{
    stream->queue.push_back(std::move(work));
    stream->given++;
    if (is_eager())
        run_all(*stream);
}

const work_pointer &work_of(cudaStream_t stream)
{
    return stream == nullptr ? default_work(current_device) : stream->work;
}

} // namespace simt

using namespace simt;

namespace
{

constexpr int max_shared_bytes = 48 * 1024, max_block_threads = 1024;

/* Few and small, so that small inputs already fill the device and overflow its cache. */
constexpr int multiprocessors = 4, l2_cache_bytes = 1 << 20;

int capability()
{
    return static_cast<int>(number_from("SIMT_CAPABILITY", 90));
}

int max_shared_optin_bytes(int device)
{
    return static_cast<int>(number_of_device("SIMT_SHARED_BYTES", device, 227 * 1024));
}

} // namespace

/* ---- errors ---- */

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

/* ---- devices ---- */

static bool is_device(int device)
{
    return device >= 0 && device < device_count();
}

cudaError_t cudaGetDeviceCount(int *count)
{
    return api_call("cudaGetDeviceCount", cudaErrorNoDevice).run_without_device([&] {
        *count = device_count();
        count_call("shown:" + std::to_string(*count));
        return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return api_call("cudaSetDevice").run_without_device([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        if (is_lost(device))
            return cudaErrorLaunchFailure;
        current_device = device;
        return cudaSuccess;
    });
}

/* The number of a device among all, of which CUDA_VISIBLE_DEVICES shows some. */
static int number_of(int device)
{
    const char *name = getenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; name != nullptr && i < device; i++) {
        name = strchr(name, ',');
        name += name != nullptr;
    }
    return name != nullptr && isdigit((unsigned char)*name) ? atoi(name) : device;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    return api_call("cudaGetDeviceProperties").run_without_device([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        *properties = {};
        snprintf(properties->name, sizeof(properties->name), "SIMT stand-in");
        snprintf(properties->uuid, sizeof(properties->uuid), "SIMT %d", number_of(device));
        properties->totalGlobalMem = device_bytes_total(device);
        properties->sharedMemPerBlockOptin = (size_t)max_shared_optin_bytes(device);
        properties->multiProcessorCount = multiprocessors;
        properties->l2CacheSize = l2_cache_bytes;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    return api_call("cudaDeviceGetAttribute").run_without_device([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        const int mode = static_cast<int>(number_from("SIMT_COMPUTE_MODE", cudaComputeModeDefault));
        *value = attribute == cudaDevAttrMultiProcessorCount      ? multiprocessors
                 : attribute == cudaDevAttrComputeCapabilityMajor ? capability() / 10
                 : attribute == cudaDevAttrComputeCapabilityMinor ? capability() % 10
                 : attribute == cudaDevAttrComputeMode            ? mode
                                                                  : max_shared_optin_bytes(device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize()
{
    return api_call("cudaDeviceSynchronize").run([] {
        run_device(current_device);
        return cudaSuccess;
    });
}

/* ---- streams and events ---- */

/* A position in a stream. */
struct simt_event_record {
    work_pointer stream;
    uint64_t position;
    std::chrono::steady_clock::time_point time;
};

struct CUevent_st {
    int device;
    std::shared_ptr<simt_event_record> record; /* NULL: never recorded */
};

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return api_call("cudaStreamCreate").run([&] {
        *stream = new CUstream_st{make_stream(current_device)};
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return api_call("cudaStreamDestroy").run_anyway([&] {
        if (stream == nullptr)
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

/* Returns "not ready" once, as a device would, and then runs the work, so that a loop of queries
 * ends. */
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

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return api_call("cudaEventCreate").run([&] {
        *event = new CUevent_st{current_device, nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return api_call("cudaEventRecord").run([&] {
        const work_pointer &work = work_of(stream);
        if (event->device != work->device)
            return cudaErrorInvalidResourceHandle;
        event->record =
            std::make_shared<simt_event_record>(simt_event_record{work, work->given + 1, {}});
        give_work(work,
                  [record = event->record] { record->time = std::chrono::steady_clock::now(); });
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

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return api_call("cudaEventElapsedTime").run([&] {
        if (start->record == nullptr || end->record == nullptr || start->device != end->device)
            return cudaErrorInvalidResourceHandle;
        for (const auto &record : {start->record, end->record})
            if (record->stream->done < record->position)
                return cudaErrorNotReady;
        const std::chrono::duration<float, std::milli> took =
            end->record->time - start->record->time;
        *milliseconds = took.count();
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

/* ---- peers ---- */

/* SIMT_PEERS=0: no device can reach the memory of another. */
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static std::set<std::pair<int, int>> peers_enabled;
    return api_call("cudaDeviceEnablePeerAccess").run([&] {
        if (!is_device(peer) || flags != 0)
            return cudaErrorInvalidDevice;
        if (peer == current_device || number_from("SIMT_PEERS", 1) == 0)
            return cudaErrorPeerAccessUnsupported;
        return peers_enabled.insert({current_device, peer}).second
                   ? cudaSuccess
                   : cudaErrorPeerAccessAlreadyEnabled;
    });
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return api_call("cudaDeviceCanAccessPeer").run([&] {
        if (!is_device(device) || !is_device(peer))
            return cudaErrorInvalidDevice;
        *can = device != peer && number_from("SIMT_PEERS", 1) != 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char *name, int room, int device)
{
    return api_call("cudaDeviceGetPCIBusId").run([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        snprintf(name, (size_t)room, "0000:%02X:00.0", (unsigned)device + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return api_call("cudaDriverGetVersion").run_without_device([&] {
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

/* ---- kernels ---- */

namespace
{

/* The dynamic shared memory that cudaFuncSetAttribute allowed for each kernel of a device. */
std::map<std::pair<int, const void *>, int> shared_bytes_allowed;

/* Grids and blocks have one dimension. */
bool is_valid_grid(const dim3 &grid, const dim3 &block)
{
    return grid.x >= 1 && grid.x <= 0x7fffffff && grid.y == 1 && grid.z == 1 && block.x >= 1 &&
           block.x <= max_block_threads && block.y == 1 && block.z == 1;
}

cudaError_t check_launch(const cudaLaunchConfig_t &config, const void *kernel)
{
    const auto found = shared_bytes_allowed.find({current_device, kernel});
    const int allowed = found == shared_bytes_allowed.end() ? max_shared_bytes : found->second;
    if (!is_valid_grid(config.gridDim, config.blockDim) ||
        config.dynamicSmemBytes > (size_t)max_shared_optin_bytes(current_device))
        return cudaErrorInvalidConfiguration;
    return config.dynamicSmemBytes > (size_t)allowed ? cudaErrorInvalidValue : cudaSuccess;
}

} // namespace

cudaError_t simt_launch(const cudaLaunchConfig_t *config, const void *kernel, const simt_call *call)
{
    const std::shared_ptr<const simt_call> owned(call);
    return api_call("cudaLaunchKernelEx", cudaErrorLaunchOutOfResources).run([&] {
        if (const cudaError_t error = check_launch(*config, kernel))
            return error;
        const struct simt_kernel launch = {kernel, [owned] { owned->run(); }, config->gridDim,
                                           config->blockDim, config->dynamicSmemBytes};
        if (work_of(config->stream)->device != current_device)
            return cudaErrorInvalidResourceHandle;
        give_work(work_of(config->stream), [launch, device = current_device] {
            if (order_for_call("kernel", cudaErrorLaunchFailure, device) != cudaSuccess)
                lose(device);
            if (!is_lost(device))
                simt_run_kernel(launch);
        });
        return cudaSuccess;
    });
}

cudaError_t simt_function_set_attribute(const void *kernel, cudaFuncAttribute, int value)
{
    return api_call("cudaFuncSetAttribute").run([&] {
        if (value < 0 || value > max_shared_optin_bytes(current_device))
            return cudaErrorInvalidValue;
        shared_bytes_allowed[{current_device, kernel}] = value;
        return cudaSuccess;
    });
}

cudaError_t simt_function_get_attributes(cudaFuncAttributes *attributes)
{
    return api_call("cudaFuncGetAttributes").run([&] {
        attributes->ptxVersion = 90;
        return cudaSuccess;
    });
}
