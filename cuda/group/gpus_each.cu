/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_each.cu - the same work for each GPU, with a host thread for each; see gpus.h. */
#include "cuda/group/gpus.h"

#include <pthread.h>
#include <stdlib.h>

namespace
{

struct call {
    bool (*run)(void *context, size_t i, struct error *error);
    void *context;
    size_t i;
    pthread_t thread;
    bool is_started;
    struct error error;
};

void *call_main(void *opaque)
{
    struct call *const call = static_cast<struct call *>(opaque);
    call->run(call->context, call->i, &call->error);
    return NULL;
}

} // namespace

bool gpus_each(size_t count, bool (*run)(void *context, size_t i, struct error *error),
               void *context, struct error *error)
{
    struct call *const calls = static_cast<struct call *>(calloc(count + 1, sizeof *calls));
    if (!calls)
        return error_set(error, "out of memory: the threads of %zu GPUs", count);
    for (size_t i = 0; i < count; i++) {
        calls[i].run = run;
        calls[i].context = context;
        calls[i].i = i;
        calls[i].is_started =
            i > 0 && pthread_create(&calls[i].thread, NULL, call_main, &calls[i]) == 0;
    }
    for (size_t i = 0; i < count; i++)
        if (!calls[i].is_started)
            call_main(&calls[i]);
    bool is_done = true;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].is_started)
            pthread_join(calls[i].thread, NULL);
        error_merge(error, &calls[i].error);
        is_done = is_done && !calls[i].error.is_set;
    }
    free(calls);
    return is_done;
}
