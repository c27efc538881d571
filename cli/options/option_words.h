/* SPDX-License-Identifier: Apache-2.0 */
/* option_words.h - what each option and its argument do to struct options.
 * order_words.c has those of sort(1) for the order of lines.
 */
#ifndef CLI_OPTION_WORDS_H
#define CLI_OPTION_WORDS_H

#include "cli/options/options.h"

/* Long options without a letter. */
enum option_key {
    KEY_FORMAT = 256,
    KEY_OUTPUT_FORMAT,
    KEY_TYPE,
    KEY_ENDIAN,
    KEY_NAN,
    KEY_ARGSORT,
    KEY_TOP,
    KEY_DEVICE,
    KEY_PARALLEL,
    KEY_DEVICE_MEMORY,
    KEY_ZSTD,
    KEY_NO_ZSTD,
    KEY_LONG,
    KEY_EXPLAIN,
    KEY_LIST,
    KEY_PROGRESS,
    KEY_NO_PROGRESS,
    KEY_STATS,
    KEY_TRACE,
    KEY_FORCE,
    KEY_VERIFY,
    KEY_IN_PLACE,
    KEY_FILES0_FROM,
    KEY_SORT,
    KEY_CHECK,
    KEY_HEADER,
    KEY_IGNORE_NONPRINTING, /* sort(1)'s -i; here -i means --input */
    KEY_BATCH_SIZE,
    KEY_COMPRESS_PROGRAM,
    KEY_DEBUG,
    KEY_RANDOM_SOURCE,
    KEY_USAGE,
    KEY_VERSION
};

/* Sets *options from an option and its argument, or NULL, which is in argv and may be cut in place.
 * Sets *known to false if there is no such option. Fails with a message about valid arguments. */
bool option_words_set(int key, char *word, struct options *options, bool *known,
                      struct error *error);

/* Called after all options: sets the byte order from a type like ">f8". Fails if --endian
 * contradicts it. */
bool option_words_settle_endian(struct options *options, struct error *error);

#endif
