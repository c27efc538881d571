/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_worker.h - a path, its device and its stream: the part that all engines share. */
#ifndef CUDA_CUDA_WORKER_H
#define CUDA_CUDA_WORKER_H

#include "cuda/engine/cuda_paths.h"
#include "cuda/engine/cuda_time.h"

struct cuda_worker {
    unsigned device;
    const struct algorithm *algorithm;
    const struct cuda_path *path;
    size_t tile_size;
    cudaStream_t stream; /* for all work */
    struct cuda_clock clock;
    cudaEvent_t started;
    cudaEvent_t finished;
    struct sort_note *note; /* pinned; NULL for a path without `finish` */
};

/* Finds the path of the spec and starts its device. *worker must be {} before. The caller closes
 * it, on failure too. */
bool worker_open(struct cuda_worker *worker, const struct sort_spec *spec, struct error *error);

/* Frees all. The stream must be idle. */
void worker_close(struct cuda_worker *worker);

/* Fails if the path cannot sort `count` items. */
bool worker_check_count(const struct cuda_worker *worker, size_t count, struct error *error);

/* Marks the start time of the work that is started next. */
bool worker_start_clock(struct cuda_worker *worker, struct error *error);

/* Waits for all work that was started, which sorted `bytes` bytes, and adds the time since the mark
 * to *busy_ns. */
bool worker_stop_clock(struct cuda_worker *worker, uint64_t bytes, uint64_t *busy_ns,
                       struct error *error);

/* Sorts by the path, waits, and adds the time taken to *busy_ns. The sort's note and stream must be
 * the worker's. */
bool worker_sort(struct cuda_worker *worker, const struct cuda_sort *sort, uint64_t *busy_ns,
                 struct error *error);

#endif
