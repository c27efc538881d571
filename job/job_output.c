/* SPDX-License-Identifier: Apache-2.0 */
/* job_output.c - the output of a job: it is opened, its size is announced, and the numbers that the
 * engine gives are written. pipeline.c commits it.
 *
 *   engine --give--> chunk -> format -> sink -> file
 *     ^                |
 *     +---take_back----+
 *
 * The main thread, or that of an exchange between ranks, takes one chunk after another, a slot of
 * the pinned ring if a GPU sorted. In place, the threads of a CPU engine may write what they have
 * sorted (write_kept()).
 */
#include "job/job_state.h"

#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "formats/io/spill.h"

#include <inttypes.h>

/* Smaller outputs are announced without checking the limit of memory_ahead_most(). */
#define AHEAD_BYTES_MIN ((uint64_t)16 << 20)

/* Smaller outputs and runs are not checked: writing them soon shows that the disk is full. */
#define ROOM_BYTES_MIN ((uint64_t)16 << 20)

/* ---- Opening ---- */

bool job_open_output(struct job_state *state, struct error *error)
{
    const struct job *job = state->job;
    struct sink_spec spec = job->output;
    if (job->group && !job->has_rank_output)
        spec.codec = codecs[0]; /* what ranks write is compressed already */
    if (!sink_open(&spec, &state->sink, error))
        return false;
    if (proof_sums_content(job))
        sink_sum_content(state->sink);
    const bool is_packed = job->output.codec != codecs[0];
    const bool is_binary = job->output_format != &format_text || is_packed;
    /* Open MPI gives ranks a terminal, whatever its own output is. */
    const bool is_shown = sink_is_terminal(state->sink) && !job->group;
    if (is_binary && is_shown && !job->binary_to_terminal)
        return error_set(error,
                         "%s: binary data is not written to a terminal: use -o FILE, %s or --force",
                         sink_name(state->sink), is_packed ? "--no-zstd" : "--output-format=text");
    return proof_check_verify(state, error);
}

/* ---- Announcing its size ---- */

/* One array keeps its shape. Several arrays become one of one dimension, and so do indices. */
struct layout job_output_layout(const struct job *job, size_t count)
{
    struct layout layout = job->readers[0].layout;
    if (job->argsort.index_type)
        layout =
            (struct layout){.type = job->argsort.index_type, .endian = job->argsort.index_endian};
    if (job->reader_count > 1 || job->has_rank_inputs)
        layout_flatten(&layout);
    layout.count = sort_spec_given(&job->sort, count);
    return layout;
}

/* True if the numbers are sorted in the memory of devices, all at once. False while the plan is
 * made, which has opened the output early: the part is not known yet. */
static bool is_on_device(const struct job_state *state)
{
    return state->backend && state->backend != backends[0] &&
           state->sort->count <= state->part_count;
}

void job_expect_ahead(struct job_state *state, uint64_t bytes)
{
    const struct job *const job = state->job;
    const unsigned outputs = job->has_rank_output ? job->group->host_size : 1;
    if (bytes >= AHEAD_BYTES_MIN) {
        /* Beside a sort on devices, half of the memory remains for an input in the page cache. */
        const size_t most = is_on_device(state) ? memory_at_start() / 2 : memory_ahead_most();
        if (bytes > most / outputs)
            return;
    }
    sink_expect(state->sink, bytes);
}

bool job_expect(struct job_state *state, uint64_t bytes, struct error *error)
{
    const bool is_large = bytes >= ROOM_BYTES_MIN && bytes <= INT64_MAX; /* else unknown */
    if (is_large && state->sink == state->target && !state->job->group &&
        !(sink_check_room(state->sink, bytes, error) &&
          (state->job->output.codec->encode || job_has_memory(state->job, bytes, 0, error))))
        return false;
    sink_expect(state->sink, bytes);
    return true;
}

void job_expect_numbers(struct job_state *state)
{
    const struct job *job = state->job;
    if (job->sort.count == COUNT_UNKNOWN)
        return;
    const struct layout layout = job_output_layout(job, job->sort.count);
    job_expect_ahead(state, job->output_format->file_bytes(&layout));
}

void job_expect_taken(struct job_state *state)
{
    const struct job *job = state->job;
    if (job->sort.count != COUNT_UNKNOWN)
        return;
    const struct layout layout = job_output_layout(job, state->count);
    const uint64_t bytes = job->output_format->file_bytes(&layout);
    if (bytes >= AHEAD_BYTES_MIN && bytes <= memory_ahead_most())
        sink_expect_least(state->sink, bytes);
}

/* ---- Room for it ---- */

/* As job_output_bytes(), before the output is compressed. */
static uint64_t content_bytes(const struct job *job)
{
    const size_t count = job->group ? (size_t)job->group_count : job->sort.count;
    const bool drops_lines = job->line_order.unique || job->sort.is_top ||
                             job->argsort.index_type || job->has_rank_inputs ||
                             (job->header_lines > 0 && job->reader_count > 1);
    uint64_t bytes = job->input_bytes;
    if (job->action == JOB_CHECK || (job->group && !job->output.group) ||
        (job->keep_lines ? drops_lines : count == COUNT_UNKNOWN))
        return 0;
    if (!job->keep_lines) {
        const struct layout layout = job_output_layout(job, count);
        bytes = job->output_format->file_bytes(&layout);
    }
    return bytes <= INT64_MAX ? bytes : 0;
}

uint64_t job_output_bytes(const struct job *job)
{
    return job->output.codec->encode ? 0 : content_bytes(job);
}

bool job_may_have_parts(const struct job *job)
{
    const size_t most_bytes = 1 + 2 * sizeof(struct key_index); /* a byte, its item, and scratch */
    return job->keep_lines ? job->group || job->input_bytes > job->part_bytes / most_bytes
                           : job->sort.count > job->part_count;
}

/* Ranks store all of their lines. Other ranks of the host have as many numbers as this one, unless
 * each reads files of its own. */
uint64_t job_spilled_bytes(const struct job *job)
{
    const struct group *const group = job->has_rank_inputs ? NULL : job->group;
    const unsigned host_size = group ? group->host_size : 1;
    const size_t item_bytes = job->sort.item_bytes;
    if (job->action != JOB_SORT || job->sort.is_top)
        return 0;
    if (job->keep_lines)
        return !job->line_order.unique && job->input_bytes != SIZE_UNKNOWN &&
                       (job->group || job->input_bytes > job->part_bytes)
                   ? job->input_bytes / (group ? group->size : 1) * host_size
                   : 0;
    return job->backend == backends[0] && job->sort.count != COUNT_UNKNOWN &&
                   job->sort.count > job->part_count && item_bytes > 2
               ? (uint64_t)job->sort.count * item_bytes * host_size
               : 0;
}

bool job_has_memory(const struct job *job, uint64_t output, uint64_t spilled, struct error *error)
{
    const struct memory_limits *const memory = &job->memory;
    const char *const path = job->output.path ? job->output.path : "standard output";
    output = memory->has_output_in_memory ? output : 0;
    spilled = memory->has_parts_in_memory ? spilled : 0;
    if (output + spilled < ROOM_BYTES_MIN)
        return true;
    const size_t room = memory_for_files(job->group ? job->group->host_size : 0);
    if (output + spilled <= room)
        return true;
    if (spilled == 0)
        return error_set(error,
                         "%s: it is in memory, where %" PRIu64
                         " bytes will be written, and %zu are free beside the job: use a file "
                         "system on a disk",
                         path, output, room);
    return error_set(error,
                     "the sorted parts%s will be stored in '%s' (-T), which is memory: %" PRIu64
                     " bytes, and %zu are free beside the job: name a directory on a disk with -T",
                     output > 0 ? " and the output" : "", memory->directories[0], output + spilled,
                     room);
}

bool job_check_room(const struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    const struct memory_limits *const memory = &job->memory;
    const struct codec *const codec = job->output.codec;
    const uint64_t bytes = job_output_bytes(job), spilled = job_spilled_bytes(job);
    if (codec->encode && content_bytes(job) >= FRAME_CONTENT_BYTES &&
        !frame_writer_check(codec, job->output.level, sink_name(state->sink), error))
        return false;
    const bool looks = !job->group || job->group->rank == 0; /* for all ranks of this host */
    struct error ignored = {0};
    bool fits_in_place = true,
         ok = bytes < ROOM_BYTES_MIN || sink_check_room(state->sink, bytes, error);
    if (ok && looks && !job_has_memory(job, bytes, spilled, error)) {
        fits_in_place = job_has_memory(job, 0, spilled, &ignored);
        ok = false;
    }
    if (ok && looks && spilled >= ROOM_BYTES_MIN)
        ok = spill_check_room(memory->directories, memory->directory_count, spilled,
                              sink_needs(state->sink, bytes), &fits_in_place, error);
    if (!ok && fits_in_place && job->could_be_in_place)
        error_add(error, ", or overwrite the input with --in-place");
    return ok;
}

/* ---- Writing the numbers ---- */

bool job_begin_output(struct job_state *state, size_t count, struct error *error)
{
    const struct format *format = state->job->output_format;
    const struct key_check *const written = &state->proof.written;
    if (!state->job->argsort.index_type)
        key_check_start_ordered(&state->proof.written, written->key_bytes, written->order);
    state->output_layout = job_output_layout(state->job, count);
    return job_expect(state, format->file_bytes(&state->output_layout), error) &&
           format->write_header(state->sink, &state->output_layout, error);
}

bool job_write_items(void *opaque, const void *items, size_t count, struct error *error)
{
    struct job_state *const state = opaque;
    const struct job *job = state->job;
    const struct chunk chunk = {.items = (void *)items, .capacity = count, .count = count};
    struct key_check *const written = &state->proof.written;
    key_check_begin_chunk(written, items, count);
    if (job->argsort.index_type)
        return indices_write(&job->argsort, job->output_format, &chunk, state->sink, &written->tap,
                             error);
    return job->output_format->write_keys(state->sink, &state->output_layout, items, count,
                                          &written->tap, error);
}

bool job_write_given(struct job_state *state, size_t count, size_t given, struct error *error)
{
    for (;;) {
        struct chunk chunk;
        if (!job_give_next(state, count, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            return true;
        if (!job_write_items(state, chunk.items, chunk.count, error) ||
            !state->functions->take_back(state->engine, chunk, error))
            return false;
    }
}

bool job_write_proved(struct job_state *state, bool (*write)(void *context, struct error *error),
                      void *context, struct error *error)
{
    if (!write(context, error))
        return false;
    return !sink_is_trial(state->sink) ||
           ((!state->engine || state->functions->rewind(state->engine, error)) &&
            sink_end_trial(state->sink, error) && write(context, error));
}

/* In place: checks the numbers in the memory of the engine, instead of giving them twice. */
static bool check_keys(struct job_state *state, struct error *error)
{
    const struct layout *const layout = &state->output_layout;
    struct key_check *const written = &state->proof.written;
    sink_skip(state->sink, layout->count * layout->type->bytes);
    return state->functions->check(state->engine, &written->sum, &written->disorder, error);
}

/* In place, in the second pass: the engine may write the numbers that it keeps. */
static bool write_kept(struct job_state *state, size_t *written, struct error *error)
{
    const struct layout *const layout = &state->output_layout;
    const struct item_writer writer = {sink_write_at, state->sink, layout->header_bytes};
    struct key_check *const check = &state->proof.written;
    if (!state->functions->write)
        return true;
    if (!state->functions->write(state->engine, &writer, &check->sum, &check->disorder, error))
        return false;
    *written = check->sum.count;
    sink_skip(state->sink, *written * layout->type->bytes);
    return true;
}

static bool give_keys(struct job_state *state, struct error *error)
{
    const bool is_array = state->job->output_format->is_array;
    size_t given = 0;
    if (sink_is_overwriting(state->sink) && is_array && !write_kept(state, &given, error))
        return false;
    return job_write_given(state, state->output_layout.count, given, error);
}

static bool write_keys(void *context, struct error *error)
{
    struct job_state *const state = context;
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    const bool can_check = sink_is_trial(state->sink) && state->job->output_format->is_array;
    if (!job_begin_output(state, state->count, error) ||
        !(can_check ? check_keys(state, error) : give_keys(state, error)))
        return false;
    job_stage_add(state, STAGE_WRITE, start);
    return proof_finish_keys(state, error);
}

bool job_write_keys(struct job_state *state, struct error *error)
{
    return job_write_proved(state, write_keys, state, error);
}
