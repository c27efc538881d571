/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - see trace.h.
 *
 *   any thread: a span -> the next position of one array
 *   the end:    spans by lane and time -> rows, in which no two spans overlap -> JSON
 *
 * A row belongs to one thread or device if possible. Rows are assigned at the end, by the address
 * of a thread-local mark, so that threads need no numbers while they record. A thread whose mark
 * has the address of a thread that ended continues in that row.
 */
#include "core/trace.h"

#include "core/clock.h"
#include "core/group.h"
#include "core/rank_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* 48 bytes each: 24 MiB. A file of 100 GB takes about 150,000: a span per 2 MiB read or 1 MiB
 * written. */
#define SPANS_MAX ((size_t)1 << 19)

/* Larger than the number of any device, and less than any address. */
#define DEVICES_MOST 1024

struct span {
    const char *name;
    uint64_t begin_ns, end_ns, bytes;
    uintptr_t owner; /* address of the thread's mark; or the number of a device, plus 1 */
    enum trace_lane lane;
};

static const struct {
    const char *name;
    bool is_one; /* usually one row, whose name needs no number */
} lanes[TRACE_LANE_COUNT] = {
    [TRACE_STAGE] = {"stage", true},    [TRACE_START] = {"start", true},
    [TRACE_READ] = {"read", false},     [TRACE_DECODE] = {"decode", false},
    [TRACE_PARSE] = {"parse", false},   [TRACE_UPLOAD] = {"upload", true},
    [TRACE_KERNEL] = {"kernel", true},  [TRACE_DOWNLOAD] = {"download", true},
    [TRACE_PEER] = {"peer", true},      [TRACE_SPILL] = {"spill", false},
    [TRACE_MERGE] = {"merge", false},   [TRACE_MAKE] = {"make", false},
    [TRACE_ENCODE] = {"encode", false}, [TRACE_SPACE] = {"space", false},
    [TRACE_WRITE] = {"write", false},
};

/* State that every thread may change; trace.h says why it is global. */
static struct {
    struct span *spans; /* NULL: nothing is recorded */
    uint64_t start_ns;
    atomic_size_t span_count; /* including spans without room */
    atomic_uint_least64_t bytes[TRACE_LANE_COUNT];
    atomic_uint_least64_t expected_bytes, device_bytes, stage_begin_ns;
    _Atomic(const char *) stage, strategy, strategy_reason;
} trace;

static _Thread_local char thread_mark;

bool trace_is_recording(void)
{
    return trace.spans;
}

uint64_t trace_begin(void)
{
    return trace.spans ? clock_now_ns() : 0;
}

static void record(enum trace_lane lane, uintptr_t owner, const char *name, uint64_t begin_ns,
                   uint64_t end_ns, uint64_t bytes)
{
    atomic_fetch_add_explicit(&trace.bytes[lane], bytes, memory_order_relaxed);
    if (!trace.spans)
        return;
    const size_t index = atomic_fetch_add_explicit(&trace.span_count, 1, memory_order_relaxed);
    if (index < SPANS_MAX)
        trace.spans[index] = (struct span){name, begin_ns, end_ns, bytes, owner, lane};
}

void trace_span(enum trace_lane lane, const char *name, uint64_t begin_ns, uint64_t end_ns,
                uint64_t bytes)
{
    record(lane, (uintptr_t)&thread_mark, name, begin_ns, end_ns, bytes);
}

void trace_device_span(enum trace_lane lane, unsigned device, const char *name, uint64_t begin_ns,
                       uint64_t end_ns, uint64_t bytes)
{
    record(lane, (uintptr_t)device + 1, name, begin_ns, end_ns, bytes);
}

void trace_end(enum trace_lane lane, uint64_t begin_ns, uint64_t bytes)
{
    trace_span(lane, lanes[lane].name, begin_ns, trace_begin(), bytes);
}

uint64_t trace_stage(const char *name)
{
    const uint64_t now_ns = clock_now_ns();
    if (atomic_load_explicit(&trace.stage, memory_order_relaxed) != name) {
        atomic_store_explicit(&trace.stage_begin_ns, now_ns, memory_order_relaxed);
        atomic_store_explicit(&trace.stage, name, memory_order_relaxed);
    }
    return now_ns;
}

void trace_expect(uint64_t bytes)
{
    atomic_store_explicit(&trace.expected_bytes, bytes, memory_order_relaxed);
}

void trace_note_device_bytes(uint64_t bytes)
{
    uint64_t most = atomic_load_explicit(&trace.device_bytes, memory_order_relaxed);
    while (bytes > most &&
           !atomic_compare_exchange_weak_explicit(&trace.device_bytes, &most, bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void trace_note_strategy(const char *strategy, const char *reason)
{
    atomic_store_explicit(&trace.strategy_reason, reason, memory_order_relaxed);
    atomic_store_explicit(&trace.strategy, strategy, memory_order_relaxed);
}

void trace_look(struct trace_view *view)
{
    view->stage = atomic_load_explicit(&trace.stage, memory_order_relaxed);
    view->stage_begin_ns = atomic_load_explicit(&trace.stage_begin_ns, memory_order_relaxed);
    view->expected_bytes = atomic_load_explicit(&trace.expected_bytes, memory_order_relaxed);
    view->device_bytes = atomic_load_explicit(&trace.device_bytes, memory_order_relaxed);
    view->strategy = atomic_load_explicit(&trace.strategy, memory_order_relaxed);
    view->strategy_reason = atomic_load_explicit(&trace.strategy_reason, memory_order_relaxed);
    for (size_t i = 0; i < TRACE_LANE_COUNT; i++)
        view->bytes[i] = atomic_load_explicit(&trace.bytes[i], memory_order_relaxed);
}

/* ---- the counters of all ranks ---- */

/* For rank 0, if it can read the counters of all ranks. Static, as the counters are. */
static struct {
    struct rank_memory *memory; /* NULL: it cannot */
    uint64_t *addresses;        /* of the counters of each rank, in its memory */
} ranks;

static void forget_ranks(void)
{
    free(ranks.memory);
    free(ranks.addresses);
    ranks.memory = NULL;
    ranks.addresses = NULL;
}

bool trace_ranks_share(struct group *group, bool is_wanted, struct error *error)
{
    const uint64_t own = group->rank > 0 || is_wanted ? (uintptr_t)trace.bytes : 0;
    ranks.addresses = group_gather(group, &own, 1, error);
    const bool ok = ranks.addresses && (ranks.addresses[0] == 0 || /* not wanted */
                                        rank_memory_open(group, &ranks.memory, error));
    if (!ok || group->rank > 0)
        forget_ranks();
    return ok;
}

unsigned trace_ranks_look(struct trace_view *view)
{
    unsigned counted = 1;
    for (unsigned rank = 1; ranks.memory && rank < ranks.memory->count; rank++) {
        uint64_t bytes[TRACE_LANE_COUNT];
        struct error error = {0};
        if (!rank_memory_read(ranks.memory, rank, ranks.addresses[rank], bytes, sizeof bytes,
                              &error))
            continue;
        counted++;
        for (size_t i = 0; i < TRACE_LANE_COUNT; i++)
            view->bytes[i] += bytes[i];
    }
    return counted;
}

/* ---- a trace ---- */

void trace_restart(void)
{
    forget_ranks();
    for (size_t i = 0; i < TRACE_LANE_COUNT; i++)
        atomic_store(&trace.bytes[i], 0);
    atomic_store(&trace.expected_bytes, 0);
    atomic_store(&trace.device_bytes, 0);
    atomic_store(&trace.stage, NULL);
    atomic_store(&trace.strategy, NULL);
}

bool trace_start(bool is_recorded, struct error *error)
{
    trace_restart();
    atomic_store(&trace.span_count, 0);
    trace.start_ns = clock_now_ns();
    /* Unused pages take no memory. */
    trace.spans = is_recorded ? calloc(SPANS_MAX, sizeof *trace.spans) : NULL;
    return !is_recorded || trace.spans || error_set(error, "out of memory: no room for a trace");
}

void trace_stop(void)
{
    free(trace.spans);
    trace.spans = NULL;
}

/* Compares by lane and time. */
static int compare_spans(const void *left, const void *right)
{
    const struct span *const a = left, *const b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* A row of spans. */
struct row {
    uintptr_t owner;
    uint64_t end_ns; /* end of its last span */
};

/* The rows of the lane that is being written. */
struct rows {
    struct row *rows;
    size_t count, room;
    size_t before; /* rows in earlier lanes */
};

/* Returns the row of the span's owner that is free at that time, or a new one. SIZE_MAX: no
 * memory. */
static size_t find_row(struct rows *rows, const struct span *span)
{
    size_t i = 0;
    while (i < rows->count &&
           (rows->rows[i].owner != span->owner || rows->rows[i].end_ns > span->begin_ns))
        i++;
    if (i == rows->count && rows->count == rows->room) {
        const size_t room = 2 * rows->room + 16;
        struct row *const grown = realloc(rows->rows, room * sizeof *grown);
        if (!grown)
            return SIZE_MAX;
        rows->rows = grown;
        rows->room = room;
    }
    rows->count += i == rows->count;
    rows->rows[i] = (struct row){span->owner, span->end_ns};
    return i;
}

/* Writes the name of the last row: the name of the lane, and the number of the device or of the
 * row. The first row of a lane that usually has one row gets no number. */
static void write_row_name(FILE *stream, unsigned process, enum trace_lane lane,
                           const struct rows *rows)
{
    char number[64] = "";
    const size_t row = rows->count - 1, id = rows->before + row + 1;
    const uintptr_t owner = rows->rows[row].owner;
    size_t rows_before = 0; /* of the same owner */
    for (size_t i = 0; i < row; i++)
        rows_before += rows->rows[i].owner == owner;
    if (owner <= DEVICES_MOST)
        snprintf(number, sizeof number, rows_before > 0 ? " gpu %zu, %zu" : " gpu %zu",
                 (size_t)owner - 1, rows_before);
    else if (!lanes[lane].is_one || row > 0)
        snprintf(number, sizeof number, " %zu", row);
    fprintf(stream,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%zu,"
            "\"args\":{\"name\":\"%s%s\"}}"
            ",\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%u,\"tid\":%zu,"
            "\"args\":{\"sort_index\":%zu}}",
            process, id, lanes[lane].name, number, process, id, id);
}

static void write_span(FILE *stream, unsigned process, const struct span *span, size_t id)
{
    const uint64_t begin_ns = span->begin_ns - trace.start_ns;
    const uint64_t took_ns = span->end_ns - span->begin_ns;
    fprintf(stream,
            ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%zu,"
            "\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64 ".%03u,\"args\":{\"bytes\":%" PRIu64 "}}",
            span->name, lanes[span->lane].name, process, id, begin_ns / 1000,
            (unsigned)(begin_ns % 1000), took_ns / 1000, (unsigned)(took_ns % 1000), span->bytes);
}

/* Writes the spans, which are sorted. Returns false with errno. */
static bool write_spans(FILE *stream, unsigned process, size_t count)
{
    struct rows rows = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const struct span *const span = &trace.spans[i];
        if (i > 0 && span->lane != span[-1].lane) {
            rows.before += rows.count;
            rows.count = 0;
        }
        const size_t known = rows.count, row = find_row(&rows, span);
        ok = row != SIZE_MAX;
        if (ok && row == known)
            write_row_name(stream, process, span->lane, &rows);
        if (ok)
            write_span(stream, process, span, rows.before + row + 1);
    }
    free(rows.rows);
    if (!ok)
        errno = ENOMEM;
    return ok;
}

static size_t count_spans(size_t *lost)
{
    const size_t seen = atomic_load(&trace.span_count);
    *lost = seen < SPANS_MAX ? 0 : seen - SPANS_MAX;
    return seen - *lost;
}

bool trace_write_head(FILE *stream)
{
    size_t lost;
    (void)count_spans(&lost);
    return fprintf(stream,
                   "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"lost_spans\":%zu},"
                   "\"traceEvents\":[",
                   lost) > 0;
}

bool trace_write_process(FILE *stream, unsigned process, const char *name)
{
    size_t lost;
    const size_t count = count_spans(&lost);
    qsort(trace.spans, count, sizeof *trace.spans, compare_spans);
    fprintf(stream,
            "\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,"
            "\"args\":{\"name\":\"%s\"}}",
            process, name);
    return write_spans(stream, process, count) && !ferror(stream);
}

bool trace_write_end(FILE *stream)
{
    fputs("\n]}\n", stream);
    return fflush(stream) == 0 && !ferror(stream);
}
