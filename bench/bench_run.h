/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.h - one case through all sorters: timed in turns, each output checked.
 */
#ifndef BENCH_BENCH_RUN_H
#define BENCH_BENCH_RUN_H

#include "bench/bench_data.h"
#include "bench/bench_options.h"
#include "bench/peers.h"
#include "core/backend.h"

/* A path of ours with a tile size, or a peer. */
struct sorter {
    const struct algorithm *algorithm; /* NULL: the peer */
    const struct peer *peer;           /* NULL: the path */
    size_t tile_size;                  /* 0: has no tiles */
};

/* What a sorter did with a case. */
struct bench_result {
    double median_ms;       /* of a sort, over the timed runs */
    double least_ms;        /* of the fastest of them */
    size_t scratch_bytes;   /* beside the items */
    size_t batch;           /* sorts in a run */
    unsigned runs;          /* that were timed */
    bool is_sorted;         /* every output, the items all there */
    struct error not_timed; /* set: why there are no times */
};

static inline const char *sorter_name(const struct sorter *sorter)
{
    return sorter->algorithm ? sorter->algorithm->name : sorter->peer->name;
}

/* A path sorts all types, a peer some. */
bool sorter_accepts(const struct sorter *sorter, const struct bench_type *type);

/* Bytes of an item as the sorter takes it: pairs of a peer may be smaller than ours. */
size_t sorter_item_bytes(const struct sorter *sorter, const struct bench_type *type);

/* Fills results[0..count), one for each sorter: a run to warm up, then those that are timed, no
 * more once they have taken 10 s. A sorter that refuses the case, or does not fit into memory, has
 * its result say so; false when the device itself fails. */
bool bench_run_case(const struct bench_case *bench, const struct bench_effort *effort,
                    const struct sorter *sorters, size_t count, struct bench_result *results,
                    struct error *error);

#endif
