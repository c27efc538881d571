/* SPDX-License-Identifier: Apache-2.0 */
/* run_list.c - see run_list.h. */
#include "job/run_list.h"

#include <stdlib.h>
#include <string.h>

struct item_run *run_list_add(struct run_list *list, const struct item_run *run,
                              struct error *error)
{
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        struct item_run *const runs = realloc(list->runs, room * sizeof *runs);
        if (!runs) {
            error_set(error, "out of memory: no room for %zu runs", room);
            return NULL;
        }
        list->runs = runs;
        list->room = room;
    }
    list->runs[list->count] = *run;
    return &list->runs[list->count++];
}

void run_list_replace(struct run_list *list, size_t first, size_t count,
                      const struct item_run *merged)
{
    struct item_run *const runs = list->runs + first;
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].items)
            spill_drop(&runs[i].spilled);
        free(runs[i].items);
    }
    list->count -= count - 1;
    runs[0] = *merged;
    memmove(runs + 1, runs + count, (list->count - first - 1) * sizeof *runs);
}

bool run_list_reduce(struct job_state *state, struct run_list *list, size_t most, size_t fan_in,
                     bool (*merge)(void *context, size_t first, size_t count, struct error *error),
                     void *context, struct error *error)
{
    if (list->count <= most)
        return true;
    const uint64_t start = job_stage_begin(STAGE_SPILL);
    sink_release_room(state->sink);
    for (size_t first = 0; list->count > most; first++) {
        if (first + 1 >= list->count)
            first = 0;
        const size_t excess = list->count - most + 1, left = list->count - first;
        size_t count = excess < fan_in ? excess : fan_in;
        count = count < left ? count : left;
        if (!merge(context, first, count, error))
            return false;
    }
    job_stage_add(state, STAGE_SPILL, start);
    return true;
}
