/* SPDX-License-Identifier: Apache-2.0 */
/* lines_few.h - sorts a few lines by some of their bytes at once, for lines_refine.c: tie groups
 * whose values are spelled in several ways.
 */
#ifndef FORMATS_LINES_FEW_H
#define FORMATS_LINES_FEW_H

#include "formats/lines/lines_text.h"

/* Maximum number of lines. */
#define LINES_FEW ((size_t)32)

/* Bytes of a line that are compared, including the end of a shorter line. */
#define LINES_FEW_BYTES ((size_t)15)

/* Sorts 1..LINES_FEW items, whose keys are equal and whose lines are equal up to byte `from`, which
 * all of them have. They are sorted by the next LINES_FEW_BYTES bytes of their lines, in reverse
 * with is_descending. Lines that are equal in these bytes keep their order. equal_before[i]: the
 * line of items[i] has the same bytes as that of items[i - 1], and both continue after them.
 * Returns true if there are such items. */
bool lines_few_sort(const struct lines *lines, struct key_index *items, size_t count, size_t from,
                    bool is_descending, bool *equal_before);

#endif
