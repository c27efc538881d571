/* SPDX-License-Identifier: Apache-2.0 */
/* simt_state.cc - see simt_state.h.
 *
 * A stream is a queue of closures. With SIMT_STREAMS=lazy none of them runs until a call waits for
 * it. So a buffer that is reused or read too early holds the wrong bytes every time, instead of now
 * and then. Work runs only in a wait for a position of a stream, which runs just that stream and
 * the streams it waits for.
 */
#include "simt_state.h"

#include <ctype.h>
#include <stdio.h>
#include <set>
#include <stdlib.h>
#include <string.h>

namespace simt
{

size_t number_from(const char *name, size_t otherwise)
{
    const char *const text = getenv(name);
    return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

std::recursive_mutex device_lock;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t remember(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

/* ---- injected faults ---- */

namespace
{

/* Counts the calls of each function. Writes SIMT_CALLS at exit. */
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

} // namespace

unsigned long count_call(const std::string &name)
{
    return calls_counted.add(name);
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

/* Counts this call, and returns its error by the order. */
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

size_t number_of_device(const char *name, int device, size_t otherwise)
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

std::vector<work_pointer> streams;

const work_pointer &default_work(int device)
{
    static std::map<int, work_pointer> works;
    work_pointer &work = works[device];
    if (work == nullptr) {
        work = std::make_shared<stream_work>();
        work->device = device;
    }
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
    run_all(*default_work(device));
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

/* The rule of the default stream: its work waits for all earlier work of blocking streams, and
 * theirs waits for its own. */
static std::function<void()> work_in_turn(const work_pointer &stream, std::function<void()> work)
{
    std::vector<std::pair<work_pointer, uint64_t>> before;
    const work_pointer &first = default_work(stream->device);
    if (stream == first) {
        for (const work_pointer &other : streams)
            if (other->device == stream->device && other->is_blocking && other->done < other->given)
                before.emplace_back(other, other->given);
    } else if (stream->is_blocking && first->done < first->given) {
        before.emplace_back(first, first->given);
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

const work_pointer &work_of(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2 ? default_work(current_device) : stream->work;
}

} // namespace simt
