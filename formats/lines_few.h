/* SPDX-License-Identifier: Apache-2.0 */
/* lines_few.h - a few lines put in order by some of their bytes at once, for lines_refine.c: the
 * runs of values that are spelled in several ways.
 */
#ifndef FORMATS_LINES_FEW_H
#define FORMATS_LINES_FEW_H

#include "formats/lines_text.h"

/* More lines than these go another way. */
#define LINES_FEW ((size_t)32)

/* So many bytes are looked at, the end of a shorter line among them. */
#define LINES_FEW_BYTES ((size_t)15)

/* Puts 1..LINES_FEW items, whose keys are all the same and whose lines are so up to byte `from`,
 * which all have, into the order of the next LINES_FEW_BYTES bytes of their lines; is_descending:
 * the other way round. Lines that these bytes do not tell apart stay in the order that they have.
 * Of items[i] equal_before[i] says whether it is one that goes on behind these bytes, which are
 * those of items[i - 1] too. Returns whether there is one. */
bool lines_few_sort(const struct lines *lines, struct key_index *items, size_t count, size_t from,
                    bool is_descending, bool *equal_before);

#endif
