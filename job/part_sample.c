/* SPDX-License-Identifier: Apache-2.0 */
/* part_sample.c - a sample of the next part of the numbers, for the spec of its engine.
 *
 *   inputs, one after another, up to the size of the part
 *     |----|----|----|----|  stretches of equal length
 *        --    --  --    --  a few adjacent numbers of each, at a random position
 *
 * An engine that partitions keys while they are read would otherwise learn their distribution from
 * the first ones only, which may differ from the rest. Only pages in the page cache are read,
 * because a thousand random reads of a disk take longer than reading the file. The engines of ranks
 * that sort together have one sample, of the numbers of all ranks.
 */
#include "job/job_state.h"

#include <stdlib.h>
#include <string.h>

/* Maximum positions. 2048 add 1.2 ms to a job of 360 ms: 0.8 GB of doubles, two cores of an AMD
 * EPYC (Zen 5), 2026-11. */
#define POSITIONS_MAX ((size_t)8192)

/* Bytes read at a position: as many as a cache line has. */
#define POSITION_BYTES ((size_t)64)

/* Minimum bytes of a stretch, and minimum positions of a useful sample. */
#define STRETCH_BYTES_MIN ((size_t)384 << 10)
#define POSITIONS_MIN ((size_t)64)

/* One position in 16 may be missed: RWF_NOWAIT sometimes fails for a page that is in memory. */
#define POSITIONS_PER_MISS 16

/* Minimum average bytes of a rank for a shared sample. A stream needs as many (STREAM_CHUNKS_MIN in
 * cpu/cpu_backend.c). */
#define SHARED_BYTES_MIN ((size_t)32 << 20)

static size_t numbers_left(const struct reader *reader)
{
    return reader->layout.count - reader->keys_read;
}

/* Returns how many numbers the part will have; 0 if that is not known, or they cannot be
 * sampled. */
static size_t count_part(const struct job_state *state)
{
    const struct job *job = state->job;
    size_t count = 0;
    if (job->argsort.index_type || !job->input_format->is_array || sort_spec_selects(&job->sort) ||
        job->sort.item_bytes < 4) /* such keys are sorted by counting */
        return 0;
    for (size_t i = state->reader; i < job->reader_count; i++) {
        const struct reader *const reader = &job->readers[i];
        const bool is_at_end = reader->layout.count == reader->keys_read;
        if (reader->layout.count == COUNT_UNKNOWN ||
            (!is_at_end && !source_can_read_at(reader->source)))
            return 0;
        count += numbers_left(reader);
    }
    return count < state->part_count ? count : state->part_count;
}

/* Fills the sample from `positions` positions in the part. Returns how many numbers it has; 0 if
 * too many of them are not in memory. */
static size_t fill_sample(const struct job_state *state, size_t count, size_t positions,
                          unsigned char *sample)
{
    const size_t width = state->job->sort.item_bytes, at_position = POSITION_BYTES / width;
    const size_t stretch = count / positions;
    const struct reader *reader = &state->job->readers[state->reader];
    size_t filled = 0, missed = 0, before = 0; /* numbers before the reader's */
    uint64_t random = count;
    for (size_t i = 0; i < positions; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t at = i * stretch + (size_t)((random >> 32) % stretch);
        for (; at - before >= numbers_left(reader); reader++)
            before += numbers_left(reader);
        if (source_look_at(reader->source, (uint64_t)(at - before) * width, sample + filled * width,
                           POSITION_BYTES))
            filled += at_position;
        else if (++missed > positions / POSITIONS_PER_MISS)
            return 0;
    }
    return filled;
}

void *job_sample_part(const struct job_state *state, struct sort_spec *spec)
{
    if (state->shared_sample && state->part_begin == 0) {
        spec->sample = state->shared_sample;
        spec->sample_count = state->shared_sample_count;
        spec->shared_count = (size_t)state->job->group_count;
        return NULL;
    }
    const size_t count = count_part(state), most = count * spec->item_bytes / STRETCH_BYTES_MIN;
    const size_t positions = most < POSITIONS_MAX ? most : POSITIONS_MAX;
    void *const sample = positions < POSITIONS_MIN ? NULL : malloc(positions * POSITION_BYTES);
    spec->sample_count = sample ? fill_sample(state, count, positions, sample) : 0;
    spec->sample = spec->sample_count > 0 ? sample : NULL;
    return sample;
}

/* Returns true if the job may have a shared sample. The result is equal on all ranks. */
static bool may_share_sample(const struct job *job)
{
    const struct group *const group = job->group;
    return group->host_size == group->size && !job->argsort.index_type &&
           (job->sort.item_bytes == 4 || job->sort.item_bytes == 8) &&
           job->group_count / group->size >= SHARED_BYTES_MIN / job->sort.item_bytes;
}

/* A row for each rank: how many numbers it has in the sample and in its part, and the sample. */
enum { ROW_FILLED, ROW_COUNT, ROW_NUMBERS };

/* Copies numbers of all rows to the sample, from each row in proportion to the rank's part. Returns
 * how many there are, or 0 if a row has none. */
static size_t join_rows(const uint64_t *rows, unsigned ranks, size_t row_words, size_t width,
                        unsigned char *sample)
{
    uint64_t largest = 1;
    size_t joined = 0;
    for (unsigned i = 0; i < ranks; i++) {
        const uint64_t *const row = rows + i * row_words;
        if (row[ROW_FILLED] == 0)
            return 0;
        largest = row[ROW_COUNT] > largest ? row[ROW_COUNT] : largest;
    }
    for (unsigned i = 0; i < ranks; i++) {
        const uint64_t *const row = rows + i * row_words;
        const unsigned char *const numbers = (const unsigned char *)(row + ROW_NUMBERS);
        const size_t filled = row[ROW_FILLED];
        const double share = (double)row[ROW_COUNT] / (double)largest;
        const size_t wanted = (size_t)(share * (double)filled), kept = wanted > 0 ? wanted : 1;
        for (size_t j = 0; j < kept; j++)
            memcpy(sample + joined++ * width, numbers + j * filled / kept * width, width);
    }
    return joined;
}

bool job_share_sample(struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    struct group *const group = job->group;
    const size_t width = job->sort.item_bytes;
    const size_t positions = (POSITIONS_MAX + group->size - 1) / group->size;
    const size_t row_words = ROW_NUMBERS + positions * POSITION_BYTES / sizeof(uint64_t);
    if (!may_share_sample(job))
        return true;
    uint64_t *const row = calloc(row_words, sizeof *row), *rows = NULL;
    state->shared_sample = malloc(group->size * positions * POSITION_BYTES);
    bool ok = group_agree(group, (row && state->shared_sample) || error_set(error, "out of memory"),
                          error);
    if (ok) {
        row[ROW_COUNT] = count_part(state);
        if (job->sort.count <= state->part_count && row[ROW_COUNT] / positions >= POSITION_BYTES)
            row[ROW_FILLED] =
                fill_sample(state, row[ROW_COUNT], positions, (unsigned char *)(row + ROW_NUMBERS));
        rows = group_gather(group, row, row_words, error);
        ok = rows;
    }
    if (ok)
        state->shared_sample_count =
            join_rows(rows, group->size, row_words, width, state->shared_sample);
    if (state->shared_sample_count == 0) {
        free(state->shared_sample);
        state->shared_sample = NULL;
    }
    free(row);
    free(rows);
    return ok;
}
