/* SPDX-License-Identifier: Apache-2.0 */
/* simt_streams.cc - the stand-in's streams and events. */
#include "simt_state.h"

using namespace simt;

/* A position in a stream. */
struct simt_event_record {
    work_pointer stream;
    uint64_t position;
    long long time_ns;
};

struct CUevent_st {
    int device;
    bool has_time;
    std::shared_ptr<simt_event_record> record; /* NULL: never recorded */
};

static bool is_reached(const simt_event_record &record)
{
    return record.stream->done >= record.position;
}

static cudaError_t make_stream(cudaStream_t *stream, unsigned flags)
{
    if (flags > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    *stream = new CUstream_st{std::make_shared<stream_work>()};
    (*stream)->work->is_blocking = flags != cudaStreamNonBlocking;
    (*stream)->work->device = current_device;
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
        *event = new CUevent_st{current_device, (flags & cudaEventDisableTiming) == 0, nullptr};
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
        if (event->device != work->device)
            return cudaErrorInvalidResourceHandle;
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
            end->record == nullptr || start->device != end->device)
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
