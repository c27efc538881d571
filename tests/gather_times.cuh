/* SPDX-License-Identifier: Apache-2.0 */
/* gather_times.cuh - what gather_matrix.cu works with on the device, and the times that the
 * steps take.
 */
#ifndef TESTS_GATHER_TIMES_CUH
#define TESTS_GATHER_TIMES_CUH

#include "cuda/lines_measure.cuh"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>

/* ---- the device ---- */

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

/* All that a copy works with. */
struct bench {
    struct cuda_text text;
    struct cuda_gather gather;
    unsigned char *text_memory, *target;
    struct key_index *items;
    cudaEvent_t started, finished;
};

static bool bench_open(struct bench *bench, size_t bytes, size_t count, unsigned char terminator,
                       size_t room_behind, struct error *error)
{
    *bench = {};
    bench->gather.text = &bench->text;
    bench->gather.count = count;
    if (!check(cudaMalloc(&bench->text_memory, bytes + CUDA_TEXT_SLACK_BYTES), error) ||
        !check(cudaMalloc(&bench->target, bytes + room_behind), error) ||
        !check(cudaMalloc(&bench->items, (count + 1) * sizeof *bench->items), error) ||
        !check(cudaMalloc(&bench->gather.workspace, cuda_gather_workspace_bytes(bytes, count)),
               error) ||
        !check(cudaStreamCreate(&bench->text.stream), error) ||
        !check(cudaEventCreate(&bench->started), error) ||
        !check(cudaEventCreate(&bench->finished), error))
        return false;
    bench->text.text = bench->text_memory;
    bench->text.bytes = bytes;
    bench->text.count = count;
    bench->text.order.terminator = (char)terminator;
    bench->gather.items = bench->items;
    return true;
}

static void bench_close(struct bench *bench)
{
    (void)cudaEventDestroy(bench->finished);
    (void)cudaEventDestroy(bench->started);
    (void)cudaStreamDestroy(bench->text.stream);
    (void)cudaFree(bench->gather.workspace);
    (void)cudaFree(bench->items);
    (void)cudaFree(bench->target);
    (void)cudaFree(bench->text_memory);
}

/* ---- times ---- */

/* Lengths repeat after a prime number of lines, so that the beginning of any line is soon known. */
constexpr unsigned PERIOD = 1021;
struct time_text {
    uint64_t begins[PERIOD + 1];
    uint64_t count;
    unsigned bits; /* 2 x bits hold a number of a line */
};

__device__ static uint64_t time_line_begin(const struct time_text *text, uint64_t line)
{
    return line / PERIOD * text->begins[PERIOD] + text->begins[line % PERIOD];
}

__device__ static unsigned char time_byte(uint64_t place)
{
    return static_cast<unsigned char>('a' + place * 0x9e3779b97f4a7c15u % 0xfffffffbu % 25);
}

/* A line for each place of the output, in random order: a Feistel network of 4 rounds, until it
 * gives a number that a line has. */
__device__ static uint64_t time_line_at(const struct time_text *text, uint64_t place)
{
    const uint64_t mask = (uint64_t{1} << text->bits) - 1;
    uint64_t left = place >> text->bits, right = place & mask;
    do
        for (uint64_t round = 1; round <= 4; round++) {
            const uint64_t mixed = (right + round) * 0x9e3779b97f4a7c15u;
            const uint64_t next = left ^ ((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 32 & mask);
            left = right;
            right = next;
        }
    while ((left << text->bits | right) >= text->count);
    return left << text->bits | right;
}

static __global__ void time_fill_kernel(unsigned char *bytes, uint64_t count)
{
    const uint64_t place = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place < count)
        bytes[place] = time_byte(place);
}

static __global__ void time_end_kernel(const struct time_text *text, unsigned char *bytes,
                                       struct key_index *items)
{
    const uint64_t line = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (line >= text->count)
        return;
    bytes[time_line_begin(text, line + 1) - 1] = '\n';
    items[line] = {line_index(time_line_begin(text, time_line_at(text, line)), true), line};
}

/* Counts lines that do not begin behind the one before, or whose first or last bytes are wrong. */
static __global__ void time_check_kernel(const struct time_text *text, struct gather_view view,
                                         const unsigned char *output, unsigned long long *wrong)
{
    const uint64_t place = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place >= text->count)
        return;
    const uint64_t line = time_line_at(text, place), source = time_line_begin(text, line);
    const uint64_t bytes = time_line_begin(text, line + 1) - source;
    const uint64_t start = thread_line_start(view, place);
    bool is_right =
        thread_line_start(view, place + 1) - start == bytes && (place > 0 || start == 0);
    for (uint64_t i = 0; is_right && i < bytes; i = i == 63 && bytes > 128 ? bytes - 64 : i + 1)
        is_right = output[start + i] == (i + 1 < bytes ? time_byte(source + i) : '\n');
    if (!is_right)
        atomicAdd(wrong, 1ull);
}

/* The least time of some runs of what `start` starts, in milliseconds. */
template <typename Start>
static bool time_runs(const struct bench &bench, const Start &start, float *least,
                      struct error *error)
{
    for (unsigned run = 0; run < 5; run++) {
        float elapsed = 0;
        if (!check(cudaEventRecord(bench.started, bench.text.stream), error) || !start() ||
            !check(cudaEventRecord(bench.finished, bench.text.stream), error) ||
            !check(cudaEventSynchronize(bench.finished), error) ||
            !check(cudaEventElapsedTime(&elapsed, bench.started, bench.finished), error))
            return false;
        *least = run == 0 ? elapsed : std::min(*least, elapsed);
    }
    return true;
}

/* Times what `start` starts, and prints it. */
template <typename Start>
static bool time_step(const struct bench &bench, const char *name, const Start &start,
                      struct error *error)
{
    float least = 0;
    if (!time_runs(bench, start, &least, error))
        return false;
    printf("%-36s %10.3f ms %8.1f GB/s\n", name, least, (double)bench.text.bytes / least / 1e6);
    fflush(stdout);
    return true;
}

static bool time_check(const struct bench &bench, const struct time_text *text,
                       unsigned long long *wrong, struct error *error)
{
    const size_t count = bench.gather.count;
    const struct launch launch = {"time_check_kernel", launch_blocks(count, THREADS_PER_BLOCK),
                                  THREADS_PER_BLOCK, 0, bench.text.stream};
    unsigned long long found = 0;
    if (!check(cudaMemsetAsync(wrong, 0, sizeof *wrong, bench.text.stream), error) ||
        !launch_kernel(launch, error, time_check_kernel, text, gather_view_make(&bench.gather),
                       static_cast<const unsigned char *>(bench.target), wrong) ||
        !check(cudaStreamSynchronize(bench.text.stream), error) ||
        !check(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost), error))
        return false;
    return found == 0 || error_set(error, "%llu lines are wrong", found);
}

static bool time_copies(struct bench &bench, const struct time_text *text,
                        unsigned long long *wrong, struct error *error)
{
    struct cuda_gather *const gather = &bench.gather;
    const size_t bytes = bench.text.bytes, piece = (size_t)32 << 20;
    const auto at_once = [&] { return cuda_gather_copy(gather, 0, bytes, bench.target, error); };
    const auto in_pieces = [&] {
        bool passed = true;
        for (size_t begin = 0; begin < bytes; begin += piece)
            passed = passed && cuda_gather_copy(gather, begin, std::min(begin + piece, bytes),
                                                bench.target + begin, error);
        return passed;
    };
    return time_step(bench, "copy", at_once, error) && time_check(bench, text, wrong, error) &&
           check(cudaMemset(bench.target, 0, bytes), error) &&
           time_step(bench, "copy, in pieces of 32 MiB", in_pieces, error) &&
           time_check(bench, text, wrong, error);
}

static bool time_steps(struct bench &bench, struct error *error)
{
    struct cuda_gather *const gather = &bench.gather;
    if (!cuda_gather_measure(gather, error))
        return false;
    if (gather->bytes != bench.text.bytes)
        return error_set(error, "%zu bytes, not %zu", gather->bytes, bench.text.bytes);
    return time_step(
               bench, "mark", [&] { return gather_start_mark(gather, error); }, error) &&
           time_step(
               bench, "measure", [&] { return gather_start_measure(gather, error); }, error) &&
           time_step(
               bench, "measure, scan, find", [&] { return cuda_gather_measure(gather, error); },
               error) &&
           time_step(
               bench, "find", [&] { return gather_start_find(gather, error); }, error);
}

static struct time_text make_time_text(size_t count, size_t mean)
{
    struct time_text text = {};
    for (unsigned i = 0; i < PERIOD; i++)
        text.begins[i + 1] = text.begins[i] + 1 + random_bits(i) % (2 * mean - 1);
    text.count = count;
    while (text.bits < 31 && (size_t)1 << 2 * text.bits < count)
        text.bits++;
    return text;
}

static bool time_fill(const struct bench &bench, const struct time_text *text, struct error *error)
{
    const size_t bytes = bench.text.bytes, count = bench.gather.count;
    struct launch launch = {"time_fill_kernel", launch_blocks(bytes, 1024), 1024, 0,
                            bench.text.stream};
    if (!launch_kernel(launch, error, time_fill_kernel, bench.text_memory, bytes))
        return false;
    launch.name = "time_end_kernel";
    launch.blocks = launch_blocks(count, 1024);
    return launch_kernel(launch, error, time_end_kernel, text, bench.text_memory, bench.items);
}

/* How much the L2 fetches of memory at a time, where lines stand at random places. 0: as it is. */
static bool time_set_fetch(size_t fetch_bytes, struct error *error)
{
#ifdef __CUDACC__
    return fetch_bytes == 0 ||
           check(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, fetch_bytes), error);
#else
    return fetch_bytes == 0 || error_set(error, "the stand-in has no L2");
#endif
}

static int run_times(size_t count, size_t mean, size_t fetch_bytes)
{
    struct error error = {};
    const struct time_text text = make_time_text(count, mean);
    const size_t bytes = count / PERIOD * text.begins[PERIOD] + text.begins[count % PERIOD];
    struct bench bench = {};
    struct time_text *device_text = NULL;
    unsigned long long *wrong = NULL;
    printf("%zu lines, %zu bytes, workspace %zu bytes\n", count, bytes,
           cuda_gather_workspace_bytes(bytes, count));
    const bool ran =
        time_set_fetch(fetch_bytes, &error) && bench_open(&bench, bytes, count, '\n', 0, &error) &&
        check(cudaMalloc(&device_text, sizeof text), &error) &&
        check(cudaMalloc(&wrong, sizeof *wrong), &error) &&
        check(cudaMemcpy(device_text, &text, sizeof text, cudaMemcpyHostToDevice), &error) &&
        time_fill(bench, device_text, &error) && time_steps(bench, &error) &&
        time_copies(bench, device_text, wrong, &error);
    (void)cudaFree(wrong);
    (void)cudaFree(device_text);
    bench_close(&bench);
    if (!ran)
        printf("%s\n", error.message);
    return ran ? 0 : 1;
}

#endif
