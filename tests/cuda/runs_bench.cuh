/* SPDX-License-Identifier: Apache-2.0 */
/* runs_bench.cuh - what runs_matrix.cu works with: files and sort(1), lines on the host, and the
 * device with its memory.
 */
#ifndef TESTS_RUNS_BENCH_CUH
#define TESTS_RUNS_BENCH_CUH

#include "core/auto_table.h"
#include "core/backend.h"
#include "cuda/engine/cuda_refine.h"
#include "tests/cuda/runs_cases.h"

extern "C" {
#include "formats/lines/lines.h"
#include "formats/lines/lines_text.h"
#include "tests/lines/append_lines.h"
}

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <string.h>
#include <unistd.h>
#include <vector>

extern "C" const struct backend cuda_backend;

/* ---- files ---- */

static char directory[] = "/tmp/runs_matrix.XXXXXX";

static std::string path_of(const char *name)
{
    return std::string(directory) + "/" + name;
}

static bool write_file(const char *name, const std::string &bytes, struct error *error)
{
    FILE *const file = fopen(path_of(name).c_str(), "wb");
    if (!file)
        return error_set(error, "%s: cannot be written", path_of(name).c_str());
    const bool is_written = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return (fclose(file) == 0 && is_written) ||
           error_set(error, "%s: cannot be written", path_of(name).c_str());
}

static bool read_file(const char *name, std::string *bytes, struct error *error)
{
    FILE *const file = fopen(path_of(name).c_str(), "rb");
    if (!file)
        return error_set(error, "%s: cannot be read", path_of(name).c_str());
    char buffer[65536];
    bytes->clear();
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
        bytes->append(buffer, got);
    return fclose(file) == 0 || error_set(error, "%s: cannot be read", path_of(name).c_str());
}

static void remove_files(void)
{
    (void)unlink(path_of("in").c_str());
    (void)unlink(path_of("expected").c_str());
    (void)rmdir(directory);
}

/* What sort(1) makes of file "in". */
static bool sort_theirs(const char *options, std::string *sorted, struct error *error)
{
    const std::string command = std::string("LC_ALL=C sort ") + options + " -o " +
                                path_of("expected") + " " + path_of("in");
    return (system(command.c_str()) == 0 || error_set(error, "%s: failed", command.c_str())) &&
           read_file("expected", sorted, error);
}

/* ---- the host ---- */

/* File "in" as lines, and their items in the order of the input. */
static bool read_lines(const struct line_order *order, unsigned threads, struct lines **lines,
                       std::vector<struct key_index> *items, struct error *error)
{
    struct source *source = NULL;
    *lines = lines_create(threads, order);
    if (!*lines)
        return error_set(error, "no memory for lines");
    const bool is_read = source_open(path_of("in").c_str(), threads, &source, error) &&
                         append_lines(*lines, source, error) && lines_index(*lines, error);
    source_close(source);
    if (!is_read)
        return false;
    size_t keyed = 0;
    items->resize(lines_count(*lines));
    return lines_key(*lines, items->data(), items->size(), &keyed, error);
}

static bool is_before(const struct key_index &a, const struct key_index &b)
{
    return a.key != b.key ? a.key < b.key : a.index < b.index;
}

static std::string gather(const struct lines *lines, const std::vector<struct key_index> &items)
{
    std::string bytes;
    for (const struct key_index &item : items)
        bytes.append(line_text(lines, item), line_length(lines, item) + 1);
    return bytes;
}

static bool refine_on_host(void *lines, struct key_index *items, size_t *count, struct error *error)
{
    return lines_refine(static_cast<const struct lines *>(lines), items, count, error);
}

/* ---- the device ---- */

/* All that a refinement works with. */
struct bench {
    struct cuda_text text;
    struct cuda_refine refine;
    struct cuda_sort sort;
};

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

template <typename T>
static bool allocate(T **memory, size_t bytes, struct error *error)
{
    return check(cudaMalloc((void **)memory, std::max<size_t>(bytes, 1)), error);
}

static struct cuda_line_order device_order(const struct line_order *order)
{
    return {order->keys[0], order->key_count, order->separator, order->terminator,
            order->reverse, order->stable,    order->unique};
}

static bool bench_choose_path(struct bench *bench, size_t count, struct error *error)
{
    struct device_facts facts = {};
    if (!cuda_backend.probe(0, &facts, error))
        return false;
    const struct auto_row *const row =
        auto_find_row(auto_find_class(&cuda_backend, &facts), sizeof(struct key_index),
                      std::max<size_t>(count, 1));
    bench->refine.path = cuda_path_find(backend_find_algorithm(&cuda_backend, row->path));
    bench->refine.tile_size = bench->sort.tile_size = row->tile_size;
    return true;
}

static bool bench_allocate(struct bench *bench, size_t count, struct error *error)
{
    struct cuda_refine *const refine = &bench->refine;
    const size_t item_bytes = sizeof(struct key_index);
    const size_t workspace =
        std::max(cuda_refine_workspace_bytes(refine->path, refine->tile_size, count, refine->room),
                 refine->path->workspace_bytes(count, refine->tile_size, item_bytes));
    return allocate(&bench->text.text, bench->text.bytes + CUDA_TEXT_SLACK_BYTES, error) &&
           allocate(&refine->items, count * item_bytes, error) &&
           allocate(&refine->scratch, count * item_bytes, error) &&
           allocate(&refine->workspace, workspace, error) &&
           check(cudaMallocHost((void **)&refine->note, sizeof *refine->note), error) &&
           check(cudaStreamCreate(&bench->text.stream), error);
}

/* room: lines that the device has room to order. */
static bool bench_open(struct bench *bench, const struct lines *lines, size_t room,
                       struct error *error)
{
    const size_t count = lines_count(lines);
    *bench = {};
    bench->text.bytes = lines_bytes(lines);
    bench->text.count = bench->sort.count = count;
    bench->text.order = device_order(lines->order);
    bench->refine.text = &bench->text;
    bench->refine.room = room;
    bench->refine.refine = refine_on_host;
    bench->refine.context = const_cast<struct lines *>(lines);
    if (!bench_choose_path(bench, count, error) || !bench_allocate(bench, count, error))
        return false;
    bench->sort.items = bench->refine.items;
    bench->sort.scratch = bench->refine.scratch;
    bench->sort.workspace = bench->refine.workspace;
    bench->sort.item_bytes = sizeof(struct key_index);
    bench->sort.order = key_order_identity();
    bench->sort.note = bench->refine.note;
    bench->sort.stream = bench->text.stream;
    return check(cudaMemcpy(const_cast<unsigned char *>(bench->text.text), lines->text,
                            bench->text.bytes, cudaMemcpyHostToDevice),
                 error);
}

static void bench_close(struct bench *bench)
{
    (void)cudaStreamDestroy(bench->text.stream);
    (void)cudaFreeHost(bench->refine.note);
    (void)cudaFree(bench->refine.workspace);
    (void)cudaFree(bench->refine.scratch);
    (void)cudaFree(bench->refine.items);
    (void)cudaFree(const_cast<unsigned char *>(bench->text.text));
}

/* Sorted items to the device, refined, and back. */
static bool bench_refine(const struct bench *bench, std::vector<struct key_index> *items,
                         struct cuda_refine_counts *counts, struct error *error)
{
    const size_t bytes = items->size() * sizeof(struct key_index);
    size_t kept = 0;
    if (!check(cudaMemcpy(bench->refine.items, items->data(), bytes, cudaMemcpyHostToDevice),
               error) ||
        !cuda_lines_refine(&bench->refine, &kept, counts, error))
        return false;
    if (kept > items->size())
        return error_set(error, "%zu of %zu lines kept", kept, items->size());
    items->resize(kept);
    return check(cudaMemcpy(items->data(), bench->refine.items, kept * sizeof(struct key_index),
                            cudaMemcpyDeviceToHost),
                 error);
}

#endif
