/* pipeline_order.c - lines that are in order: checked, merged; and the headers above them. */
#include "core/pipeline_run.h"
#include "formats/lines_check.h"
#include "formats/lines_merge.h"

#include <stdlib.h>
#include <string.h>

/* An empty one has no text. */
static bool is_same_header(const struct lines_header *a, const struct lines_header *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->text, b->text, a->bytes) == 0);
}

bool run_take_headers(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    for (size_t i = 0; i < job->reader_count; i++) {
        struct source *const source = job->readers[i].source;
        struct lines_header header = {0};
        bool ok = lines_header_read(source, job->line_order.terminator, job->header_lines, &header,
                                    error);
        if (i == 0) {
            run->header = header;
        } else {
            if (ok && !is_same_header(&header, &run->header))
                ok = error_set(error, "%s: its header is not that of %s", source_name(source),
                               source_name(job->readers[0].source));
            free(header.text);
        }
        if (!ok)
            return false;
    }
    return true;
}

bool run_write_header(struct run *run, struct error *error)
{
    return run->header.bytes == 0 ||
           sink_write(run->sink, run->header.text, run->header.bytes, error);
}

bool run_check(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    const uint64_t start = run_stage_begin(STAGE_READ);
    struct lines_check check;
    const bool ok = lines_check(job->readers[0].source, &job->line_order, job->header_lines,
                                job->sort.threads, &check, error);
    run_stage_add(run, STAGE_READ, start);
    run->count = check.lines;
    run->report->item_bytes = check.bytes;
    run->report->disorder = (struct disorder){
        check.is_disordered, job->header_lines + check.lines + 1, check.text, check.length};
    return ok;
}

/* All lines are written: space for them can be had, and several threads write. What has no last
 * terminator gets one, which counts. */
static void expect_merged(struct run *run)
{
    const struct job *const job = run->job;
    uint64_t bytes = run->header.bytes;
    bool is_exact = true;
    for (size_t i = 0; i < job->reader_count; i++) {
        const struct source *const source = job->readers[i].source;
        const uint64_t left = source_bytes_left(source);
        char last = job->line_order.terminator;
        is_exact &= left == 0 || source_last_byte(source, &last);
        if (__builtin_add_overflow(bytes, left, &bytes))
            return;
        bytes += left > 0 && last != job->line_order.terminator;
    }
    if (!job->line_order.unique && (is_exact || sink_replaces(run->sink)))
        sink_expect(run->sink, bytes);
}

bool run_merge(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    const uint64_t start = run_stage_begin(STAGE_WRITE);
    struct source **sources = calloc(job->reader_count, sizeof(struct source *));
    if (!sources)
        return error_set(error, "no memory to merge %zu inputs", job->reader_count);
    for (size_t i = 0; i < job->reader_count; i++)
        sources[i] = job->readers[i].source;
    struct lines_merge merge = {
        .order = &job->line_order,
        .sources = sources,
        .count = job->reader_count,
        .lines_before = job->header_lines,
        .threads = job->sort.threads,
    };
    expect_merged(run);
    const bool ok = run_write_header(run, error) && lines_merge_run(&merge, run->sink, error);
    free(sources);
    run_stage_add(run, STAGE_WRITE, start);
    run->count = merge.lines;
    run->report->item_bytes = merge.bytes;
    run->report->proof.scope = PROOF_LINES;
    return ok;
}
