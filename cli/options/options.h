/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the parsed command line. Every argument is valid, but no decision is made: plan.h
 * does that.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "core/backend.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/line/line_order.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"

#include <stdio.h>

/* ---- order_words.c: the options -g -n -h -r -b -k -t -z -s -u, and the order that they make ----
 *
 * KEYDEF, the argument of -k, is F[.C][LETTERS][,F[.C][LETTERS]].
 *
 * Syntax and messages are as in sort(1). Letters of orders that gpusort does not have are refused,
 * with their names.
 */

/* The letters of an order: after a position in KEYDEF for one key, or as options for all keys
 * without letters. */
struct order_letters {
    bool general;                            /* g */
    bool human;                              /* h */
    bool numeric;                            /* n */
    bool reverse;                            /* r */
    bool skip_begin_blanks, skip_end_blanks; /* b */
};

/* The positions that a `b` applies to: in KEYDEF the position that the `b` follows. */
enum blank_places { BLANKS_AT_BEGIN, BLANKS_AT_END, BLANKS_AT_BOTH };

/* Sets the letter. Returns false, without a change, if it is not a letter of an order in
 * gpusort. */
bool order_letters_set(struct order_letters *letters, char letter, enum blank_places places);

/* For a letter that sort(1) has and gpusort does not, sets the error and returns true. `where`:
 * where it was found, for the message. Returns false for all other letters. */
bool order_letter_refuse(char letter, const char *where, struct error *error);

struct key_definition {
    struct line_key key; /* only its positions; letters give the rest */
    struct order_letters letters;
};

/* All options for the order. */
struct order_words {
    struct order_letters letters; /* given as options */
    struct key_definition *keys;  /* of -k, in order */
    size_t key_count;
    bool separator_said;
    unsigned char separator; /* if separator_said */
    bool zero_terminated;    /* -z */
    bool stable;             /* -s */
    bool unique;             /* -u */
};

/* -k KEYDEF */
bool order_words_add_key(struct order_words *words, const char *definition, struct error *error);

/* -t SEP: one byte, or \0 */
bool order_words_set_separator(struct order_words *words, const char *word, struct error *error);

/* Makes the order of the options. Fails if letters exclude each other. A key without letters uses
 * the letters of the options. Without keys, the whole line is the key, and must be a number unless
 * -g, -n or -h is given. The caller frees order->keys, also after a failure. */
bool order_words_resolve(const struct order_words *words, struct line_order *order,
                         struct error *error);

/* Frees the keys. `words` stays usable, without keys. */
void order_words_free(struct order_words *words);

/* ---- options.c ---- */

enum action { ACTION_SORT, ACTION_EXPLAIN, ACTION_LIST };

/* Whether the job only checks the order, and whether it prints what is out of order. */
enum check { CHECK_NO, CHECK_SHOW, CHECK_QUIET };

/* When progress is shown: by default on a terminal. */
enum progress_wish { PROGRESS_BY_TERMINAL, PROGRESS_ON, PROGRESS_OFF };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

enum compression { COMPRESSION_BY_NAME, COMPRESSION_ON, COMPRESSION_OFF };

struct memory_size {
    bool is_said;
    size_t bytes;
};

/* Limits of memory, and directories for data beyond them. */
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
    const char *dashed_input;           /* argument of -i that looks like an option, or NULL */
    const char *input_list;             /* argument of --files0-from; NULL: not given */
    struct file_list list;              /* its names, which are the inputs */
    const char *output;                 /* NULL: standard output */
    bool in_place;                      /* plan_begin() sets the output to the one input */
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
    bool verbose; /* and not quiet */
    bool quiet;
    enum progress_wish progress;
    enum stats_form stats;
    const char *trace;                     /* file for the trace; NULL: none */
    bool has_rank_inputs, has_rank_output; /* options_name_rank() has found {rank} in their names */
    char **rank_names;                     /* owned: these names */
    size_t rank_name_count;
};

/* Parses the command line, whose words may be cut in place. --help, --usage and --version print and
 * end the process here, as is usual with argp. So does an unknown option, or one without its
 * argument, with status 2. Fails for a wrong argument; options->stats is then STATS_JSON if
 * --stats=json is given anywhere. The caller calls options_free(), also after a failure. */
bool options_parse(int argc, char **argv, struct options *options, struct error *error);

/* Reads the inputs from the list of --files0-from, if that is given and not read yet. May wait for
 * the list. Fails with the messages of sort(1) for an empty list, an empty name, and "-" in a list
 * from standard input. */
bool options_read_list(struct options *options, struct error *error);

/* Sets the inputs to the names in text[0..bytes), each ended by NUL, which are copied. For a rank
 * that has not read the list itself. */
bool options_take_list(struct options *options, const char *text, size_t bytes,
                       struct error *error);

/* Replaces {rank} by the number in the names of the inputs, except those of --files0-from, and of
 * the output. All inputs or none must have it. rank: NULL if no launcher of MPI has started the
 * process; then it is an error if {rank} is in the name of the output, which all processes would
 * write, or of an input that does not exist. */
bool options_name_rank(struct options *options, const unsigned *rank, struct error *error);

void options_free(struct options *options);

/* ---- version.c ---- */

#define GPUSORT_VERSION "0.1.0"

/* For messages about the keys that sort(1) had before -k. */
#define OBSOLETE_KEYS "obsolete keys (+POS1 -POS2) of sort(1) are not read: use -k"

/* Prints "gpusort VERSION", a line on the build, and the license. Does not start a device. */
void version_print(FILE *stream);

#endif
