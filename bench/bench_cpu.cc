/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cpu.cc - compares the CPU backend with the sorts of other libraries, in memory.
 *
 *   bench_cpu --types=f64,u32,u64+u64 --sizes=1e5,1e8 --threads=2 --json=FILE
 *
 * For each type, shape and size it runs all sorters in turns, on the same data in one process. The
 * engine is timed without the copies of keys in and out; its scratch is fresh memory in each run,
 * and releasing a large scratch is included. A peer has its array and scratch in memory that was
 * used before. Before each run of the engine above 2 MiB, as much free memory as it may take is
 * touched, because the host of a virtual machine may have reclaimed it (free page reporting), and
 * getting back 0.8 GB takes up to 0.24 s. Each output is compared with that of std::sort; the
 * engine's only in one more run, which is not timed. Other processes make times longer, never
 * shorter, so --json has the minimum next to the median.
 */
#include "bench/bench_common.h"
#include "core/backend.h"
#include "core/clock.h"
#include "core/key_order.h"
#include "core/key_types.h"

#include <algorithm>
#include <math.h>
#include <memory>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef HAVE_TBB
#    include <execution>
#endif
#ifdef HAVE_HWY
#    include <hwy/contrib/sort/vqsort.h>
#endif

/* ---- CPU sorts of other libraries, to compare with ----
 *
 * std::sort of the C++ library, TBB's parallel sort, and VQSort of Highway; the last two if the
 * build found them. */

/* Input of a peer: keys of a type, or struct key_index by key, then index. */
struct cpu_peer_call {
    enum key_type_id key;
    bool has_index;
    size_t count;
    void *items;
    void *scratch; /* as large as items */
};

struct cpu_peer {
    const char *name;
    unsigned item_bytes_min;

    /* Sorts, and sets *sorted to items or scratch. Returns false if it cannot sort this type. */
    bool (*sort)(const struct cpu_peer_call *call, void **sorted);
};

/* The row of the reference: std::sort, in parallel if TBB is there. It sorts all types of
 * with_keys(), in place. */
#define CPU_PEER_STD 0

static bool operator<(const struct key_index &a, const struct key_index &b)
{
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/* Returns action(memory) with a pointer of the key's type; false if C++ has no such type. */
template <typename Action>
static bool with_keys(enum key_type_id key, void *memory, const Action &action)
{
    switch (key) {
    case KEY_TYPE_i8:
        return action(static_cast<int8_t *>(memory));
    case KEY_TYPE_u8:
        return action(static_cast<uint8_t *>(memory));
    case KEY_TYPE_i16:
        return action(static_cast<int16_t *>(memory));
    case KEY_TYPE_u16:
        return action(static_cast<uint16_t *>(memory));
    case KEY_TYPE_i32:
        return action(static_cast<int32_t *>(memory));
    case KEY_TYPE_u32:
        return action(static_cast<uint32_t *>(memory));
    case KEY_TYPE_i64:
        return action(static_cast<int64_t *>(memory));
    case KEY_TYPE_u64:
        return action(static_cast<uint64_t *>(memory));
    case KEY_TYPE_f32:
        return action(static_cast<float *>(memory));
    case KEY_TYPE_f64:
        return action(static_cast<double *>(memory));
    default:
        return false;
    }
}

/* Calls sort(first, last) with pointers of the items' type. */
template <typename Sort>
static bool with_type(const struct cpu_peer_call *call, const Sort &sort)
{
    const auto sort_as = [&](auto *items) {
        sort(items, items + call->count);
        return true;
    };
    return call->has_index ? sort_as(static_cast<struct key_index *>(call->items))
                           : with_keys(call->key, call->items, sort_as);
}

static bool sort_std(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(call, [](auto *first, auto *last) { std::sort(first, last); });
}

#ifdef HAVE_TBB

/* By all processors: TBB takes no number of threads here. */
static bool sort_tbb(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(
        call, [](auto *first, auto *last) { std::sort(std::execution::par_unseq, first, last); });
}

#endif

#ifdef HAVE_HWY

/* VQSort does not support keys of one byte. */
#    define VQSORT_BYTES_MIN 2

template <typename Item>
static void vqsort(Item *first, Item *last)
{
    const hwy::Sorter sorter;
    if constexpr (sizeof(Item) >= VQSORT_BYTES_MIN)
        sorter(first, static_cast<size_t>(last - first), hwy::SortAscending());
}

static void vqsort(struct key_index *first, struct key_index *last)
{
    const hwy::Sorter sorter;
    sorter(reinterpret_cast<hwy::uint128_t *>(first), static_cast<size_t>(last - first),
           hwy::SortAscending());
}

static bool sort_vqsort(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->items;
    return with_type(call, [](auto *first, auto *last) { vqsort(first, last); });
}

/* Returns how many of the first `count` items of the merged output come from the left half. */
template <typename Item>
static size_t split_merge(const Item *left, size_t left_count, const Item *right,
                          size_t right_count, size_t count)
{
    size_t low = count > right_count ? count - right_count : 0, high = std::min(count, left_count);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (left[middle] < right[count - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Two threads each sort a half, then each merges a half of the output. */
static bool sort_vqsort_halves(const struct cpu_peer_call *call, void **sorted)
{
    *sorted = call->scratch;
    return with_type(call, [call](auto *first, auto *last) {
        auto *const middle = first + call->count / 2;
        auto *const to = static_cast<decltype(first)>(call->scratch);
        std::thread sorter([=] { vqsort(middle, last); });
        vqsort(first, middle);
        sorter.join();
        const size_t left_count = call->count / 2, half = call->count / 2;
        const size_t left = split_merge(first, left_count, middle, call->count - left_count, half);
        std::thread merger(
            [=] { std::merge(first + left, middle, middle + (half - left), last, to + half); });
        std::merge(first, first + left, middle, middle + (half - left), to);
        merger.join();
    });
}

#endif

static const struct cpu_peer cpu_peers[] = {
#ifdef HAVE_TBB
    {"std-sort-par", 1, sort_tbb},
#endif
    {"std-sort", 1, sort_std},
#ifdef HAVE_HWY
    {"vqsort", VQSORT_BYTES_MIN, sort_vqsort},
    {"vqsort-halves", VQSORT_BYTES_MIN, sort_vqsort_halves},
#endif
};

/* ---- cases ---- */

/* Maximum bytes of scratch apart from room for the items. */
#define SCRATCH_MORE_BYTES ((size_t)64 << 20)

/* Up to this size the memory of the engine is touched before the timing, and in a cache, as for
 * the peers. */
#define POPULATED_BYTES ((size_t)2 << 20)

struct bench {
    const struct bench_options *options;
    const struct backend *backend;
    std::vector<struct bench_sorter> sorters;
};

using buffer = std::unique_ptr<unsigned char[]>;

/* A case and its data; each buffer has `bytes`. */
struct workload {
    const struct bench_type *type;
    const struct bench_shape *shape;
    size_t count, bytes;
    buffer input, work, scratch, expected;
};

/* NULL peer: ours. */
struct timed {
    const struct cpu_peer *peer;
    struct bench_result *result;
    std::vector<double> ms;
    bool is_sorted;
};

/* ---- data ---- */

/* Returns what x in [0, 1] becomes: a float from -1 to 1, or an integer of its whole range. */
template <typename Key>
static Key scaled(double x)
{
    if (std::is_floating_point<Key>::value)
        return static_cast<Key>(2 * x - 1);
    const double values = ldexp(1 - 0x1p-52, 8 * sizeof(Key)); /* 1 is not too large either */
    return static_cast<Key>(x * values - (std::is_signed<Key>::value ? values / 2 : 0));
}

template <typename Key>
static bool fill(const struct workload *load, Key *keys)
{
    struct key_index *const items = reinterpret_cast<struct key_index *>(load->input.get());
    uint64_t *const packed = reinterpret_cast<uint64_t *>(load->input.get());
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < load->count; i++) {
        const Key key = scaled<Key>(
            bench_shape_position(load->shape->id, i, load->count, bench_random_bits(i)));
        if (bench_is_packed(load->type))
            packed[i] = static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(i);
        else if (load->type->index_bytes)
            items[i] = {i, static_cast<uint64_t>(key)};
        else
            keys[i] = key;
    }
    return true;
}

/* Returns memory that has not been touched. */
static buffer make_buffer(size_t bytes)
{
    return buffer(new unsigned char[bytes]);
}

/* Generates the data. Returns false if this benchmark lacks the shape, or C++ the type. */
static bool make_input(struct workload *load)
{
    if (bench_shape_position(load->shape->id, 0, 2, 0) < 0)
        return false;
    load->input = make_buffer(load->bytes);
    if (!with_keys(load->type->key, load->input.get(),
                   [load](auto *keys) { return fill(load, keys); }))
        return false;
    load->work = make_buffer(load->bytes);
    load->scratch = make_buffer(load->bytes);
    memset(load->scratch.get(), 0, load->bytes);
    return true;
}

/* ---- runs ---- */

/* Makes the kernel prepare `bytes` bytes of free memory, in large pages if it can, so that the next
 * run does not wait for it. Errors are ignored. */
static void touch_free_memory(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    munmap(memory, bytes);
}

static bool fill_engine(const struct engine_functions *functions, struct engine *engine,
                        const struct workload *load, uint64_t *taking_ns, struct error *error)
{
    struct chunk chunk;
    const size_t width = bench_item_bytes(load->type);
    for (size_t taken = 0; taken < load->count; taken += chunk.count) {
        if (!functions->lend(engine, load->count - taken, &chunk, error))
            return false;
        chunk.count = std::min(chunk.capacity, load->count - taken);
        memcpy(chunk.items, load->input.get() + taken * width, chunk.count * width);
        const uint64_t begin = clock_now_ns();
        const bool is_taken = functions->take(engine, chunk, error);
        *taking_ns += clock_now_ns() - begin;
        if (!is_taken)
            return false;
    }
    return true;
}

/* Receives all items. If `expected` is not NULL, sets *is_sorted to false if they differ from it.
 */
static bool empty_engine(const struct engine_functions *functions, struct engine *engine,
                         const struct workload *load, const unsigned char *expected,
                         bool *is_sorted, struct error *error)
{
    struct chunk chunk;
    const size_t width = bench_item_bytes(load->type);
    for (size_t given = 0; given < load->count; given += chunk.count) {
        if (!functions->give(engine, &chunk, error))
            return false;
        if (expected)
            *is_sorted = *is_sorted &&
                         memcmp(chunk.items, expected + given * width, chunk.count * width) == 0;
        if (!functions->take_back(engine, chunk, error))
            return false;
    }
    return true;
}

/* The output is either checked or timed: reading it would give the threads of the engine extra
 * time. */
static bool run_engine(const struct bench *bench, const struct sort_spec *spec,
                       const struct workload *load, bool is_checked, struct timed *timed,
                       struct error *error)
{
    const struct engine_functions *const functions = bench->backend->keys;
    struct engine *engine = NULL;
    uint64_t ns = 0; /* of the engine alone */
    if (load->bytes > POPULATED_BYTES)
        touch_free_memory(2 * load->bytes + SCRATCH_MORE_BYTES);
    bool ok =
        functions->open(spec, &engine, error) && fill_engine(functions, engine, load, &ns, error);
    const uint64_t begin = clock_now_ns();
    ok = ok && functions->sort(engine, error) &&
         empty_engine(functions, engine, load, is_checked ? load->expected.get() : NULL,
                      &timed->is_sorted, error);
    ns += clock_now_ns() - begin;
    if (ok && !is_checked)
        timed->ms.push_back(static_cast<double>(ns) * 1e-6);
    functions->close(engine);
    return ok;
}

static bool run_ours(const struct bench *bench, const struct workload *load, struct timed *timed,
                     struct error *error)
{
    struct sort_spec spec = {};
    spec.item_bytes = bench_item_bytes(load->type);
    spec.order = load->type->index_bytes ? key_order_identity()
                                         : key_order_make(&key_types[load->type->key],
                                                          ENDIAN_LITTLE, NAN_GREATEST, false);
    spec.count = load->count;
    spec.algorithm = &bench->backend->algorithms[0];
    spec.threads = bench->options->threads;
    return (!timed->ms.empty() || run_engine(bench, &spec, load, true, timed, error)) &&
           run_engine(bench, &spec, load, false, timed, error);
}

static bool call_peer(struct workload *load, const struct cpu_peer *peer, void **sorted, double *ms)
{
    memcpy(load->work.get(), load->input.get(), load->bytes);
    const bool is_packed = bench_is_packed(load->type);
    const struct cpu_peer_call call = {is_packed ? KEY_TYPE_u64 : load->type->key,
                                       !is_packed && load->type->index_bytes > 0, load->count,
                                       load->work.get(), load->scratch.get()};
    const uint64_t start = clock_now_ns();
    const bool is_sorted = peer->sort(&call, sorted);
    *ms = static_cast<double>(clock_now_ns() - start) * 1e-6;
    return is_sorted;
}

static void run_peer(struct workload *load, struct timed *timed)
{
    void *sorted;
    double ms;
    call_peer(load, timed->peer, &sorted, &ms);
    timed->ms.push_back(ms);
    timed->is_sorted = timed->is_sorted && memcmp(sorted, load->expected.get(), load->bytes) == 0;
}

static double total_ms(const std::vector<struct timed> &all)
{
    double total = 0;
    for (const struct timed &timed : all)
        for (const double ms : timed.ms)
            total += ms;
    return total;
}

/* Sorters run in turns, so that changes over time affect all of them. */
static bool time_all(const struct bench *bench, struct workload *load,
                     std::vector<struct timed> *all, struct error *error)
{
    const struct bench_effort *const effort = &bench->options->effort;
    const double least_ms = effort->least_ms * static_cast<double>(all->size());
    for (unsigned run = 0; run < effort->runs || (total_ms(*all) < least_ms && run < 10000); run++)
        for (struct timed &timed : *all)
            if (timed.peer)
                run_peer(load, &timed);
            else if (!run_ours(bench, load, &timed, error))
                return false;
    return true;
}

/* ---- a case ---- */

static double median(std::vector<double> *sorted)
{
    std::sort(sorted->begin(), sorted->end());
    return (*sorted)[sorted->size() / 2];
}

static void set_result(const struct workload *load, struct timed *timed)
{
    struct bench_result *const result = timed->result;
    result->runs = static_cast<unsigned>(timed->ms.size());
    result->batch = 1;
    result->median_ms = median(&timed->ms);
    result->least_ms = timed->ms[0];
    result->item_bytes = bench_item_bytes(load->type);
    result->is_wrong = !timed->is_sorted;
}

/* Leaves out a case whose shape or type this program lacks, and peers that lack the type. */
static bool run_case(void *context, const struct bench_type *type, const struct bench_shape *shape,
                     size_t count, const struct bench_sorter *sorters, size_t sorter_count,
                     struct bench_result *results, struct error *error)
{
    const struct bench *const bench = static_cast<struct bench *>(context);
    struct workload load = {type, shape, count, count * bench_item_bytes(type), {}, {}, {}, {}};
    std::vector<struct timed> all;
    void *sorted;
    double ms;
    if (!make_input(&load) || !call_peer(&load, &cpu_peers[CPU_PEER_STD], &sorted, &ms))
        return true;
    load.expected = std::exchange(load.work, make_buffer(load.bytes));
    for (size_t i = 0; i < sorter_count; i++) {
        const struct cpu_peer *const peer = static_cast<const struct cpu_peer *>(sorters[i].row);
        if (!peer || bench_item_bytes(type) >= peer->item_bytes_min)
            all.push_back({peer, &results[i], {}, true});
    }
    if (!time_all(bench, &load, &all, error))
        return false;
    for (struct timed &timed : all)
        set_result(&load, &timed);
    return true;
}

/* ---- the program ---- */

static bool open_bench(void *context, struct bench_options *options, struct bench_build *build,
                       struct error *error)
{
    struct bench *const bench = static_cast<struct bench *>(context);
    struct device_facts facts = {};
    bench->backend = backend_find("cpu");
    bench->options = options;
    if (!bench->backend->probe(0, &facts, error))
        return false;
    if (!options->threads)
        options->threads = facts.units;
    bench->sorters.push_back({bench->backend->algorithms[0].name, false, NULL});
    for (const struct cpu_peer &peer : cpu_peers)
        bench->sorters.push_back({peer.name, true, &peer});
    build->sorters = bench->sorters.data();
    build->count = bench->sorters.size();
    snprintf(build->device, sizeof build->device, "%s", facts.name);
    printf("%s, %u threads; medians of %u runs or more; the sort alone\n", facts.name,
           options->threads, options->effort.runs);
    return true;
}

static const char documentation[] =
    "Time the CPU's sort, and the sorts of other libraries, in memory; check each output. Highway "
    "and TBB are among them if pkg-config found libhwy-contrib and tbb.\vA LIST has commas between "
    "its words; types and shapes may be 'all', which leaves out those that a peer lacks. Columns: "
    "the median time of a sort, what it is to the best peer's (below 1: faster), 10^6 keys a "
    "second.\n\nExit status: 0 all sorted, 1 an output was wrong, 2 any other error.";

int main(int argc, char **argv)
{
    struct bench bench = {};
    const struct bench_program program = {"bench_cpu", "cpu",      documentation,
                                          &bench,      open_bench, run_case};
    return bench_main(argc, argv, &program);
}
