/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_proof.c - see job_state.h: checks of a job's output before it replaces the old file.
 *
 *   numbers   read == written, and the written ones are in order
 *   indices   numbers read == numbers that items were made of; items made == items whose indices
 *             are written, and these are in order: so the indices are a permutation, and each is
 *             the position of its number
 *
 * `==` compares counts and sums of hashes (check.h). Each point observes the numbers while a thread
 * has them in its cache. If only the first items are wanted, their count and order are checked, but
 * not which ones they are. Text and indices that are made of numbers in the sink's buffers must
 * still be there unchanged when they are written (sink.h).
 *
 * With `verify`, the file is read back and checked again.
 */
#include "formats/check/lines_check.h"
#include "formats/codec/codec.h"
#include "job/pipeline_ranks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void proof_start_keys(struct job_state *state)
{
    const struct job *const job = state->job;
    struct proof *const proof = &state->proof;
    key_check_start(&proof->read, job->readers[0].layout.type->bytes);
    key_check_start(&proof->taken, proof->read.key_bytes);
    key_check_start(&proof->made, job->sort.item_bytes);
    key_check_start_ordered(&proof->written, job->sort.item_bytes, job->sort.order);
    for (size_t i = 0; i < job->reader_count; i++)
        job->readers[i].tap = &proof->read.tap;
}

bool proof_fail(const struct job_state *state, struct error *error, const char *format, ...)
{
    char difference[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(difference, sizeof difference, format, arguments);
    va_end(arguments);
    return sink_fail_proof(state->target, difference, error);
}

bool proof_read_stored(struct proof_reader *reader, void *data, size_t most, size_t *bytes,
                       struct error *error)
{
    const struct spill_run *const stored = reader->stored;
    const uint64_t left = stored->bytes - reader->done;
    *bytes = left < most ? (size_t)left : most;
    if (*bytes == 0)
        return true;
    if (!spill_read(stored, reader->done, data, *bytes, error))
        return false;
    check_sum_add(&reader->found, text_check_sum(reader->done, data, *bytes));
    reader->done += *bytes;
    return reader->done < stored->bytes || check_sum_equal(reader->found, stored->content) ||
           proof_fail(reader->state, error, "%s was changed after it was written", stored->name);
}

bool proof_check_order(const struct job_state *state, const struct key_check *written,
                       struct error *error)
{
    return written->disorder == 0 ||
           proof_fail(state, error,
                      "number %" PRIu64 " of those written should be before the one before it",
                      written->disorder);
}

/* Compares numbers as they were read with numbers as they were taken from memory. */
static bool check_taken(const struct job_state *state, struct error *error)
{
    const struct proof *const proof = &state->proof;
    return check_sum_equal(proof->read.sum, proof->taken.sum) ||
           proof_fail(state, error, "the %" PRIu64 " numbers read changed before they were sorted",
                      proof->read.sum.count);
}

static bool check_written(const struct job_state *state, struct check_sum before,
                          struct error *error)
{
    const struct check_sum after = state->proof.written.sum;
    const uint64_t count = sort_spec_given(&state->job->sort, (size_t)before.count);
    if (after.count != count)
        return proof_fail(state, error,
                          "%" PRIu64 " numbers should have been written, not %" PRIu64, count,
                          after.count);
    return after.count < before.count || after.hash == before.hash ||
           proof_fail(state, error, "the %" PRIu64 " numbers written are not those that were read",
                      after.count);
}

bool proof_finish_keys(struct job_state *state, struct error *error)
{
    const struct proof *const proof = &state->proof;
    const bool has_items = state->job->argsort.index_type != NULL;
    return (!has_items || check_taken(state, error)) &&
           check_written(state, has_items ? proof->made.sum : proof->read.sum, error) &&
           proof_check_order(state, &proof->written, error);
}

/* Checks the order of lines, the last of their checks. */
static bool finish_line_order(const struct job_state *state, uint64_t disorder, struct error *error)
{
    return disorder == 0 ||
           proof_fail(state, error, "line %" PRIu64 " of those written is out of order", disorder);
}

bool proof_finish_lines(struct job_state *state, const struct lines *lines,
                        const struct lines_written *written, bool are_all, struct error *error)
{
    if (are_all && !check_sum_equal(lines_sum(lines), written->text))
        return proof_fail(state, error, "the lines written are not those that were read");
    if (are_all && !check_sum_equal(lines_items_sum(lines), written->items))
        return proof_fail(state, error, "the keys of lines changed while they were sorted");
    return finish_line_order(state, written->disorder, error);
}

bool proof_finish_text(struct job_state *state, const struct lines *lines, struct check_sum written,
                       struct error *error)
{
    struct engine_times times;
    state->functions->times(state->engine, &times);
    const struct text_proof *const proof = &times.proof;
    const bool are_all = written.count == lines_bytes(lines);
    if (are_all && !check_sum_equal(lines_sum(lines), proof->gathered))
        return proof_fail(state, error, "the lines put in order are not those that were read");
    if (!check_sum_equal(proof->given, written))
        return proof_fail(state, error, "the lines written are not those that were put in order");
    return finish_line_order(state, proof->disorder, error);
}

bool proof_finish_indices(struct job_state *state, uint64_t count, bool are_all,
                          struct error *error)
{
    const struct key_check *const written = &state->proof.written;
    if (are_all &&
        !check_sum_equal(written->sum, key_check_indices(count, state->job->sort.threads)))
        return proof_fail(state, error, "the %" PRIu64 " indices written are no permutation",
                          count);
    return finish_line_order(state, written->disorder, error);
}

/* ---- Reading the file back ----
 *
 *   binary numbers   are read as numbers: count and sum of hashes as written, and in order
 *   text, indices    count and checksum of the bytes as given to the sink
 *   sorted lines     are also checked for order, as by -c; not those of -m
 *
 * Of a file that ranks share, rank 0 reads all.
 *
 * The file is synced to its disk first and its pages are dropped from memory, so that it is read
 * from the disk, if the file system has one.
 */

bool pipeline_refuse_verify(const char *name, struct error *error)
{
    return error_set(error,
                     "%s: --verify reads back what was written: it needs a regular file, named by "
                     "-o",
                     name);
}

bool proof_check_verify(const struct job_state *state, struct error *error)
{
    return !state->job->verify || sink_replaces(state->sink) || state->job->output.is_in_place ||
           pipeline_refuse_verify(sink_name(state->sink), error);
}

static bool writes_array(const struct job *job)
{
    return !job->argsort.index_type && job->output_format->is_array;
}

bool proof_sums_content(const struct job *job)
{
    return job->verify && !writes_array(job);
}

static bool check_file(const struct job_state *state, struct check_sum written,
                       struct check_sum found, const char *units, struct error *error)
{
    if (found.count != written.count)
        return proof_fail(state, error, "the new file holds %" PRIu64 " %s, not %" PRIu64,
                          found.count, units, written.count);
    return found.hash == written.hash ||
           proof_fail(state, error, "the %" PRIu64 " %s in the new file are not those written",
                      found.count, units);
}

static bool verify_numbers(struct job_state *state, struct source *source, void *buffer,
                           struct error *error)
{
    const struct job *const job = state->job;
    const struct layout *const layout = &job->readers[0].layout;
    struct reader reader = {.source = source,
                            .layout = {.type = layout->type, .endian = layout->endian}};
    struct key_check found;
    size_t count;
    key_check_start_ordered(&found, layout->type->bytes, job->sort.order);
    if (!job->output_format->read_header(&reader, error))
        return false;
    do {
        if (!job->output_format->read_keys(&reader, buffer, job->keys_bytes / layout->type->bytes,
                                           &count, error))
            return false;
        key_check_begin_chunk(&found, buffer, count);
        tap_observe_all(&found.tap, buffer, count * layout->type->bytes, job->sort.threads);
    } while (count > 0);
    return check_file(state, job->has_rank_output ? state->proof.file : state->proof.written.sum,
                      found.sum, "numbers", error) &&
           proof_check_order(state, &found, error);
}

static bool verify_bytes(struct job_state *state, struct source *source, void *buffer,
                         struct error *error)
{
    struct text_check found;
    size_t bytes;
    text_check_start(&found);
    do {
        text_check_begin_chunk(&found, buffer, found.sum.count);
        if (!source_read_observed(source, buffer, state->job->keys_bytes, &found.tap, &bytes,
                                  error))
            return false;
    } while (bytes > 0);
    return check_file(state, state->proof.content, found.sum, "bytes", error);
}

static bool verify_lines(struct job_state *state, struct source *source, struct error *error)
{
    const struct job *const job = state->job;
    struct lines_header header = {0};
    struct lines_check check = {0};
    bool ok =
        lines_header_read(source, job->line_order.terminator, job->header_lines, &header, error) &&
        lines_check(source, &job->line_order, job->header_lines, job->sort.threads, &check, error);
    if (ok && check.is_disordered)
        ok = proof_fail(state, error, "line %" PRIu64 " of the new file is out of order",
                        (uint64_t)job->header_lines + check.lines + 1);
    free(check.text);
    free(header.text);
    return ok;
}

static bool open_written(const struct job_state *state, int file, const struct codec *codec,
                         struct source **source, struct error *error)
{
    return source_open_file(file, sink_name(state->sink), codec, state->job->sort.threads, source,
                            error);
}

static bool verify_file(struct job_state *state, int file, struct error *error)
{
    bool ok = false;
    const struct job *const job = state->job;
    const bool are_lines = job->keep_lines && !job->argsort.index_type && job->action == JOB_SORT;
    const bool are_numbers = writes_array(job);
    /* Ranks have put compressed frames into a shared file: its bytes are compared as they are. */
    const bool is_raw = !are_numbers && job->output.group;
    struct source *source = NULL;
    void *const buffer = malloc(job->keys_bytes);
    if (!buffer)
        return error_set(error, "out of memory: no room to verify what was written");
    TRY(open_written(state, file, is_raw ? codecs[0] : job->output.codec, &source, error));
    TRY(are_numbers ? verify_numbers(state, source, buffer, error)
                    : verify_bytes(state, source, buffer, error));
    if (are_lines) {
        source_close(source);
        source = NULL;
        TRY(open_written(state, file, job->output.codec, &source, error));
        TRY(verify_lines(state, source, error));
    }
    ok = true;
done:
    source_close(source);
    free(buffer);
    return ok;
}

bool proof_verify(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_VERIFY);
    struct group *const group =
        state->job->output.group; /* whose ranks have written ranges of it */
    int file;
    bool ok = group_agree(group, true, error) && /* all ranks have written */
              sink_store(state->sink, &file, error);
    state->proof.content = sink_content(state->sink);
    ok = group_agree(group, ok, error) &&
         (!group || ranks_add_up(group, &state->proof.content, error));
    ok = ok && ((group && group->rank > 0) || verify_file(state, file, error));
    ok = group_agree(state->job->group, ok, error);
    state->report->is_verified = ok;
    job_stage_add(state, STAGE_VERIFY, start);
    return ok;
}
