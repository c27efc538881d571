/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_proof.c - see pipeline_proof.h. */
#include "job/pipeline_proof.h"

#include "formats/check/lines_check.h"
#include "formats/codec/codec.h"
#include "job/pipeline_ranks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
           proof_fail(reader->run, error, "%s was changed after it was written", stored->name);
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

/* Checks the order of lines, the last of their checks. are_all: all lines were written. */
static bool finish_line_order(struct run *run, uint64_t disorder, bool are_all, struct error *error)
{
    run->report->proof.scope = are_all ? PROOF_ALL : PROOF_ORDER;
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
    return finish_line_order(run, written->disorder, are_all, error);
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
    return finish_line_order(run, proof->disorder, are_all, error);
}

bool proof_finish_indices(struct run *run, uint64_t count, bool are_all, struct error *error)
{
    const struct key_check *const written = &run->proof.written;
    if (are_all && !check_sum_equal(written->sum, key_check_indices(count, run->job->sort.threads)))
        return proof_fail(run, error, "the %" PRIu64 " indices written are no permutation", count);
    return finish_line_order(run, written->disorder, are_all, error);
}

/* ---- Reading the file back ----
 *
 *   binary numbers   are read as numbers: count and sum of hashes as written, and in order
 *   text, indices    count and checksum of the bytes as given to the sink
 *   sorted lines     are also checked for order, as by -c
 *
 * Of a file that ranks share, rank 0 reads all.
 *
 * The file is synced to its disk first and its pages are dropped from memory, so that it is read
 * from the disk, if the file system has one.
 */

/* Bytes of one read. */
#define VERIFY_BYTES ((size_t)32 << 20)

bool proof_check_verify(const struct run *run, struct error *error)
{
    return !run->job->verify || sink_replaces(run->sink) || run->job->output.is_in_place ||
           error_set(error,
                     "%s: --verify reads back what was written: it needs a regular file, named by "
                     "-o",
                     sink_name(run->sink));
}

static bool writes_binary_numbers(const struct job *job)
{
    return !job->keep_lines && !job->argsort.index_type && job->output_format != &format_text;
}

bool proof_sums_content(const struct job *job)
{
    return job->verify && !writes_binary_numbers(job);
}

static bool check_file(const struct run *run, struct check_sum written, struct check_sum found,
                       const char *units, struct error *error)
{
    if (found.count != written.count)
        return proof_fail(run, error, "the new file holds %" PRIu64 " %s, not %" PRIu64,
                          found.count, units, written.count);
    return found.hash == written.hash ||
           proof_fail(run, error, "the %" PRIu64 " %s in the new file are not those written",
                      found.count, units);
}

static bool verify_numbers(struct run *run, struct source *source, void *buffer,
                           struct error *error)
{
    const struct job *const job = run->job;
    const struct layout *const layout = &job->readers[0].layout;
    struct reader reader = {.source = source,
                            .layout = {.type = layout->type, .endian = layout->endian}};
    struct key_check found;
    size_t count;
    key_check_start_ordered(&found, layout->type->bytes, job->sort.order);
    if (!job->output_format->read_header(&reader, error))
        return false;
    do {
        if (!job->output_format->read_keys(&reader, buffer, VERIFY_BYTES / layout->type->bytes,
                                           &count, error))
            return false;
        key_check_begin_chunk(&found, buffer, count);
        tap_see_all(&found.tap, buffer, count * layout->type->bytes, job->sort.threads);
    } while (count > 0);
    return check_file(run, job->has_rank_output ? run->proof.file : run->proof.written.sum,
                      found.sum, "numbers", error) &&
           proof_check_order(run, &found, error);
}

/* Ranks have put compressed frames into a shared file, whose bytes are compared as they are. */
static const struct codec *codec_of_content(const struct job *job)
{
    return job->output.group ? &codecs[0] : job->output.codec;
}

static bool verify_bytes(struct run *run, struct source *source, void *buffer, struct error *error)
{
    struct text_check found;
    size_t bytes;
    text_check_start(&found);
    do {
        text_check_begin_chunk(&found, buffer, found.sum.count);
        if (!source_read_seen(source, buffer, VERIFY_BYTES, &found.tap, &bytes, error))
            return false;
    } while (bytes > 0);
    return check_file(run, run->proof.content, found.sum, "bytes", error);
}

/* Checks that sorted lines are in order, as -c does. */
static bool verify_lines(struct run *run, struct source *source, struct error *error)
{
    const struct job *const job = run->job;
    struct lines_header header = {0};
    struct lines_check check = {0};
    bool ok =
        lines_header_read(source, job->line_order.terminator, job->header_lines, &header, error) &&
        lines_check(source, &job->line_order, job->header_lines, job->sort.threads, &check, error);
    if (ok && check.is_disordered)
        ok = proof_fail(run, error, "line %" PRIu64 " of the new file is out of order",
                        (uint64_t)job->header_lines + check.lines + 1);
    free(check.text);
    free(header.text);
    return ok;
}

static bool open_written(const struct run *run, int file, const struct codec *codec,
                         struct source **source, struct error *error)
{
    return source_open_file(file, sink_name(run->sink), codec, run->job->sort.threads, source,
                            error);
}

/* Reads back the file, which is on the disk. */
static bool verify_file(struct run *run, int file, struct error *error)
{
    bool ok = false;
    const struct job *const job = run->job;
    const bool are_lines = job->keep_lines && !job->argsort.index_type && job->action == JOB_SORT;
    const bool are_numbers = writes_binary_numbers(job);
    struct source *source = NULL;
    void *const buffer = malloc(VERIFY_BYTES);
    if (!buffer)
        return error_set(error, "out of memory: no room to verify what was written");
    TRY(open_written(run, file, are_numbers ? job->output.codec : codec_of_content(job), &source,
                     error));
    TRY(are_numbers ? verify_numbers(run, source, buffer, error)
                    : verify_bytes(run, source, buffer, error));
    if (are_lines) {
        source_close(source);
        source = NULL;
        TRY(open_written(run, file, job->output.codec, &source, error));
        TRY(verify_lines(run, source, error));
    }
    ok = true;
done:
    source_close(source);
    free(buffer);
    return ok;
}

bool proof_verify(struct run *run, struct error *error)
{
    struct group *const group = run->job->output.group; /* whose ranks have written parts of it */
    int file;
    bool ok = group_agree(group, true, error) && /* all ranks have written */
              sink_store(run->sink, &file, error);
    run->proof.content = sink_content(run->sink);
    ok = group_agree(group, ok, error) &&
         (!group || ranks_add_up(group, &run->proof.content, error));
    ok = ok && ((group && group->rank > 0) || verify_file(run, file, error));
    ok = group_agree(group, ok, error);
    run->report->proof.is_verified = ok;
    return ok;
}
