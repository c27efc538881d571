/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gpus.cu - see bench_run.h.
 *
 *   each run: generate on the GPUs -> host memory, digest
 *             [each GPU uploads and sorts its part -> exchange -> each downloads its range]
 *             upload again -> digests compared, and the ends of the ranges
 */
#include "bench/bench_run.h"

#include "core/clock.h"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_memory.h"
#include "cuda/group/gpus.h"

#include <algorithm>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

static const size_t huge_page_bytes = (size_t)2 << 20;

/* Times of a run in ns. */
enum phase { PHASE_UPLOAD, PHASE_SORT, PHASE_EXCHANGE, PHASE_DOWNLOAD, PHASE_ALL, PHASE_COUNT };

/* A GPU with its part of the items. */
struct seat {
    struct bench_case bench;
    struct cuda_worker worker;
    void *items, *scratch, *workspace;
    unsigned char *host; /* its part of the host's memory */
    struct item_digest *work;
    struct item_digest digest;
    uint64_t uploaded_ns; /* time of the host's clock */
};

struct table {
    const struct algorithm *algorithm;
    size_t item_bytes;
    size_t bytes; /* of all items */
    unsigned char *host;
    bool is_pinned;
    std::vector<struct seat> seats;
};

static struct cuda_sort seat_sort(const struct table *table, const struct seat *seat)
{
    const struct key_order order =
        seat->bench.type->index_bytes > 0
            ? key_order_identity()
            : key_order_make(&key_types[seat->bench.type->key], ENDIAN_LITTLE, NAN_GREATEST, false);
    return {seat->items,
            seat->scratch,
            seat->workspace,
            seat->bench.count,
            static_cast<unsigned>(table->item_bytes),
            order,
            algorithm_largest_tile(table->algorithm),
            seat->bench.device,
            seat->worker.stream,
            seat->worker.status};
}

static bool upload(const struct table *table, const struct seat *seat, struct error *error)
{
    return cuda_fetch(seat->worker, seat->items, seat->host, seat->bench.count * table->item_bytes,
                      error);
}

static bool download(const struct table *table, const struct seat *seat, struct error *error)
{
    return cuda_fetch(seat->worker, seat->host, seat->items, seat->bench.count * table->item_bytes,
                      error);
}

/* ---- the steps of a GPU ---- */

static bool open_seat(struct table *table, struct seat *seat, struct error *error)
{
    const size_t bytes = seat->bench.count * table->item_bytes;
    struct sort_spec spec = {};
    void *work = NULL;
    spec.algorithm = table->algorithm;
    spec.tile_size = algorithm_largest_tile(table->algorithm);
    spec.device = seat->bench.device;
    if (!worker_open(&seat->worker, &spec, error) ||
        !cuda_memory_allocate(spec.device, bytes, &seat->items, error) ||
        !cuda_memory_allocate(spec.device, bytes, &seat->scratch, error) ||
        !cuda_memory_allocate(
            spec.device,
            seat->worker.path->workspace_bytes(seat->bench.count, spec.tile_size,
                                               static_cast<unsigned>(table->item_bytes)),
            &seat->workspace, error) ||
        !cuda_memory_allocate(spec.device, sizeof *seat->work, &work, error))
        return false;
    seat->work = static_cast<struct item_digest *>(work);
    seat->bench.stream = seat->worker.stream;
    return true;
}

static void close_seat(struct seat *seat)
{
    (void)cudaSetDevice(static_cast<int>(seat->bench.device));
    for (void *memory :
         {seat->items, seat->scratch, seat->workspace, static_cast<void *>(seat->work)})
        if (memory)
            (void)cudaFree(memory);
    worker_close(&seat->worker);
}

static bool digest_seat(struct seat *seat, struct error *error)
{
    return bench_data_digest(&seat->bench, {seat->items, NULL}, seat->work, &seat->digest, error);
}

static bool fill_seat(struct table *table, struct seat *seat, struct error *error)
{
    return bench_data_fill(&seat->bench, {seat->items, NULL}, error) && digest_seat(seat, error) &&
           download(table, seat, error);
}

static bool sort_seat(struct table *table, struct seat *seat, struct error *error)
{
    const struct cuda_sort sort = seat_sort(table, seat);
    if (!upload(table, seat, error))
        return false;
    seat->uploaded_ns = clock_now_ns();
    return cuda_path_sort(seat->worker.path, &sort, error);
}

static bool check_seat(struct table *table, struct seat *seat, struct error *error)
{
    return upload(table, seat, error) && digest_seat(seat, error);
}

/* ---- a run ---- */

static bool exchange_seats(struct table *table, struct error *error)
{
    std::vector<struct gpu_part> parts;
    uint64_t ignored_ns = 0;
    if (table->seats.size() < 2)
        return true;
    for (struct seat &seat : table->seats) {
        const struct cuda_sort sort = seat_sort(table, &seat);
        parts.push_back({&seat.worker, sort, sort.count});
    }
    if (!gpus_exchange(parts.data(), parts.size(), &ignored_ns, error))
        return false;
    for (size_t i = 0; i < parts.size(); i++) {
        table->seats[i].items = parts[i].sort.items;
        table->seats[i].scratch = parts[i].sort.scratch;
    }
    return true;
}

/* Does a step on each GPU, which is the current device of its thread. */
template <typename Step>
static bool for_seats(struct table *table, const Step &step, struct error *error)
{
    return gpus_each(table->seats.size(), error, [=](size_t i, struct error *own) {
        struct seat *const seat = &table->seats[i];
        return cuda_device_use(seat->bench.device, own) && step(table, seat, own);
    });
}

static struct item_digest add_digests(const struct table *table)
{
    struct item_digest all = {0, 0, 0};
    for (const struct seat &seat : table->seats) {
        all.sum += seat.digest.sum;
        all.exclusive_or ^= seat.digest.exclusive_or;
        all.disorder += seat.digest.disorder;
    }
    return all;
}

/* Returns the ordered bits of an item of the host's memory. */
static key_u128 ordered_bits(const struct table *table, const unsigned char *item)
{
    const struct key_order order = seat_sort(table, &table->seats[0]).order;
    key_u128 bits = 0;
    memcpy(&bits, item, table->item_bytes);
    return table->item_bytes > sizeof(uint64_t)
               ? bits
               : key_order_encode(order, static_cast<unsigned>(8 * table->item_bytes),
                                  static_cast<uint64_t>(bits));
}

/* True if no range begins with a lower item than the one before it ends with. */
static bool are_ranges_in_order(const struct table *table)
{
    const unsigned char *last = NULL;
    for (const struct seat &seat : table->seats) {
        if (seat.bench.count == 0)
            continue;
        if (last && ordered_bits(table, seat.host) < ordered_bits(table, last))
            return false;
        last = seat.host + (seat.bench.count - 1) * table->item_bytes;
    }
    return true;
}

static bool run_once(struct table *table, uint64_t *times_ns, bool *is_sorted, struct error *error)
{
    if (!for_seats(table, fill_seat, error))
        return false;
    const struct item_digest before = add_digests(table);
    const uint64_t start_ns = clock_now_ns();
    if (!for_seats(table, sort_seat, error))
        return false;
    const uint64_t sorted_ns = clock_now_ns();
    if (!exchange_seats(table, error))
        return false;
    const uint64_t exchanged_ns = clock_now_ns();
    if (!for_seats(table, download, error))
        return false;
    const uint64_t end_ns = clock_now_ns();
    uint64_t uploaded_ns = start_ns;
    for (const struct seat &seat : table->seats)
        uploaded_ns = std::max(uploaded_ns, seat.uploaded_ns);
    times_ns[PHASE_UPLOAD] = uploaded_ns - start_ns;
    times_ns[PHASE_SORT] = sorted_ns - uploaded_ns;
    times_ns[PHASE_EXCHANGE] = exchanged_ns - sorted_ns;
    times_ns[PHASE_DOWNLOAD] = end_ns - exchanged_ns;
    times_ns[PHASE_ALL] = end_ns - start_ns;
    if (!for_seats(table, check_seat, error))
        return false;
    const struct item_digest after = add_digests(table);
    *is_sorted = *is_sorted && after.disorder == 0 && after.sum == before.sum &&
                 after.exclusive_or == before.exclusive_or && are_ranges_in_order(table);
    return true;
}

/* ---- a case ---- */

static bool open_table(const struct bench_options *options, const struct bench_case *whole,
                       struct table *table, struct error *error)
{
    const size_t pages = table->bytes / huge_page_bytes + 1;
    std::vector<struct device_room> devices;
    for (unsigned i = 0; i < options->device_count; i++)
        devices.push_back({options->devices[i], 1});
    table->host =
        static_cast<unsigned char *>(aligned_alloc(huge_page_bytes, pages * huge_page_bytes));
    if (!table->host)
        return error_set(error, "out of memory: %zu bytes", table->bytes);
    (void)madvise(table->host, pages * huge_page_bytes, MADV_HUGEPAGE); /* a hint */
    for (size_t i = 0; i < devices.size(); i++) {
        struct seat seat = {};
        seat.bench = *whole;
        seat.bench.device = devices[i].device;
        seat.bench.total = whole->count;
        seat.bench.first = whole->count / devices.size() * i;
        seat.bench.count = i + 1 == devices.size() ? whole->count - seat.bench.first
                                                   : whole->count / devices.size();
        seat.host = table->host + seat.bench.first * table->item_bytes;
        cuda_node_prefer(devices[i].device, seat.host, seat.bench.count * table->item_bytes);
        table->seats.push_back(seat);
    }
    table->is_pinned =
        gpus_each(
            table->seats.size(), error,
            [=](size_t i, struct error *own) { return open_seat(table, &table->seats[i], own); }) &&
        cuda_check(cudaHostRegister(table->host, pages * huge_page_bytes, cudaHostRegisterPortable),
                   devices[0].device, "cudaHostRegister", error);
    return table->is_pinned && gpus_connect(devices.data(), devices.size(), error);
}

static void close_table(struct table *table)
{
    if (table->is_pinned)
        (void)cudaHostUnregister(table->host);
    for (struct seat &seat : table->seats)
        close_seat(&seat);
    free(table->host);
}

static void print_times(const struct bench_options *options, const struct bench_case *whole,
                        const struct table *table, std::vector<uint64_t> *times, bool is_sorted)
{
    static const char *const names[PHASE_COUNT] = {"upload", "sort", "exchange", "download", "all"};
    printf("%s %s %zu, %zu bytes, GPUs", whole->type->name, whole->shape->name, whole->count,
           table->bytes);
    for (unsigned i = 0; i < options->device_count; i++)
        printf("%c%u", i > 0 ? ',' : ' ', options->devices[i]);
    for (size_t phase = 0; phase < PHASE_COUNT; phase++) {
        std::sort(times[phase].begin(), times[phase].end());
        printf("%s %s %.4f s", phase == 0 ? ":" : ",", names[phase],
               static_cast<double>(times[phase][times[phase].size() / 2]) / 1e9);
    }
    printf("%s\n", is_sorted ? "" : " WRONG");
    fflush(stdout);
}

bool bench_run_gpus(const struct bench_options *options, const struct bench_case *whole,
                    const struct algorithm *algorithm, bool *is_sorted, struct error *error)
{
    struct table table = {};
    std::vector<uint64_t> times[PHASE_COUNT];
    table.algorithm = algorithm;
    table.item_bytes = bench_item_bytes(whole->type);
    table.bytes = whole->count * table.item_bytes;
    *is_sorted = true;
    bool is_done = open_table(options, whole, &table, error);
    for (unsigned run = 0; run <= options->effort.runs && is_done; run++) {
        uint64_t times_ns[PHASE_COUNT];
        is_done = run_once(&table, times_ns, is_sorted, error);
        for (size_t phase = 0; phase < PHASE_COUNT && run > 0 && is_done; phase++)
            times[phase].push_back(times_ns[phase]);
    }
    if (is_done)
        print_times(options, whole, &table, times, *is_sorted);
    close_table(&table);
    return is_done;
}
