/* SPDX-License-Identifier: Apache-2.0 */
/* plan_spool.h - inputs of a job that ranks share, which cannot be read from any position: pipes,
 * standard input and compressed data.
 *
 *   rank 0: input -> decoded -> a file in the directory of -T -> its own part, and messages
 *   others: the first bytes, for the plan; then their part -> a file in the directory of -T
 *
 * A rank with inputs of its own decodes such an input into a file as well, and keeps it.
 */
#ifndef CLI_PLAN_SPOOL_H
#define CLI_PLAN_SPOOL_H

#include "cli/plan/plan.h"
#include "formats/io/spill.h"

struct plan_spool {
    struct spill *spill; /* NULL: the input can be read from any position */
    struct spill_run run;
    uint64_t facts[2];   /* of the whole input: decoded bytes, and the number of its codec */
    unsigned char *head; /* of other ranks than 0: the first bytes */
    size_t head_bytes;
    struct source *original; /* of rank 0: the input, at its end */
};

/* Opens the next input as plan->job.readers[plan->job.reader_count].source. Collective if a group
 * shares the job. */
bool plan_open_input(struct options *options, const struct source_spec *spec, struct plan *plan,
                     struct error *error);

/* Returns true if the input of reader i is such a one. */
bool plan_is_spooled(const struct plan *plan, size_t i);

/* Bytes of the header of an input that other ranks have. */
#define PLAN_SPOOL_HEAD_BYTES SOURCE_PEEK_MAX

/* Collective: narrows reader i to `bytes` bytes, `place` bytes after the position of its source. Of
 * a spooled input, other ranks than 0 receive them. */
bool plan_take_part(struct plan *plan, size_t i, uint64_t place, uint64_t bytes,
                    struct error *error);

void plan_free_spools(struct plan *plan);

#endif
