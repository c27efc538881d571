/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_worker.h - a path, its device and its stream: the part that all engines share. */
#ifndef CUDA_CUDA_WORKER_H
#define CUDA_CUDA_WORKER_H

#include "core/backend.h"
#include "core/trace.h"
#include "cuda/cuda_check.h"
#include "cuda/cuda_sort.h"

/* ---- the functions of a path ---- */

struct cuda_path {
    bool (*sort)(const struct cuda_sort *sort, struct error *error);
    size_t (*workspace_bytes)(size_t count, size_t tile_size, unsigned item_bytes);
    /* NULL: `sort` leaves no work. */
    bool (*finish)(const struct cuda_sort *sort, unsigned round, bool *is_done,
                   struct error *error);
};

/* Returns NULL if the algorithm is not a row of this backend. */
const struct cuda_path *cuda_path_find(const struct algorithm *algorithm);

/* Sorts by the path, and waits until all work is done. Also after a failure none of its kernels is
 * running, because it would write to the status block of the next sort. */
static inline bool cuda_path_sort(const struct cuda_path *path, const struct cuda_sort *sort,
                                  struct error *error)
{
    bool is_done = false;
    bool is_well = path->sort(sort, error);
    for (unsigned round = 1; is_well && !is_done; round++) {
        is_well = cuda_wait(*sort, error);
        is_done = true;
        if (is_well && path->finish)
            is_well = path->finish(sort, round, &is_done, error);
    }
    if (!is_well)
        (void)cudaStreamSynchronize(sort->stream);
    return is_well;
}

/* ---- a worker ---- */

struct cuda_worker {
    unsigned device;
    const struct algorithm *algorithm;
    const struct cuda_path *path;
    cudaStream_t stream; /* for all work */
    cudaEvent_t started;
    cudaEvent_t finished;
    cudaEvent_t clock; /* for a trace, an event at clock_ns of the host's clock; else NULL */
    uint64_t clock_ns;
    uint64_t reached_ns[TRACE_LANE_COUNT]; /* end of the last span in each lane */
    struct sort_status *status;            /* pinned; NULL for a path without `finish` */
};

/* Finds the path of the spec and starts its device. *worker must be {} before. The caller closes
 * it, on failure too. */
bool worker_open(struct cuda_worker *worker, const struct sort_spec *spec, struct error *error);

/* Frees all. The stream must be idle. */
void worker_close(struct cuda_worker *worker);

/* Fails if the path cannot sort `count` items. */
bool worker_check_count(const struct cuda_worker *worker, size_t count, struct error *error);

/* Waits for the event `end`, and adds the time between both events to *ns. Reports a span of work
 * on `bytes` bytes to core/trace.h. */
bool worker_add_span(struct cuda_worker *worker, enum trace_lane lane, const char *name,
                     uint64_t bytes, cudaEvent_t start, cudaEvent_t end, uint64_t *ns,
                     struct error *error);

/* Marks the start time of the work that is started next, and the end of the work started so far. */
bool worker_start_clock(struct cuda_worker *worker, struct error *error);
bool worker_mark_end(struct cuda_worker *worker, struct error *error);

/* Waits for all work that was started, which sorted `bytes` bytes. Adds the time since the mark, in
 * nanoseconds, to *busy_ns, and records a span of the trace. */
bool worker_stop_clock(struct cuda_worker *worker, uint64_t bytes, uint64_t *busy_ns,
                       struct error *error);

/* Sorts by the path, waits, and adds the time taken to *busy_ns. The sort's status block and stream
 * must be the worker's. */
bool worker_sort(struct cuda_worker *worker, const struct cuda_sort &sort, uint64_t *busy_ns,
                 struct error *error);

#endif
