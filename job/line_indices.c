/* SPDX-License-Identifier: Apache-2.0 */
/* line_indices.c - see line_indices.h. */
#include "job/line_indices.h"

#include "core/argsort.h"
#include "formats/array/format.h"
#include "formats/merge/lines_merge.h"

#include <stdlib.h>

/* Maximum run numbers that are read at a time, and items that `write` gets at a time. */
#define STEP_COUNT ((size_t)16 << 10)

/* Minimum and maximum of the indices of a run that are read at a time. */
#define WINDOW_MIN ((size_t)64)
#define WINDOW_MAX ((size_t)16 << 10)

/* ---- The numbers of the runs ---- */

struct source_reader {
    struct proof_reader sources;
    uint32_t *numbers; /* owned: STEP_COUNT */
    size_t count;
};

/* Reads the next numbers; none at the end. */
static bool read_numbers(struct source_reader *reader, struct error *error)
{
    size_t bytes;
    if (!proof_read_stored(&reader->sources, reader->numbers, STEP_COUNT * sizeof *reader->numbers,
                           &bytes, error))
        return false;
    reader->count = bytes / sizeof *reader->numbers;
    return true;
}

/* Sets *run to the run that a stored number names. Fails if there is no such run. */
static bool find_run(const struct source_reader *reader, uint32_t number, size_t run_count,
                     size_t *run, struct error *error)
{
    *run = number & ~LINES_MERGE_LEFT_OUT;
    return *run < run_count ||
           proof_fail(reader->sources.state, error, "%s was changed after it was written",
                      reader->sources.stored->name);
}

bool line_indices_count(const struct job_state *state, const struct spill_run *sources,
                        size_t run_count, uint64_t *counts, uint64_t *kept, struct error *error)
{
    struct source_reader reader = {.sources = {.state = state, .stored = sources},
                                   .numbers = malloc(STEP_COUNT * sizeof *reader.numbers)};
    bool ok = reader.numbers || error_set(error, "out of memory");
    *kept = 0;
    while (ok && (ok = read_numbers(&reader, error)) && reader.count > 0)
        for (size_t i = 0, source; ok && i < reader.count; i++) {
            ok = find_run(&reader, reader.numbers[i], run_count, &source, error);
            if (ok && counts)
                counts[source]++;
            *kept += (reader.numbers[i] & LINES_MERGE_LEFT_OUT) == 0;
        }
    free(reader.numbers);
    return ok;
}

/* ---- The indices ---- */

struct window {
    uint64_t *indices;
    size_t next, count;
    uint64_t done;              /* indices read */
    struct proof_reader stored; /* the run, if it is whole and on disk */
};

struct merger {
    const struct line_indices *task;
    struct source_reader reader;
    struct window *windows;
    uint64_t *memory; /* of the windows */
    size_t window_count;
    struct key_index *items; /* STEP_COUNT */
};

/* Reads the next indices of the run. Checks a run on disk that is read whole by its checksum. */
static bool read_run(const struct item_run *run, struct window *window, struct error *error)
{
    const unsigned width = sizeof *window->indices;
    const bool is_whole = !run->read && run->count == run->spilled.bytes / width;
    size_t bytes = window->count * width;
    return is_whole
               ? proof_read_stored(&window->stored, window->indices, bytes, &bytes, error)
               : item_run_read(run, window->done, window->indices, window->count, width, error);
}

static bool fill_window(const struct merger *merger, size_t i, struct error *error)
{
    const struct item_run *const run = &merger->task->runs[i];
    struct window *const window = &merger->windows[i];
    const uint64_t left = run->count - window->done;
    if (left == 0)
        return proof_fail(merger->task->state, error, "a run has fewer indices than lines");
    window->next = 0;
    window->count = left < merger->window_count ? (size_t)left : merger->window_count;
    if (!read_run(run, window, error))
        return false;
    window->done += window->count;
    return true;
}

static bool allocate(struct merger *merger, struct error *error)
{
    const size_t runs = merger->task->run_count;
    const size_t each = merger->task->memory_bytes / (runs > 0 ? runs : 1) / sizeof *merger->memory;
    merger->window_count = each < WINDOW_MIN ? WINDOW_MIN : each > WINDOW_MAX ? WINDOW_MAX : each;
    merger->reader.numbers = malloc(STEP_COUNT * sizeof *merger->reader.numbers);
    merger->items = calloc(STEP_COUNT, sizeof *merger->items);
    merger->windows = calloc(runs + 1, sizeof *merger->windows);
    merger->memory = malloc((runs * merger->window_count + 1) * sizeof *merger->memory);
    if (!merger->reader.numbers || !merger->items || !merger->windows || !merger->memory)
        return error_set(error, "no memory to merge the indices of %zu runs", runs);
    for (size_t i = 0; i < runs; i++)
        merger->windows[i] = (struct window){
            .indices = merger->memory + i * merger->window_count,
            .stored = {.state = merger->task->state, .stored = &merger->task->runs[i].spilled}};
    return true;
}

/* Makes items of the next numbers, at most `most`. */
static bool make_items(struct merger *merger, uint64_t most, size_t *count, struct error *error)
{
    *count = 0;
    for (size_t i = 0; i < merger->reader.count && *count < most; i++) {
        const uint32_t number = merger->reader.numbers[i];
        size_t run;
        if (!find_run(&merger->reader, number, merger->task->run_count, &run, error))
            return false;
        struct window *const window = &merger->windows[run];
        if (window->next == window->count && !fill_window(merger, run, error))
            return false;
        const uint64_t index = window->indices[window->next++];
        if ((number & LINES_MERGE_LEFT_OUT) == 0)
            merger->items[(*count)++].index = index;
    }
    return true;
}

bool line_indices_write(const struct line_indices *task, struct error *error)
{
    struct merger merger = {.task = task,
                            .reader.sources = {.state = task->state, .stored = task->sources}};
    bool ok = allocate(&merger, error);
    for (uint64_t left = task->wanted; ok && left > 0;) {
        size_t count = 0;
        ok = read_numbers(&merger.reader, error);
        if (!ok || merger.reader.count == 0)
            break;
        ok = make_items(&merger, left, &count, error) &&
             task->write(task->context, merger.items, count, error);
        left -= count;
    }
    free(merger.reader.numbers);
    free(merger.items);
    free(merger.windows);
    free(merger.memory);
    return ok;
}

bool line_indices_store(void *sink, const void *items, size_t count, struct error *error)
{
    struct argsort argsort = {.index_type = &key_types[KEY_TYPE_u64],
                              .index_endian = ENDIAN_LITTLE};
    const struct chunk chunk = {.items = (void *)items, .capacity = count, .count = count};
    argsort_set_key_index(&argsort);
    return indices_write(&argsort, &format_raw, &chunk, sink, NULL, error);
}
