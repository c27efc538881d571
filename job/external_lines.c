/* SPDX-License-Identifier: Apache-2.0 */
/* external_lines.c - see external_lines.h; sorts lines that do not fit in memory, or that MPI
 * ranks share.
 *
 *   part: as many whole lines as fit, at least one -> sorted as lines in memory -> a run of text
 *     -> the next part -> ... -> lines_merge.h, in the order of the parts -> sink
 *
 * Of lines with equal keys, the merge writes those of an earlier part first, as -s and -u require.
 * With --argsort it writes which run has the next line, and line_indices.h merges the indices of
 * the runs in that order.
 */
#include "job/external_lines.h"
#include "formats/codec/codec.h"
#include "formats/io/input_file.h"
#include "job/line_indices.h"

#include <stdlib.h>
#include <string.h>

/* Maximum memory per run while runs are merged, for text and items. More is better used as page
 * cache for the spilled runs. */
#define RUN_BYTES_MAX ((size_t)48 << 20)

/* Bytes copied by one read, of a run whose first lines are written. */
#define COPY_BYTES ((size_t)1 << 20)

/* ---- Runs ---- */

bool external_lines_begin_run(const struct external_lines *external, struct spill *spill,
                              struct item_run *run, struct sink **sink, struct error *error)
{
    const struct sink_spec spec = {.codec = codecs[0],
                                   .threads = external->state->job->output.threads};
    *run = (struct item_run){0};
    return spill_begin(spill, &run->spilled, error) &&
           sink_open_run(&run->spilled, &spec, sink, error);
}

bool external_lines_end_run(struct external_lines *external, struct item_run *run,
                            struct sink *sink, bool is_whole, struct error *error)
{
    struct spill_run *const spilled = &run->spilled;
    if (!is_whole)
        sink_discard(sink);
    if (!is_whole || !sink_commit_run(sink, &spilled->content, error) || !spill_end(spilled, error))
        return false;
    run->count = spilled->bytes / (spilled->spill == external->spill ? 1 : sizeof(uint64_t));
    external->state->report->spilled_bytes += spilled->bytes;
    return true;
}

/* A run of lines, and of their indices if the job needs them, while they are written. */
struct new_run {
    struct item_run text, indices;
};

static bool begin_part(const struct external_lines *external, struct new_run *new,
                       struct job_state *part, struct error *error)
{
    return external_lines_begin_run(external, external->spill, &new->text, &part->sink, error) &&
           (!external->index_spill ||
            external_lines_begin_run(external, external->index_spill, &new->indices,
                                     &part->index_sink, error));
}

/* Ends the part's runs, and adds them to the lists if they are whole (ok). */
static bool end_part(struct external_lines *external, struct new_run *new,
                     const struct job_state *part, bool ok, struct error *error)
{
    const bool has_indices = external->index_spill;
    ok = external_lines_end_run(external, &new->text, part->sink, ok, error);
    if (has_indices)
        ok = external_lines_end_run(external, &new->indices, part->index_sink, ok, error);
    return ok && run_list_add(&external->list, &new->text, error) &&
           (!has_indices || run_list_add(&external->index_list, &new->indices, error));
}

/* Runs of lines of up to this length can be merged with LINES_MERGE_INPUT_BYTES each. */
#define LINE_BYTES_SHORT (LINES_MERGE_INPUT_BYTES / 3)

/* Returns the length of the longest line, or LINE_BYTES_SHORT if none is longer. Looks for the last
 * terminator in each step of the length found so far, so that a text of short lines is not read. */
static size_t find_longest(const struct external_lines *external, const struct lines *lines)
{
    const char terminator = external->state->job->line_order.terminator;
    const char *line = lines_whole_text(lines);
    size_t left = lines_bytes(lines), longest = LINE_BYTES_SHORT;
    while (left > longest) {
        const char *end = memrchr(line, terminator, longest + 1);
        if (!end) {
            end = rawmemchr(line, terminator);
            longest = (size_t)(end - line);
        }
        left -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    return longest;
}

/* The runs of few long lines are merged with others, so the mean counts. */
size_t external_lines_fan_in(const struct external_lines *external, size_t bytes)
{
    const uint64_t mean =
        external->parts > 0 ? external->longest_lines / external->parts : LINE_BYTES_SHORT;
    const uint64_t runs = bytes / 3 / mean;
    return runs > 4 ? (size_t)runs : 4;
}

/* Sorts the lines into a new run, as a job of their own with another output. If it fails with
 * *is_short, memory was too short to sort them at once, and nothing was done. */
static bool sort_part(struct external_lines *external, struct lines *lines, bool *is_short,
                      struct error *error)
{
    struct job_state *const state = external->state;
    struct job_report *const report = state->report;
    struct job_state part = {.job = state->job,
                             .report = report,
                             .backend = state->backend,
                             .target = state->sink,
                             .lines_before = state->job->argsort.first + state->count};
    struct new_run new = {0};
    external->longest_lines += find_longest(external, lines);
    external->parts++;
    bool ok = begin_part(external, &new, &part, error) && job_sort_lines(&part, lines, error);
    job_close_engine(&part);
    *is_short = part.is_short;
    ok = end_part(external, &new, &part, ok, error);
    if (*is_short)
        return false;
    report->run_count++;
    report->item_bytes += lines_bytes(lines);
    state->count += part.count;
    return ok;
}

/* As sort_part(), but sorts the lines by halves if memory is too short to sort them at once. */
static bool sort_part_or_halves(struct external_lines *external, struct lines *lines,
                                struct error *error)
{
    struct error cause = {0};
    struct lines *rest = NULL;
    bool is_short;
    if (sort_part(external, lines, &is_short, &cause))
        return true;
    const size_t bytes =
        lines_bytes(lines) > MERGE_BYTES_MIN ? lines_bytes(lines) : MERGE_BYTES_MIN;
    if (is_short && bytes < external->merge_bytes)
        external->merge_bytes = bytes; /* merging must not take more memory than the text did */
    bool ok = is_short && lines_halve(lines, &rest, error) && lines_bytes(rest) > 0;
    if (!ok)
        error_merge(error, &cause);
    ok = ok && sort_part_or_halves(external, lines, error) &&
         sort_part_or_halves(external, rest, error);
    lines_free(rest);
    return ok;
}

bool external_lines_sort(struct external_lines *external, struct lines **lines, struct error *error)
{
    struct job_state *const state = external->state;
    while (!state->is_at_end || lines_bytes(*lines) > 0) {
        struct lines *rest = NULL;
        const bool ok = lines_split(*lines, state->job->part_bytes, &rest, error) &&
                        sort_part_or_halves(external, *lines, error);
        lines_free(*lines);
        *lines = rest;
        if (!ok || !job_read_lines(state, rest, error))
            return false;
    }
    return true;
}

/* ---- Merging ---- */

/* Checks that the bytes read from the runs are those written to them. */
static bool check_runs(const struct external_lines *external, size_t first, size_t count,
                       const struct check_sum *read, struct error *error)
{
    const struct item_run *const runs = external->list.runs + first;
    for (size_t i = 0; i < count; i++)
        if (!check_sum_equal(runs[i].spilled.content, read[i]))
            return proof_fail(external->state, error, "%s was changed after it was written",
                              runs[i].spilled.name);
    return true;
}

static bool read_text(void *run, uint64_t first, void *data, size_t bytes, struct error *error)
{
    return item_run_read(run, first, data, bytes, 1, error);
}

static void prefetch_text(const void *opaque, uint64_t first, size_t bytes)
{
    const struct item_run *const run = opaque;
    if (!run->read)
        spill_prefetch(&run->spilled, run->begin + first, bytes);
}

bool external_lines_merge(const struct external_lines *external, struct item_run *runs,
                          struct lines_merge *merge, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct source **const sources = calloc(merge->count, sizeof(struct source *));
    if (!sources)
        return error_set(error, "no memory to merge %zu runs", merge->count);
    merge->order = &external->state->job->line_order;
    merge->sources = sources;
    merge->output = external->state->target;
    merge->are_sorted = true;
    merge->threads = external->state->job->sort.threads;
    for (size_t i = 0; i < merge->count; i++) {
        const struct input_stream stream = {read_text, prefetch_text, &runs[i], runs[i].count};
        TRY(source_open_stream(&stream, "a sorted run", &sources[i], error));
    }
    ok = lines_merge_run(merge, sink, error);
done:
    for (size_t i = 0; i < merge->count; i++)
        source_close(sources[i]);
    free(sources);
    return ok;
}

/* Returns true if only the first lines of a merge are needed. */
static bool writes_some(const struct job *job)
{
    return job->sort.is_top && job->sort.top > 0 && !job->line_order.unique &&
           !job->argsort.index_type;
}

/* Merges the lines of the runs to the sink, or writes the number of the run of each line instead
 * (line_indices.h). */
static bool merge_runs(const struct external_lines *external, size_t first, size_t count,
                       bool writes_sources, struct sink *sink, struct error *error)
{
    const size_t memory_bytes = external->merge_bytes;
    struct check_sum *const read = calloc(count, sizeof *read);
    struct lines_merge merge = {
        .count = count,
        .most = writes_some(external->state->job) ? external->state->job->sort.top : 0,
        .writes_sources = writes_sources,
        .memory_bytes = memory_bytes / count > RUN_BYTES_MAX ? count * RUN_BYTES_MAX : memory_bytes,
        .source_sums = read,
    };
    const bool ok =
        (read || error_set(error, "no memory to merge %zu runs", count)) &&
        external_lines_merge(external, external->list.runs + first, &merge, sink, error) &&
        (merge.most > 0 || check_runs(external, first, count, read, error));
    free(read);
    return ok;
}

static bool merge_to_run(struct external_lines *external, size_t first, size_t count,
                         bool writes_sources, struct item_run *merged, struct error *error)
{
    struct spill *const spill = writes_sources ? external->index_spill : external->spill;
    struct sink *sink = NULL;
    if (!external_lines_begin_run(external, spill, merged, &sink, error))
        return false;
    const bool ok = merge_runs(external, first, count, writes_sources, sink, error);
    return external_lines_end_run(external, merged, sink, ok, error);
}

/* Merges the indices of `count` runs, in the order of `sources`. At most `wanted` go to `write`. */
static bool merge_indices(const struct external_lines *external, size_t first, size_t count,
                          const struct item_run *sources, uint64_t wanted,
                          bool (*write)(void *, const void *, size_t, struct error *),
                          void *context, struct error *error)
{
    const struct line_indices task = {
        .state = external->state,
        .sources = &sources->spilled,
        .runs = external->index_list.runs + first,
        .run_count = count,
        .wanted = wanted,
        .memory_bytes = external->merge_bytes,
        .write = write,
        .context = context,
    };
    return line_indices_write(&task, error);
}

static bool merge_indices_to_run(struct external_lines *external, size_t first, size_t count,
                                 struct item_run *merged, struct error *error)
{
    struct item_run sources = {0};
    struct sink *sink = NULL;
    if (!merge_to_run(external, first, count, true, &sources, error) ||
        !external_lines_begin_run(external, external->index_spill, merged, &sink, error))
        return false;
    const bool ok = merge_indices(external, first, count, &sources, UINT64_MAX, line_indices_store,
                                  sink, error);
    if (ok)
        spill_drop(&sources.spilled);
    return external_lines_end_run(external, merged, sink, ok, error);
}

static bool merge_into_run(void *context, size_t first, size_t count, struct error *error)
{
    struct external_lines *const external = context;
    struct new_run merged;
    if (!merge_to_run(external, first, count, false, &merged.text, error) ||
        (external->index_spill &&
         !merge_indices_to_run(external, first, count, &merged.indices, error)))
        return false;
    run_list_replace(&external->list, first, count, &merged.text);
    if (external->index_spill)
        run_list_replace(&external->index_list, first, count, &merged.indices);
    return true;
}

bool external_lines_reduce(struct external_lines *external, size_t most, size_t fan_in,
                           struct error *error)
{
    return run_list_reduce(external->state, &external->list, most, fan_in, merge_into_run, external,
                           error);
}

/* Returns the bytes of the first *wanted lines of the text, or all bytes if it has fewer. Subtracts
 * the lines found from *wanted. */
static size_t take_lines(const char *text, size_t bytes, char terminator, size_t *wanted)
{
    const char *at = text;
    while (*wanted > 0) {
        const char *const found = memchr(at, terminator, bytes - (size_t)(at - text));
        if (!found)
            return bytes;
        at = found + 1;
        --*wanted;
    }
    return (size_t)(at - text);
}

bool external_lines_copy(const struct external_lines *external, const struct item_run *run,
                         size_t wanted, struct error *error)
{
    const char terminator = external->state->job->line_order.terminator;
    char *const buffer = malloc(COPY_BYTES);
    bool ok = buffer || error_set(error, "out of memory");
    /* To the end of the run, as only its whole content has a checksum. */
    struct proof_reader reader = {.state = external->state, .stored = &run->spilled};
    for (size_t bytes = 1; ok && bytes > 0;)
        ok = proof_read_stored(&reader, buffer, COPY_BYTES, &bytes, error) &&
             sink_write(external->state->sink, buffer,
                        take_lines(buffer, bytes, terminator, &wanted), error);
    free(buffer);
    return ok;
}

static bool merge_to_output(void *context, struct error *error)
{
    struct external_lines *const external = context;
    struct job_state *const state = external->state;
    const struct sort_spec *const sort = &state->job->sort;
    if (sort->is_top)
        return job_write_header(state, error) &&
               external_lines_copy(external, &external->list.runs[0], sort->top, error);
    const bool writes_all = !state->job->line_order.unique;
    return (!writes_all ||
            job_expect(state, state->header.bytes + state->report->item_bytes, error)) &&
           job_write_header(state, error) &&
           merge_runs(external, 0, external->list.count, false, state->sink, error);
}

static bool merge_indices_to_output(struct external_lines *external, struct error *error)
{
    struct job_state *const state = external->state;
    struct item_run sources = {0};
    uint64_t kept;
    if (!merge_to_run(external, 0, external->list.count, true, &sources, error) ||
        !line_indices_count(state, &sources.spilled, external->list.count, NULL, &kept, error))
        return false;
    key_check_start_lines(&state->proof.written);
    const struct layout *const layout = &state->output_layout;
    return job_begin_output(state, (size_t)kept, error) &&
           merge_indices(external, 0, external->list.count, &sources, layout->count,
                         job_write_items, state, error) &&
           proof_finish_indices(state, layout->count, layout->count == state->count, error);
}

/* ---- All of it ---- */

bool external_lines_open(struct job_state *state, struct external_lines *external,
                         struct error *error)
{
    const struct memory_limits *const memory = &state->job->memory;
    *external = (struct external_lines){.state = state, .merge_bytes = job_merge_bytes(state->job)};
    external->spill = spill_create(memory->directories, memory->directory_count);
    if (state->job->argsort.index_type)
        external->index_spill = spill_create(memory->directories, memory->directory_count);
    state->report->item_bytes = 0;
    return (external->spill && (external->index_spill || !state->job->argsort.index_type)) ||
           error_set(error, "out of memory: no room for runs");
}

void external_lines_close(struct external_lines *external)
{
    free(external->list.runs);
    free(external->index_list.runs);
    spill_free(external->spill);
    spill_free(external->index_spill);
}

bool external_lines_run(struct job_state *state, struct lines **lines, struct error *error)
{
    bool ok = false;
    const struct job *const job = state->job;
    struct external_lines external = {0};
    TRY(external_lines_open(state, &external, error));
    TRY(external_lines_sort(&external, lines, error));
    const size_t fan_in = external_lines_fan_in(&external, external.merge_bytes);
    const bool copies_one = job->sort.is_top && !job->argsort.index_type;
    TRY(external_lines_reduce(&external, copies_one ? 1 : fan_in, fan_in, error));
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    TRY(job->argsort.index_type ? merge_indices_to_output(&external, error)
                                : job_write_proved(state, merge_to_output, &external, error));
    job_stage_add(state, STAGE_WRITE, start);
    ok = true;
done:
    external_lines_close(&external);
    return ok;
}
