/* SPDX-License-Identifier: Apache-2.0 */
/* engine_run.h - calls an engine of items as the pipeline does, for tests in C and in C++. */
#ifndef TESTS_ENGINE_RUN_H
#define TESTS_ENGINE_RUN_H

#include "core/backend.h"

#include <string.h>

struct engine_run {
    const struct engine_functions *functions;
    const struct sort_spec *spec;
    const unsigned char *items;
    size_t count;          /* of items */
    unsigned char *output; /* room for as many items */
    size_t given;          /* result: items in output */
};

/* Sends odd pieces, which are filled only in part. */
static inline bool engine_run_send(const struct engine_run *run, struct engine *engine,
                                   struct error *error)
{
    const size_t width = run->spec->item_bytes, third = run->count / 3 + 1;
    for (size_t sent = 0; sent < run->count;) {
        const size_t left = run->count - sent, want = left < third ? left : third;
        struct chunk chunk = {};
        if (!run->functions->lend(engine, want, &chunk, error))
            return false;
        if (chunk.capacity == 0 || chunk.capacity > want)
            return error_set(error, "lent %zu items for %zu wanted", chunk.capacity, want);
        chunk.count = (chunk.capacity + 1) / 2;
        memcpy(chunk.items, run->items + sent * width, chunk.count * width);
        sent += chunk.count;
        if (!run->functions->take(engine, chunk, error))
            return false;
    }
    return true;
}

/* Keeps two chunks at a time, which backend.h allows. */
static inline bool engine_run_receive(struct engine_run *run, struct engine *engine,
                                      struct error *error)
{
    const size_t width = run->spec->item_bytes;
    struct chunk chunk = {}, previous = {};
    do {
        previous = chunk;
        if (!run->functions->give(engine, &chunk, error))
            return false;
        if (previous.count > run->count - run->given)
            return error_set(error, "more than %zu items are given", run->count);
        if (previous.count > 0) {
            memcpy(run->output + run->given * width, previous.items, previous.count * width);
            run->given += previous.count;
            if (!run->functions->take_back(engine, previous, error))
                return false;
        }
    } while (chunk.count > 0);
    return true;
}

static inline bool engine_run_sort(struct engine_run *run, struct error *error)
{
    struct engine *engine = NULL;
    run->given = 0;
    const bool done = run->functions->open(run->spec, &engine, error) &&
                      engine_run_send(run, engine, error) && run->functions->sort(engine, error) &&
                      engine_run_receive(run, engine, error);
    run->functions->close(engine);
    return done;
}

#endif
