/* SPDX-License-Identifier: Apache-2.0 */
/* external_merge.c - see external_merge.h.
 *
 * A round: Windows that are at most half full are refilled. The bound is the least last item of the
 * windows whose run has unread items, so that no unread item belongs before it. All items up to the
 * bound are merged. If the runs have similar distributions, that is nearly all items.
 *
 * Pieces: Every step-th item that a window contributes to the round is a sample. A piece ends at a
 * sample, and has a fixed number of samples. From each window it has `step` items for each of its
 * samples there, and fewer than `step` more. So no piece has more than (samples + windows) * step
 * items, whatever the distribution, and each fits its buffer.
 */
#include "job/external_merge.h"

#include "core/backend.h"
#include "core/check/check_kernels.h"
#include "core/item_merge.h"
#include "core/key_map.h"
#include "core/threads.h"
#include "core/trace.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Maximum bytes of a piece. Two of them, the output and the scratch of a merge, fit the L2 cache of
 * a core. */
#define PIECE_BYTES ((size_t)512 << 10)
#define PIECES_PER_THREAD ((size_t)3) /* in a group; there are two groups */

/* Memory that a thread needs to be useful. The merge takes as much, even if the limit is lower. */
#define THREAD_BYTES ((size_t)8 << 20)

/* Minimum bytes of a window: smaller ones would make reading runs in turns random access. */
#define WINDOW_BYTES_MIN ((size_t)16 << 10)

/* Maximum bytes of a window. More is better used as page cache for the spilled runs. */
#define WINDOW_BYTES_MAX ((size_t)16 << 20)

/* Minimum bytes of a piece per run, which limits the samples to a sixteenth of the windows. */
#define PIECE_BYTES_PER_RUN ((size_t)1 << 10)

/* Bits for the item's position in the index of a sample; the run's index is in the bits above. */
#define SAMPLE_ITEM_BITS 44

struct division {
    unsigned threads;
    size_t piece_bytes;
    size_t windows_bytes;
};

/* The part of a run that is in memory, as ordered bits: items[begin..count). */
struct window {
    struct item_run *run;
    unsigned char *items;
    size_t begin, count;
    size_t capacity;
    size_t end;    /* the items before it are merged in this round */
    uint64_t read; /* items read from the run */
};

struct merger {
    const struct external_merge *merge;
    struct division division;
    struct window *windows;
    unsigned char *window_memory;
    unsigned char *group_memory;
    unsigned char *scratch; /* a piece for each thread */
    size_t group_pieces;    /* maximum pieces of a group */
    size_t *cuts; /* rows of run_count: begin and end of the pieces of a group in each window */
    size_t *positions;         /* of the pieces in the group, and its end, in items */
    struct item_array *arrays; /* rows of run_count, one for each piece of a group. take_samples()
                                * uses the first row of `cuts` and of `arrays` for itself. */
    size_t step, samples_per_piece;
    struct key_index *samples, *other_samples; /* of the round */
    size_t samples_room, sample_count;
    struct ring *idle, *filled; /* groups */
    uint64_t left;              /* items still wanted */
    struct error error;
};

/* ---- Memory ---- */

/* Divides the memory. At most three eighths are for pieces. */
static struct division divide_memory(size_t memory_bytes, unsigned threads)
{
    const size_t bytes = memory_bytes > THREAD_BYTES ? memory_bytes : THREAD_BYTES;
    const size_t useful = bytes / THREAD_BYTES;
    struct division division = {.threads = useful < threads ? (unsigned)useful : threads};
    const size_t pieces = (2 * PIECES_PER_THREAD + 1) * division.threads;
    const size_t room = bytes / 8 * 3 / pieces / 64 * 64;
    division.piece_bytes = room < PIECE_BYTES ? room : PIECE_BYTES;
    division.windows_bytes = (bytes - pieces * division.piece_bytes) / 16 * 15;
    return division;
}

size_t external_merge_fan_in(size_t memory_bytes, unsigned threads)
{
    const struct division division = divide_memory(memory_bytes, threads);
    const size_t windows = division.windows_bytes / WINDOW_BYTES_MIN;
    const size_t runs = division.piece_bytes / PIECE_BYTES_PER_RUN;
    return windows < runs ? windows : runs;
}

static size_t window_bytes(const struct merger *merger)
{
    const size_t bytes = merger->division.windows_bytes / merger->merge->run_count / 64 * 64;
    return bytes < WINDOW_BYTES_MAX ? bytes : WINDOW_BYTES_MAX;
}

static bool allocate(struct merger *merger, struct error *error)
{
    const struct external_merge *const merge = merger->merge;
    const struct division *const division = &merger->division;
    const size_t count = merge->run_count;
    merger->group_pieces = PIECES_PER_THREAD * division->threads;
    merger->windows = calloc(count, sizeof *merger->windows);
    merger->window_memory = malloc(count * window_bytes(merger));
    merger->group_memory = malloc(2 * merger->group_pieces * division->piece_bytes);
    merger->scratch = malloc(division->threads * division->piece_bytes);
    merger->cuts = calloc((merger->group_pieces + 1) * count, sizeof *merger->cuts);
    merger->positions = calloc(merger->group_pieces + 1, sizeof *merger->positions);
    merger->arrays = calloc(merger->group_pieces * count, sizeof *merger->arrays);
    merger->idle = ring_create(2);
    merger->filled = ring_create(2);
    if (!merger->windows || !merger->window_memory || !merger->group_memory || !merger->scratch ||
        !merger->cuts || !merger->positions || !merger->arrays || !merger->idle || !merger->filled)
        return error_set(error, "out of memory: no room to merge %zu runs", count);
    for (size_t i = 0; i < 2; i++)
        ring_push(merger->idle,
                  (struct ring_entry){
                      merger->group_memory + i * merger->group_pieces * division->piece_bytes, 0});
    return true;
}

static void release(struct merger *merger)
{
    ring_free(merger->idle);
    ring_free(merger->filled);
    free(merger->windows);
    free(merger->window_memory);
    free(merger->group_memory);
    free(merger->scratch);
    free(merger->cuts);
    free(merger->positions);
    free(merger->arrays);
    free(merger->samples);
    free(merger->other_samples);
}

/* ---- Windows ---- */

/* Bytes of one read, so that items are encoded while they are in the cache. */
#define READ_BYTES ((size_t)256 << 10)

/* A run in memory is its own window; the other runs get equal parts of the memory for windows. */
static void open_windows(struct merger *merger)
{
    const struct external_merge *const merge = merger->merge;
    const size_t room = window_bytes(merger);
    for (size_t i = 0; i < merge->run_count; i++) {
        struct item_run *const run = &merge->runs[i];
        struct window *const window = &merger->windows[i];
        *window = (struct window){.run = run,
                                  .items = merger->window_memory + i * room,
                                  .capacity = room / merge->item_bytes};
        if (run->items) {
            window->items = run->items;
            window->capacity = run->count;
        }
    }
}

static bool goes_on(const struct window *window)
{
    return window->read < window->run->count;
}

bool item_run_read(const struct item_run *run, uint64_t first, void *items, size_t count,
                   unsigned item_bytes, struct error *error)
{
    if (run->read)
        return run->read(run->context, first, items, count, error);
    if (!run->items)
        return spill_read(&run->spilled, (run->begin + first) * item_bytes, items,
                          count * item_bytes, error);
    memcpy(items, run->items + first * item_bytes, count * item_bytes);
    return true;
}

/* Reads the next items of the run, unless they are in memory, and encodes them to `items`. */
static bool take_next(const struct external_merge *merge, const struct item_run *run,
                      uint64_t first, unsigned char *items, size_t count, struct error *error)
{
    const unsigned width = merge->item_bytes;
    if (!run->items && !item_run_read(run, first, items, count, width, error))
        return false;
    if (!run->is_encoded)
        key_map_encode(width, merge->order, items, count, items);
    return true;
}

/* Returns true if the ordered bits are in order. */
static bool are_in_order(const struct external_merge *merge, const void *items, size_t count)
{
    const unsigned width = merge->item_bytes;
    uint64_t hash = 0; /* not used */
    return check_find_disorder(width, key_order_identity(), NULL, items, count, &hash) == count;
}

/* Moves the remaining items of the window to its beginning. Returns how many items it can take. */
static size_t make_room(const struct external_merge *merge, struct window *window)
{
    const unsigned width = merge->item_bytes;
    const size_t kept = window->count - window->begin;
    memmove(window->items, window->items + window->begin * width, kept * width);
    window->begin = 0;
    window->count = kept;
    const uint64_t left = window->run->count - window->read;
    const size_t room = window->capacity - kept;
    return left < room ? (size_t)left : room;
}

/* Merges the error of one of several threads into that of all. */
static void note_error(struct error *error, const struct error *cause)
{
#pragma omp critical(external_merge_refill)
    error_merge(error, cause);
}

/* Fills the window with at most `threads` threads. Cuts and item_merge() require items in order, so
 * it fails if they are not: a run may have changed on disk. */
static bool refill(const struct external_merge *merge, struct window *window, unsigned threads,
                   struct error *error)
{
    const unsigned width = merge->item_bytes;
    const size_t room = make_room(merge, window), step = READ_BYTES / width;
    unsigned char *const begin = window->items + window->count * width;
    bool ok = true, is_in_order = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : ok, is_in_order) \
    num_threads((int)threads) if (threads > 1)
    for (size_t done = 0; done < room; done += step) {
        struct error cause = {0};
        unsigned char *const items = begin + done * width;
        const size_t count = room - done < step ? room - done : step;
        if (take_next(merge, window->run, window->read + done, items, count, &cause)) {
            is_in_order = are_in_order(merge, items, count) && is_in_order;
        } else {
            note_error(error, &cause);
            ok = false;
        }
    }
    for (size_t done = window->count > 0 ? 0 : step; ok && done < room; done += step)
        is_in_order = are_in_order(merge, begin + done * width - width, 2) && is_in_order;
    window->count += room;
    window->read += room;
    window->run->is_encoded = window->run->items != NULL;
    if (ok && !is_in_order) {
        struct error cause = {0};
        ok = sink_fail_proof(merge->output, "a sorted run is not in order", &cause);
        note_error(error, &cause);
    }
    const uint64_t left = window->run->count - window->read;
    if (left > 0 && !window->run->read)
        spill_prefetch(&window->run->spilled, (window->run->begin + window->read) * width,
                       (left < window->capacity ? (size_t)left : window->capacity) * width);
    return ok;
}

static bool is_low(const struct window *window)
{
    return goes_on(window) && window->count - window->begin <= window->capacity / 2;
}

/* Returns true if several threads can add items of the run at once. */
static bool is_for_all_threads(const struct item_run *run)
{
    return run->items || run->reads_anywhere;
}

/* Refills low windows. Each thread reads another run, or all threads together one that they can. */
static bool refill_windows(struct merger *merger, struct error *error)
{
    const struct external_merge *const merge = merger->merge;
    const unsigned threads = merger->division.threads;
    bool ok = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : ok) num_threads((int)threads)
    for (size_t i = 0; i < merge->run_count; i++)
        if (is_low(&merger->windows[i]) && !is_for_all_threads(&merge->runs[i]))
            ok = refill(merge, &merger->windows[i], 1, error) && ok;
    for (size_t i = 0; ok && i < merge->run_count; i++)
        if (is_low(&merger->windows[i]))
            ok = refill(merge, &merger->windows[i], threads, error);
    return ok;
}

static struct item_array window_items(const struct merger *merger, size_t i, size_t end)
{
    const struct window *const window = &merger->windows[i];
    return (struct item_array){window->items + window->begin * merger->merge->item_bytes,
                               end - window->begin};
}

/* Sets the windows' ends to the bound, and returns how many items are before it. Items equal to the
 * bound may be on either side, because they are the same. */
static size_t end_windows(struct merger *merger)
{
    const struct external_merge *const merge = merger->merge;
    const void *bound = NULL;
    size_t total = 0;
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct window *const window = &merger->windows[i];
        if (!goes_on(window))
            continue;
        const void *const last = window->items + (window->count - 1) * merge->item_bytes;
        const struct item_array one = {last, 1};
        if (!bound || item_count_before(merge->item_bytes, one, bound, false) == 1)
            bound = last;
    }
#pragma omp parallel for schedule(static) reduction(+ : total) \
    num_threads((int)merger->division.threads)
    for (size_t i = 0; i < merge->run_count; i++) {
        struct window *const window = &merger->windows[i];
        const struct item_array items = window_items(merger, i, window->count);
        window->end =
            window->begin +
            (bound ? item_count_before(merge->item_bytes, items, bound, true) : items.count);
        total += window->end - window->begin;
    }
    return total;
}

/* ---- Samples ---- */

static bool reserve_samples(struct merger *merger, size_t count, struct error *error)
{
    if (count <= merger->samples_room)
        return true;
    free(merger->samples);
    free(merger->other_samples);
    merger->samples = malloc(count * sizeof *merger->samples);
    merger->other_samples = malloc(count * sizeof *merger->samples);
    merger->samples_room = merger->samples && merger->other_samples ? count : 0;
    return merger->samples_room > 0 ||
           error_set(error, "out of memory: no room for %zu samples of runs", count);
}

/* Makes the sample for an item of window i. Items of 16 bytes are distinct, and are their own
 * samples. Others get their window and position as index, so that equal items can be separated. */
static struct key_index make_sample(const struct merger *merger, size_t i, size_t position)
{
    const unsigned width = merger->merge->item_bytes;
    struct key_index sample = {.index = (uint64_t)i << SAMPLE_ITEM_BITS | position};
    const unsigned char *const item = merger->windows[i].items + position * width;
    if (width == sizeof sample)
        memcpy(&sample, item, sizeof sample);
    else
        memcpy(&sample.key, item, width);
    return sample;
}

static bool take_samples(struct merger *merger, struct error *error)
{
    const struct external_merge *const merge = merger->merge;
    struct item_array *const arrays = merger->arrays;
    size_t *const firsts = merger->cuts;
    size_t count = 0, array_count = 0;
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct window *const window = &merger->windows[i];
        firsts[i] = count;
        count += (window->end - window->begin) / merger->step;
    }
    merger->sample_count = count;
    if (!reserve_samples(merger, count + 1, error))
        return false;
#pragma omp parallel for schedule(static) num_threads((int)merger->division.threads)
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct window *const window = &merger->windows[i];
        struct key_index *sample = merger->other_samples + firsts[i];
        for (size_t position = window->begin + merger->step - 1; position < window->end;
             position += merger->step)
            *sample++ = make_sample(merger, i, position);
    }
    for (size_t i = 0; i < merge->run_count; i++) {
        const size_t end = i + 1 < merge->run_count ? firsts[i + 1] : count;
        if (end > firsts[i])
            arrays[array_count++] =
                (struct item_array){merger->other_samples + firsts[i], end - firsts[i]};
    }
    if (array_count > 0 && item_merge_within(arrays, array_count, merger->other_samples,
                                             merger->samples) == merger->other_samples) {
        struct key_index *const samples = merger->other_samples;
        merger->other_samples = merger->samples;
        merger->samples = samples;
    }
    return true;
}

/* ---- Pieces ---- */

/* Fills a row of `cuts` with the positions at which the sample cuts the windows. */
static void cut_windows(const struct merger *merger, size_t sample, size_t *row)
{
    const struct external_merge *const merge = merger->merge;
    const bool is_own = merge->item_bytes == sizeof(struct key_index);
    const struct key_index *const splitter = &merger->samples[sample];
    const size_t run = (size_t)(splitter->index >> SAMPLE_ITEM_BITS);
    const size_t position = splitter->index & key_bits_mask(SAMPLE_ITEM_BITS);
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct window *const window = &merger->windows[i];
        const struct item_array items = window_items(merger, i, window->end);
        if (is_own)
            row[i] = window->begin + item_count_before(sizeof *splitter, items, splitter, true);
        else if (i == run)
            row[i] = position + 1;
        else
            row[i] = window->begin +
                     item_count_before(merge->item_bytes, items, &splitter->key, i < run);
    }
}

/* Merges the items between two rows of cuts into `out`, as stored bits. */
static void merge_piece(const struct merger *merger, const size_t *begins, const size_t *ends,
                        struct item_array *arrays, unsigned char *out, unsigned char *scratch)
{
    const struct external_merge *const merge = merger->merge;
    const unsigned width = merge->item_bytes;
    const uint64_t begin_ns = trace_begin();
    size_t array_count = 0, count = 0;
    for (size_t i = 0; i < merge->run_count; i++) {
        const size_t items = ends[i] - begins[i];
        if (items > 0)
            arrays[array_count++] =
                (struct item_array){merger->windows[i].items + begins[i] * width, items};
        count += items;
    }
    if (array_count > 0)
        item_merge(width, arrays, array_count, out, scratch);
    key_map_decode(width, merge->order, out, count, out);
    trace_end(TRACE_MERGE, begin_ns, count * width);
}

/* Merges pieces [first, first + count) of the round into the buffer. They begin at the first row of
 * cuts, and the last row becomes the first one. Returns the number of items. */
static size_t merge_group(struct merger *merger, size_t first, size_t count, unsigned char *buffer)
{
    const struct external_merge *const merge = merger->merge;
    const size_t columns = merge->run_count;
    size_t *const cuts = merger->cuts, *const positions = merger->positions;
    const int threads = (int)merger->division.threads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t k = 1; k <= count; k++) {
        const size_t samples = (first + k) * merger->samples_per_piece;
        if (samples <= merger->sample_count)
            cut_windows(merger, samples - 1, cuts + k * columns);
        else
            for (size_t i = 0; i < columns; i++)
                cuts[k * columns + i] = merger->windows[i].end;
    }
    positions[0] = 0;
    for (size_t k = 0; k < count; k++) {
        positions[k + 1] = positions[k];
        for (size_t i = k * columns; i < (k + 1) * columns; i++)
            positions[k + 1] += cuts[i + columns] - cuts[i];
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t k = 0; k < count; k++)
        merge_piece(merger, cuts + k * columns, cuts + (k + 1) * columns,
                    merger->arrays + k * columns, buffer + positions[k] * merge->item_bytes,
                    merger->scratch + (size_t)omp_get_thread_num() * merger->division.piece_bytes);
    memcpy(cuts, cuts + count * columns, columns * sizeof *cuts);
    return positions[count];
}

/* Passes `count` merged items to the writing thread. Returns false when no more are wanted, or
 * writing has failed. */
static bool hand_over(struct merger *merger, struct ring_entry entry, size_t count)
{
    if (count > merger->left)
        count = (size_t)merger->left;
    merger->left -= count;
    entry.bytes = count * merger->merge->item_bytes;
    return ring_push(merger->filled, entry) && merger->left > 0;
}

/* Merges the windows' items up to their ends. *ended: no more items are wanted, or writing has
 * failed. */
static void merge_round(struct merger *merger, bool *ended)
{
    const size_t columns = merger->merge->run_count;
    const size_t pieces = merger->sample_count / merger->samples_per_piece + 1;
    for (size_t i = 0; i < columns; i++)
        merger->cuts[i] = merger->windows[i].begin;
    for (size_t first = 0; first < pieces && !*ended; first += merger->group_pieces) {
        const size_t left = pieces - first;
        const size_t count = left < merger->group_pieces ? left : merger->group_pieces;
        struct ring_entry entry;
        *ended = !ring_pop(merger->idle, &entry) ||
                 !hand_over(merger, entry, merge_group(merger, first, count, entry.data));
    }
    for (size_t i = 0; i < columns; i++)
        merger->windows[i].begin = merger->windows[i].end;
}

/* ---- The merge ---- */

static void *merge_main(void *opaque)
{
    struct merger *const merger = opaque;
    const size_t room = merger->division.piece_bytes / merger->merge->item_bytes;
    merger->step = room / (2 * merger->merge->run_count);
    merger->samples_per_piece = room / merger->step - merger->merge->run_count;
    open_windows(merger);
    for (bool ended = merger->left == 0; !ended;) {
        if (!refill_windows(merger, &merger->error))
            break;
        if (end_windows(merger) == 0 || !take_samples(merger, &merger->error))
            break;
        merge_round(merger, &ended);
    }
    ring_close(merger->filled);
    return NULL;
}

/* Writes the groups that the other thread has merged. */
static bool write_groups(struct merger *merger, struct error *error)
{
    const struct external_merge *const merge = merger->merge;
    struct ring_entry entry;
    while (ring_pop(merger->filled, &entry)) {
        if (entry.bytes > 0 &&
            !merge->write(merge->context, entry.data, entry.bytes / merge->item_bytes, error))
            return false;
        ring_push(merger->idle, entry);
    }
    return true;
}

bool external_merge_run(const struct external_merge *merge, struct error *error)
{
    bool ok = false;
    pthread_t thread;
    struct merger merger = {.merge = merge,
                            .division = divide_memory(merge->memory_bytes, merge->threads),
                            .left = merge->wanted};
    TRY(allocate(&merger, error));
    const int cause = thread_start(&thread, "merge", merge_main, &merger);
    TRY(cause == 0 || thread_set_error(cause, "merge runs", error));
    ok = write_groups(&merger, error);
    ring_stop(merger.idle);
    ring_stop(merger.filled);
    pthread_join(thread, NULL);
    error_merge(error, &merger.error);
    ok = ok && !merger.error.is_set;
done:
    release(&merger);
    return ok;
}
