/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the parsed command line. Every argument is valid, but no decision is made: plan.h
 * does that.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/options/order_words.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/key_order.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"

enum action { ACTION_SORT, ACTION_EXPLAIN, ACTION_LIST };

/* Whether the job only checks the order, and whether it prints the line out of order. */
enum check { CHECK_NO, CHECK_SHOW, CHECK_QUIET };

/* When progress is shown: by default on a terminal. */
enum progress_wish { PROGRESS_BY_TERMINAL, PROGRESS_ON, PROGRESS_OFF };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

enum compression { COMPRESSION_BY_NAME, COMPRESSION_ON, COMPRESSION_OFF };

/* Limits of memory, and directories for data beyond them. */
struct memory_size {
    bool is_said;
    size_t bytes;
};

struct memory_words {
    struct memory_size host;   /* -S */
    struct memory_size device; /* --device-memory */
    const char **directories;  /* from -T */
    size_t directory_count;
};

/* Names of files, each from malloc(3). */
struct file_list {
    const char **names;
    size_t count;
};

struct options {
    enum action action;
    const char **inputs; /* paths, "-" for standard input; at least one, once the list is read */
    size_t input_count;
    const char *input_list;             /* argument of --files0-from; NULL: not given */
    struct file_list list;              /* its names, which are the inputs */
    const char *output;                 /* NULL: standard output */
    bool in_place;                      /* after the checks, the output is the one input */
    const struct format *input_format;  /* NULL: auto */
    const struct codec *input_codec;    /* NULL: by the first bytes */
    unsigned window_log;                /* of compressed input; 0: the codec's default */
    const struct format *output_format; /* NULL: not given */
    bool output_format_same;            /* --output-format=same was given */
    const struct key_type *type;        /* NULL: not given */
    const char *type_word;              /* as given with --type; NULL: not given */
    const struct key_type *index_type;  /* of --argsort; NULL: not given */
    bool endian_said;
    enum key_endian endian;
    bool nan_said;
    enum nan_rule nan;
    struct order_words order;
    enum check check;
    bool merge;
    bool header_said;
    size_t header_lines;
    bool top_said;
    size_t top;                             /* number of items, if top_said */
    const char *algorithm;                  /* NULL: auto; a path of some backend in this build */
    size_t tile_size;                       /* 0: the path's default */
    const char *backend;                    /* NULL: auto; "cpu", "gpu" */
    unsigned devices[BACKEND_DEVICES_MOST]; /* as given with --device */
    unsigned device_count;                  /* 0: none was given */
    bool all_devices;
    unsigned threads; /* 0: the default */
    struct memory_words memory;
    const char *compress_program; /* this and the next have no effect; NULL: not given */
    const char *random_source;
    enum compression compression;
    int compression_level; /* 0: the codec's default */
    bool force;
    bool verify;
    bool verbose;
    bool quiet;
    enum progress_wish progress;
    enum stats_form stats;
    const char *trace;                     /* file for the trace; NULL: none */
    bool has_rank_inputs, has_rank_output; /* options_name_rank() has found {rank} in their names */
    char **rank_names;                     /* owned: these names */
    size_t rank_name_count;
};

/* Parses the command line. --help, --usage and --version print and end the process here, as is
 * usual with argp. A usage error also ends it, with status 2. The caller calls options_free(), also
 * after a failure. */
bool options_parse(int argc, char **argv, struct options *options, struct error *error);

/* Reads the inputs from the list of --files0-from, if that is given and not read yet. May wait for
 * the list. */
bool options_read_list(struct options *options, struct error *error);

/* Takes the inputs from the text of that list. */
bool options_take_list(struct options *options, const char *text, size_t bytes,
                       struct error *error);

/* Replaces {rank} by the number in the names of inputs that are operands, and of the output. All
 * inputs or none must have it. */
bool options_name_rank(struct options *options, unsigned rank, struct error *error);

void options_free(struct options *options);

#endif
