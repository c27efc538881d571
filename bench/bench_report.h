/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.h - the rows that were measured, as a table and as lines of JSON. */
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
    unsigned threads;  /* that were asked for, of the CPU; 0: none were */
    size_t tile_size;  /* 0: none */
    unsigned runs;     /* timed; 0: see problem */
    size_t batch;      /* sorts in a run */
    double median_ms;  /* of a sort, over the runs */
    double least_ms;   /* of a sort in the fastest run */
    double peer_ms;    /* the best peer's median; 0: there is none */
    size_t item_bytes; /* of one item */
    size_t scratch_bytes;
    bool is_sorted;
    const char *problem; /* why it was not timed; else NULL */
};

void bench_report_head(FILE *stream);
void bench_report_row(FILE *stream, const struct bench_row *row);

/* One object in one line; what was not measured is null. */
void bench_report_json(FILE *stream, const struct bench_row *row);

/* Closes the file unless it is NULL; false if anything written to it was lost. */
bool bench_report_close(FILE *stream, const char *name, struct error *error);

#ifdef __cplusplus
}
#endif
#endif
