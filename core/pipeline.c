/* pipeline.c - see pipeline.h. */
#include "core/pipeline.h"

#include "core/clock.h"
#include "formats/codec.h"
#include "formats/indices.h"
#include "formats/lines.h"
#include "formats/lines_check.h"
#include "formats/lines_header.h"
#include "formats/lines_merge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is asked of the engine at a time when keys are read. Large enough that a read shared out to
 * threads pays, small enough that the first upload starts early. */
#define CHUNK_BYTES ((size_t)64 << 20)

/* Numbers read at a time when items are made of them: shared out to threads, and reused. */
#define KEYS_BYTES ((size_t)32 << 20)

const char *const stage_names[STAGE_COUNT] = {
    "start", "read", "parse", "upload", "sort", "refine", "download", "write",
};

/* A job on its way. */
struct run {
    const struct job *job;
    struct job_report *report;
    struct engine *engine;
    struct sink *sink;
    size_t count;               /* items taken by the engine */
    struct lines_header header; /* of the first input, if the job keeps one apart */
};

static void stage_add(struct run *run, enum stage stage, uint64_t start_ns)
{
    run->report->stage_ns[stage] += clock_now_ns() - start_ns;
}

static bool open_output(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    if (!sink_open(&job->output, &run->sink, error))
        return false;
    const bool binary = job->output_format != &format_text || job->output.codec != &codecs[0];
    if (binary && sink_is_terminal(run->sink) && !job->binary_to_terminal)
        return error_set(error, "%s: binary data is not written to a terminal (--force does it)",
                         sink_name(run->sink));
    return true;
}

/* What is written when so many items were taken: numbers, or indices. */
static struct layout output_layout(const struct job *job, size_t count)
{
    struct layout layout = job->readers[0].layout;
    if (job->argsort.index_type) {
        layout.type = job->argsort.index_type;
        layout.endian = job->argsort.index_endian;
    }
    layout.count = sort_spec_given(&job->sort, count);
    return layout;
}

/* Tells the sink ahead what it will get, so that its space is taken while the input is read and
 * sorted. Where files are memory, that comes on top of what sorting takes, twice the output and
 * more: so only if the machine has plenty; else the sink is told when the sort has let go of it. */
static void expect_ahead(struct run *run, uint64_t bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0 && bytes <= (uint64_t)pages / 8 * (uint64_t)page_bytes)
        sink_expect(run->sink, bytes);
}

static bool check_nan(const struct job *job, const struct reader *reader, const struct chunk *chunk,
                      struct error *error)
{
    const struct layout *layout = &reader->layout;
    const size_t nan = job->nan == NAN_ERROR ? key_order_find_nan(layout->type, layout->endian,
                                                                  chunk->items, chunk->count)
                                             : chunk->count;
    if (nan == chunk->count)
        return true;
    return error_set(error, "%s: number %zu is a NaN, which --nan=error refuses",
                     source_name(reader->source), reader->keys_read - chunk->count + nan + 1);
}

/* With the announced count read, the input must be at its end: the format checks that. */
static bool check_end(const struct job *job, struct reader *reader, struct error *error)
{
    uint64_t spare;
    size_t count = 0;
    if (!job->input_format->read_keys(reader, &spare, 1, &count, error))
        return false;
    if (count > 0)
        return error_set(error, "%s: the file grew while it was read", source_name(reader->source));
    return true;
}

static bool read_input_keys(struct run *run, struct reader *reader, struct error *error)
{
    const struct job *job = run->job;
    const size_t want = CHUNK_BYTES / job->sort.item_bytes;
    for (;;) {
        const size_t left = reader->layout.count - reader->keys_read;
        if (reader->layout.count != COUNT_UNKNOWN && left == 0)
            return check_end(job, reader, error);
        struct chunk chunk;
        if (!job->backend->lend(run->engine, left < want ? left : want, &chunk, error) ||
            !job->input_format->read_keys(reader, chunk.items, chunk.capacity, &chunk.count,
                                          error) ||
            !check_nan(job, reader, &chunk, error) ||
            !job->backend->take(run->engine, chunk, error))
            return false;
        if (chunk.count == 0)
            return true;
        run->count += chunk.count;
    }
}

/* Makes items of the keys, and lets the engine take them. */
static bool take_items(struct run *run, const struct chunk *keys, struct error *error)
{
    const struct job *job = run->job;
    const unsigned key_bytes = job->argsort.key_bytes;
    for (size_t done = 0; done < keys->count;) {
        struct chunk chunk;
        if (!job->backend->lend(run->engine, keys->count - done, &chunk, error))
            return false;
        chunk.count = chunk.capacity;
        argsort_fill(&job->argsort, (const unsigned char *)keys->items + done * key_bytes,
                     run->count, &chunk, job->sort.threads);
        if (!job->backend->take(run->engine, chunk, error))
            return false;
        done += chunk.count;
        run->count += chunk.count;
    }
    return true;
}

/* Reads an input to its end through `keys`, which is reused. */
static bool read_input_items(struct run *run, struct reader *reader, struct chunk *keys,
                             struct error *error)
{
    const struct job *job = run->job;
    for (;;) {
        if (reader->layout.count != COUNT_UNKNOWN && reader->keys_read == reader->layout.count)
            return check_end(job, reader, error);
        if (!job->input_format->read_keys(reader, keys->items, keys->capacity, &keys->count,
                                          error) ||
            !check_nan(job, reader, keys, error) ||
            !argsort_check_count(&job->argsort, run->count + keys->count, error) ||
            !take_items(run, keys, error))
            return false;
        if (keys->count == 0)
            return true;
    }
}

static bool read_items(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    struct chunk keys = {.capacity = KEYS_BYTES / job->argsort.key_bytes};
    if (job->sort.count < keys.capacity)
        keys.capacity = job->sort.count + 1; /* never none: malloc may give nothing for that */
    keys.items = malloc(keys.capacity * job->argsort.key_bytes);
    bool ok = keys.items || error_set(error, "out of memory: no room to read numbers into");
    for (size_t i = 0; ok && i < job->reader_count; i++)
        ok = read_input_items(run, &job->readers[i], &keys, error);
    free(keys.items);
    return ok;
}

static bool read_keys(struct run *run, struct error *error)
{
    const uint64_t start = clock_now_ns();
    if (run->job->argsort.index_type) {
        if (!read_items(run, error))
            return false;
    } else {
        for (size_t i = 0; i < run->job->reader_count; i++)
            if (!read_input_keys(run, &run->job->readers[i], error))
                return false;
    }
    stage_add(run, STAGE_READ, start);
    return true;
}

/* The engine's next chunk; count 0 at the end, which must not come before all `expected` items are
 * out. */
static bool give_next(struct run *run, size_t expected, struct chunk *chunk, size_t *given,
                      struct error *error)
{
    const struct backend *backend = run->job->backend;
    if (!backend->give(run->engine, chunk, error))
        return false;
    *given += chunk->count;
    if (*given > expected || (chunk->count == 0 && *given < expected))
        return error_set(error, "%s: gave back %zu of %zu items: nothing is written", backend->name,
                         *given, expected);
    return true;
}

/* Writes what stands before the numbers, or the indices, that *layout then tells of. */
static bool begin_output(struct run *run, struct layout *layout, struct error *error)
{
    const struct format *format = run->job->output_format;
    *layout = output_layout(run->job, run->count);
    sink_expect(run->sink, format->file_bytes(layout));
    return format->write_header(run->sink, layout, error);
}

static bool write_chunk(struct run *run, const struct layout *layout, const struct chunk *chunk,
                        struct error *error)
{
    const struct job *job = run->job;
    if (job->argsort.index_type)
        return indices_write(&job->argsort, job->output_format, chunk, run->sink, error);
    return job->output_format->write_keys(run->sink, layout, chunk->items, chunk->count, error);
}

static bool write_keys(struct run *run, struct error *error)
{
    const uint64_t start = clock_now_ns();
    const struct job *job = run->job;
    struct layout layout;
    if (!begin_output(run, &layout, error))
        return false;
    for (size_t given = 0;;) {
        struct chunk chunk;
        if (!give_next(run, layout.count, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            break;
        if (!write_chunk(run, &layout, &chunk, error) ||
            !job->backend->take_back(run->engine, chunk, error))
            return false;
    }
    stage_add(run, STAGE_WRITE, start);
    return true;
}

/* Of numbers that are counted beforehand. */
static void expect_numbers(struct run *run)
{
    const struct job *job = run->job;
    if (job->sort.count == COUNT_UNKNOWN)
        return;
    const struct layout layout = output_layout(job, job->sort.count);
    expect_ahead(run, job->output_format->file_bytes(&layout));
}

static bool run_keys(struct run *run, struct error *error)
{
    const struct backend *backend = run->job->backend;
    run->report->item_bytes = 0;
    expect_numbers(run);
    if (!backend->open(&run->job->sort, &run->engine, error) || !read_keys(run, error) ||
        !backend->sort(run->engine, error) || !write_keys(run, error))
        return false;
    run->report->item_bytes = (uint64_t)run->count * run->job->readers[0].layout.type->bytes;
    return true;
}

/* An empty one has no text. */
static bool is_same_header(const struct lines_header *a, const struct lines_header *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->text, b->text, a->bytes) == 0);
}

/* Takes the header of every input, so that what reads them finds only lines that are sorted. They
 * must be the same, as one of them is written for all. */
static bool take_headers(struct run *run, struct error *error)
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

static bool write_header(struct run *run, struct error *error)
{
    return run->header.bytes == 0 ||
           sink_write(run->sink, run->header.text, run->header.bytes, error);
}

static bool read_lines(struct run *run, struct lines *lines, struct error *error)
{
    const uint64_t start = clock_now_ns();
    for (size_t i = 0; i < run->job->reader_count; i++)
        if (!lines_append(lines, run->job->readers[i].source, run->job->header_lines, error))
            return false;
    stage_add(run, STAGE_READ, start);
    return true;
}

static bool key_lines(struct run *run, struct lines *lines, struct error *error)
{
    const struct backend *backend = run->job->backend;
    struct sort_spec spec = run->job->sort;
    uint64_t start = clock_now_ns();
    if (!lines_index(lines, error) ||
        (run->job->argsort.index_type &&
         !argsort_check_count(&run->job->argsort, lines_count(lines), error)))
        return false;
    stage_add(run, STAGE_PARSE, start);
    spec.count = lines_count(lines);
    spec.is_top = false; /* what the order of equal keys is, shows only when they are refined */
    if (!backend->open(&spec, &run->engine, error))
        return false;
    start = clock_now_ns();
    while (run->count < spec.count) {
        struct chunk chunk;
        if (!backend->lend(run->engine, spec.count - run->count, &chunk, error) ||
            !lines_key(lines, chunk.items, chunk.capacity, &chunk.count, error) ||
            !backend->take(run->engine, chunk, error))
            return false;
        run->count += chunk.count;
    }
    stage_add(run, STAGE_PARSE, start);
    return true;
}

/* Items that a thread copies at a time: 1 MiB. */
#define COPY_COUNT ((size_t)1 << 16)

/* Copies to memory that may be new: its pages come to the threads that copy. */
static void copy_items(struct key_index *target, const struct key_index *items, size_t count,
                       unsigned threads)
{
#pragma omp parallel for schedule(static) num_threads((int)threads) if (count > COPY_COUNT)
    for (size_t first = 0; first < count; first += COPY_COUNT) {
        const size_t left = count - first;
        memcpy(target + first, items + first,
               (left < COPY_COUNT ? left : COPY_COUNT) * sizeof *items);
    }
}

/* The sorted items in one piece: the engine's own memory when it gives all at once, else gathered
 * into *buffer, which the caller frees. */
static bool collect_items(struct run *run, struct key_index **items, void **buffer,
                          struct error *error)
{
    const struct backend *backend = run->job->backend;
    struct chunk chunk;
    *items = NULL;
    *buffer = NULL;
    for (size_t collected = 0, given = 0; collected < run->count; collected = given) {
        if (!give_next(run, run->count, &chunk, &given, error))
            return false;
        if (chunk.count == run->count) {
            *items = chunk.items;
            return true;
        }
        if (!*buffer && !(*buffer = malloc(run->count * sizeof **items)))
            return error_set(error, "out of memory: %zu lines need %zu bytes more", run->count,
                             run->count * sizeof **items);
        *items = *buffer;
        copy_items(*items + collected, chunk.items, chunk.count, run->job->sort.threads);
        if (!backend->take_back(run->engine, chunk, error))
            return false;
    }
    return true;
}

/* Of the items, sorted by key, those that may be among the first lines that are wanted: the run of
 * equal keys that the last of these is in is kept whole. How many lines are left out for equal ones
 * shows only later. */
static size_t count_to_refine(const struct run *run, const struct key_index *items)
{
    const struct job *job = run->job;
    size_t wanted = sort_spec_given(&job->sort, run->count);
    if (job->line_order.unique)
        return run->count;
    while (wanted > 0 && wanted < run->count && items[wanted].key == items[wanted - 1].key)
        wanted++;
    return wanted;
}

static bool write_line_numbers(struct run *run, struct lines *lines, struct key_index *items,
                               size_t count, struct error *error)
{
    const struct chunk chunk = {.items = items, .capacity = count, .count = count};
    struct layout layout;
    return lines_number(lines, items, count, error) && begin_output(run, &layout, error) &&
           write_chunk(run, &layout, &chunk, error);
}

/* True if what is written is the text that was read, in another order. */
static bool writes_all_lines(const struct job *job)
{
    return !job->sort.is_top && !job->argsort.index_type && !job->line_order.unique;
}

static bool refine_and_write_lines(struct run *run, struct lines *lines, struct error *error)
{
    bool ok = false;
    struct key_index *items;
    void *buffer;
    uint64_t start = clock_now_ns();
    TRY(collect_items(run, &items, &buffer, error));
    size_t count = count_to_refine(run, items);
    TRY(lines_refine(lines, items, &count, error));
    const size_t wanted = sort_spec_given(&run->job->sort, count);
    stage_add(run, STAGE_REFINE, start);
    start = clock_now_ns();
    if (writes_all_lines(run->job))
        sink_expect(run->sink, run->header.bytes + lines_bytes(lines));
    TRY(run->job->argsort.index_type
            ? write_line_numbers(run, lines, items, wanted, error)
            : write_header(run, error) && lines_write(lines, items, wanted, run->sink, error));
    stage_add(run, STAGE_WRITE, start);
    ok = true;
done:
    free(buffer);
    return ok;
}

static bool run_lines(struct run *run, struct error *error)
{
    bool ok = false;
    struct lines *lines = lines_create(run->job->sort.threads, &run->job->line_order);
    if (!lines)
        return error_set(error, "out of memory");
    TRY(read_lines(run, lines, error));
    if (writes_all_lines(run->job))
        expect_ahead(run, run->header.bytes + lines_bytes(lines));
    TRY(key_lines(run, lines, error));
    TRY(run->job->backend->sort(run->engine, error));
    TRY(refine_and_write_lines(run, lines, error));
    run->report->item_bytes = lines_bytes(lines);
    ok = true;
done:
    lines_free(lines);
    return ok;
}

static bool run_check(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    const uint64_t start = clock_now_ns();
    struct lines_check check;
    const bool ok = lines_check(job->readers[0].source, &job->line_order, job->header_lines,
                                job->sort.threads, &check, error);
    stage_add(run, STAGE_READ, start);
    run->count = check.lines;
    run->report->item_bytes = check.bytes;
    run->report->disorder = (struct disorder){
        check.is_disordered, job->header_lines + check.lines + 1, check.text, check.length};
    return ok;
}

static bool run_merge(struct run *run, struct error *error)
{
    const struct job *job = run->job;
    const uint64_t start = clock_now_ns();
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
    const bool ok = write_header(run, error) && lines_merge_run(&merge, run->sink, error);
    free(sources);
    stage_add(run, STAGE_WRITE, start);
    run->count = merge.lines;
    run->report->item_bytes = merge.bytes;
    return ok;
}

static bool run_action(struct run *run, struct error *error)
{
    switch (run->job->action) {
    case JOB_CHECK:
        return run_check(run, error);
    case JOB_MERGE:
        return run_merge(run, error);
    case JOB_SORT:
        break;
    }
    return run->job->keep_lines ? run_lines(run, error) : run_keys(run, error);
}

static bool commit_output(struct run *run, struct error *error)
{
    const uint64_t start = clock_now_ns();
    struct sink *sink = run->sink;
    run->sink = NULL;
    const bool ok = sink_commit(sink, error);
    stage_add(run, STAGE_WRITE, start);
    return ok;
}

static void report_engine(struct run *run)
{
    struct engine_times times;
    run->report->count = run->count;
    if (!run->engine)
        return;
    run->job->backend->times(run->engine, &times);
    run->report->stage_ns[STAGE_START] = times.start_ns;
    run->report->stage_ns[STAGE_UPLOAD] = times.upload_ns;
    run->report->stage_ns[STAGE_SORT] = times.sort_ns;
    run->report->stage_ns[STAGE_DOWNLOAD] = times.download_ns;
}

bool pipeline_run(const struct job *job, struct job_report *report, struct error *error)
{
    bool ok = false;
    const bool has_output = job->action != JOB_CHECK;
    const uint64_t start = clock_now_ns();
    struct run run = {.job = job, .report = report};
    *report = (struct job_report){0};
    TRY(!has_output || open_output(&run, error));
    TRY(job->header_lines == 0 || take_headers(&run, error));
    TRY(run_action(&run, error));
    report_engine(&run);
    TRY(!has_output || commit_output(&run, error));
    report->total_ns = clock_now_ns() - start;
    ok = true;
done:
    free(run.header.text);
    sink_discard(run.sink);
    job->backend->close(run.engine);
    return ok;
}
