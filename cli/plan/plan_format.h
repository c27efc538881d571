/* SPDX-License-Identifier: Apache-2.0 */
/* plan_format.h - finds the format of an input. */
#ifndef CLI_PLAN_FORMAT_H
#define CLI_PLAN_FORMAT_H

#include "cli/options/options.h"
#include "formats/array/format.h"

/* Finds the format of the input `path`, which is open as the reader's source. Sets *format, writes
 * the reason to `reason`, and sets the type in the reader's layout as far as it is known. May read
 * ahead, but consumes nothing. Fails if the format cannot be found, or is ambiguous. */
bool plan_choose_format(const struct options *options, const char *path, struct reader *reader,
                        const struct format **format, char reason[256], struct error *error);

#endif
