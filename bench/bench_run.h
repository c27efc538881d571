/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.h - runs one case with all sorters: timed in turns, each output checked. */
#ifndef BENCH_BENCH_RUN_H
#define BENCH_BENCH_RUN_H

#include "bench/bench_common.h"
#include "bench/bench_data.h"
#include "bench/peers.h"
#include "core/backend.h"

/* A path of ours with a tile size, or a peer. */
struct sorter {
    const struct algorithm *algorithm; /* NULL: the peer */
    const struct peer *peer;           /* NULL: the path */
    size_t tile_size;                  /* 0: has no tiles */
};

/* The result of a sorter for a case. */
struct bench_result {
    double median_ms;       /* per sort, over the timed runs */
    double least_ms;        /* per sort, in the fastest run */
    size_t scratch_bytes;   /* apart from the items */
    size_t batch;           /* sorts per run */
    unsigned runs;          /* timed runs */
    bool is_sorted;         /* every output was sorted and complete */
    struct error not_timed; /* if set: why there are no times */
};

static inline const char *sorter_name(const struct sorter *sorter)
{
    return sorter->algorithm ? sorter->algorithm->name : sorter->peer->name;
}

/* True if the sorter can sort the type. A path sorts all types. */
bool sorter_accepts(const struct sorter *sorter, const struct bench_type *type);

/* Bytes per item for the sorter: a peer's pairs may be smaller than ours. */
size_t sorter_item_bytes(const struct sorter *sorter, const struct bench_type *type);

/* Fills results[0..count), one per sorter: a warm-up run, then timed runs until they have taken
 * 10 s. If a sorter refuses the case or lacks memory, its result has the reason; returns false
 * if the device itself fails. */
bool bench_run_case(const struct bench_case *bench, const struct bench_effort *effort,
                    const struct sorter *sorters, size_t count, struct bench_result *results,
                    struct error *error);

#endif
