/* SPDX-License-Identifier: Apache-2.0 */
/* stream_share.c - see cpu_sorts.h: keys of the ranks of one host that are sorted together.
 *
 *   each rank: keys -> blocks of buckets, by one model for all ranks (stream_sort.c)
 *     -> sizes of the buckets, added up over the ranks -> the buckets of each rank's range
 *     -> bucket: own blocks, and blocks read from the memory of other ranks -> sorted, given
 *
 * So a key is sorted by the rank that writes it, and no rank stores its whole range sorted. If the
 * ranges of several ranks share a bucket, each of these ranks sorts the whole bucket.
 */
#include "cpu/stream/stream_sort.h"

#include <stdlib.h>

/* A row of facts about a rank. ROW_MODEL is a hash of its model, or 0 if it has no stream, or no
 * memory for a copy of the ends. */
enum {
    ROW_MODEL,
    ROW_PARTS,
    ROW_BLOCK_BYTES,
    ROW_BLOCKS,
    ROW_DATA,
    ROW_PREVIOUS,
    ROW_ENDS,
    ROW_WORDS
};

static uint64_t hash_next(uint64_t hash, uint64_t fact)
{
    hash = (hash ^ fact) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_model(const struct stream_sort *stream)
{
    const struct bucket_model *const model = &stream->model;
    const uint64_t facts[] = {model->lowest, model->highest, model->cell_shift, model->buckets,
                              stream->plan.room_bytes};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        hash = hash_next(hash, facts[i]);
    for (size_t i = 0; i < sizeof model->cells / sizeof *model->cells; i++)
        hash = hash_next(hash, model->cells[i].base ^ (uint64_t)model->cells[i].shift << 32);
    return hash | 1;
}

/* Returns the ends of the chains of all parts, which the caller frees; NULL if there is no memory.
 */
static uint64_t *copy_ends(const struct stream_sort *stream)
{
    const size_t buckets = stream->model.buckets;
    uint64_t *const ends = malloc(stream->task.threads * buckets * sizeof *ends);
    for (unsigned i = 0; ends && i < stream->task.threads; i++)
        for (size_t bucket = 0; bucket < buckets; bucket++)
            ends[i * buckets + bucket] = stream->parts[i].chains.ends[bucket];
    return ends;
}

/* Returns true if all ranks have the same model. */
static bool have_one_model(const uint64_t *rows, unsigned ranks)
{
    for (unsigned rank = 0; rank < ranks; rank++)
        if (rows[rank * ROW_WORDS + ROW_MODEL] != rows[ROW_MODEL])
            return false;
    return rows[ROW_MODEL] != 0;
}

/* Collective: returns the number of keys of all ranks in each bucket, in an array that the caller
 * frees; NULL if that fails. */
static uint64_t *count_keys(const struct stream_sort *stream, struct group *group,
                            struct error *error)
{
    uint64_t *const counts = calloc(stream->model.buckets, sizeof *counts);
    bool ok = group_agree(group, counts || error_set(error, "out of memory"), error);
    for (size_t bucket = 0; ok && bucket < stream->model.buckets; bucket++)
        counts[bucket] = stream_bucket_count(stream, bucket);
    if (ok && group_sum(group, counts, stream->model.buckets, error))
        return counts;
    free(counts);
    return NULL;
}

/* Returns true if few keys are in large buckets. A rank sorts the large buckets of its range in
 * arrays: these hold at most half of a rank's average number of keys. */
static bool are_even(const struct stream_sort *stream, const uint64_t *counts, unsigned ranks)
{
    uint64_t all = 0, large = 0, largest = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        all += counts[bucket];
        if (counts[bucket] <= stream_room_count(stream))
            continue;
        large += counts[bucket];
        largest = counts[bucket] > largest ? counts[bucket] : largest;
    }
    return large + largest <= all / ranks / 2;
}

/* Returns true if the rank's range has any of the sorted keys [begin, end). */
static bool has_any(const struct shared_sort *shared, unsigned rank, uint64_t begin, uint64_t end)
{
    const uint64_t first = shared->targets[rank], last = shared->targets[rank + 1];
    return (first > begin ? first : begin) < (last < end ? last : end);
}

/* Sets the sizes of the buckets in this rank's range, and the bytes to skip in the first one.
 * Counts the bytes that other ranks read and that this rank reads. */
static void take_range(struct stream_sort *stream, struct shared_sort *shared,
                       const uint64_t *counts)
{
    const unsigned own = shared->group->rank;
    const size_t width = stream->task.item_bytes;
    for (uint64_t bucket = 0, begin = 0, end; bucket < stream->model.buckets;
         bucket++, begin = end) {
        const size_t own_bytes = stream_bucket_count(stream, bucket) * width;
        end = begin + counts[bucket];
        stream->sizes[bucket] = 0;
        for (unsigned rank = 0; rank < shared->group->size; rank++)
            if (rank != own && has_any(shared, rank, begin, end))
                shared->sent_bytes += own_bytes;
        if (!has_any(shared, own, begin, end))
            continue;
        stream->sizes[bucket] = (size_t)counts[bucket] * width;
        shared->received_bytes += stream->sizes[bucket] - own_bytes;
        if (begin < shared->targets[own])
            stream->skipped = (size_t)(shared->targets[own] - begin) * width;
    }
}

/* Copies the tables of a rank's chains. stream_free_peers() frees them, also after a failure. */
static bool open_peer(struct stream_sort *stream, unsigned rank, const uint64_t *row,
                      struct error *error)
{
    struct peer *const peer = &stream->peers[stream->peer_count++];
    const size_t ends_bytes = row[ROW_PARTS] * stream->model.buckets * sizeof *peer->ends;
    const size_t blocks_bytes = row[ROW_BLOCKS] * sizeof *peer->previous;
    *peer = (struct peer){
        .rank = rank,
        .parts = (unsigned)row[ROW_PARTS],
        .block_bytes = row[ROW_BLOCK_BYTES],
        .data = row[ROW_DATA],
        .previous = malloc(blocks_bytes),
        .ends = malloc(ends_bytes),
    };
    return ((peer->previous && peer->ends) || error_set(error, "out of memory")) &&
           rank_memory_read(stream->rank_memory, rank, row[ROW_PREVIOUS], peer->previous,
                            blocks_bytes, error) &&
           rank_memory_read(stream->rank_memory, rank, row[ROW_ENDS], peer->ends, ends_bytes,
                            error);
}

static bool open_peers(struct stream_sort *stream, const struct group *group, const uint64_t *rows,
                       struct error *error)
{
    bool ok = true;
    stream->peers = calloc(group->size, sizeof *stream->peers);
    if (!stream->peers)
        return error_set(error, "out of memory");
    for (unsigned rank = 0; ok && rank < group->size; rank++)
        ok = rank == group->rank || open_peer(stream, rank, rows + rank * ROW_WORDS, error);
    return ok;
}

/* Collective: as stream_sort_share(), with the rows of all ranks. */
static bool share(struct stream_sort *stream, struct shared_sort *shared,
                  const struct rank_memory *memory, const uint64_t *rows, bool *is_shared,
                  struct error *error)
{
    struct group *const group = shared->group;
    if (!have_one_model(rows, group->size))
        return true;
    uint64_t *const counts = count_keys(stream, group, error);
    bool ok = counts;
    *is_shared = ok && are_even(stream, counts, group->size);
    if (*is_shared) {
        stream->rank_memory = memory;
        take_range(stream, shared, counts);
        ok = group_agree(group, open_peers(stream, group, rows, error), error);
    }
    free(counts);
    return ok;
}

bool stream_sort_share(struct stream_sort *stream, struct shared_sort *shared,
                       const struct rank_memory *memory, bool *is_shared, struct error *error)
{
    uint64_t row[ROW_WORDS] = {0}, *ends = NULL;
    *is_shared = false;
    if (stream) {
        stream_end_input(stream);
        ends = copy_ends(stream);
    }
    if (ends) {
        row[ROW_MODEL] = hash_model(stream);
        row[ROW_PARTS] = stream->task.threads;
        row[ROW_BLOCK_BYTES] = stream->pool.block_bytes;
        row[ROW_BLOCKS] = stream->pool.used;
        row[ROW_DATA] = (uintptr_t)stream->pool.data;
        row[ROW_PREVIOUS] = (uintptr_t)stream->pool.previous;
        row[ROW_ENDS] = (uintptr_t)ends;
    }
    uint64_t *const rows = group_gather(shared->group, row, ROW_WORDS, error);
    const bool ok = rows && share(stream, shared, memory, rows, is_shared, error);
    free(rows);
    free(ends);
    return ok;
}

/* Pieces of a rank's memory, which are copied together. */
struct pieces {
    struct iovec list[RANK_MEMORY_PIECES_MAX];
    size_t count, bytes;
};

/* Copies the pieces to *to, which is moved to their end. */
static bool copy_pieces(const struct stream_sort *stream, const struct peer *peer,
                        struct pieces *pieces, unsigned char **to, struct error *error)
{
    if (pieces->count > 0 && !rank_memory_gather(stream->rank_memory, peer->rank, pieces->list,
                                                 pieces->count, *to, pieces->bytes, error))
        return false;
    *to += pieces->bytes;
    pieces->count = pieces->bytes = 0;
    return true;
}

/* Adds the blocks of the chain that ends at `end` to the pieces, the last one first. Copies the
 * pieces only when their list is full. */
static bool gather_chain(const struct stream_sort *stream, const struct peer *peer, uint64_t end,
                         struct pieces *pieces, unsigned char **to, struct error *error)
{
    size_t block = end > 0 ? (size_t)(end - 1) / peer->block_bytes : 0;
    for (size_t bytes = (size_t)end - block * peer->block_bytes; block > 0;
         block = peer->previous[block], bytes = peer->block_bytes) {
        if (pieces->count == RANK_MEMORY_PIECES_MAX &&
            !copy_pieces(stream, peer, pieces, to, error))
            return false;
        void *const data = (void *)(uintptr_t)(peer->data + block * peer->block_bytes);
        pieces->list[pieces->count++] = (struct iovec){data, bytes};
        pieces->bytes += bytes;
    }
    return true;
}

unsigned char *stream_gather_peers(const struct stream_sort *stream, size_t bucket,
                                   unsigned char *to, struct error *error)
{
    struct pieces pieces = {.count = 0};
    for (size_t i = 0; i < stream->peer_count; i++) {
        const struct peer *const peer = &stream->peers[i];
        for (unsigned part = 0; part < peer->parts; part++)
            if (!gather_chain(stream, peer, peer->ends[part * stream->model.buckets + bucket],
                              &pieces, &to, error))
                return NULL;
        if (!copy_pieces(stream, peer, &pieces, &to, error))
            return NULL;
    }
    return to;
}

void stream_free_peers(struct stream_sort *stream)
{
    for (size_t i = 0; i < stream->peer_count; i++) {
        free(stream->peers[i].previous);
        free(stream->peers[i].ends);
    }
    free(stream->peers);
}
