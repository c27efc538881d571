/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_partition.c - see bucket_partition.h. */
#include "cpu/partition/bucket_partition.h"

#include "cpu/items/item_access.h"
#include "cpu/items/item_kernels.h"
#include "cpu/partition/bucket_model.h"

#include <string.h>

/* Target items per bucket, as a maximum. Two cores of an AMD EPYC (Zen 5), 2026-11, ms to sort
 * with 64 Ki, 128 Ki and 256 Ki: 1e8 f64 263, 256, 260; 1e8 f32 -, 213, 210; 1e8 key_index 491,
 * 440, 448; 1e7 f64 -, 25, 27. */
#define BUCKET_COUNT ((size_t)128 << 10)

#define BUCKETS_WANTED_MIN 16u
#define BUCKETS_WANTED_MAX 8192u
_Static_assert(2 * BUCKETS_WANTED_MAX <= BUCKET_MODEL_BUCKETS_MAX, "the model has room");

/* A partition resolves about this many bits of the range. See count_outliers. */
#define RESOLVED_BITS 20

/* ---- Memory of a thread ---- */

static size_t starts_bytes(const struct partition_workspace_plan *plan)
{
    return round_to_cache_line((plan->buckets_max + (size_t)1) * sizeof(size_t));
}

static size_t pending_bytes(const struct partition_workspace_plan *plan)
{
    return round_to_cache_line(plan->pending_max * sizeof(struct item_range));
}

/* Memory that is used for samples first and as room for a bucket later. */
static size_t shared_bytes(const struct partition_workspace_plan *plan)
{
    const size_t samples = 2 * plan->samples_max * sizeof(uint64_t);
    return round_to_cache_line(samples > plan->room_bytes ? samples : plan->room_bytes);
}

void partition_workspace_measure(struct partition_workspace_plan *plan)
{
    plan->bytes = round_to_cache_line(sizeof(struct partition_workspace)) + 4 * starts_bytes(plan) +
                  (plan->buckets_max + (size_t)1) * WRITE_BUFFER_BYTES + pending_bytes(plan) +
                  shared_bytes(plan);
}

struct partition_workspace *partition_workspace_at(const struct partition_workspace_plan *plan,
                                                   void *memory, unsigned number)
{
    return (void *)((unsigned char *)memory + number * plan->bytes);
}

void partition_workspace_init(const struct partition_workspace_plan *plan,
                              struct partition_workspace *workspace)
{
    unsigned char *next = (unsigned char *)workspace + round_to_cache_line(sizeof *workspace);
    size_t **const by_bucket[] = {&workspace->positions, &workspace->first, &workspace->team_starts,
                                  &workspace->own_starts};
    for (size_t i = 0; i < sizeof by_bucket / sizeof *by_bucket; i++) {
        *by_bucket[i] = (void *)next;
        next += starts_bytes(plan);
    }
    next += -(uintptr_t)next % WRITE_BUFFER_BYTES;
    workspace->write_buffers = next;
    next += plan->buckets_max * (size_t)WRITE_BUFFER_BYTES;
    workspace->pending = (void *)next;
    workspace->pending_count = 0;
    next += pending_bytes(plan);
    workspace->samples = (void *)next;
    workspace->room = next;
}

/* ---- Which buckets are sorted. A lock per bucket of about 1 MB costs nothing. ---- */

size_t sort_progress_bytes(size_t buckets_max)
{
    return (buckets_max + 1) * sizeof(size_t) + buckets_max;
}

void sort_progress_begin(struct sort_progress *progress, size_t buckets_max, void *memory)
{
    *progress = (struct sort_progress){.starts = memory, .mutex = PTHREAD_MUTEX_INITIALIZER};
    progress->finished.is_finished = (unsigned char *)(progress->starts + buckets_max + 1);
    counter_start(&progress->sorted);
}

void sort_progress_open(struct sort_progress *progress, const size_t *starts, size_t buckets)
{
    memcpy(progress->starts, starts, (buckets + 1) * sizeof *starts);
    memset(progress->finished.is_finished, 0, buckets);
    progress->finished.buckets = buckets;
}

void sort_progress_finish(struct sort_progress *progress, size_t bucket)
{
    pthread_mutex_lock(&progress->mutex);
    finished_buckets_add(&progress->finished, bucket);
    counter_raise(&progress->sorted, progress->starts[progress->finished.first_open]);
    pthread_mutex_unlock(&progress->mutex);
}

/* ---- Which part of a range each thread takes ---- */

unsigned worker_count(struct sort_worker worker)
{
    return worker.member ? worker.member->count : 1;
}

unsigned worker_number(struct sort_worker worker)
{
    return worker.member ? worker.member->number : 0;
}

/* The workspace of member `number`; a lone worker's own. */
static struct partition_workspace *workspace_of(const struct sort_job *job,
                                                struct sort_worker worker, unsigned number)
{
    return worker.member ? partition_workspace_at(&job->plan, job->workspaces, number)
                         : worker.workspace;
}

void worker_barrier(struct sort_worker worker)
{
    if (worker.member)
        team_barrier(worker.member);
}

static size_t part_begin(struct item_range range, struct sort_worker worker, unsigned part)
{
    return range.begin + team_range_begin(range.count, part, worker_count(worker));
}

size_t worker_begin(struct item_range range, struct sort_worker worker)
{
    return part_begin(range, worker, worker_number(worker));
}

size_t worker_end(struct item_range range, struct sort_worker worker)
{
    return part_begin(range, worker, worker_number(worker) + 1);
}

/* ---- One thread counts and scatters its items, through software write-combining buffers ----
 *
 * The loops are compiled for each item width.
 */

/* The part of a partition that one thread scatters, and its memory. */
struct scatter_part {
    const void *from; /* stored bits in `order` */
    void *to;         /* ordered bits; aligned to a cache line */
    size_t begin, end;
    struct key_order order;
    const struct bucket_model *model;
    /* Arrays of model->buckets elements: */
    size_t *positions; /* next position in `to`; while counting, the number of items */
    size_t *first;     /* copy of the initial positions */
    unsigned char
        *write_buffers; /* write-combining buffers of WRITE_BUFFER_BYTES each, aligned to that */
};

static inline size_t block_end(const struct scatter_part *part, size_t begin)
{
    return part->end - begin > BUCKET_BLOCK_COUNT ? begin + BUCKET_BLOCK_COUNT : part->end;
}

/* Sets positions[b] to the number of the part's items in bucket b. Widths from 4. */
static void scatter_count(unsigned width, const struct scatter_part *part)
{
    size_t *counts = part->positions;
    struct bucket_block block;
    memset(counts, 0, part->model->buckets * sizeof *counts);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        bucket_map(width, (const unsigned char *)part->from + i * width, end - i, part->order,
                   part->model, NULL, &block);
        for (size_t k = 0; k < end - i; k++)
            counts[block.buckets[k]]++;
    }
}

/* Writes the bucket's buffered items up to `position`. Called for lines that are not full, and for
 * the bucket's first line, whose positions before `first` belong to another part. */
INLINE void write_partial_line(const struct scatter_part *part, size_t bucket, size_t line_begin,
                               size_t position, unsigned width)
{
    const unsigned char *line = part->write_buffers + bucket * WRITE_BUFFER_BYTES;
    const size_t first = part->first[bucket];
    const size_t from = first > line_begin ? first : line_begin;
    if (position > from)
        memcpy((unsigned char *)part->to + from * width, line + (from - line_begin) * width,
               (position - from) * width);
}

/* Moves the items of a block whose keys and buckets are known. */
INLINE void scatter_block(const struct scatter_part *part, const void *items, size_t count,
                          const struct bucket_block *block, unsigned width)
{
    const size_t line_items = WRITE_BUFFER_BYTES / width;
    for (size_t i = 0; i < count; i++) {
        const struct item item = load_item(items, i, width);
        const size_t bucket = block->buckets[i];
        const size_t position = part->positions[bucket]++;
        unsigned char *line = part->write_buffers + bucket * WRITE_BUFFER_BYTES;
        store_item(line, position % line_items, item, width);
        if ((position + 1) % line_items == 0) {
            const size_t line_begin = position + 1 - line_items;
            if (line_begin >= part->first[bucket])
                streaming_store((unsigned char *)part->to + line_begin * width, line);
            else
                write_partial_line(part, bucket, line_begin, position + 1, width);
        }
    }
}

/* Moves the part's items to the positions of their buckets, in order, encoded. Widths from 4. */
INLINE void scatter_items(const struct scatter_part *part, unsigned width)
{
    const size_t line_items = WRITE_BUFFER_BYTES / width, buckets = part->model->buckets;
    struct bucket_block block;
    memcpy(part->first, part->positions, buckets * sizeof *part->positions);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        const unsigned char *items = (const unsigned char *)part->from + i * width;
        bucket_map(width, items, end - i, part->order, part->model, NULL, &block);
        scatter_block(part, width == 16 ? items : block.keys, end - i, &block, width);
    }
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const size_t position = part->positions[bucket];
        write_partial_line(part, bucket, position - position % line_items, position, width);
    }
    streaming_fence();
}

/* ---- The sample and the buckets ---- */

unsigned partition_fan_out(size_t count, unsigned parts)
{
    unsigned wanted = BUCKETS_WANTED_MIN;
    while (wanted < BUCKETS_WANTED_MAX && (wanted < count / BUCKET_COUNT || wanted < 4 * parts))
        wanted *= 2;
    return wanted;
}

/* Samples one random key from each of `count` equal stretches and sorts the sample. */
static const uint64_t *take_sample(unsigned width, struct item_range range, uint64_t *samples,
                                   size_t count)
{
    const size_t stretch = range.count / count;
    uint64_t random = range.count;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t place = range.begin + i * stretch + (size_t)((random >> 32) % stretch);
        samples[i] = items_key(width, range.from, place, range.order);
    }
    return lsd_radix_sort(sizeof(uint64_t), samples, samples + count, count);
}

/* Returns how many sample keys at each end are outliers: about half a bucket, which costs
 * nothing; a sixteenth of the sample if the middle is so narrow that a partition of the wider
 * range would barely separate its keys. */
static size_t count_outliers(const uint64_t *sample, size_t count, unsigned buckets_wanted)
{
    const size_t few = count / (2 * buckets_wanted), many = count / 16;
    const uint64_t wide = sample[count - 1 - few] - sample[few];
    const uint64_t narrow = sample[count - 1 - many] - sample[many];
    return narrow < wide >> RESOLVED_BITS ? many : few;
}

struct model_input sample_for_model(unsigned width, struct item_range range,
                                    const struct partition_workspace_plan *plan,
                                    unsigned buckets_wanted, uint64_t *samples)
{
    size_t count = (size_t)buckets_wanted * SAMPLES_PER_BUCKET;
    if (count > plan->samples_max)
        count = plan->samples_max;
    if (count > range.count)
        count = range.count;
    const uint64_t *const sample = take_sample(width, range, samples, count);
    const size_t outliers = count_outliers(sample, count, buckets_wanted);
    return (struct model_input){.sample = sample,
                                .count = count,
                                .buckets_wanted = buckets_wanted,
                                .buckets_max = plan->buckets_max,
                                .lowest = sample[outliers],
                                .highest = sample[count - 1 - outliers]};
}

/* True if the range has nearly all items of its parent, so that the sample of the parent may have
 * been misleading. Then the cells cover the exact range and stay apart, so that each bucket is at
 * most 1/512 as wide. So a level either separates an eighth of the items, or the next level
 * resolves 9 bits of the keys, which bounds the recursion. */
static bool sample_misled(struct item_range range)
{
    return range.count > range.parent_count / 8 * 7;
}

static void find_own_extremes(const struct sort_job *job, struct item_range range,
                              struct sort_worker worker)
{
    struct partition_workspace *workspace = worker.workspace;
    workspace->lowest = UINT64_MAX;
    workspace->highest = 0;
    items_find_range(job->width, range.from, worker_begin(range, worker), worker_end(range, worker),
                     range.order, &workspace->lowest, &workspace->highest);
}

/* Learns the model from a sample, with the exact range if sample_misled(). Member 0 only. */
static void learn_model(const struct sort_job *job, struct item_range range,
                        struct sort_worker worker)
{
    const unsigned wanted = partition_fan_out(range.count, worker_count(worker));
    struct model_input input =
        sample_for_model(job->width, range, &job->plan, wanted, worker.workspace->samples);
    input.cells_apart = sample_misled(range);
    if (input.cells_apart) {
        input.lowest = UINT64_MAX;
        input.highest = 0;
        for (unsigned i = 0; i < worker_count(worker); i++) {
            const struct partition_workspace *workspace = workspace_of(job, worker, i);
            if (workspace->lowest < input.lowest)
                input.lowest = workspace->lowest;
            if (workspace->highest > input.highest)
                input.highest = workspace->highest;
        }
    }
    bucket_model_learn(&worker.workspace->model, &input);
}

/* Turns the counts of all members into positions and sets starts. Member 0 only. */
static void sum_counts(const struct sort_job *job, struct item_range range,
                       struct sort_worker worker, size_t *starts)
{
    const unsigned buckets = worker.workspace->model.buckets;
    size_t position = range.begin;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        starts[bucket] = position;
        for (unsigned part = 0; part < worker_count(worker); part++) {
            size_t *const place = &workspace_of(job, worker, part)->positions[bucket];
            const size_t count = *place;
            *place = position;
            position += count;
        }
    }
    starts[buckets] = position;
}

static struct scatter_part own_part(struct item_range range, struct sort_worker worker,
                                    const struct bucket_model *model)
{
    return (struct scatter_part){.from = range.from,
                                 .to = range.other,
                                 .begin = worker_begin(range, worker),
                                 .end = worker_end(range, worker),
                                 .order = range.order,
                                 .model = model,
                                 .positions = worker.workspace->positions,
                                 .first = worker.workspace->first,
                                 .write_buffers = worker.workspace->write_buffers};
}

size_t bucket_partition(struct sort_job *job, struct item_range range, struct sort_worker worker,
                        const size_t **starts)
{
    const bool is_first = worker_number(worker) == 0;
    const struct partition_workspace *first = workspace_of(job, worker, 0);
    if (sample_misled(range))
        find_own_extremes(job, range, worker);
    worker_barrier(worker);
    if (is_first)
        learn_model(job, range, worker);
    worker_barrier(worker);
    const struct scatter_part part = own_part(range, worker, &first->model);
    scatter_count(job->width, &part);
    worker_barrier(worker);
    size_t *const begins = worker.member ? first->team_starts : first->own_starts;
    if (is_first)
        sum_counts(job, range, worker, begins);
    worker_barrier(worker);
    const size_t buckets = first->model.buckets;
    BY_WIDTH_FROM_4(job->width, scatter_items, &part);
    worker_barrier(worker);
    *starts = begins;
    return buckets;
}
