/* SPDX-License-Identifier: Apache-2.0 */
/* part_lines.c - a part of the lines, in memory: reads it, sorts it and writes it.
 *
 *   source -> text, in memory
 *
 * With an engine of lines, if the backend has one and lines, not indices, are written:
 *
 *   the text, one piece while the next one is read
 *     -> upload -> lines are found, keyed, sorted, refined and gathered there -> download -> sink
 *
 * The engine calls back for the keys of a few lines, and for the order of some with equal keys.
 *
 * Otherwise with an engine of items:
 *
 *   text -> one struct key_index per line
 *        -> an engine of items sorts them -> tie groups are refined
 *        -> the lines, or their numbers, are gathered -> sink
 *
 * If not all lines fit in memory, external_lines.c sorts each part in the same way.
 */
#include "core/threads.h"
#include "formats/array/format.h"
#include "formats/lines/lines.h"
#include "job/line_indices.h"
#include "job/job_state.h"

#include <pthread.h>
#include <stdlib.h>

/* Bytes of text that are read before the engine gets them. Large enough to divide a read among
 * threads. */
#define TEXT_PIECE_BYTES ((size_t)64 << 20)

/* Returns true if the output is the whole text in another order. */
static bool writes_all_lines(const struct job *job)
{
    return !job->sort.is_top && !job->argsort.index_type && !job->line_order.unique;
}

/* Returns the stage in which the sink is filled: it may be that of a run on disk. */
static enum stage stage_of_sink(const struct job_state *state)
{
    return state->sink == state->target ? STAGE_WRITE : STAGE_SPILL;
}

/* ---- an engine of items ---- */

static bool key_lines(struct job_state *state, const struct sort_spec *sort, struct lines *lines,
                      struct error *error)
{
    struct sort_spec spec = *sort;
    uint64_t start = job_stage_begin(STAGE_PARSE);
    if (!lines_index(lines, error) ||
        (state->job->argsort.index_type &&
         !argsort_check_count(&state->job->argsort, state->lines_before + lines_count(lines),
                              error)))
        return false;
    job_stage_add(state, STAGE_PARSE, start);
    spec.count = lines_count(lines);
    spec.is_top = false; /* the order of equal keys is known only after the refinement */
    if (!state->functions->open(&spec, &state->engine, error)) {
        state->is_short = state->backend == backends[0];
        return false;
    }
    start = job_stage_begin(STAGE_PARSE);
    while (state->count < spec.count) {
        struct chunk chunk;
        if (!state->functions->lend(state->engine, spec.count - state->count, &chunk, error) ||
            !lines_key(lines, chunk.items, chunk.capacity, &chunk.count, error) ||
            !state->functions->take(state->engine, chunk, error))
            return false;
        state->count += chunk.count;
    }
    job_stage_add(state, STAGE_PARSE, start);
    return true;
}

/* Sets *items to the sorted items in one piece. This is the engine's own memory if it gives all
 * items at once, otherwise *buffer, which the caller frees, also after a failure. */
static bool collect_items(struct job_state *state, struct key_index **items, void **buffer,
                          struct error *error)
{
    struct chunk chunk;
    *items = NULL;
    *buffer = NULL;
    for (size_t collected = 0, given = 0; collected < state->count; collected = given) {
        if (!job_give_next(state, state->count, &chunk, &given, error))
            return false;
        if (chunk.count == state->count) {
            *items = chunk.items;
            return true;
        }
        if (!*buffer && !(*buffer = malloc(state->count * sizeof **items)))
            return error_set(error, "out of memory: %zu lines need %zu bytes more", state->count,
                             state->count * sizeof **items);
        *items = *buffer;
        shared_copy(*items + collected, chunk.items, chunk.count * sizeof **items,
                    state->job->sort.threads);
        if (!state->functions->take_back(state->engine, chunk, error))
            return false;
    }
    return true;
}

/* Returns how many of the items, which are sorted by key, may be among the wanted first lines. The
 * tie group of the last of them is kept whole. With -u that is all items, because only the
 * refinement shows how many lines are dropped. */
static size_t count_to_refine(const struct job_state *state, const struct key_index *items)
{
    const struct job *job = state->job;
    size_t wanted = sort_spec_given(&job->sort, state->count);
    if (job->line_order.unique)
        return state->count;
    while (wanted > 0 && wanted < state->count && items[wanted].key == items[wanted - 1].key)
        wanted++;
    return wanted;
}

static bool write_line_numbers(struct job_state *state, struct lines *lines,
                               struct key_index *items, size_t count, struct error *error)
{
    key_check_start_lines(&state->proof.written);
    return lines_number(lines, items, count, error) && job_begin_output(state, count, error) &&
           job_write_items(state, items, count, error) &&
           proof_finish_indices(state, count, count == lines_count(lines), error);
}

/* Sorted lines. items: their order; NULL while the engine has it. */
struct sorted_lines {
    struct job_state *state;
    struct lines *lines;
    const struct key_index *items;
    size_t count;
};

static bool write_lines(void *context, struct error *error)
{
    const struct sorted_lines *const sorted = context;
    struct lines_written written;
    return job_write_header(sorted->state, error) &&
           lines_write(sorted->lines, sorted->items, sorted->count, sorted->state->sink, &written,
                       error) &&
           proof_finish_lines(sorted->state, sorted->lines, &written,
                              sorted->count == lines_count(sorted->lines), error);
}

/* Writes the lines of a part to its run, and their indices to another one. */
static bool write_part_with_indices(struct sorted_lines *sorted, struct key_index *items,
                                    struct error *error)
{
    struct job_state *const state = sorted->state;
    if (!write_lines(sorted, error) || !lines_number(sorted->lines, items, sorted->count, error))
        return false;
    for (size_t i = 0; i < sorted->count; i++)
        items[i].index += state->lines_before;
    return line_indices_store(state->index_sink, items, sorted->count, error);
}

static bool refine_and_write_lines(struct job_state *state, struct lines *lines,
                                   struct error *error)
{
    bool ok = false;
    struct key_index *items;
    void *buffer;
    uint64_t start = job_stage_begin(STAGE_REFINE);
    TRY(collect_items(state, &items, &buffer, error));
    size_t count = count_to_refine(state, items);
    TRY(lines_refine(lines, items, &count, error));
    const size_t wanted = sort_spec_given(&state->job->sort, count);
    job_stage_add(state, STAGE_REFINE, start);
    start = job_stage_begin(stage_of_sink(state));
    TRY(!writes_all_lines(state->job) ||
        job_expect(state, state->header.bytes + lines_bytes(lines), error));
    struct sorted_lines sorted = {state, lines, items, wanted};
    if (state->index_sink)
        TRY(write_part_with_indices(&sorted, items, error));
    else if (state->job->argsort.index_type)
        TRY(write_line_numbers(state, lines, items, wanted, error));
    else
        TRY(job_write_proved(state, write_lines, &sorted, error));
    job_stage_add(state, stage_of_sink(state), start);
    ok = true;
done:
    free(buffer);
    return ok;
}

static bool sort_items(struct job_state *state, const struct backend *backend,
                       const struct sort_spec *sort, struct lines *lines, struct error *error)
{
    state->backend = backend;
    state->functions = backend->keys;
    return key_lines(state, sort, lines, error) && job_sort_engine(state, error) &&
           refine_and_write_lines(state, lines, error);
}

/* ---- a text that is sent to an engine of lines while it is still being read ----
 *
 *   text_feed_start: a thread opens the engine, which may take longer than reading the first bytes
 *     -> { text_feed_send: sends all that has been read, once the engine is open }*
 *     -> text_feed_finish: the text is complete, and the engine gets the rest of it
 */

struct text_feed {
    const struct engine_functions *functions;
    struct sort_spec spec; /* of the engine that is open or being opened */
    struct engine *engine; /* owned, until text_feed_finish passes it to the caller */
    struct error error;    /* the first failure: ends sending, and finish reports it */
    pthread_t opener;
    bool is_opening; /* the opener thread has not been joined */
    size_t sent;     /* bytes that the engine has taken */
};

static void *opener_main(void *opaque)
{
    struct text_feed *feed = opaque;
    feed->functions->open(&feed->spec, &feed->engine, &feed->error);
    return NULL;
}

/* Returns true if the engine has room for the first `bytes` bytes, as announced when it was
 * opened. */
static bool has_room(const struct text_feed *feed, size_t bytes)
{
    return feed->spec.count != COUNT_UNKNOWN && bytes <= feed->spec.count;
}

/* Sends the next piece; on failure sets feed->error. */
static void send_piece(struct text_feed *feed, const char *text, size_t bytes)
{
    struct chunk chunk;
    if (!feed->functions->lend(feed->engine, bytes - feed->sent, &chunk, &feed->error))
        return;
    chunk.count = chunk.capacity;
    shared_copy(chunk.items, text + feed->sent, chunk.count, feed->spec.threads);
    if (feed->functions->take(feed->engine, chunk, &feed->error))
        feed->sent += chunk.count;
}

/* Sends the part of the first `bytes` bytes that the engine does not have yet, if the engine is
 * open and has room for it. Errors are reported by text_feed_finish(). */
static void text_feed_send(struct text_feed *feed, const char *text, size_t bytes)
{
    if (feed->is_opening && pthread_tryjoin_np(feed->opener, NULL) == 0)
        feed->is_opening = false;
    if (feed->is_opening || !has_room(feed, bytes))
        return;
    while (!feed->error.is_set && feed->sent < bytes)
        send_piece(feed, text, bytes);
}

static void await_opener(struct text_feed *feed)
{
    if (feed->is_opening)
        pthread_join(feed->opener, NULL);
    feed->is_opening = false;
}

/* Sends the rest of the text, and passes the engine to the caller, which closes it. */
static bool text_feed_finish(struct text_feed *feed, const char *text, size_t bytes,
                             struct engine **engine, struct error *error)
{
    await_opener(feed);
    if (!feed->error.is_set && !has_room(feed, bytes)) { /* not opened yet, or the text grew */
        feed->functions->close(feed->engine);
        feed->engine = NULL;
        feed->sent = 0;
        feed->spec.count = bytes;
        opener_main(feed);
    }
    text_feed_send(feed, text, bytes);
    error_merge(error, &feed->error);
    if (feed->error.is_set)
        return false;
    *engine = feed->engine;
    feed->engine = NULL;
    return true;
}

/* Waits for the opener thread, and closes the engine unless the caller owns it. */
static void text_feed_close(struct text_feed *feed)
{
    await_opener(feed);
    if (feed->engine)
        feed->functions->close(feed->engine);
    feed->engine = NULL;
}

/* ---- an engine of lines ---- */

/* Context of the callbacks of an engine of lines. */
struct helper {
    const struct lines *lines;
    bool has_failed; /* a callback failed, so that the engine's failure is not its own */
};

static bool help_key(void *context, struct key_index *items, size_t count, struct error *error)
{
    struct helper *helper = context;
    const bool ok = lines_key_items(helper->lines, items, count, error);
    helper->has_failed |= !ok;
    return ok;
}

static bool help_refine(void *context, struct key_index *items, size_t *count, struct error *error)
{
    struct helper *helper = context;
    const bool ok = lines_refine(helper->lines, items, count, error);
    helper->has_failed |= !ok;
    return ok;
}

/* Returns true if an engine of lines sorts. Indices need an engine of items. */
static bool has_engine_of_lines(const struct job *job)
{
    return job->backend->lines && !job->argsort.index_type;
}

/* Returns the maximum bytes of text in the inputs, with a terminator after each last line, if the
 * inputs do not grow; COUNT_UNKNOWN: not known. */
static size_t coming_bytes(const struct job *job)
{
    size_t bytes = job->reader_count;
    for (size_t i = 0; i < job->reader_count; i++) {
        const uint64_t left = source_stop_and_get_left(job->readers[i].source);
        if (left == SIZE_UNKNOWN || __builtin_add_overflow(bytes, left, &bytes))
            return COUNT_UNKNOWN;
    }
    return bytes;
}

/* Starts to open an engine for `bytes` bytes of text, in a thread, while they are read.
 * COUNT_UNKNOWN: text_feed_finish() opens it. */
static void text_feed_start(struct job_state *state, struct helper *helper, size_t bytes,
                            struct text_feed *feed)
{
    const struct job *job = state->job;
    state->functions = job->backend->lines;
    *feed = (struct text_feed){.functions = state->functions, .spec = job->sort};
    feed->spec.count = bytes;
    feed->spec.line_order = &job->line_order;
    feed->spec.helper = (struct line_helper){helper, help_key, help_refine};
    if (bytes == COUNT_UNKNOWN)
        return;
    feed->is_opening = thread_start(&feed->opener, "opener", opener_main, feed) == 0;
    if (!feed->is_opening)
        opener_main(feed);
}

static bool write_text(void *context, struct error *error)
{
    struct job_state *const state = ((const struct sorted_lines *)context)->state;
    const struct lines *const lines = ((const struct sorted_lines *)context)->lines;
    const uint64_t start = job_stage_begin(stage_of_sink(state));
    const size_t most = lines_bytes(lines);
    const bool writes_all = writes_all_lines(state->job);
    struct text_check written;
    text_check_start(&written);
    if ((writes_all && !job_expect(state, state->header.bytes + most, error)) ||
        !job_write_header(state, error))
        return false;
    for (size_t given = 0;;) {
        struct chunk chunk;
        if (!job_give_next(state, writes_all ? most : COUNT_UNKNOWN, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            break;
        text_check_begin_chunk(&written, chunk.items, given - chunk.count);
        if (!sink_write_observed(state->sink, chunk.items, chunk.count, &written.tap, error) ||
            !state->functions->take_back(state->engine, chunk, error))
            return false;
    }
    job_stage_add(state, stage_of_sink(state), start);
    return proof_finish_text(state, lines, written.sum, error);
}

static bool sort_text(struct job_state *state, struct text_feed *feed, struct lines *lines,
                      struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_READ);
    if (!text_feed_finish(feed, lines_whole_text(lines), lines_bytes(lines), &state->engine, error))
        return false;
    job_stage_add(state, STAGE_READ, start);
    if (!job_sort_engine(state, error))
        return false;
    struct engine_times times;
    state->functions->times(state->engine, &times);
    state->count = times.lines;
    return true;
}

static bool sort_items_by_spare(struct job_state *state, struct lines *lines, struct error *error)
{
    return sort_items(state, state->job->spare_backend, &state->job->spare_sort, lines, error);
}

/* Sorts the text that was fed and writes it. If the engine of lines fails before writing begins,
 * the spare backend sorts, if the job has one: all lines are still in memory. */
static bool sort_and_write_text(struct job_state *state, const struct helper *helper,
                                struct text_feed *feed, struct lines *lines, struct error *error)
{
    struct error cause = {0};
    struct sorted_lines sorted = {.state = state, .lines = lines};
    if (sort_text(state, feed, lines, &cause))
        return job_write_proved(state, write_text, &sorted, error);
    if (!state->job->spare_backend || helper->has_failed) {
        error_merge(error, &cause);
        return false;
    }
    state->report->spare_reason = cause;
    job_close_engine(state);
    return sort_items_by_spare(state, lines, error);
}

/* ---- both ---- */

/* Reads more of the current input, up to its end or until the part is full. feed: NULL, or gets
 * each piece. */
static bool read_input_lines(struct job_state *state, struct lines *lines, struct text_feed *feed,
                             bool *ended, struct error *error)
{
    const size_t room = state->job->part_bytes, most = feed ? TEXT_PIECE_BYTES : SIZE_MAX;
    struct source *const source = state->job->readers[state->reader].source;
    const size_t lines_before = state->job->readers[state->reader].keys_before; /* of other ranks */
    if (state->readers_begun == state->reader &&
        !lines_begin_input(lines, source_name(source), source_command_note(source),
                           state->job->header_lines + lines_before, error))
        return false;
    state->readers_begun = state->reader + 1;
    for (*ended = false; !*ended && !lines_exceed(lines, room);) {
        if (!lines_read_input(lines, source, room, most, ended, error))
            return false;
        if (feed)
            text_feed_send(feed, lines_whole_text(lines), lines_bytes(lines));
    }
    return true;
}

static bool read_lines(struct job_state *state, struct lines *lines, struct text_feed *feed,
                       struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_READ);
    const struct job *job = state->job;
    bool ended = true;
    for (; ended && state->reader < job->reader_count && !lines_exceed(lines, job->part_bytes);
         state->reader += ended)
        if (!read_input_lines(state, lines, feed, &ended, error))
            return false;
    state->is_at_end = state->reader == job->reader_count && !lines_exceed(lines, job->part_bytes);
    job_stage_add(state, STAGE_READ, start);
    return true;
}

bool job_read_lines(struct job_state *state, struct lines *lines, struct error *error)
{
    return read_lines(state, lines, NULL, error);
}

bool job_sort_lines(struct job_state *state, struct lines *lines, struct error *error)
{
    const struct job *job = state->job;
    struct helper helper = {lines, false};
    struct text_feed feed;
    if (state->report->spare_reason.is_set) /* what failed on one part is not tried again */
        return sort_items_by_spare(state, lines, error);
    if (!has_engine_of_lines(job))
        return sort_items(state, job->backend, &job->sort, lines, error);
    text_feed_start(state, &helper, COUNT_UNKNOWN, &feed);
    const bool ok = sort_and_write_text(state, &helper, &feed, lines, error);
    text_feed_close(&feed);
    return ok;
}

/* Reports the size of the text, all of which is in memory, and announces the output. */
static void note_all_lines(struct job_state *state, const struct lines *lines)
{
    state->report->item_bytes = lines_bytes(lines);
    if (writes_all_lines(state->job))
        job_expect_ahead(state, state->header.bytes + lines_bytes(lines));
}

/* Sorts with an engine of lines, which is fed while the text is read, if that is all of the text.
 * The engine is not opened early for a text that surely does not fit. */
static bool run_text(struct job_state *state, struct lines *lines, struct error *error)
{
    const size_t coming = coming_bytes(state->job);
    struct helper helper = {lines, false};
    struct text_feed feed;
    text_feed_start(state, &helper, coming <= state->job->part_bytes ? coming : COUNT_UNKNOWN,
                    &feed);
    bool ok = read_lines(state, lines, &feed, error);
    if (ok && state->is_at_end) {
        note_all_lines(state, lines);
        ok = sort_and_write_text(state, &helper, &feed, lines, error);
    }
    text_feed_close(&feed);
    return ok;
}

static bool run_items(struct job_state *state, struct lines *lines, struct error *error)
{
    if (!read_lines(state, lines, NULL, error))
        return false;
    if (!state->is_at_end)
        return true;
    note_all_lines(state, lines);
    struct error cause = {0};
    if (sort_items(state, state->job->backend, &state->job->sort, lines, &cause))
        return true;
    state->is_at_end = !state->is_short; /* else the lines are sorted in parts */
    if (state->is_at_end)
        error_merge(error, &cause);
    return !state->is_at_end;
}

bool job_first_lines(struct job_state *state, struct lines *lines, struct error *error)
{
    return has_engine_of_lines(state->job) ? run_text(state, lines, error)
                                           : run_items(state, lines, error);
}
