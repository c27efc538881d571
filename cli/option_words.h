/* SPDX-License-Identifier: Apache-2.0 */
/* option_words.h - the words that gpusort's own options take; those of sort(1)'s are
 * order_words.h's, those of memory memory_words.h's.
 *
 * Each sets in *options what the word says, or fails with what the option takes. A word may be NULL
 * where the option's argument is optional: zstd, long, stats, argsort, check, header.
 */
#ifndef CLI_OPTION_WORDS_H
#define CLI_OPTION_WORDS_H

#include "cli/options.h"

/* none: the word for no format in particular, which makes *format NULL. */
bool option_words_set_format(const char *word, const char *none, const struct format **format,
                             struct error *error);

/* FORMAT or FORMAT:CODEC. The word is cut in two in place, as it is argv's to do with as we like.
 */
bool option_words_set_input_format(char *word, struct options *options, struct error *error);

bool option_words_set_type(const char *word, struct options *options, struct error *error);
bool option_words_set_endian(const char *word, struct options *options, struct error *error);
bool option_words_set_nan(const char *word, struct options *options, struct error *error);
bool option_words_set_argsort(const char *word, struct options *options, struct error *error);

/* PATH or PATH:TILE; DEVICE or DEVICE:N. The word is cut in two in place. */
bool option_words_set_algorithm(char *word, struct options *options, struct error *error);
bool option_words_set_device(char *word, struct options *options, struct error *error);

bool option_words_set_zstd(const char *word, struct options *options, struct error *error);
bool option_words_set_long(const char *word, struct options *options, struct error *error);
bool option_words_set_stats(const char *word, struct options *options, struct error *error);
bool option_words_set_threads(const char *word, struct options *options, struct error *error);
bool option_words_set_top(const char *word, struct options *options, struct error *error);

/* --batch-size=N, which has no effect. */
bool option_words_check_batch_size(const char *word, struct error *error);

/* What may be said again, but not otherwise; what: its name, where there are several. */
bool option_words_set_once(const char *word, const char *what, const char **said,
                           struct error *error);

/* One way of checking goes with no other. */
bool option_words_set_check(enum check check, struct options *options, struct error *error);
bool option_words_set_check_word(const char *word, struct options *options, struct error *error);

bool option_words_set_header(const char *word, struct options *options, struct error *error);

#endif
