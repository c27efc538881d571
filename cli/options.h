/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the user's words: what the command line says, each word known to be one we know, with
 * nothing decided yet. plan.h turns them into a plan.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/file_list.h"
#include "cli/memory_words.h"
#include "cli/order_words.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/key_order.h"
#include "formats/codec.h"
#include "formats/format.h"

#define GPUSORT_VERSION "0.1.0"

enum action { ACTION_SORT, ACTION_EXPLAIN, ACTION_LIST };

/* Whether the order is only checked, and whether a line out of order is shown. */
enum check { CHECK_NO, CHECK_SHOW, CHECK_QUIET };

/* What is shown of a run while it goes on: on a terminal, once it takes long, unless it is said. */
enum progress_wish { PROGRESS_BY_TERMINAL, PROGRESS_ON, PROGRESS_OFF };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

enum compression { COMPRESSION_BY_NAME, COMPRESSION_ON, COMPRESSION_OFF };

struct options {
    enum action action;
    const char **inputs; /* paths, "-" for standard input; at least one, once the list is read */
    size_t input_count;
    const char *input_list;             /* of --files0-from; NULL: it was not said */
    struct file_list list;              /* what was in it: the inputs are its names */
    const char *output;                 /* NULL: standard output */
    bool in_place;                      /* once checked, the output is the one input */
    const struct format *input_format;  /* NULL: auto */
    const struct codec *input_codec;    /* NULL: by the first bytes */
    unsigned window_log;                /* of compressed input; 0: the codec's default */
    const struct format *output_format; /* NULL: not said */
    bool output_format_same;            /* --output-format=same was said */
    const struct key_type *type;        /* NULL: not said */
    const char *type_word;              /* how --type spells it; NULL: not said */
    const struct key_type *index_type;  /* of --argsort; NULL: it was not said */
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
    size_t top;            /* items wanted, if said */
    const char *algorithm; /* NULL: auto; a path that some backend of this build has */
    size_t tile_size;      /* 0: the path's own */
    const char *backend;   /* NULL: auto; "cpu", "gpu" */
    unsigned device;
    unsigned threads; /* 0: as many as there are */
    struct memory_words memory;
    const char *compress_program; /* these two without effect; NULL: not said */
    const char *random_source;
    enum compression compression;
    int compression_level; /* 0: the codec's default */
    bool force;
    bool verify;
    bool verbose;
    bool quiet;
    enum progress_wish progress;
    enum stats_form stats;
    const char *trace; /* the file that a trace is written to; NULL: none */
};

/* Parses the command line. --help, --usage and --version print and end the process here, as argp
 * does, and so does a usage error, with status 2. The caller ends with options_free. */
bool options_parse(int argc, char **argv, struct options *options, struct error *error);

/* Reads the inputs from the list of --files0-from, if that was said. May wait for the list. */
bool options_read_list(struct options *options, struct error *error);

void options_free(struct options *options);

#endif
