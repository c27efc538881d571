/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_order.c - checks the order of lines or numbers, merges lines that are in order, and
 * handles headers of lines. */
#include "formats/check/lines_check.h"
#include "formats/io/input_file.h"
#include "formats/io/spill.h"
#include "formats/merge/lines_merge.h"
#include "formats/number/number_text.h"
#include "job/job_state.h"

#include <stdlib.h>
#include <string.h>

/* Returns true if two headers are equal. An empty one has no text. */
static bool is_same_header(const struct lines_header *a, const struct lines_header *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->text, b->text, a->bytes) == 0);
}

/* Returns true if the header begins with a byte order mark of UTF-8. */
static bool has_mark(const struct lines_header *header)
{
    return header->bytes >= 3 && memcmp(header->text, "\xef\xbb\xbf", 3) == 0;
}

/* Returns the bytes of the header that editors show: without a byte order mark of UTF-8 and
 * carriage returns. They are moved to its beginning. */
static size_t keep_shown(struct lines_header *header)
{
    char *const text = header->text;
    size_t kept = 0;
    for (size_t i = has_mark(header) ? 3 : 0; i < header->bytes; i++)
        if (text[i] != '\r')
            text[kept++] = text[i];
    return header->bytes = kept;
}

/* Sets the error of two headers that differ, and changes them. The advice damages no file: only one
 * that begins with a mark loses its first bytes. */
static bool refuse_header(const struct source *source, const struct source *first_source,
                          struct lines_header *header, struct lines_header *first,
                          struct error *error)
{
    const char *const name = source_name(source), *const first_name = source_name(first_source);
    const char *const own_note = source_command_note(source);
    const char *const note = *own_note ? own_note : source_command_note(first_source);
    const bool is_marked = has_mark(header), is_first_marked = has_mark(first);
    if (keep_shown(header) != keep_shown(first) || !is_same_header(header, first))
        return error_set(error, "%s: its header is not that of %s", name, first_name);
    if (is_marked == is_first_marked)
        return error_set(error,
                         "%s: its header is not that of %s, in carriage returns (tr -d '\\r' "
                         "removes them%s)",
                         name, first_name, note);
    return error_set(error,
                     "%s: its header is not that of %s, in the byte order mark that %s begins with "
                     "(tail -c +4 removes it%s)",
                     name, first_name, is_marked ? name : first_name,
                     is_marked ? own_note : source_command_note(first_source));
}

bool job_take_headers(const struct job *job, struct lines_header *first, struct error *error)
{
    for (size_t i = 0; i < job->reader_count; i++) {
        struct source *const source = job->readers[i].source;
        struct lines_header header = {0};
        bool ok = lines_header_read(source, job->line_order.terminator, job->header_lines, &header,
                                    error);
        if (i == 0) {
            *first = header;
        } else {
            const struct source *const other = job->readers[0].source;
            if (ok && (header.bytes == 0) != (first->bytes == 0))
                ok = error_set(error, "%s: it is empty, and has no header: leave it out",
                               source_name(first->bytes == 0 ? other : source));
            else if (ok && !is_same_header(&header, first))
                ok = refuse_header(source, other, &header, first, error);
            free(header.text);
        }
        if (!ok)
            return false;
    }
    return true;
}

bool job_write_header(struct job_state *state, struct error *error)
{
    return state->header.bytes == 0 ||
           sink_write(state->sink, state->header.text, state->header.bytes, error);
}

static bool check_lines(struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    struct lines_check check;
    const bool ok = lines_check(job->readers[0].source, &job->line_order, job->header_lines,
                                job->sort.threads, &check, error);
    state->count = check.lines;
    state->report->item_bytes = check.bytes - check.rest_bytes;
    state->report->disorder = (struct disorder){
        check.is_disordered, job->header_lines + check.lines + 1, check.text, check.length};
    return ok;
}

/* Reports number `place`, which is out of order, with its text. */
static bool report_number(struct job_state *state, uint64_t place, const void *number,
                          struct error *error)
{
    const struct layout *const layout = &state->job->readers[0].layout;
    const unsigned width = layout->type->bytes;
    char *const text = malloc(NUMBER_TEXT_MAX);
    uint64_t bits = 0;
    if (!text)
        return error_set(error, "out of memory");
    memcpy(&bits, number, width);
    if (layout->endian == ENDIAN_BIG)
        bits = key_bits_swap_bytes(8 * width, bits);
    state->report->disorder =
        (struct disorder){true, place, text, number_format(layout->type, bits, text)};
    return true;
}

static void observe_numbers(struct key_check *check, const struct chunk *chunk, unsigned threads)
{
    key_check_begin_chunk(check, chunk->items, chunk->count);
    tap_observe_all(&check->tap, chunk->items, chunk->count * check->key_bytes, threads);
}

/* Checks the chunk in the order of the sort, in which -0 is before 0, and NaNs differ. If that
 * fails, checks it again with -0 equal to 0 and all NaNs equal. `copy` has room for the chunk. */
static void check_chunk(struct key_check *check, const struct layout *layout, struct chunk chunk,
                        void *copy, unsigned threads)
{
    struct key_check before = *check;
    observe_numbers(check, &chunk, threads);
    if (check->disorder == 0 || layout->type->kind != KEY_FLOAT)
        return;
    memcpy(copy, chunk.items, chunk.count * check->key_bytes);
    chunk.items = copy;
    key_order_unify(layout->type, layout->endian, before.last_key, 1, 1);
    key_order_unify(layout->type, layout->endian, copy, chunk.count, threads);
    *check = before;
    observe_numbers(check, &chunk, threads);
}

/* Bytes of a read for each thread; a read by fewer than THREADS_MIN threads is as large as by
 * THREADS_MIN. Few bytes stay in a cache: 0.8 GB take 0.4 s, and 0.8 s in reads of 32 MiB (two
 * cores of a Xeon, 2026-11). As many threads check as read: OpenMP starts threads anew whenever
 * their number changes. */
#define THREAD_BYTES ((size_t)1 << 20)
#define THREADS_MIN 8u

/* Reads the numbers up to the first one that sorts before its predecessor. */
static bool check_numbers(struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    struct reader *const reader = &job->readers[0];
    const unsigned width = reader->layout.type->bytes;
    const size_t most = job->keys_bytes > THREAD_BYTES ? job->keys_bytes / THREAD_BYTES : 1;
    const unsigned threads = job->sort.threads < most ? job->sort.threads : (unsigned)most;
    const size_t wanted = (threads > THREADS_MIN ? threads : THREADS_MIN) * THREAD_BYTES;
    const size_t bytes = wanted < job->keys_bytes ? wanted : job->keys_bytes;
    struct chunk chunk = {.items = malloc(2 * bytes), .capacity = bytes / width};
    struct key_check check;
    bool ok = chunk.items || error_set(error, "out of memory: no room to check numbers");
    key_check_start_ordered(&check, width, job->sort.order);
    while (ok && check.disorder == 0) {
        struct error cause = {0};
        const bool is_read =
            job->input_format->read_keys(reader, chunk.items, chunk.capacity, &chunk.count, &cause);
        if (is_read && chunk.count == 0)
            break;
        struct chunk checked = chunk; /* up to a NaN that --nan=error refuses */
        if (job->nan == NAN_ERROR)
            checked.count = key_order_find_nan(reader->layout.type, reader->layout.endian,
                                               chunk.items, chunk.count);
        check_chunk(&check, &reader->layout, checked, (char *)chunk.items + bytes, threads);
        if (check.disorder > 0)
            break; /* comes before the NaN or the error, if there is one */
        ok = (checked.count == chunk.count || job_check_nan(job, reader, &chunk, error)) && is_read;
        error_merge(error, &cause);
    }
    state->count = check.disorder > 0 ? check.disorder - 1 : check.sum.count;
    state->report->item_bytes = state->count * width;
    if (ok && check.disorder > 0)
        ok = report_number(state, check.disorder,
                           (const char *)chunk.items + (state->count - check.chunk_begin) * width,
                           error);
    free(chunk.items);
    return ok;
}

bool job_check(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_READ);
    const bool ok =
        state->job->keep_lines ? check_lines(state, error) : check_numbers(state, error);
    job_stage_add(state, STAGE_READ, start);
    return ok;
}

/* The inputs of a merge. */
struct inputs {
    struct source **sources;  /* the job's sources; copies replace some */
    struct spill_run *copies; /* of the sources that are replaced */
    size_t count;
    struct spill *spill; /* holds the copies; NULL: there are none */
};

/* Replaces source i by a copy, which has its name in messages. */
static bool copy_input(struct inputs *inputs, size_t i, const struct job *job, struct error *error)
{
    struct source **const source = &inputs->sources[i];
    struct spill_run *const run = &inputs->copies[i];
    const struct codec *const codec = source_codec(*source);
    uint64_t bytes;
    if (!inputs->spill)
        inputs->spill = spill_create(job->memory.directories, job->memory.directory_count);
    if (!inputs->spill)
        return error_set(error, "no memory to copy %s", source_name(*source));
    if (!spill_begin(inputs->spill, run, error) ||
        !source_store(*source, SIZE_UNKNOWN, run, &bytes, error) || !spill_end(run, error))
        return false;
    run->name = source_name(*source);
    const struct input_stream stream = spill_stream(run);
    if (!source_open_stream(&stream, run->name, source, error))
        return false;
    source_note_codec(*source, codec);
    return true;
}

/* Opens the inputs. An input that is also written to, as in "-m a b >>a", is copied first, as
 * sort(1) does. */
static bool open_inputs(struct inputs *inputs, const struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    *inputs = (struct inputs){.sources = calloc(job->reader_count, sizeof *inputs->sources),
                              .copies = calloc(job->reader_count, sizeof *inputs->copies),
                              .count = job->reader_count};
    if (!inputs->sources || !inputs->copies)
        return error_set(error, "no memory to merge %zu inputs", inputs->count);
    for (size_t i = 0; i < inputs->count; i++) {
        inputs->sources[i] = job->readers[i].source;
        if (sink_writes_to(state->sink, inputs->sources[i]) && !copy_input(inputs, i, job, error))
            return false;
    }
    return true;
}

static void close_inputs(struct inputs *inputs, const struct job *job)
{
    for (size_t i = 0; inputs->sources && i < inputs->count; i++)
        if (inputs->sources[i] != job->readers[i].source)
            source_close(inputs->sources[i]);
    spill_free(inputs->spill);
    free(inputs->copies);
    free(inputs->sources);
}

/* Announces the size of the output if all lines are written, so that its space is allocated and
 * several threads write. A terminator is added to an input without one, and counts. */
static void expect_merged(struct job_state *state, const struct inputs *inputs)
{
    const struct job *const job = state->job;
    uint64_t bytes = state->header.bytes;
    bool is_exact = true;
    for (size_t i = 0; i < inputs->count; i++) {
        struct source *const source = inputs->sources[i];
        const uint64_t left = source_stop_and_get_left(source);
        char last = job->line_order.terminator;
        is_exact &= left == 0 || source_last_byte(source, &last);
        if (__builtin_add_overflow(bytes, left, &bytes))
            return;
        bytes += left > 0 && last != job->line_order.terminator;
    }
    if (!job->line_order.unique && (is_exact || sink_replaces(state->sink)))
        sink_expect(state->sink, bytes);
}

size_t job_merge_bytes(const struct job *job)
{
    const size_t threads_bytes = job->sort.threads * LINES_MERGE_THREAD_BYTES;
    const size_t most = job->part_bytes / 2;
    const size_t bytes = job->part_bytes - (threads_bytes < most ? threads_bytes : most);
    return bytes > MERGE_BYTES_MIN ? bytes : MERGE_BYTES_MIN;
}

bool job_merge(struct job_state *state, struct error *error)
{
    const struct job *job = state->job;
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    struct inputs inputs;
    bool ok = open_inputs(&inputs, state, error);
    const size_t most = job_merge_bytes(job);
    struct lines_merge merge = {
        .order = &job->line_order,
        .sources = inputs.sources,
        .count = inputs.count,
        .output = state->target,
        .memory_bytes = most < LINES_MERGE_BYTES ? most : 0,
        .lines_before = job->header_lines,
        .threads = job->sort.threads,
    };
    if (ok) {
        expect_merged(state, &inputs);
        ok = job_write_header(state, error) && lines_merge_run(&merge, state->sink, error);
    }
    close_inputs(&inputs, job);
    job_stage_add(state, STAGE_WRITE, start);
    state->count = merge.lines;
    state->report->item_bytes = merge.bytes;
    return ok;
}
