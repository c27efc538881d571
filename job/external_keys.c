/* SPDX-License-Identifier: Apache-2.0 */
/* external_keys.c - sorts numbers, or items that carry their index, that do not fit in memory.
 *
 *   part -> engine -> a sorted run, in memory or on disk -> the next part -> ...
 *        -> external_merge.h -> format -> sink
 */
#include "job/external_runs.h"

struct external_keys {
    struct external_runs runs;
    struct layout layout; /* of the output */
};

static bool write_items(void *context, const void *items, size_t count, struct error *error)
{
    struct external_keys *const keys = context;
    const struct chunk chunk = {.items = (void *)items, .capacity = count, .count = count};
    return run_write_chunk(keys->runs.run, &keys->layout, &chunk, error);
}

static bool merge_all(struct external_keys *keys, struct error *error)
{
    struct external_runs *const external = &keys->runs;
    struct run *const run = external->run;
    const unsigned threads = run->job->sort.threads;
    if (external->counts)
        return run_begin_output(run, &keys->layout, error) &&
               key_counts_write(external->counts, run->job->sort.order, 0, keys->layout.count,
                                write_items, keys, error);
    const size_t fan_in = external_merge_fan_in(external_runs_memory_left(external), threads);
    if (!external_runs_reduce(external, fan_in, error) ||
        !run_begin_output(run, &keys->layout, error))
        return false;
    struct external_merge merge = external_runs_merge(external, 0, external->run_count);
    merge.write = write_items;
    merge.context = keys;
    return external_merge_run(&merge, error);
}

static bool merge_to_output(void *context, struct error *error)
{
    struct external_keys *const keys = context;
    return merge_all(keys, error) && proof_finish_keys(keys->runs.run, error);
}

bool external_keys_run(struct run *run, struct error *error)
{
    bool ok = false;
    struct external_keys keys = {0};
    TRY(external_runs_open(run, &keys.runs, error));
    TRY(external_runs_keep(&keys.runs, error));
    TRY(external_runs_keep_rest(&keys.runs, error));
    const uint64_t start = run_stage_begin(STAGE_WRITE);
    TRY(run_write_proved(run, merge_to_output, &keys, error));
    run_stage_add(run, STAGE_WRITE, start);
    ok = true;
done:
    external_runs_close(&keys.runs);
    return ok;
}
