/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.h - prints measured rows as a table and as lines of JSON. */
#ifndef BENCH_BENCH_REPORT_H
#define BENCH_BENCH_REPORT_H

#include "core/error.h"

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_row {
    const char *device;
    const char *device_class; /* of core/auto_table.h */
    const char *type;
    const char *shape;
    size_t count;
    const char *path;
    bool is_peer;
    unsigned threads;  /* requested number of CPU threads; 0: not applicable */
    size_t tile_size;  /* 0: none */
    unsigned runs;     /* timed runs; 0: see problem */
    size_t batch;      /* sorts per run */
    double median_ms;  /* per sort, over the runs */
    double least_ms;   /* per sort, in the fastest run */
    double peer_ms;    /* median of the fastest peer; 0: no peer */
    size_t item_bytes; /* per item */
    size_t scratch_bytes;
    bool is_sorted;
    const char *problem; /* why it was not timed; otherwise NULL */
};

void bench_report_head(FILE *stream);
void bench_report_row(FILE *stream, const struct bench_row *row);

/* Prints one object in one line; values that were not measured are null. */
void bench_report_json(FILE *stream, const struct bench_row *row);

/* Closes the file, which may be NULL; false if anything written to it was lost. */
bool bench_report_close(FILE *stream, const char *name, struct error *error);

#ifdef __cplusplus
}
#endif
#endif
