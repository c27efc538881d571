/* SPDX-License-Identifier: Apache-2.0 */
/* bench_common.c - see bench_common.h. */
#include "bench/bench_common.h"

#include "core/backend.h"

#include <argp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Cases ---- */

const struct bench_type bench_types[] = {
#define X(id, name, key, index_bytes) {BENCH_TYPE_##id, name, KEY_TYPE_##key, index_bytes},
    BENCH_TYPES(X)
#undef X
};

const struct bench_shape bench_shapes[] = {
#define X(id, name, summary) {BENCH_SHAPE_##id, name, summary},
    BENCH_SHAPES(X)
#undef X
};

unsigned bench_item_bytes(const struct bench_type *type)
{
    if (type->index_bytes == 0)
        return key_types[type->key].bytes;
    return bench_peer_item_bytes(type) <= sizeof(uint64_t) ? sizeof(uint64_t)
                                                           : sizeof(struct key_index);
}

bool bench_is_packed(const struct bench_type *type)
{
    return type->index_bytes > 0 && bench_item_bytes(type) == sizeof(uint64_t);
}

unsigned bench_peer_item_bytes(const struct bench_type *type)
{
    return key_types[type->key].bytes + type->index_bytes;
}

/* ---- The command line: argp's table and the words it takes ---- */

enum {
    KEY_TYPES = 256,
    KEY_SHAPES,
    KEY_SIZES,
    KEY_PATHS,
    KEY_RUNS,
    KEY_LEAST,
    KEY_BATCH,
    KEY_THREADS,
    KEY_JSON,
    KEY_DEVICES,
    KEY_NONE
};

static const struct argp_option option_table[] = {
    {"types", KEY_TYPES, "LIST", 0,
     "Types of the items (default f64):"
#define X(id, name, key, index_bytes) " " name
     BENCH_TYPES(X),
#undef X
     0},
    {"shapes", KEY_SHAPES, "LIST", 0,
     "Shapes of the data (default uniform):"
#define X(id, name, summary) " " name " (" summary ");"
     BENCH_SHAPES(X),
#undef X
     0},
    {"sizes", KEY_SIZES, "LIST", 0,
     "Numbers of items, 5000 or 1e9 (default 1e6,1e7,1e8; all: 1e3 to 1e9 by tens, 2e9, 4e9, 8e9; "
     "random:N:SEED: N drawn from 1e7 to 1e9, and of some shapes to what the memory holds; "
     "random:N:SEED:LEAST:MOST)",
     0},
    {"paths", KEY_PATHS, "LIST", 0, "Only these paths and peers (default all)", 0},
    {"runs", KEY_RUNS, "N", 0,
     "Timed runs of each at least (default 5); of bench_sort, after one to warm up", 0},
    {"least-ms", KEY_LEAST, "MS", 0, "Run until they have taken so long (default 20)", 0},
    {"batch", KEY_BATCH, "N", 0,
     "Sorts in a run of bench_sort (default: up to 64, for some millions of items)", 0},
    {"threads", KEY_THREADS, "N", 0, "Threads of bench_cpu (default: one for each processor)", 0},
    {"json", KEY_JSON, "FILE", 0, "Write the rows to FILE too, each a line of JSON", 0},
    {"devices", KEY_DEVICES, "LIST", 0,
     "Time bench_sort from pinned host memory to host memory, by all of these GPUs together: "
     "upload, "
     "sort and download",
     0},
    {"no-peers", KEY_NONE, NULL, 0, "Leave out the sorts of other libraries", 0},
    {0},
};

/* Returns the next word of *list, a comma-separated list, and sets *length to its length without
 * the comma. Returns NULL at the end of the list. */
static const char *next_word(const char **list, size_t *length)
{
    if (!*list)
        return NULL;
    const char *const word = *list;
    *length = strcspn(word, ",");
    *list = word[*length] ? word + *length + 1 : NULL;
    return word;
}

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = 0;
    for (const char *found; (found = next_word(&list, &length));)
        if (is_word(found, length, word))
            return true;
    return false;
}

static const char *type_name(size_t i)
{
    return bench_types[i].name;
}

static const char *shape_name(size_t i)
{
    return bench_shapes[i].name;
}

/* Sets wanted[i] of each name(i) on the list, or of all. */
static void parse_names(struct argp_state *state, const char *what, const char *list, size_t count,
                        const char *(*name)(size_t), bool *wanted)
{
    memset(wanted, 0, count * sizeof *wanted);
    size_t length = 0;
    for (const char *word; (word = next_word(&list, &length));) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++)
            if (is_word(word, length, name(i)) || is_word(word, length, "all"))
                wanted[i] = is_known = true;
        if (!is_known)
            argp_error(state, "unknown %s '%.*s'", what, (int)length, word);
    }
}

/* Returns random count `number`, from random->least to `most`. */
static size_t random_size(const struct bench_random *random, size_t number, double most)
{
    const double unit = bench_unit(bench_random_bits((random->seed << 20) + number));
    return (size_t)(random->least * pow(most / random->least, unit));
}

/* N:SEED or N:SEED:LEAST:MOST. */
static void parse_random_sizes(struct argp_state *state, const char *words,
                               struct bench_options *options)
{
    struct bench_random *const random = &options->random;
    unsigned long long count = 0;
    int end = 0, range_end = 0;
    *random = (struct bench_random){.least = 1e7, .most = 1e9, .is_open = true};
    if (sscanf(words, "%llu:%llu%n:%lf:%lf%n", &count, &random->seed, &end, &random->least,
               &random->most, &range_end) == 4) {
        random->is_open = false;
        end = range_end;
    }
    if (end == 0 || words[end] || count < 1 || count > BENCH_SIZES_AT_MOST ||
        !(random->least >= 1 && random->least <= random->most && random->most <= 1e12))
        argp_error(state, "not N:SEED with N up to %d: 'random:%s'", BENCH_SIZES_AT_MOST, words);
    options->size_count = (size_t)count;
    for (size_t i = 0; i < options->size_count; i++)
        options->sizes[i] = random_size(random, i, random->most);
}

static void parse_sizes(struct argp_state *state, const char *list, struct bench_options *options)
{
    static const char random[] = "random:";
    const double greatest = 1e12; /* items of any type are then countable in bytes */
    options->random.is_open = false;
    if (strncmp(list, random, strlen(random)) == 0) {
        parse_random_sizes(state, list + strlen(random), options);
        return;
    }
    if (strcmp(list, "all") == 0)
        list = "1e3,1e4,1e5,1e6,1e7,1e8,1e9,2e9,4e9,8e9";
    options->size_count = 0;
    size_t length = 0;
    for (const char *word; (word = next_word(&list, &length));) {
        char *end = NULL;
        const double size = strtod(word, &end);
        if (end != word + length || !(size >= 1 && size <= greatest) ||
            size != (double)(size_t)size)
            argp_error(state, "not a number of items: '%.*s'", (int)length, word);
        if (options->size_count == BENCH_SIZES_AT_MOST)
            argp_error(state, "more than %d sizes", BENCH_SIZES_AT_MOST);
        options->sizes[options->size_count++] = (size_t)size;
    }
}

static unsigned parse_number(struct argp_state *state, const char *what, const char *word,
                             unsigned least, unsigned most)
{
    char *end = NULL;
    const unsigned long number = strtoul(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || number < least || number > most)
        argp_error(state, "not a number of %s from %u to %u: '%s'", what, least, most, word);
    return (unsigned)number;
}

static void parse_devices(struct argp_state *state, char *list, struct bench_options *options)
{
    options->device_count = 0;
    for (char *word; (word = strsep(&list, ","));) {
        if (options->device_count == BENCH_DEVICES_AT_MOST)
            argp_error(state, "more than %d devices", BENCH_DEVICES_AT_MOST);
        options->devices[options->device_count++] = parse_number(state, "a device", word, 0, 1023);
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct bench_options *const options = state->input;
    switch (key) {
    case KEY_TYPES:
        parse_names(state, "type", argument, BENCH_TYPE_COUNT, type_name, options->types);
        return 0;
    case KEY_SHAPES:
        parse_names(state, "shape", argument, BENCH_SHAPE_COUNT, shape_name, options->shapes);
        return 0;
    case KEY_SIZES:
        parse_sizes(state, argument, options);
        return 0;
    case KEY_PATHS:
        options->paths = argument;
        return 0;
    case KEY_RUNS:
        options->effort.runs = parse_number(state, "runs", argument, 1, 10000);
        return 0;
    case KEY_LEAST:
        options->effort.least_ms = parse_number(state, "milliseconds", argument, 0, 10000);
        return 0;
    case KEY_BATCH:
        options->effort.batch = parse_number(state, "sorts", argument, 1, 1000);
        return 0;
    case KEY_THREADS:
        options->threads = parse_number(state, "threads", argument, 1, 1024);
        return 0;
    case KEY_JSON:
        options->json = argument;
        return 0;
    case KEY_DEVICES:
        parse_devices(state, argument, options);
        return 0;
    case KEY_NONE:
        options->no_peers = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_options(int argc, char **argv, const char *documentation,
                          struct bench_options *options)
{
    *options = (struct bench_options){.sizes = {1000000, 10000000, 100000000},
                                      .size_count = 3,
                                      .effort = {.runs = 5, .least_ms = 20}};
    options->types[BENCH_TYPE_f64] = true;
    options->shapes[BENCH_SHAPE_UNIFORM] = true;
    const struct argp argp = {option_table, parse_option, NULL, documentation, NULL, NULL, NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}

/* ---- Report ---- */

struct report {
    const struct bench_program *program;
    struct bench_options options;
    struct bench_build build;
    FILE *json;
    bool has_head;       /* the head of the table is printed */
    size_t wrong;        /* outputs */
    double worst_ratio;  /* of a case: our fastest path to the fastest peer; 0: none was compared */
    char worst_case[96]; /* its type, shape and count */
};

/* A case, and the result of one sorter. */
struct row {
    const struct bench_type *type;
    const struct bench_shape *shape;
    size_t count;
    const struct bench_sorter *sorter;
    const struct bench_result *result;
    double peer_ms; /* median of the fastest peer; 0: no peer */
};

/* 10^6 keys a second. */
static double row_rate(const struct row *row)
{
    return row->result->median_ms > 0 ? (double)row->count * 1e-3 / row->result->median_ms : 0;
}

/* Memory for the sort, items included, as a multiple of the items. */
static double row_peak(const struct row *row)
{
    const struct bench_result *const result = row->result;
    return 1 + (double)result->scratch_bytes / ((double)row->count * (double)result->item_bytes);
}

static void print_row(const struct row *row)
{
    const struct bench_result *const result = row->result;
    char ratio[24] = "-";
    if (row->peer_ms > 0)
        snprintf(ratio, sizeof ratio, "%.3f", result->median_ms / row->peer_ms);
    printf("%-7s %-12s %10zu  %-15s ", row->type->name, row->shape->name, row->count,
           row->sorter->name);
    if (result->not_timed.is_set)
        printf("not timed: %s\n", result->not_timed.message);
    else
        printf("%11.4f %6s %9.1f %12zu %5.3f  %s\n", result->median_ms, ratio, row_rate(row),
               result->scratch_bytes, row_peak(row), result->is_wrong ? "WRONG" : "ok");
    fflush(stdout);
}

/* Prints the row as an object in one line. No name in it needs an escape. */
static void print_json(const struct report *report, const struct row *row)
{
    const struct bench_result *const result = row->result;
    char ratio[24] = "null";
    fprintf(report->json,
            "{\"device\":\"%s\",\"backend\":\"%s\",\"threads\":%u,\"type\":\"%s\","
            "\"shape\":\"%s\",\"count\":%zu,\"path\":\"%s\",\"peer\":%s,\"runs\":%u,",
            report->build.device, report->program->backend, report->options.threads,
            row->type->name, row->shape->name, row->count, row->sorter->name,
            row->sorter->is_peer ? "true" : "false", result->runs);
    if (result->not_timed.is_set) {
        fprintf(report->json, "\"ms\":null}\n");
        return;
    }
    if (row->peer_ms > 0)
        snprintf(ratio, sizeof ratio, "%.6f", result->median_ms / row->peer_ms);
    fprintf(report->json,
            "\"batch\":%zu,\"ms\":%.6f,\"least_ms\":%.6f,\"ratio\":%s,\"scratch_bytes\":%zu,"
            "\"sorted\":%s}\n",
            result->batch, result->median_ms, result->least_ms, ratio, result->scratch_bytes,
            result->is_wrong ? "false" : "true");
    (void)fflush(report->json); /* a measurement takes long, and may be ended */
}

/* Returns the median of the fastest peer, or of the fastest other sorter; 0: none was timed. */
static double best_ms(const struct report *report, const struct bench_result *results,
                      bool of_peers)
{
    double best = 0;
    for (size_t i = 0; i < report->build.count; i++)
        if (report->build.sorters[i].is_peer == of_peers && results[i].runs > 0 &&
            (best == 0 || results[i].median_ms < best))
            best = results[i].median_ms;
    return best;
}

static void note_ratio(struct report *report, const struct row *row, double own_ms)
{
    if (row->peer_ms == 0 || own_ms <= report->worst_ratio * row->peer_ms)
        return;
    report->worst_ratio = own_ms / row->peer_ms;
    snprintf(report->worst_case, sizeof report->worst_case, "%s %s %zu", row->type->name,
             row->shape->name, row->count);
}

static void report_case(struct report *report, struct row row, const struct bench_result *results)
{
    row.peer_ms = best_ms(report, results, true);
    for (size_t i = 0; i < report->build.count; i++) {
        row.sorter = &report->build.sorters[i];
        row.result = &results[i];
        report->wrong += results[i].is_wrong;
        if (results[i].runs == 0 && !results[i].not_timed.is_set)
            continue;
        if (!report->has_head)
            printf("%-7s %-12s %10s  %-15s %11s %6s %9s %12s %5s  %s\n", "type", "shape", "count",
                   "path", "ms", "ratio", "Mkey/s", "scratch", "peak", "check");
        report->has_head = true;
        print_row(&row);
        if (report->json)
            print_json(report, &row);
    }
    note_ratio(report, &row, best_ms(report, results, false));
}

/* ---- The program ---- */

/* Reports the names of --paths that this build lacks. */
static void check_names(const struct report *report)
{
    const char *list = report->options.paths;
    size_t length = 0;
    for (const char *word; (word = next_word(&list, &length));) {
        bool is_known = false;
        for (size_t i = 0; i < report->build.count; i++)
            is_known |= is_word(word, length, report->build.sorters[i].name);
        if (!is_known)
            fprintf(stderr, "%s: --paths: this build has no '%.*s'\n", report->program->name,
                    (int)length, word);
    }
}

/* Keeps the sorters that the options name. */
static bool choose_sorters(struct report *report, struct error *error)
{
    const struct bench_options *const options = &report->options;
    struct bench_sorter *const sorters = report->build.sorters;
    size_t count = 0;
    check_names(report);
    for (size_t i = 0; i < report->build.count; i++)
        if ((!options->paths || has_word(options->paths, sorters[i].name)) &&
            !(sorters[i].is_peer && options->no_peers))
            sorters[count++] = sorters[i];
    report->build.count = count;
    return count > 0 || error_set(error, "--paths: nothing to measure");
}

/* Returns the count with this number. Open random counts of some shapes go up to what the GPU's
 * memory holds: the larger of our items and a peer's, as much scratch, and a sixteenth of both. */
static size_t find_count(const struct report *report, const struct bench_type *type,
                         enum bench_shape_id shape, size_t number)
{
    const bool is_large = shape == BENCH_SHAPE_UNIFORM || shape == BENCH_SHAPE_SEEDS ||
                          shape == BENCH_SHAPE_FEW || shape == BENCH_SHAPE_ZIPF ||
                          shape == BENCH_SHAPE_HOT_DIGITS;
    const struct bench_random *const random = &report->options.random;
    const unsigned own = bench_item_bytes(type), peer = bench_peer_item_bytes(type);
    const double most = (double)report->build.memory_bytes / (2.125 * (own > peer ? own : peer));
    return random->is_open && is_large && most > random->most ? random_size(random, number, most)
                                                              : report->options.sizes[number];
}

static bool run_case(struct report *report, const struct bench_type *type,
                     const struct bench_shape *shape, size_t count, struct error *error)
{
    const struct bench_program *const program = report->program;
    const size_t sorters = report->build.count;
    struct bench_result *const results = calloc(sorters, sizeof *results);
    const bool ok = (results || error_set(error, "out of memory")) &&
                    program->run_case(program->context, type, shape, count, report->build.sorters,
                                      sorters, results, error);
    if (ok)
        report_case(report, (struct row){.type = type, .shape = shape, .count = count}, results);
    free(results);
    return ok;
}

static bool run_cases(struct report *report, struct error *error)
{
    const struct bench_options *const options = &report->options;
    for (size_t type = 0; type < BENCH_TYPE_COUNT; type++)
        for (size_t shape = 0; shape < BENCH_SHAPE_COUNT; shape++)
            for (size_t i = 0; i < options->size_count; i++)
                if (options->types[type] && options->shapes[shape] &&
                    !run_case(report, &bench_types[type], &bench_shapes[shape],
                              find_count(report, &bench_types[type], bench_shapes[shape].id, i),
                              error))
                    return false;
    return true;
}

/* Closes the file of --json. Fails if anything printed was lost. */
static bool close_streams(struct report *report, struct error *error)
{
    const bool is_lost = report->json && ferror(report->json);
    if (report->json && (fclose(report->json) != 0 || is_lost))
        return error_set_errno(error, "%s: cannot write", report->options.json);
    return (fflush(stdout) == 0 && !ferror(stdout)) ||
           error_set_errno(error, "cannot write the table");
}

int bench_main(int argc, char **argv, const struct bench_program *program)
{
    struct report report = {.program = program};
    struct error error = {0};
    parse_options(argc, argv, program->documentation, &report.options);
    const char *const json = report.options.json;
    bool ok = program->open(program->context, &report.options, &report.build, &error) &&
              choose_sorters(&report, &error);
    report.json = ok && json ? fopen(json, "w") : NULL;
    if (ok && json && !report.json)
        ok = error_set_errno(&error, "%s: cannot open", json);
    ok = ok && run_cases(&report, &error);
    if (ok && report.worst_ratio > 0)
        printf("worst: %s, %.3f of the best peer's time\n", report.worst_case, report.worst_ratio);
    ok = close_streams(&report, &error) && ok;
    if (!ok)
        fprintf(stderr, "%s: %s\n", program->name, error.message);
    else if (report.wrong > 0)
        fprintf(stderr, "%s: %zu outputs are WRONG\n", program->name, report.wrong);
    return !ok ? 2 : report.wrong > 0 ? 1 : 0;
}
