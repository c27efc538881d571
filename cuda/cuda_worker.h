/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_worker.h - a path at work on a device: what every engine has, whatever it sorts.
 */
#ifndef CUDA_CUDA_WORKER_H
#define CUDA_CUDA_WORKER_H

#include "cuda/cuda_paths.h"
#include "cuda/cuda_time.h"

struct cuda_worker {
    unsigned device;
    const struct algorithm *algorithm;
    const struct cuda_path *path;
    size_t tile_size;
    cudaStream_t stream; /* all work goes by it */
    struct cuda_clock clock;
    cudaEvent_t started;
    cudaEvent_t finished;
    struct sort_note *note; /* pinned; NULL for a path that leaves nothing over */
};

/* Finds the path that the spec names, and starts its device. *worker begins as {}; on failure, too,
 * the caller closes it. */
bool worker_open(struct cuda_worker *worker, const struct sort_spec *spec, struct error *error);

/* Frees all. Nothing may be on its way on the stream any more. */
void worker_close(struct cuda_worker *worker);

/* Refuses what is beyond the range of the path. */
bool worker_check_count(const struct cuda_worker *worker, size_t count, struct error *error);

/* Marks where the time of what is started next begins. */
bool worker_start_clock(struct cuda_worker *worker, struct error *error);

/* Waits for all that was started, a sort of so many bytes, and adds the time since the mark to
 * *busy_ns. */
bool worker_stop_clock(struct cuda_worker *worker, uint64_t bytes, uint64_t *busy_ns,
                       struct error *error);

/* Sorts by the path, waits, and adds the time that it took to *busy_ns. The sort's note and stream
 * are the worker's. */
bool worker_sort(struct cuda_worker *worker, const struct cuda_sort *sort, uint64_t *busy_ns,
                 struct error *error);

#endif
