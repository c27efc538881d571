/* SPDX-License-Identifier: Apache-2.0 */
/* lines_merge.h - merges sorted inputs into one output, as sort -m does.
 *
 *   sources -> a block of whole lines each -> one item per line, with its key
 *     -> the items that sort before every unread line
 *     -> cut into ranges -> each merged by one thread -> sink, in order; then the next round
 *
 * Memory is independent of the sizes of the inputs. By default it is 8 MiB of text and items per
 * thread, up to 64 MiB, or 24 KiB per input, whichever is more; plus the threads' memory for
 * merging ranges, and for each input twice its longest line.
 */
#ifndef FORMATS_LINES_MERGE_H
#define FORMATS_LINES_MERGE_H

#include "core/check/tap.h"
#include "core/error.h"
#include "core/line/line_order.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Default memory for text and items of all inputs, for each thread and at most: enough ranges for
 * each thread, and little enough for the caches. 50 MB of lines of 240 bytes, one thread, Zen 3,
 * 2026-11: 8 MiB took 20 ms less than 64 MiB, as much as 4 and 16 MiB. */
#define LINES_MERGE_BYTES_PER_THREAD ((size_t)8 << 20)
#define LINES_MERGE_BYTES ((size_t)64 << 20)

/* Minimum mean memory per input, in bytes, by default. A third of it is for text. */
#define LINES_MERGE_INPUT_BYTES ((size_t)24 << 10)

/* Approximate further memory per thread. All threads together use no more than text and items. */
#define LINES_MERGE_THREAD_BYTES ((size_t)5 << 19)

/* Set in the number of a source if its line is left out, with a unique order. */
#define LINES_MERGE_LEFT_OUT ((uint32_t)1 << 31)

/* Copies of the first and the last line that a merge passed on, without terminators. With a unique
 * order, each may be one that was left out, as equal to the one written. Initialise with zeros. */
struct lines_ends {
    char *texts[2]; /* owned; from malloc(3) */
    size_t lengths[2];
    bool has_lines;
};

void lines_ends_free(struct lines_ends *ends);

struct lines_merge {
    const struct line_order *order;
    struct source *const *sources;
    size_t count;          /* of sources, at least 1 */
    uint64_t lines_before; /* read from each source already; added to line numbers in messages */
    bool are_sorted;       /* the sources are known to be in order: if keys are not, that is an
                              error */
    uint64_t most;         /* 0: all lines. Otherwise stops after the round in which so many are
                              written; then the checksums are of what was read, and not compared. Not
                              with a unique order */
    bool writes_sources;   /* writes, instead of each line, the number of its source as a uint32_t,
                              also of those left out; only with are_sorted */
    const struct sink *output; /* of the job, for messages */
    unsigned threads;          /* maximum number of threads that work on the lines */
    size_t memory_bytes;       /* approximate, for text and items of all inputs; 0: the default */
    uint64_t lines, bytes;     /* out: totals read from all sources */
    const uint64_t *source_positions; /* NULL, or the position of each source in a text of which it
                                      is a range; the sums are of these positions */
    struct check_sum *source_sums;    /* NULL, or out: of the text of each source (check.h) */
    struct lines_ends *ends;          /* NULL, or out, also after a failure */
};

/* Merges to the end of all sources. Equal lines are written in the order of their sources. If an
 * input is not in order, its lines keep their order: each is written as soon as it is the least of
 * the next lines of all inputs, as sort -m does.
 *
 * With LINE_STRICT, a line that is not a number is an error that names file and line. The output is
 * checked: it is an error if the lines written or left out as equal are not the lines read, or if
 * keys are out of order within a round; with are_sorted, also from one round to the next.
 */
bool lines_merge_run(struct lines_merge *merge, struct sink *sink, struct error *error);

#endif
