/* SPDX-License-Identifier: Apache-2.0 */
/* line_words.h - what the words that are for lines of text rule out, and that they fit each other.
 *
 * -g -n -h -k -t -b -z -c -C -m and --header are for lines: with one of them the input is text,
 * whatever its name or its bytes say. Where both say that it is numbers, it is refused.
 */
#ifndef CLI_LINE_WORDS_H
#define CLI_LINE_WORDS_H

#include "cli/options.h"

/* The first of these that was said, as messages show it; NULL if none was. */
const char *line_words_find(const struct options *options);

/* Checks what can be known before a file is opened. */
bool line_words_check(const struct options *options, struct error *error);

/* For numbers, which are not lines: refuses the words that only lines know. input_format: what the
 * input is; output: what the numbers are written as. */
bool line_words_refuse(const struct options *options, const struct format *input_format,
                       const struct format *output_format, struct error *error);

#endif
