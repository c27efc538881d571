/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.cc - the execution model of CUDA on fibers: blocks, threads, barriers and warps.
 *
 *   queue of ready threads --> one runs until it reaches a barrier, a warp primitive or its end
 *   --> the next one ... --> the last one to arrive makes the waiting threads ready again
 *
 * The order of threads exposes missing synchronization. When threads become ready together (at the
 * start, after a barrier, after a warp primitive), they are queued in a random order. The next work
 * of a warp may also come before or after the work of the other warps. Blocks run in such an order
 * too, because CUDA guarantees none. Shared memory is filled with 0xa5 before each block, as far as
 * it is known to have been written (shared_poisoner).
 *
 * If no thread can run, the waiting threads wait for threads that have ended or wait elsewhere.
 * Then the places where threads wait are reported, and the process aborts.
 */
#include "simt_launch.h"
#include "simt_state.h"
#include "tests/random_next.h"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <tuple>
#include <vector>

#if defined(SIMT_ADDRESS_SANITIZER)
#    include <sanitizer/common_interface_defs.h>

/* The undefined behaviour sanitizer stops a kernel by this signal. */
extern "C" const char *__asan_default_options()
{
    return "handle_sigill=1";
}
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

constexpr unsigned max_threads = 1024, lanes = 32, max_warps = max_threads / lanes;
constexpr unsigned char simt_poison = 0xa5;

/* ---- the order of threads and blocks ---- */

uint64_t dice;

/* Returns a random number below n, which is at least 1. */
unsigned dice_below(unsigned n)
{
    return (unsigned)((random_next(&dice) >> 32) * n >> 32);
}

/* The ready threads, in the order in which they will run. A ring is large enough, because each
 * thread is in it at most once. */
class ready_queue
{
  public:
    bool is_empty() const
    {
        return count_ == 0;
    }
    void push_back(unsigned thread)
    {
        ring_[(first_ + count_++) % max_threads] = (uint16_t)thread;
    }
    void push_front(unsigned thread)
    {
        first_ = (first_ + max_threads - 1) % max_threads;
        ring_[first_] = (uint16_t)thread;
        count_++;
    }
    unsigned pop_front()
    {
        const unsigned thread = ring_[first_];
        first_ = (first_ + 1) % max_threads;
        count_--;
        return thread;
    }

  private:
    unsigned first_ = 0, count_ = 0;
    uint16_t ring_[max_threads] = {};
};

/* ---- shared memory ---- */

/* Keeps shared memory poisoned: before each block, poisons the variables that the previous block
 * may have written. The variables that a kernel writes are looked up after its blocks 0, 1, 3, 7,
 * ..., counted over all its launches. A look at all variables of the program after each block would
 * cost more than most blocks. */
class shared_poisoner
{
  public:
    shared_poisoner()
    {
        for (const simt_variable &variable : variables_)
            memset(variable.data, simt_poison, variable.bytes);
    }
    /* dynamic_shared has dynamic_bytes bytes. */
    void before_block(void *dynamic_shared, size_t dynamic_bytes)
    {
        if (last_ != nullptr)
            for (const simt_variable *variable : last_->written)
                memset(variable->data, simt_poison, variable->bytes);
        if (dynamic_bytes > 0)
            memset(dynamic_shared, simt_poison, dynamic_bytes);
    }
    void after_block(const void *function)
    {
        last_ = &kernels_[function];
        last_->blocks_done++;
        if ((last_->blocks_done & (last_->blocks_done - 1)) == 0)
            find_written(&last_->written);
    }

  private:
    struct kernel_blocks {
        size_t blocks_done = 0;
        std::vector<const simt_variable *> written;
    };

    static bool is_written(const simt_variable &variable)
    {
        return variable.bytes > 0 &&
               (variable.data[0] != simt_poison ||
                memcmp(variable.data, variable.data + 1, variable.bytes - 1) != 0);
    }
    void find_written(std::vector<const simt_variable *> *written) const
    {
        for (const simt_variable &variable : variables_)
            if (is_written(variable) &&
                std::find(written->begin(), written->end(), &variable) == written->end())
                written->push_back(&variable);
    }

    const std::vector<simt_variable> &variables_ = simt_shared_variables();
    std::map<const void *, kernel_blocks> kernels_;
    struct kernel_blocks *last_ = nullptr; /* the kernel of the previous block */
};

/* ---- the state of the running block ---- */

enum thread_state { THREAD_READY, THREAD_AT_BARRIER, THREAD_AT_WARP, THREAD_ENDED };

struct thread {
    thread_state state;
    uint3 index;
    simt_site site; /* where it waits */
    /* At a warp primitive: */
    simt_warp_kind warp_kind;
    unsigned source_lane;
    simt_value value; /* the argument, and then the result */
};

struct warp {
    unsigned living, waiting; /* lanes */
};

struct thread threads[max_threads];
struct warp warps[max_warps];
class ready_queue ready;
uint64_t launches = 0;

const struct simt_kernel *kernel = nullptr; /* NULL: no kernel is running */
unsigned thread_count, ended, running;      /* of the block; the index of the running thread */
unsigned at_barrier;
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
    fprintf(stderr, "simt: kernel %s, block %u, thread %u",
            simt_function_name(kernel->function).c_str(), blockIdx.x, threadIdx.x);
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

#if !defined(SIMT_ADDRESS_SANITIZER)
unsigned char signal_stack[64 * 1024];
#endif

void on_deadly_signal(int number)
{
    tell_death();
    signal(number, SIG_DFL);
    raise(number);
}

/* Handles deadly signals on a separate stack, because the fiber's stack may have overflowed.
 * AddressSanitizer handles all but SIGABRT itself and then calls back. */
void catch_death()
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    size_t caught = sizeof(signals) / sizeof(signals[0]);
#if defined(SIMT_ADDRESS_SANITIZER)
    __sanitizer_set_death_callback(tell_death);
    caught = 1;
#else
    stack_t stack = {};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof(signal_stack);
    sigaltstack(&stack, nullptr);
#endif
    for (size_t i = 0; i < caught; i++) {
        struct sigaction action = {};
        action.sa_handler = on_deadly_signal;
        action.sa_flags = SA_ONSTACK | SA_RESETHAND;
        sigaction(signals[i], &action, nullptr);
    }
}

/* Reports where threads wait, if none can run or if threads of a block are at two barriers. */
[[noreturn]] void fail_divergent(const char *what)
{
    std::map<std::tuple<bool, std::string, int>, unsigned> places;
    for (unsigned t = 0; t < thread_count; t++) {
        const struct thread &thread = threads[t];
        if (thread.state == THREAD_AT_BARRIER || thread.state == THREAD_AT_WARP)
            places[{thread.state == THREAD_AT_WARP, thread.site.file, thread.site.line}]++;
    }
    tell_place();
    fprintf(stderr, ": %s:", what);
    for (const auto &[place, count] : places) {
        const auto &[is_warp, file, line] = place;
        fprintf(stderr, " %u threads wait at the %s in %s:%d,", count,
                is_warp ? "warp primitive" : "block barrier", file.c_str(), line);
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

unsigned next_ready()
{
    if (ready.is_empty())
        fail_divergent("divergent barrier");
    return ready.pop_front();
}

/* Called by a thread that waits or is queued. Returns when the thread's turn has come. */
void run_others()
{
    const unsigned next = next_ready();
    set_running(next);
    fiber_switch(next);
}

/* Makes `count` threads ready, in a random order. is_ahead: perhaps they run before the threads
 * that are ready already, so that one warp runs ahead of the others. */
void make_ready(unsigned *list, unsigned count, bool is_ahead)
{
    for (unsigned i = count; i > 1; i--)
        std::swap(list[i - 1], list[dice_below(i)]);
    const bool front = is_ahead && dice_below(2) == 0;
    for (unsigned i = 0; i < count; i++) {
        if (front)
            ready.push_front(list[count - 1 - i]);
        else
            ready.push_back(list[i]);
    }
    for (unsigned i = 0; i < count; i++)
        threads[list[i]].state = THREAD_READY;
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
        struct thread &receiver = lane[__builtin_ctz(rest)];
        receiver.value = group >> receiver.source_lane & 1 ? values[receiver.source_lane] : absent;
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

/* Makes the living lanes of a warp ready, which all wait. */
__attribute__((noinline)) void warp_release_all(unsigned warp)
{
    const unsigned first_thread = warp * lanes, group = warps[warp].living;
    struct thread *lane = threads + first_thread;
    unsigned list[lanes], count = 0;
    const struct thread &leader = lane[__builtin_ctz(group)];
    for (unsigned rest = group; rest != 0; rest &= rest - 1) {
        const struct thread &thread = lane[__builtin_ctz(rest)];
        if (thread.warp_kind != leader.warp_kind || thread.site.line != leader.site.line)
            fail_divergent("divergent warp primitive");
        list[count++] = first_thread + (unsigned)__builtin_ctz(rest);
    }
    warp_answer(lane, group);
    warps[warp].waiting = 0;
    make_ready(list, count, true);
}

/* Makes the living lanes ready if all of them wait. */
inline void warp_release(unsigned warp)
{
    if (warps[warp].waiting != 0 && warps[warp].waiting == warps[warp].living)
        warp_release_all(warp);
}

/* Ends a lane. It may be the last one that other lanes wait for. */
void warp_end_lane(unsigned thread)
{
    warps[thread / lanes].living &= ~(1u << thread % lanes);
    warp_release(thread / lanes);
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
unsigned run_round()
{
    kernel->run_thread();
    threads[running].state = THREAD_ENDED;
    ended++;
    warp_end_lane(running);
    if (ended == thread_count)
        return fiber_max;
    const unsigned next = next_ready();
    set_running(next);
    return next;
}

void run_block()
{
    ended = at_barrier = 0;
    barrier_true = 0;
    for (unsigned t = 0; t < thread_count; t++) {
        threads[t].index = {t, 0, 0};
        thread_list[t] = t;
    }
    for (unsigned w = 0; w * lanes < thread_count; w++) {
        const unsigned here = std::min(thread_count - w * lanes, lanes);
        warps[w] = {0xffffffffu >> (lanes - here), 0};
    }
    make_ready(thread_list, thread_count, false);
    const unsigned first = ready.pop_front();
    set_running(first);
    fiber_run(run_round, first);
}

/* ---- the grid ---- */

void run_grid()
{
    /* Block i of the order is start + i * stride mod blocks. All are different, because stride and
     * blocks have no common divisor. */
    const unsigned blocks = gridDim.x, start = dice_below(blocks);
    unsigned stride;
    do
        stride = 1 + dice_below(blocks);
    while (std::gcd(stride, blocks) != 1);
    static class shared_poisoner shared_poisoner;
    for (uint64_t i = 0; i < blocks; i++) {
        blockIdx = {(unsigned)((start + i * stride) % blocks), 0, 0};
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
        fprintf(file, "%s %u %u\n", simt_function_name(kernel->function).c_str(), gridDim.x,
                thread_count) < 0 ||
        fclose(file) != 0) {
        fprintf(stderr, "simt: SIMT_TRACE: cannot write '%s'\n", path);
        abort();
    }
}

} // namespace

void simt_run_kernel(const struct simt_kernel &kernel_to_run)
{
    if (launches == 0)
        catch_death();
    dice = simt::number_from("SIMT_ORDER", 1) + launches++ * 0x10001;
    /* Allocated with the exact size, so that AddressSanitizer notices accesses past the end. */
    if (kernel_to_run.dynamic_shared_bytes > 0 &&
        posix_memalign(&dynamic_shared, 1024, kernel_to_run.dynamic_shared_bytes) != 0)
        throw std::bad_alloc();
    kernel = &kernel_to_run;
    gridDim = kernel->grid;
    blockDim = kernel->block;
    thread_count = blockDim.x;
    trace_launch();
    run_grid();
    kernel = nullptr;
    free(dynamic_shared);
    dynamic_shared = nullptr;
}

int simt_block_barrier(bool predicate, simt_site site)
{
    threads[running].state = THREAD_AT_BARRIER;
    threads[running].site = site;
    barrier_true += predicate;
    if (++at_barrier == thread_count)
        barrier_release();
    run_others();
    /* No thread can complete the next barrier before this thread has reached it. */
    return barrier_result;
}

simt_value simt_warp_meet(simt_warp_kind kind, unsigned mask, simt_value value,
                          unsigned source_lane, simt_site site)
{
    struct thread &thread = threads[running];
    if (mask != 0xffffffffu)
        simt_fail("a warp primitive of some lanes, which no kernel uses", site);
    thread.state = THREAD_AT_WARP;
    thread.site = site;
    thread.warp_kind = kind;
    thread.source_lane = source_lane;
    thread.value = value;
    warps[running / lanes].waiting |= 1u << running % lanes;
    warp_release(running / lanes);
    run_others();
    return thread.value;
}

void simt_fail(const char *message, simt_site site)
{
    tell_place();
    fprintf(stderr, ": %s:%d: %s\n", site.file, site.line, message);
    fail();
}

unsigned simt_lane()
{
    return running % lanes;
}

void *simt_dynamic_shared()
{
    return dynamic_shared;
}
