/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the engine for items of several GPUs of one host, and the steps of its sort. The GPUs of
 * several MPI ranks take the same steps (gpus_ranks.cc).
 *
 *   sorted parts -> exact cuts -> each GPU copies its range of all parts to its scratch
 *   -> and merges these runs into its items
 */
#ifndef CUDA_GROUP_GPUS_H
#define CUDA_GROUP_GPUS_H

#include "core/backend.h"
#include "cuda/engine/cuda_worker.h"

#include <pthread.h>

/* core/backend.h has the contract. gpu_keys is cuda_keys, the engine of one GPU, with a `share`
 * that sorts together with the GPUs of other ranks. */
extern const struct engine_functions gpus_keys;
extern const struct engine_functions gpu_keys;

/* ---- the same work for each GPU, with a host thread for each ---- */

template <typename Run>
struct gpus_call {
    const Run *run;
    size_t i;
    pthread_t thread;
    bool is_started;
    struct error error;
};

template <typename Run>
static void *gpus_call_main(void *opaque)
{
    auto *const own = static_cast<struct gpus_call<Run> *>(opaque);
    (*own->run)(own->i, &own->error);
    return NULL;
}

/* Calls run(i, error) for each i below `count`, at most BACKEND_DEVICES_MOST, all at the same time,
 * and waits for all. `run` fails by setting the error. The caller's thread does the first. A GPU
 * for which no thread can be started is served by the caller. Of several errors, *error becomes
 * that of the lowest GPU. */
template <typename Run>
static bool gpus_each(size_t count, struct error *error, const Run &run)
{
    struct gpus_call<Run> calls[BACKEND_DEVICES_MOST] = {
    };
    for (size_t i = 0; i < count; i++) {
        calls[i].run = &run;
        calls[i].i = i;
        calls[i].is_started =
            i > 0 && pthread_create(&calls[i].thread, NULL, gpus_call_main<Run>, &calls[i]) == 0;
        if (calls[i].is_started)
            (void)pthread_setname_np(calls[i].thread, "GPU");
    }
    for (size_t i = 0; i < count; i++)
        if (!calls[i].is_started)
            gpus_call_main<Run>(&calls[i]);
    bool is_done = true;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].is_started)
            pthread_join(calls[i].thread, NULL);
        error_merge(error, &calls[i].error);
        is_done = is_done && !calls[i].error.is_set;
    }
    return is_done;
}

/* ---- the exchange ---- */

/* The part of the items that one of several GPUs has. */
struct gpu_part {
    struct cuda_worker *worker; /* of the sort's device and stream */
    struct cuda_sort sort;      /* its memory; all parts have the same item_bytes and order. The
                                   part of another rank has the device and stream of this rank,
                                   whose GPU reads the items there, and no scratch */
    size_t range;               /* items of its range of the output */
};

/* An exchange between parts that are sorted, as stored bits. Afterwards the items of part i are
 * range i of all items, in order: parts[i].range items, after the ranges before it. All items after
 * the last range are dropped. Each of the two arrays of part i has room for its range and for its
 * items, and its workspace has the merge_workspace_bytes for its range. The parts' items and
 * scratch may be swapped. */
struct exchange {
    struct gpu_part *parts;
    size_t count;
    size_t first, end; /* the parts of this process */
    size_t *cuts;   /* row i, of `count`: where range i begins in each part; the last: the ends */
    size_t *bounds; /* row i: where the runs of range i begin in its scratch, and the end */
};

/* ---- gpus_cuts.cu ---- */

/* Cuts the sorted parts, which are ordered bits, at the end of each range: sets positions[c * count
 * + i] to the number of items of part i before the end of range c. All ranges together have at
 * most as many items as the parts. The positions are exact for every distribution. Equal items are
 * in the order of the GPUs. Waits for the GPUs. */
bool gpus_cuts_find(const struct gpu_part *parts, size_t count, size_t *positions,
                    struct error *error);

/* ---- gpus_exchange.cu ---- */

/* Lets the GPUs reach each other's memory. CUDA refuses this for two GPUs that cannot, whose copies
 * then go through the host, and for two that do already. Neither is an error. */
bool gpus_connect(const struct device_room *devices, size_t count, struct error *error);

/* Allocates the tables of the exchange, whose other members are set. The caller closes it, also
 * after a failure. */
bool exchange_open(struct exchange *exchange, struct error *error);
void exchange_close(struct exchange *exchange);

/* The steps, in this order, each for the parts of this process. They wait for their work, also
 * after a failure. Another process may begin a step only when all have done the step before. */
bool exchange_encode(const struct exchange *exchange, struct error *error); /* to ordered bits */
bool exchange_copy(const struct exchange *exchange, struct error *error);   /* to scratch */
bool exchange_merge(const struct exchange *exchange, struct error *error);  /* to items */

/* The whole exchange between parts of this process. Adds the time to *busy_ns. */
bool gpus_exchange(struct gpu_part *parts, size_t count, uint64_t *busy_ns, struct error *error);

#endif
