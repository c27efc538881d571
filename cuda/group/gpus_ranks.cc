/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_ranks.cc - the GPUs of several MPI ranks of one host sort together, one of each rank.
 *
 *   share: each GPU sorts its rank's part -> each rank opens the parts of all others in the memory
 *     of their GPUs (CUDA's interprocess memory) -> the steps of gpus_exchange.cu, with all ranks
 *     waiting for each other between them -> each GPU has its rank's range
 *
 * So the sorted items of other ranks do not go through the memory of the host.
 */
#include "core/clock.h"
#include "core/group.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_engine.h"
#include "cuda/group/gpus.h"

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

namespace
{

/* The first and the last of the sorted items of a part; other bytes are 0. */
struct part_ends {
    struct key_index items[2];
};

/* The description of a rank's sorted part, which all ranks receive as 64-bit words. On some hosts
 * copies between GPUs deliver nothing, or zeros. So each rank reads the ends from the part, and
 * compares them with `ends`. If both are 0, all items are, and zeros are the right copy. */
struct part_offer {
    uint64_t is_able; /* the rank can exchange */
    uint64_t count;   /* items */
    struct part_ends ends;
    cudaIpcMemHandle_t handle;
};
constexpr size_t OFFER_WORDS = sizeof(struct part_offer) / sizeof(uint64_t);
static_assert(sizeof(struct part_offer) % sizeof(uint64_t) == 0, "words");

/* An exchange with other ranks. */
struct rank_exchange {
    struct shared_sort *shared;
    struct cuda_worker *worker;
    struct cuda_sort sort; /* the memory of this rank */
    struct exchange steps;
};

uint64_t range_of(const struct shared_sort *shared, unsigned rank)
{
    return shared->targets[rank + 1] - shared->targets[rank];
}

bool read_ends(const struct cuda_sort &sort, struct part_ends *ends)
{
    struct error ignored = {};
    const unsigned char *const items = static_cast<const unsigned char *>(sort.items);
    const size_t bytes = sort.item_bytes;
    *ends = {};
    return cuda_copy(sort, &ends->items[0], items, bytes, &ignored) &&
           cuda_fetch(sort, &ends->items[1], items + (sort.count - 1) * bytes, bytes, &ignored);
}

/* Fills what this rank offers. It is not able to exchange if it has no items, if its memory cannot
 * be shared, or if that has no room for its range. */
void make_offer(const struct engine *engine, const struct rank_exchange *ranks,
                struct part_offer *offer)
{
    *offer = {};
    offer->count = ranks->sort.count;
    if (ranks->sort.count == 0 ||
        range_of(ranks->shared, ranks->shared->group->rank) > cuda_engine_room(engine))
        return;
    offer->is_able = cudaIpcGetMemHandle(&offer->handle, ranks->sort.items) == cudaSuccess &&
                     read_ends(ranks->sort, &offer->ends);
    (void)cudaGetLastError();
}

/* Opens the parts of all other ranks. Returns true if this rank can read them all. The caller
 * closes them, also after a failure. */
bool open_parts(struct rank_exchange *ranks, const struct part_offer *offers)
{
    const unsigned own = ranks->shared->group->rank;
    bool is_able = true;
    for (unsigned rank = 0; rank < ranks->steps.count; rank++) {
        struct gpu_part *const part = &ranks->steps.parts[rank];
        *part = {ranks->worker, ranks->sort, range_of(ranks->shared, rank)};
        if (rank == own)
            continue;
        part->sort.items = part->sort.scratch = NULL;
        part->sort.count = offers[rank].count;
        struct part_ends ends;
        is_able = is_able && offers[rank].is_able &&
                  cudaIpcOpenMemHandle(&part->sort.items, offers[rank].handle,
                                       cudaIpcMemLazyEnablePeerAccess) == cudaSuccess &&
                  read_ends(part->sort, &ends) &&
                  memcmp(&ends, &offers[rank].ends, sizeof ends) == 0;
    }
    (void)cudaGetLastError();
    return is_able;
}

/* Closes the memory of other ranks. */
void close_parts(struct rank_exchange *ranks)
{
    const unsigned own = ranks->shared->group->rank;
    for (unsigned rank = 0; rank < ranks->steps.count; rank++) {
        void **const items = &ranks->steps.parts[rank].sort.items;
        if (rank == own || !*items)
            continue;
        (void)cudaIpcCloseMemHandle(*items);
        *items = NULL;
    }
    (void)cudaGetLastError();
}

/* Copies this rank's range from the parts of all ranks, and closes the parts of others. */
bool copy_range(struct rank_exchange *ranks, struct error *error)
{
    struct shared_sort *const shared = ranks->shared;
    const size_t own = shared->group->rank, count = ranks->steps.count;
    const size_t *const begin = ranks->steps.cuts + own * count, *const end = begin + count;
    const size_t item_bytes = ranks->sort.item_bytes;
    const bool is_copied = exchange_copy(&ranks->steps, error);
    close_parts(ranks);
    if (is_copied) {
        const size_t kept = end[own] - begin[own];
        shared->sent_bytes = (ranks->sort.count - kept) * item_bytes;
        shared->received_bytes = (range_of(shared, shared->group->rank) - kept) * item_bytes;
    }
    return is_copied;
}

/* Makes this rank's range of the sorted parts of all ranks, each of which must be sorted and
 * readable by this rank. Collective. */
bool exchange_ranges(struct engine *engine, struct rank_exchange *ranks, struct error *error)
{
    struct group *const group = ranks->shared->group;
    struct gpu_part *const own = &ranks->steps.parts[group->rank];
    const uint64_t start_ns = clock_now_ns();
    if (!group_agree(group,
                     exchange_open(&ranks->steps, error) && exchange_encode(&ranks->steps, error),
                     error) ||
        !group_agree(group, copy_range(ranks, error), error) ||
        !group_agree(group, exchange_merge(&ranks->steps, error), error))
        return false;
    cuda_engine_set_items(engine, own->sort.items, own->sort.scratch, own->range,
                          clock_now_ns() - start_ns);
    return true;
}

/* Collective: as `share`, for parts that are sorted. */
bool share_parts(struct engine *engine, struct rank_exchange *ranks, bool *is_shared,
                 struct error *error)
{
    struct group *const group = ranks->shared->group;
    struct part_offer offer;
    uint64_t words[OFFER_WORDS];
    make_offer(engine, ranks, &offer);
    memcpy(words, &offer, sizeof words);
    uint64_t *const rows = group_gather(group, words, OFFER_WORDS, error);
    struct part_offer *const offers =
        static_cast<struct part_offer *>(calloc(group->size, sizeof(struct part_offer)));
    ranks->steps.parts =
        static_cast<struct gpu_part *>(calloc(group->size, sizeof(struct gpu_part)));
    if (rows && offers)
        memcpy(offers, rows, group->size * sizeof(struct part_offer));
    uint64_t refusals = !rows || !offers || !ranks->steps.parts || !open_parts(ranks, offers);
    bool ok = rows && group_sum(group, &refusals, 1, error);
    *is_shared = ok && refusals == 0;
    if (*is_shared)
        ok = exchange_ranges(engine, ranks, error);
    if (ranks->steps.parts)
        close_parts(ranks);
    uint64_t none = 0; /* a barrier: no rank may free memory that another one has open */
    ok = rows && group_sum(group, &none, 1, error) && ok;
    exchange_close(&ranks->steps);
    free(ranks->steps.parts);
    free(offers);
    free(rows);
    return ok;
}

bool gpu_share(struct engine *engine, struct shared_sort *shared, bool *is_shared,
               struct error *error)
{
    struct rank_exchange ranks = {};
    *is_shared = false;
    if (!group_agree(shared->group, cuda_keys.sort(engine, error), error))
        return false;
    ranks.shared = shared;
    ranks.sort = cuda_engine_memory(engine, &ranks.worker);
    ranks.steps.count = shared->group->size;
    ranks.steps.first = shared->group->rank;
    ranks.steps.end = ranks.steps.first + 1;
    return share_parts(engine, &ranks, is_shared, error);
}

} // namespace

const struct engine_functions gpu_keys = [] {
    struct engine_functions functions = cuda_keys;
    functions.share = gpu_share;
    return functions;
}();
