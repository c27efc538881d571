/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.cc - the execution model of CUDA on fibers: blocks, threads, barriers and warps.
 *
 *   queue of ready threads --> one runs until it reaches a barrier, a warp primitive or its end
 *   --> the next one ... --> the last one to arrive makes the waiting threads ready again
 *
 * A thread gets a stack when it first runs, and passes it on when it ends. So a kernel without
 * barriers runs as a plain loop on one stack.
 *
 * The order of threads exposes missing synchronization. When threads become ready together (at the
 * start, after a barrier, after a warp primitive), they are queued in the order that SIMT_ORDER
 * selects. In the random order, the next work of a warp may also come before or after the work of
 * the other warps. Blocks run in such an order too, because CUDA guarantees none. Shared memory is
 * filled with 0xa5 before each block.
 *
 * If no thread can run, the waiting threads wait for threads that have ended or wait elsewhere.
 * Then the places where threads wait are reported, and the process aborts.
 */
#include "simt_launch.h"

#include "simt_death.h"
#include "simt_fiber.h"
#include "simt_order.h"
#include "simt_shared.h"
#include "simt_symbols.h"

#include <algorithm>
#include <map>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <time.h>
#include <tuple>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

constexpr unsigned max_threads = simt_threads_most, lanes = 32, max_warps = max_threads / lanes;

/* Maximum number of consecutive yields with no other event; after that, a loop is assumed to spin
 * forever. */
constexpr unsigned max_yields = 1u << 22;

/* ---- the state of the running block ---- */

enum thread_state { THREAD_READY, THREAD_AT_BARRIER, THREAD_AT_WARP, THREAD_ENDED };

struct thread {
    struct fiber *fiber; /* NULL until the thread first runs */
    thread_state state;
    uint3 index;
    simt_site site; /* where it waits */
    /* At a warp primitive: */
    simt_warp_kind warp_kind;
    unsigned mask, source_lane;
    simt_value value; /* the argument, and then the result */
};

struct warp {
    unsigned living, waiting; /* lanes */
};

struct thread threads[max_threads];
struct warp warps[max_warps];
class ready_queue ready;
class random_source dice;
struct simt_order order;
uint64_t launches = 0;

const struct simt_kernel *kernel = nullptr; /* NULL: no kernel is running */
unsigned thread_count, ended, running;      /* of the block; the index of the running thread */
unsigned at_barrier, yields;
int barrier_true; /* number of threads with a true predicate */
int barrier_result;
void *dynamic_shared = nullptr;
bool failure_told = false;
unsigned thread_list[max_threads]; /* room for barrier_release and run_block to order threads */

/* ---- reports ---- */

void tell_place()
{
    if (kernel == nullptr) {
        fprintf(stderr, "simt: outside of a kernel");
        return;
    }
    fprintf(stderr, "simt: kernel %s, block (%u,%u,%u), thread (%u,%u,%u)",
            simt_function_name(kernel->function).c_str(), blockIdx.x, blockIdx.y, blockIdx.z,
            threadIdx.x, threadIdx.y, threadIdx.z);
}

[[noreturn]] void fail()
{
    fflush(stderr);
    failure_told = true;
    abort();
}

/* For failures inside a kernel: assert, a bad address, a sanitizer. */
void tell_death()
{
    if (kernel == nullptr || failure_told)
        return;
    failure_told = true;
    tell_place();
    fprintf(stderr, ": died here\n");
}

/* Reports where threads wait, if none can run or if threads of a block are at two barriers. */
[[noreturn]] void fail_divergent(const char *what)
{
    std::map<std::tuple<int, std::string, int, unsigned>, unsigned> places;
    for (unsigned t = 0; t < thread_count; t++) {
        const struct thread &thread = threads[t];
        if (thread.state == THREAD_AT_BARRIER)
            places[{0, thread.site.file, thread.site.line, 0}]++;
        else if (thread.state == THREAD_AT_WARP)
            places[{1, thread.site.file, thread.site.line, thread.mask}]++;
    }
    tell_place();
    fprintf(stderr, ": %s:", what);
    for (const auto &[place, count] : places) {
        const auto &[is_warp, file, line, mask] = place;
        fprintf(stderr, " %u threads wait at the %s in %s:%d", count,
                is_warp ? "warp primitive" : "block barrier", file.c_str(), line);
        if (is_warp)
            fprintf(stderr, " (mask %08x)", mask);
        fprintf(stderr, ",");
    }
    fprintf(stderr, " %u have ended\n", ended);
    fail();
}

/* ---- switching ---- */

void set_running(unsigned thread)
{
    running = thread;
    threadIdx = threads[thread].index;
}

void run_round();

/* Returns the fiber to run `next` on. */
struct fiber *fiber_of(unsigned next)
{
    struct thread &thread = threads[next];
    if (thread.fiber == nullptr)
        thread.fiber = fiber_take(run_round);
    return thread.fiber;
}

unsigned next_ready()
{
    if (ready.is_empty())
        fail_divergent("divergent barrier");
    return ready.pop_front();
}

/* The stacks of a block exceed the first-level cache. Prefetching those of the next threads saves a
 * seventh of the time of device_matrix. */
void expect_others()
{
    const struct fiber *const later = threads[ready.peek(8)].fiber;
    const struct fiber *const sooner = threads[ready.peek(4)].fiber;
    if (later != nullptr && sooner != nullptr)
        fiber_expect(later, sooner);
}

/* Called by a thread that waits or is queued. Returns when the thread's turn has come. */
void run_others()
{
    const unsigned next = next_ready();
    expect_others();
    set_running(next);
    fiber_switch(fiber_of(next));
}

/* Makes `count` threads ready, in an order among themselves. keep_place: they may run before the
 * threads that are ready already, so that one warp runs ahead of the others. */
void make_ready(unsigned *list, unsigned count, bool keep_place)
{
    bool front = keep_place;
    if (order.kind == ORDER_RANDOM) {
        for (unsigned i = count; i > 1; i--)
            std::swap(list[i - 1], list[dice.below(i)]);
        front = keep_place && dice.below(2) == 0;
    } else if (order.kind == ORDER_REVERSE) {
        std::reverse(list, list + count);
    }
    for (unsigned i = 0; i < count; i++) {
        if (front)
            ready.push_front(list[count - 1 - i]);
        else
            ready.push_back(list[i]);
    }
    for (unsigned i = 0; i < count; i++)
        threads[list[i]].state = THREAD_READY;
    yields = 0;
}

/* ---- warps ---- */

void warp_shuffle(struct thread *lane, unsigned group)
{
    simt_value values[lanes], absent;
    memset(&absent, simt_poison, sizeof(absent));
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        const unsigned i = (unsigned)__builtin_ctz(rest);
        values[i] = lane[i].value;
    }
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        struct thread &taker = lane[__builtin_ctz(rest)];
        taker.value = group >> taker.source_lane & 1 ? values[taker.source_lane] : absent;
    }
}

void warp_ballot(struct thread *lane, unsigned group)
{
    unsigned voted = 0;
    for (unsigned rest = group; rest != 0; rest &= rest - 1)
        voted |= (unsigned)lane[__builtin_ctz(rest)].value.words[0] << __builtin_ctz(rest);
    for (unsigned rest = group; rest != 0; rest &= rest - 1)
        lane[__builtin_ctz(rest)].value.words[0] = voted;
}

void warp_match(struct thread *lane, unsigned group)
{
    unsigned same;
    for (unsigned open = group; open != 0; open &= ~same) {
        const uint64_t value = lane[__builtin_ctz(open)].value.words[0];
        same = 0;
        for (unsigned rest = open; rest != 0; rest &= rest - 1)
            if (lane[__builtin_ctz(rest)].value.words[0] == value)
                same |= rest & -rest;
        for (unsigned rest = same; rest != 0; rest &= rest - 1)
            lane[__builtin_ctz(rest)].value.words[0] = same;
    }
}

/* Computes the results of all lanes of `group` at once. From then on each lane runs on its own. */
void warp_answer(struct thread *lane, unsigned group)
{
    switch (lane[__builtin_ctz(group)].warp_kind) {
    case SIMT_WARP_SHUFFLE:
        return warp_shuffle(lane, group);
    case SIMT_WARP_BALLOT:
        return warp_ballot(lane, group);
    case SIMT_WARP_MATCH:
        return warp_match(lane, group);
    case SIMT_WARP_SYNC:
        return;
    }
}

/* Makes the lanes of `group` ready, which all wait, if they wait with that mask. */
__attribute__((noinline)) void warp_release_group(unsigned warp, unsigned mask, unsigned group)
{
    const unsigned first_thread = warp * lanes;
    struct thread *lane = threads + first_thread;
    unsigned list[lanes], count = 0;
    const struct thread &leader = lane[__builtin_ctz(group)];
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        const struct thread &thread = lane[__builtin_ctz(rest)];
        if (thread.mask != mask)
            return;
        if (thread.warp_kind != leader.warp_kind || thread.site.line != leader.site.line)
            fail_divergent("divergent warp primitive");
        list[count++] = first_thread + (unsigned)__builtin_ctz(rest);
    }
    warp_answer(lane, group);
    warps[warp].waiting &= ~group;
    make_ready(list, count, true);
}

/* Makes the living lanes of `mask` ready if all of them wait with that mask. */
inline void warp_release(unsigned warp, unsigned mask)
{
    const unsigned group = mask & warps[warp].living;
    if (group != 0 && (warps[warp].waiting & group) == group)
        warp_release_group(warp, mask, group);
}

/* Ends a lane. It may be the last one that other lanes wait for. */
void warp_end_lane(unsigned thread)
{
    struct warp &warp = warps[thread / lanes];
    warp.living &= ~(1u << thread % lanes);
    for (unsigned rest = warp.waiting; rest != 0; rest &= rest - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(rest);
        if (warp.waiting >> lane & 1)
            warp_release(thread / lanes, threads[thread / lanes * lanes + lane].mask);
    }
}

/* ---- threads and blocks ---- */

void barrier_release()
{
    for (unsigned t = 0; t < thread_count; t++) {
        if (threads[t].site.line != threads[0].site.line ||
            (threads[t].site.file != threads[0].site.file &&
             strcmp(threads[t].site.file, threads[0].site.file) != 0))
            fail_divergent("divergent barrier");
        thread_list[t] = t;
    }
    barrier_result = barrier_true;
    barrier_true = 0;
    at_barrier = 0;
    make_ready(thread_list, thread_count, false);
}

/* The body of every fiber: one thread of the block, from start to end. */
void run_round()
{
    kernel->run_thread();
    threads[running].state = THREAD_ENDED;
    ended++;
    yields = 0;
    warp_end_lane(running);
    if (ended == thread_count) {
        fiber_return();
        return;
    }
    const unsigned next = next_ready();
    set_running(next);
    if (threads[next].fiber == nullptr)
        threads[next].fiber = fiber_current();
    else
        fiber_retire(threads[next].fiber);
}

void run_block()
{
    ended = at_barrier = 0;
    barrier_true = 0;
    for (unsigned t = 0; t < thread_count; t++) {
        threads[t].fiber = nullptr;
        threads[t].index = {t % blockDim.x, t / blockDim.x % blockDim.y,
                            t / blockDim.x / blockDim.y};
        thread_list[t] = t;
    }
    for (unsigned w = 0; w * lanes < thread_count; w++) {
        const unsigned here = std::min(thread_count - w * lanes, lanes);
        warps[w] = {0xffffffffu >> (lanes - here), 0};
    }
    make_ready(thread_list, thread_count, false);
    const unsigned first = ready.pop_front();
    set_running(first);
    fiber_run(fiber_of(first));
}

/* ---- the grid ---- */

void run_grid()
{
    const uint64_t blocks = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
    const class block_order block_order(order, &dice, blocks);
    static class shared_poisoner shared_poisoner;
    for (uint64_t i = 0; i < blocks; i++) {
        const uint64_t block = block_order.at(i);
        blockIdx = {(unsigned)(block % gridDim.x), (unsigned)(block / gridDim.x % gridDim.y),
                    (unsigned)(block / gridDim.x / gridDim.y)};
        shared_poisoner.before_block(dynamic_shared, kernel->dynamic_shared_bytes);
        run_block();
        shared_poisoner.after_block(kernel->function);
    }
}

/* Appends a line to the file in SIMT_TRACE, if that is set. */
void trace_launch()
{
    const char *path = getenv("SIMT_TRACE");
    if (path == nullptr)
        return;
    FILE *file = fopen(path, "a");
    if (file == nullptr ||
        fprintf(file, "%s %u %u\n", simt_function_name(kernel->function).c_str(),
                gridDim.x * gridDim.y * gridDim.z, thread_count) < 0 ||
        fclose(file) != 0) {
        fprintf(stderr, "simt: SIMT_TRACE: cannot write '%s'\n", path);
        abort();
    }
}

} // namespace

void simt_run_kernel(const struct simt_kernel &kernel_to_run)
{
    if (launches == 0)
        simt_catch_death(tell_death);
    order = simt_order_read();
    dice.seed(order.seed + launches++ * 0x10001);
    /* Allocated with the exact size, so that AddressSanitizer notices accesses past the end. */
    if (kernel_to_run.dynamic_shared_bytes > 0 &&
        posix_memalign(&dynamic_shared, 1024, kernel_to_run.dynamic_shared_bytes) != 0)
        throw std::bad_alloc();
    kernel = &kernel_to_run;
    gridDim = kernel->grid;
    blockDim = kernel->block;
    thread_count = blockDim.x * blockDim.y * blockDim.z;
    trace_launch();
    run_grid();
    kernel = nullptr;
    free(dynamic_shared);
    dynamic_shared = nullptr;
}

int simt_block_barrier(simt_barrier kind, bool predicate, simt_site site)
{
    threads[running].state = THREAD_AT_BARRIER;
    threads[running].site = site;
    barrier_true += predicate;
    if (++at_barrier == thread_count)
        barrier_release();
    run_others();
    /* No thread can complete the next barrier before this thread has reached it. */
    if (kind == SIMT_BARRIER_AND)
        return barrier_result == (int)thread_count;
    return kind == SIMT_BARRIER_OR ? barrier_result > 0 : barrier_result;
}

simt_value simt_warp_meet(simt_warp_kind kind, unsigned mask, simt_value value,
                          unsigned source_lane, simt_site site)
{
    struct thread &thread = threads[running];
    const unsigned bit = 1u << running % lanes;
    if ((mask & bit) == 0)
        simt_fail("the mask of a warp primitive leaves out the lane that calls it", site);
    thread.state = THREAD_AT_WARP;
    thread.site = site;
    thread.warp_kind = kind;
    thread.mask = mask;
    thread.source_lane = source_lane;
    thread.value = value;
    warps[running / lanes].waiting |= bit;
    warp_release(running / lanes, mask);
    run_others();
    return thread.value;
}

void simt_fail(const char *message, simt_site site)
{
    tell_place();
    fprintf(stderr, ": %s:%d: %s\n", site.file, site.line, message);
    fail();
}

void simt_yield()
{
    if (++yields > max_yields) {
        tell_place();
        fprintf(stderr, ": spins on memory that no thread of the block will write\n");
        fail();
    }
    ready.push_back(running);
    run_others();
}

unsigned simt_lane()
{
    return running % lanes;
}

void *simt_dynamic_shared()
{
    return dynamic_shared;
}

long long clock64()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}
