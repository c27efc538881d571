/* SPDX-License-Identifier: Apache-2.0 */
/* option_words.h - parses the arguments of options, except those of sort(1) for the order of lines
 * (order_words.c).
 *
 * Each function sets *options from the argument, or fails with a message about valid arguments.
 * `word` may be NULL for an optional argument: zstd, long, stats, argsort, check, header.
 */
#ifndef CLI_OPTION_WORDS_H
#define CLI_OPTION_WORDS_H

#include "cli/options/options.h"

/* none: the argument that means no particular format, and sets *format to NULL. */
bool option_words_set_format(const char *word, const char *none, const struct format **format,
                             struct error *error);

/* FORMAT or FORMAT:CODEC. The string, which is in argv, is cut in two in place. */
bool option_words_set_input_format(char *word, struct options *options, struct error *error);

bool option_words_set_type(const char *word, struct options *options, struct error *error);
bool option_words_set_endian(const char *word, struct options *options, struct error *error);

/* Called after all options: sets the byte order from a type like ">f8". Fails if --endian
 * contradicts it. */
bool option_words_settle_endian(struct options *options, struct error *error);
bool option_words_set_nan(const char *word, struct options *options, struct error *error);
bool option_words_set_argsort(const char *word, struct options *options, struct error *error);

/* PATH or PATH:TILE; DEVICE, gpu:N,N or gpu:all. The string, which is in argv, is cut in place. */
bool option_words_set_algorithm(char *word, struct options *options, struct error *error);
bool option_words_set_device(char *word, struct options *options, struct error *error);

bool option_words_set_zstd(const char *word, struct options *options, struct error *error);
bool option_words_set_long(const char *word, struct options *options, struct error *error);
bool option_words_set_stats(const char *word, struct options *options, struct error *error);
bool option_words_set_threads(const char *word, struct options *options, struct error *error);
bool option_words_set_top(const char *word, struct options *options, struct error *error);

/* --sort=WORD. WORD may be an unambiguous prefix. */
bool option_words_set_sort(const char *word, struct options *options, struct error *error);

/* Checks --batch-size=N, which has no effect. */
bool option_words_check_batch_size(const char *word, struct error *error);

/* Sets *said for an option that may be repeated only with the same argument. what: the plural of
 * its name, for the message. */
bool option_words_set_once(const char *word, const char *what, const char **said,
                           struct error *error);

/* Fails if another way of checking was given. */
bool option_words_set_check(enum check check, struct options *options, struct error *error);
bool option_words_set_check_word(const char *word, struct options *options, struct error *error);

bool option_words_set_header(const char *word, struct options *options, struct error *error);

/* -S and --device-memory. Parses a size: a number with one of the units b (bytes), % (of the host's
 * memory) and K M G T P E Z Y R Q (of 1024), or in KiB without a unit. Keeps the greatest of
 * several sizes. Syntax and errors are as in sort(1). option: its name for messages. */
bool option_words_set_size(struct memory_size *size, const char *option, const char *word,
                           struct error *error);

/* -T */
bool option_words_add_directory(struct memory_words *words, const char *directory,
                                struct error *error);

#endif
