/* SPDX-License-Identifier: Apache-2.0 */
/* bench_options.h - the command line of bench_sort and of bench_cpu. */
#ifndef BENCH_BENCH_OPTIONS_H
#define BENCH_BENCH_OPTIONS_H

#include "bench/bench_cases.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_SIZES_AT_MOST 64

/* How long a sorter is timed. */
struct bench_effort {
    unsigned runs;   /* at least */
    double least_ms; /* and until the runs have taken so long */
    size_t batch;    /* sorts in a run; 0: more than one where one is too short to be timed */
};

struct bench_options {
    bool types[BENCH_TYPE_COUNT]; /* which of bench_types */
    bool shapes[BENCH_SHAPE_COUNT];
    size_t sizes[BENCH_SIZES_AT_MOST];
    size_t size_count;
    const char *paths; /* names with commas between; NULL: all */
    bool all_tiles;
    bool no_peers;
    struct bench_effort effort;
    unsigned threads; /* of bench_cpu; 0: one for each processor */
    const char *json; /* NULL: none */
};

/* Reads the command line; a word that is none, or --help, ends the program as argp does, with
 * status 2 or 0. documentation: of the program, as argp takes it. */
void bench_options_parse(int argc, char **argv, const char *documentation,
                         struct bench_options *options);

/* Whether the list, as in --paths, has the word. */
bool bench_list_has(const char *list, const char *word);

#ifdef __cplusplus
}
#endif
#endif
