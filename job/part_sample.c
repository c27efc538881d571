/* SPDX-License-Identifier: Apache-2.0 */
/* part_sample.c - a sample of the next part of the numbers, for the spec of its engine.
 *
 *   inputs, one after another, up to the size of the part
 *     |----|----|----|----|  stretches of equal length
 *        --    --  --    --  a few adjacent numbers of each, at a random position
 *
 * An engine that partitions keys while they are read would otherwise learn their distribution from
 * the first ones only, which may differ from the rest. Only pages in memory are read: otherwise
 * reading a thousand positions takes longer than reading everything.
 */
#include "job/job_state.h"

#include <stdlib.h>

/* Maximum positions. 2048 take 1.2 of 360 ms: 0.8 GB of doubles, two cores of an AMD EPYC (Zen 5),
 * 2026-11. */
#define POSITIONS_MAX ((size_t)2048)

/* Bytes read at a position: a cache line, which is fetched as a whole. */
#define POSITION_BYTES ((size_t)64)

/* Minimum bytes of a stretch, and minimum positions of a useful sample. */
#define STRETCH_BYTES_MIN ((size_t)128 << 10)
#define POSITIONS_MIN ((size_t)128)

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
        job->sort.item_bytes < 4) /* these are counted */
        return 0;
    for (size_t i = state->reader; i < job->reader_count; i++) {
        const struct reader *const reader = &job->readers[i];
        const bool is_at_end = reader->layout.count == reader->keys_read;
        if (reader->layout.count == COUNT_UNKNOWN ||
            (!is_at_end && !source_can_read_at(reader->source)))
            return 0;
        count += numbers_left(reader);
    }
    return count < state->room ? count : state->room;
}

/* Fills the sample from `positions` positions in the part. Returns how many numbers it has; 0 if
 * some are not in memory. */
static size_t fill_sample(const struct job_state *state, size_t count, size_t positions,
                          unsigned char *sample)
{
    const size_t width = state->job->sort.item_bytes, at_position = POSITION_BYTES / width;
    const size_t stretch = count / positions;
    const struct reader *reader = &state->job->readers[state->reader];
    size_t filled = 0, before = 0; /* numbers before the reader's */
    uint64_t random = count;
    for (size_t i = 0; i < positions; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t at = i * stretch + (size_t)((random >> 32) % stretch);
        for (; at - before >= numbers_left(reader); reader++)
            before += numbers_left(reader);
        if (numbers_left(reader) - (at - before) < at_position)
            continue;
        if (!source_look_at(reader->source, (uint64_t)(at - before) * width,
                            sample + filled * width, POSITION_BYTES))
            return 0;
        filled += at_position;
    }
    return filled;
}

void *job_sample_part(const struct job_state *state, struct sort_spec *spec)
{
    const size_t count = count_part(state), most = count * spec->item_bytes / STRETCH_BYTES_MIN;
    const size_t positions = most < POSITIONS_MAX ? most : POSITIONS_MAX;
    void *const sample = positions < POSITIONS_MIN ? NULL : malloc(positions * POSITION_BYTES);
    spec->sample_count = sample ? fill_sample(state, count, positions, sample) : 0;
    spec->sample = spec->sample_count > 0 ? sample : NULL;
    return sample;
}
