/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_proof.c - see pipeline_proof.h; pipeline_verify.c reads the file back. */
#include "job/pipeline_proof.h"

#include "job/pipeline_run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const char *const proof_scope_texts[PROOF_SCOPE_COUNT] = {
    "none",
    "no line was lost or changed",
    "what was written is in order",
    "what was written is what was read, in order",
};

void proof_start_keys(struct run *run)
{
    const struct job *const job = run->job;
    struct proof *const proof = &run->proof;
    key_check_start(&proof->read, job->readers[0].layout.type->bytes);
    key_check_start(&proof->taken, proof->read.key_bytes);
    key_check_start(&proof->made, job->sort.item_bytes);
    key_check_start_ordered(&proof->written, job->sort.item_bytes, job->sort.order);
    for (size_t i = 0; i < job->reader_count; i++)
        job->readers[i].tap = &proof->read.tap;
}

bool proof_fail(const struct run *run, struct error *error, const char *format, ...)
{
    char difference[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(difference, sizeof difference, format, arguments);
    va_end(arguments);
    return sink_fail_proof(run->target, difference, error);
}

bool proof_check_order(const struct run *run, const struct key_check *written, struct error *error)
{
    return written->disorder == 0 ||
           proof_fail(run, error,
                      "number %" PRIu64 " of those written should be before the one before it",
                      written->disorder);
}

/* Compares numbers as they were read with numbers as they were taken from memory. */
static bool check_taken(const struct run *run, struct error *error)
{
    const struct proof *const proof = &run->proof;
    return check_sum_equal(proof->read.sum, proof->taken.sum) ||
           proof_fail(run, error, "the %" PRIu64 " numbers read changed before they were sorted",
                      proof->read.sum.count);
}

static bool check_written(const struct run *run, struct check_sum before, struct error *error)
{
    const struct check_sum after = run->proof.written.sum;
    const uint64_t count = sort_spec_given(&run->job->sort, (size_t)before.count);
    if (after.count != count)
        return proof_fail(run, error, "%" PRIu64 " numbers should have been written, not %" PRIu64,
                          count, after.count);
    return after.count < before.count || after.hash == before.hash ||
           proof_fail(run, error, "the %" PRIu64 " numbers written are not those that were read",
                      after.count);
}

bool proof_finish_keys(struct run *run, struct error *error)
{
    const struct proof *const proof = &run->proof;
    const bool has_items = run->job->argsort.index_type != NULL;
    if ((has_items && !check_taken(run, error)) ||
        !check_written(run, has_items ? proof->made.sum : proof->read.sum, error) ||
        !proof_check_order(run, &proof->written, error))
        return false;
    run->report->proof.scope = run->job->sort.is_top ? PROOF_ORDER : PROOF_ALL;
    return true;
}

static bool check_line_order(const struct run *run, uint64_t disorder, struct error *error)
{
    return disorder == 0 ||
           proof_fail(run, error, "line %" PRIu64 " of those written is out of order", disorder);
}

bool proof_finish_lines(struct run *run, const struct lines *lines,
                        const struct lines_written *written, bool are_all, struct error *error)
{
    if (are_all && !check_sum_equal(lines_sum(lines), written->text))
        return proof_fail(run, error, "the lines written are not those that were read");
    if (are_all && !check_sum_equal(lines_items_sum(lines), written->items))
        return proof_fail(run, error, "the keys of lines changed while they were sorted");
    if (!check_line_order(run, written->disorder, error))
        return false;
    run->report->proof.scope = are_all ? PROOF_ALL : PROOF_ORDER;
    return true;
}

bool proof_finish_text(struct run *run, const struct lines *lines, struct check_sum written,
                       struct error *error)
{
    struct engine_times times;
    run->functions->times(run->engine, &times);
    const struct text_proof *const proof = &times.proof;
    const bool are_all = written.count == lines_bytes(lines);
    if (are_all && !check_sum_equal(lines_sum(lines), proof->gathered))
        return proof_fail(run, error, "the lines put in order are not those that were read");
    if (!check_sum_equal(proof->given, written))
        return proof_fail(run, error, "the lines written are not those that were put in order");
    if (!check_line_order(run, proof->disorder, error))
        return false;
    run->report->proof.scope = are_all ? PROOF_ALL : PROOF_ORDER;
    return true;
}

bool proof_finish_indices(struct run *run, uint64_t count, bool are_all, struct error *error)
{
    const struct key_check *const written = &run->proof.written;
    if (are_all && !check_sum_equal(written->sum, key_check_indices(count, run->job->sort.threads)))
        return proof_fail(run, error, "the %" PRIu64 " indices written are no permutation", count);
    if (!check_line_order(run, written->disorder, error))
        return false;
    run->report->proof.scope = are_all ? PROOF_ALL : PROOF_ORDER;
    return true;
}
