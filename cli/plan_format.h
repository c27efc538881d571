/* SPDX-License-Identifier: Apache-2.0 */
/* plan_format.h - which format an input has. */
#ifndef CLI_PLAN_FORMAT_H
#define CLI_PLAN_FORMAT_H

#include "cli/options.h"
#include "formats/format.h"

/* Decides the format of the input `path`, which the reader's source has open, and as far as it is
 * known yet the type, which goes to the reader's layout; says why in `reason`. Reads ahead, and
 * consumes nothing. False if nothing tells, or what tells may mean two things. */
bool plan_choose_format(const struct options *options, const char *path, struct reader *reader,
                        const struct format **format, char reason[256], struct error *error);

#endif
