/* SPDX-License-Identifier: Apache-2.0 */
/* bench_options.h - the command line of bench_sort and of bench_cpu. */
#ifndef BENCH_BENCH_OPTIONS_H
#define BENCH_BENCH_OPTIONS_H

#include "bench/bench_cases.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_SIZES_AT_MOST 64
#define BENCH_DEVICES_AT_MOST 64

/* How long to time a sorter. */
struct bench_effort {
    unsigned runs;   /* minimum */
    double least_ms; /* and until the runs have taken this long */
    size_t batch;    /* sorts per run; 0: several if one is too short to time */
};

/* Counts drawn at random, their logarithms uniformly, so that nobody can tune for them. */
struct bench_random {
    unsigned long long seed;
    double least, most; /* 0: counts are as said */
    bool is_open; /* for some shapes bench_sort replaces `most` by what the device's memory holds */
};

struct bench_options {
    bool types[BENCH_TYPE_COUNT]; /* indexed as bench_types */
    bool shapes[BENCH_SHAPE_COUNT];
    size_t sizes[BENCH_SIZES_AT_MOST];
    size_t size_count;
    struct bench_random random;
    const char *paths; /* comma-separated names; NULL: all */
    bool all_tiles;
    bool no_peers;
    struct bench_effort effort;
    unsigned threads;                        /* for bench_cpu; 0: one per processor */
    const char *json;                        /* NULL: none */
    unsigned devices[BENCH_DEVICES_AT_MOST]; /* from host memory to host memory, by these GPUs */
    unsigned device_count;                   /* 0: the sorts alone, on the first GPU */
};

/* Parses the command line. An invalid word, or --help, ends the program as argp does, with
 * status 2 or 0. documentation: text for argp. */
void bench_options_parse(int argc, char **argv, const char *documentation,
                         struct bench_options *options);

/* The count of that number, from random->least to `most`. */
size_t bench_random_size(const struct bench_random *random, size_t number, double most);

/* True if the comma-separated list has the word. */
bool bench_list_has(const char *list, const char *word);

#ifdef __cplusplus
}
#endif
#endif
