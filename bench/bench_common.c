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

bool bench_shape_fits(const struct bench_shape *shape, const struct bench_type *type)
{
    return shape->id < BENCH_SHAPE_HOT_2 || shape->id > BENCH_SHAPE_HOT_7 ||
           (unsigned)(shape->id - BENCH_SHAPE_HOT_1) + 1 < key_types[type->key].bytes;
}

/* ---- The command line: argp's table and the words it takes ---- */

enum {
    KEY_TYPES = 256,
    KEY_SHAPES,
    KEY_SIZES,
    KEY_PATHS,
    KEY_TILES,
    KEY_RUNS,
    KEY_LEAST,
    KEY_BATCH,
    KEY_THREADS,
    KEY_JSON,
    KEY_DEVICES,
    KEY_NONE
};

static const struct argp_option option_table[] = {
    {"types", KEY_TYPES, "LIST", 0, "Types of the items (default f64):", 0},
    {"shapes", KEY_SHAPES, "LIST", 0, "Shapes of the data (default uniform):", 0},
    {"sizes", KEY_SIZES, "LIST", 0,
     "Numbers of items, 5000 or 1e9 (default 1e6,1e7,1e8; all: 1e3 to 1e9 by tens, 2e9, 4e9, 8e9; "
     "random:N:SEED: N drawn from 1e7 to 1e9, and of some shapes to what the memory holds; "
     "random:N:SEED:LEAST:MOST)",
     0},
    {"paths", KEY_PATHS, "LIST", 0, "Only these paths and peers (default all)", 0},
    {"tiles", KEY_TILES, NULL, 0,
     "Every tile size of a path of bench_sort (default: the one of 'auto')", 0},
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

const char *bench_list_next(const char **list, size_t *length)
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

bool bench_list_has(const char *list, const char *word)
{
    size_t length = 0;
    for (const char *found; (found = bench_list_next(&list, &length));)
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
    for (const char *word; (word = bench_list_next(&list, &length));) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++)
            if (is_word(word, length, name(i)) || is_word(word, length, "all"))
                wanted[i] = is_known = true;
        if (!is_known)
            argp_error(state, "unknown %s '%.*s'", what, (int)length, word);
    }
}

size_t bench_random_size(const struct bench_random *random, size_t number, double most)
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
        options->sizes[i] = bench_random_size(random, i, random->most);
}

static void parse_sizes(struct argp_state *state, const char *list, struct bench_options *options)
{
    static const char random[] = "random:";
    const double greatest = 1e12; /* items of any type are then countable in bytes */
    options->random = (struct bench_random){.most = 0};
    if (strncmp(list, random, strlen(random)) == 0) {
        parse_random_sizes(state, list + strlen(random), options);
        return;
    }
    if (strcmp(list, "all") == 0)
        list = "1e3,1e4,1e5,1e6,1e7,1e8,1e9,2e9,4e9,8e9";
    options->size_count = 0;
    size_t length = 0;
    for (const char *word; (word = bench_list_next(&list, &length));) {
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
    case KEY_TILES:
        options->all_tiles = true;
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

/* Appends the types and the shapes to the help of their options. argp frees the new text. */
static char *describe(int key, const char *text, void *input)
{
    (void)input;
    if (key != KEY_TYPES && key != KEY_SHAPES)
        return (char *)text;
    char *described = NULL;
    size_t bytes = 0;
    FILE *const stream = open_memstream(&described, &bytes);
    if (!stream)
        return (char *)text;
    fputs(text, stream);
    const size_t count = key == KEY_TYPES ? (size_t)BENCH_TYPE_COUNT : (size_t)BENCH_SHAPE_COUNT;
    for (size_t i = 0; i < count; i++)
        if (key == KEY_TYPES)
            fprintf(stream, "%s %s", i ? "," : "", bench_types[i].name);
        else
            fprintf(stream, "%s %s (%s)", i ? ";" : "", bench_shapes[i].name,
                    bench_shapes[i].summary);
    if (fclose(stream) == 0)
        return described;
    free(described);
    return (char *)text;
}

void bench_options_parse(int argc, char **argv, const char *documentation,
                         struct bench_options *options)
{
    *options = (struct bench_options){.sizes = {1000000, 10000000, 100000000},
                                      .size_count = 3,
                                      .effort = {.runs = 5, .least_ms = 20}};
    options->types[BENCH_TYPE_f64] = true;
    options->shapes[BENCH_SHAPE_UNIFORM] = true;
    const struct argp argp = {option_table, parse_option, NULL, documentation,
                              NULL,         describe,     NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}

/* ---- Report ---- */

/* 10^6 keys a second. */
static double row_rate(const struct bench_row *row)
{
    return row->median_ms > 0 ? (double)row->count * 1e-3 / row->median_ms : 0;
}

/* Memory for the sort, items included, as a multiple of the items. */
static double row_peak(const struct bench_row *row)
{
    return 1 + (double)row->scratch_bytes / ((double)row->count * (double)row->item_bytes);
}

void bench_report_head(FILE *stream)
{
    fprintf(stream, "%-7s %-12s %10s  %-15s %5s %11s %6s %9s %12s %5s  %s\n", "type", "shape",
            "count", "path", "tile", "ms", "ratio", "Mkey/s", "scratch", "peak", "check");
}

void bench_report_row(FILE *stream, const struct bench_row *row)
{
    char tile[24] = "-", ratio[24] = "-";
    if (row->tile_size)
        snprintf(tile, sizeof tile, "%zu", row->tile_size);
    if (row->peer_ms > 0)
        snprintf(ratio, sizeof ratio, "%.3f", row->median_ms / row->peer_ms);
    fprintf(stream, "%-7s %-12s %10zu  %-15s %5s ", row->type, row->shape, row->count, row->path,
            tile);
    if (row->problem)
        fprintf(stream, "not timed: %s\n", row->problem);
    else
        fprintf(stream, "%11.4f %6s %9.1f %12zu %5.3f  %s\n", row->median_ms, ratio, row_rate(row),
                row->scratch_bytes, row_peak(row), row->is_sorted ? "ok" : "WRONG");
    fflush(stream);
}

static void print_json_string(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(stream, "\\u%04x", (unsigned)*text);
        else
            putc(*text, stream);
    putc('"', stream);
}

static void print_json_member(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, "\"%s\":", name);
    print_json_string(stream, text);
    putc(',', stream);
}

void bench_report_json(FILE *stream, const struct bench_row *row)
{
    putc('{', stream);
    print_json_member(stream, "device", row->device);
    print_json_member(stream, "backend", row->backend);
    print_json_member(stream, "type", row->type);
    fprintf(stream, "\"item_bytes\":%zu,", row->item_bytes);
    print_json_member(stream, "shape", row->shape);
    fprintf(stream, "\"count\":%zu,", row->count);
    print_json_member(stream, "path", row->path);
    fprintf(stream, "\"peer\":%s,\"tile\":%zu,", row->is_peer ? "true" : "false", row->tile_size);
    if (row->threads)
        fprintf(stream, "\"threads\":%u,", row->threads);
    if (row->problem) {
        print_json_member(stream, "problem", row->problem);
        fprintf(stream, "\"runs\":0,\"ms\":null}\n");
        return;
    }
    fprintf(stream, "\"runs\":%u,\"batch\":%zu,\"ms\":%.6f,\"least_ms\":%.6f,", row->runs,
            row->batch, row->median_ms, row->least_ms);
    fprintf(stream, "\"mkeys_per_s\":%.3f,", row_rate(row));
    if (row->peer_ms > 0)
        fprintf(stream, "\"ratio\":%.6f,", row->median_ms / row->peer_ms);
    else
        fprintf(stream, "\"ratio\":null,");
    fprintf(stream, "\"scratch_bytes\":%zu,\"peak\":%.6f,\"sorted\":%s}\n", row->scratch_bytes,
            row_peak(row), row->is_sorted ? "true" : "false");
    fflush(stream);
}

bool bench_report_close(FILE *stream, const char *name, struct error *error)
{
    if (!stream)
        return true;
    const bool is_lost = ferror(stream);
    return (fclose(stream) == 0 && !is_lost) || error_set_errno(error, "%s: cannot write", name);
}
