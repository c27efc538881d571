/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_sample.c - samples numbers from all over the input before it is read.
 *
 *   inputs, one after another, up to the size of the part
 *     |----|----|----|----|  stretches of equal length
 *        --    --  --    --  a few adjacent numbers of each, at a random position
 *
 * An engine that partitions keys while they are read would otherwise learn their distribution from
 * the first ones only, which may differ from the rest. Only pages in memory are read: otherwise
 * reading a thousand positions takes longer than reading everything.
 */
#include "job/pipeline_run.h"

#include <stdlib.h>

/* Maximum positions. 2048 take 1.2 of 360 ms: 0.8 GB of doubles, two cores of an AMD EPYC (Zen 5),
 * 2026-11. */
#define PLACES_MAX ((size_t)2048)

/* Bytes read at a position: a cache line, which is fetched as a whole. */
#define PLACE_BYTES ((size_t)64)

/* Minimum bytes of a stretch, and minimum positions of a useful sample. */
#define STRETCH_BYTES_MIN ((size_t)128 << 10)
#define PLACES_MIN ((size_t)128)

static size_t numbers_left(const struct reader *reader)
{
    return reader->layout.count - reader->keys_read;
}

/* Returns how many numbers the part will have; 0 if that is not known, or they cannot be
 * sampled. */
static size_t count_part(const struct run *run)
{
    const struct job *job = run->job;
    size_t count = 0;
    if (job->argsort.index_type || job->input_format == &format_text ||
        sort_spec_selects(&job->sort) || job->sort.item_bytes < 4) /* these are counted */
        return 0;
    for (size_t i = run->reader; i < job->reader_count; i++) {
        const struct reader *const reader = &job->readers[i];
        const bool is_at_end = reader->layout.count == reader->keys_read;
        if (reader->layout.count == COUNT_UNKNOWN ||
            (!is_at_end && !source_has_places(reader->source)))
            return 0;
        count += numbers_left(reader);
    }
    return count < run->room ? count : run->room;
}

/* Fills the sample from `places` positions in the part. Returns how many numbers it has; 0 if some
 * are not in memory. */
static size_t fill_sample(const struct run *run, size_t count, size_t places, unsigned char *sample)
{
    const size_t width = run->job->sort.item_bytes, at_place = PLACE_BYTES / width;
    const size_t stretch = count / places;
    const struct reader *reader = &run->job->readers[run->reader];
    size_t filled = 0, before = 0; /* numbers before the reader's */
    uint64_t random = count;
    for (size_t i = 0; i < places; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t at = i * stretch + (size_t)((random >> 32) % stretch);
        for (; at - before >= numbers_left(reader); reader++)
            before += numbers_left(reader);
        if (numbers_left(reader) - (at - before) < at_place)
            continue;
        if (!source_look_at(reader->source, (uint64_t)(at - before) * width,
                            sample + filled * width, PLACE_BYTES))
            return 0;
        filled += at_place;
    }
    return filled;
}

void *run_take_sample(const struct run *run, struct sort_spec *spec)
{
    const size_t count = count_part(run), most = count * spec->item_bytes / STRETCH_BYTES_MIN;
    const size_t places = most < PLACES_MAX ? most : PLACES_MAX;
    void *const sample = places < PLACES_MIN ? NULL : malloc(places * PLACE_BYTES);
    spec->sample_count = sample ? fill_sample(run, count, places, sample) : 0;
    spec->sample = spec->sample_count > 0 ? sample : NULL;
    return sample;
}
