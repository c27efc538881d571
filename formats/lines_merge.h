/* SPDX-License-Identifier: Apache-2.0 */
/* lines_merge.h - sorted inputs merged into one output: sort -m.
 *
 *   sources -> a block of whole lines each -> an item a line, with its key
 *     -> what is sure to go before all that is not yet read
 *     -> cut into parts -> each merged by a thread -> sink, in order; then the next round
 *
 * Memory is independent of the sizes of the inputs: 64 MiB of text and items, or 24 KiB an input,
 * whichever is more, what threads take to merge parts of it, and a few times the longest lines.
 */
#ifndef FORMATS_LINES_MERGE_H
#define FORMATS_LINES_MERGE_H

#include "core/check_sum.h"
#include "core/error.h"
#include "core/line_order.h"
#include "formats/sink.h"
#include "formats/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an input is given at least, of which a third is for its text. */
#define LINES_MERGE_INPUT_BYTES ((size_t)24 << 10)

/* What a thread takes beside, about; all threads together no more than text and items. */
#define LINES_MERGE_THREAD_BYTES ((size_t)5 << 19)

struct lines_merge {
    const struct line_order *order;
    struct source *const *sources;
    size_t count;          /* of sources, at least 1 */
    uint64_t lines_before; /* of each source, read already: for the numbers of lines in messages */
    bool are_sorted;       /* the sources are known to be in order, and need no look */
    unsigned threads;      /* at most so many work on the lines */
    size_t memory_bytes;   /* for text and items of all inputs, about; 0: as said above */
    size_t part_bytes;     /* merged at a time by one thread; 0: what fits its caches */
    uint64_t lines, bytes; /* out: read from all sources */
    struct check_sum *source_sums; /* NULL, or out: of the text of each source (core/check.h) */
};

/* Merges to the end of all sources; of equal lines, those of the first source go first. Where an
 * input is not in order, its lines still come out in the order that they have in it, each as soon
 * as it is the least of the next lines of all inputs, as from sort -m. A line that is not the
 * number that LINE_STRICT wants is an error naming file and line; and so it is if the lines that
 * were merged, or left out as equal ones, are not those that were read, or, as far as all sources
 * are in order, not in order. */
bool lines_merge_run(struct lines_merge *merge, struct sink *sink, struct error *error);

#endif
