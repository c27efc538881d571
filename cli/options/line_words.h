/* SPDX-License-Identifier: Apache-2.0 */
/* line_words.h - checks the options for lines of text against the other options and the input.
 *
 * -g -n -h -k -t -b -z -c -C -m and --header are for lines: with one of them the input is text,
 * whatever its name or its bytes are. An input that is numbers by both its name and its bytes is
 * refused.
 */
#ifndef CLI_LINE_WORDS_H
#define CLI_LINE_WORDS_H

#include "cli/options/options.h"

/* Returns the first of these options that is given, for messages; NULL if none is. */
const char *line_words_find(const struct options *options);

/* Makes the checks that need no file. */
bool line_words_check(const struct options *options, struct error *error);

/* For a job that sorts numbers: refuses options for lines. input_format and output_format are the
 * formats of the job. */
bool line_words_refuse(const struct options *options, const struct format *input_format,
                       const struct format *output_format, struct error *error);

#endif
