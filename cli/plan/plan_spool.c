/* SPDX-License-Identifier: Apache-2.0 */
/* plan_spool.c - inputs of a job that ranks share, which cannot be read from any position: pipes,
 * standard input and compressed data.
 *
 *   rank 0: input -> decoded -> a file in the directory of -T -> its own part, and messages
 *   others: the first bytes, for the plan; then their part -> a file in the directory of -T
 *
 * A rank with inputs of its own decodes such an input into a file as well, and keeps it.
 */
#include "cli/plan/plan.h"

#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/io/input_file.h"
#include "formats/io/spill.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes that are copied or sent at a time. */
#define PIECE_BYTES ((size_t)4 << 20)

enum { SPOOL_BYTES, SPOOL_CODEC }; /* of plan_spool.facts */

static void free_spool(struct plan_spool *spool)
{
    spill_free(spool->spill);
    source_close(spool->original);
    free(spool->head);
    *spool = (struct plan_spool){0};
}

void plan_free_spools(struct plan *plan)
{
    for (size_t i = 0; plan->spools && i < plan->job.reader_count; i++)
        free_spool(&plan->spools[i]);
    free(plan->spools);
}

bool plan_is_spooled(const struct plan *plan, size_t i)
{
    return plan->spools[i].spill;
}

/* Begins the run of the spool, in one file, which is opened as a source later. */
static bool begin_run(struct options *options, struct plan *plan, struct plan_spool *spool,
                      struct error *error)
{
    struct memory_limits *const memory = &plan->job.memory;
    if (!plan_choose_directories(options, memory, error))
        return false;
    spool->spill = spill_create(memory->directories, 1);
    return (spool->spill || error_set(error, "out of memory")) &&
           spill_begin(spool->spill, &spool->run, error);
}

/* Decodes the input into the run, and opens that in its place. */
static bool store_input(struct options *options, struct plan *plan, struct plan_spool *spool,
                        struct source **source, struct error *error)
{
    unsigned char *const piece = malloc(PIECE_BYTES);
    size_t got = PIECE_BYTES;
    bool ok =
        (piece || error_set(error, "out of memory")) && begin_run(options, plan, spool, error);
    spool->original = *source;
    *source = NULL;
    (void)trace_stage(stage_names[STAGE_READ]);
    while (ok && got == PIECE_BYTES)
        ok = source_read(spool->original, piece, PIECE_BYTES, &got, error) &&
             spill_append(&spool->run, piece, got, error);
    free(piece);
    ok = ok && spill_end(&spool->run, error) &&
         source_open_file(spool->run.file, source_name(spool->original), &codecs[0],
                          plan->job.sort.threads, source, error);
    spool->facts[SPOOL_BYTES] = spool->run.bytes;
    spool->facts[SPOOL_CODEC] = (uint64_t)(source_codec(spool->original) - codecs);
    return ok;
}

/* Reads for the plan of other ranks than 0. It needs no bytes after the head, which are zeros here.
 */
static bool read_head(void *context, uint64_t first, void *data, size_t bytes, struct error *error)
{
    const struct plan_spool *const spool = context;
    const size_t left = first < spool->head_bytes ? spool->head_bytes - (size_t)first : 0;
    const size_t some = left < bytes ? left : bytes;
    (void)error;
    memcpy(data, spool->head + first * (some > 0), some);
    memset((unsigned char *)data + some, 0, bytes - some);
    return true;
}

/* Returns the name of an input for messages. */
static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Collective: gives the first bytes to the other ranks. */
static bool share_head(struct plan *plan, const char *path, struct plan_spool *spool,
                       struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    if (!group_broadcast(group, spool->facts, sizeof spool->facts, error))
        return false;
    const uint64_t bytes = spool->facts[SPOOL_BYTES];
    spool->head_bytes = bytes < PLAN_SPOOL_HEAD_BYTES ? (size_t)bytes : PLAN_SPOOL_HEAD_BYTES;
    spool->head = malloc(spool->head_bytes + 1);
    bool ok = spool->head || error_set(error, "out of memory");
    if (ok && group->rank == 0)
        ok = spill_read(&spool->run, 0, spool->head, spool->head_bytes, error);
    if (!group_agree(group, ok, error) ||
        !group_broadcast(group, spool->head, spool->head_bytes, error))
        return false;
    const struct input_stream stream = {read_head, spool, bytes};
    if (group->rank > 0 && !source_open_stream(&stream, name_of(path), source, error))
        return false;
    source_note_codec(*source, &codecs[spool->facts[SPOOL_CODEC]]);
    return true;
}

/* Collective: opens an input that only rank 0 reads. */
static bool open_spooled(struct options *options, const char *path, struct plan *plan,
                         struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    struct plan_spool *const spool = &plan->spools[plan->job.reader_count];
    const bool is_stored = group->rank == 0 ? store_input(options, plan, spool, source, error)
                                            : begin_run(options, plan, spool, error);
    return group_agree(group, is_stored, error) && share_head(plan, path, spool, source, error);
}

/* Opens an input of this rank. */
static bool open_own(struct options *options, const struct source_spec *spec, struct plan *plan,
                     struct source **source, struct error *error)
{
    struct plan_spool *const spool = &plan->spools[plan->job.reader_count];
    if (!source_open_as(spec, source, error))
        return false;
    if (source_can_narrow(*source) || source_bytes_left(*source) == 0)
        return true;
    if (!store_input(options, plan, spool, source, error))
        return false;
    source_note_codec(*source, &codecs[spool->facts[SPOOL_CODEC]]);
    return true;
}

/* True for a regular file without content. A pipe that has ended must not be opened again. */
static bool is_empty_file(const struct source_spec *spec, const struct source *source)
{
    struct stat status;
    return source_bytes_left(source) == 0 && stat(spec->path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* Collective: opens an input that all ranks share. */
static bool open_shared(struct options *options, const struct source_spec *spec, struct plan *plan,
                        struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    bool ok = true, is_plain = true;
    if (group->rank == 0) {
        ok = source_open_as(spec, source, error);
        const bool is_named = strcmp(spec->path, "-") != 0; /* standard input is rank 0's */
        is_plain = ok && is_named && (source_can_narrow(*source) || is_empty_file(spec, *source));
    }
    if (!group_agree(group, ok, error) ||
        !group_broadcast(group, &is_plain, sizeof is_plain, error))
        return false;
    if (!is_plain)
        return open_spooled(options, spec->path, plan, source, error);
    return group->rank == 0 || source_open_as(spec, source, error);
}

bool plan_open_input(struct options *options, const struct source_spec *spec, struct plan *plan,
                     struct error *error)
{
    struct job *const job = &plan->job;
    struct source *source = NULL;
    if (job->group)
        free_spool(&plan->spools[job->reader_count]); /* of an input that was left out */
    const bool ok = !job->group            ? source_open_as(spec, &source, error)
                    : job->has_rank_inputs ? open_own(options, spec, plan, &source, error)
                                           : open_shared(options, spec, plan, &source, error);
    job->readers[job->reader_count].source = source;
    if (!ok)
        source_close(source);
    return ok;
}

/* ---- Parts ---- */

/* A part of the bytes of a spooled input. */
struct part {
    uint64_t begin, end;
};

/* Rank 0 sends a part; all of it, even after a failure, as the other rank waits for it. */
static bool send_part(struct plan *plan, const struct plan_spool *spool, struct part part,
                      unsigned rank, unsigned char *piece, struct error *error)
{
    struct group *const group = plan->job.group;
    bool ok = true;
    for (uint64_t at = part.begin; at < part.end;) {
        const uint64_t left = part.end - at;
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        ok = ok && spill_read(&spool->run, at, piece, bytes, error);
        if (!group_send(group, piece, bytes, rank, error))
            return false;
        at += bytes;
    }
    return ok;
}

static bool receive_part(struct plan *plan, struct plan_spool *spool, struct part part,
                         unsigned char *piece, struct error *error)
{
    bool ok = true;
    for (uint64_t left = part.end - part.begin; left > 0;) {
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (!group_receive(plan->job.group, piece, bytes, 0, error))
            return false;
        ok = ok && spill_append(&spool->run, piece, bytes, error);
        left -= bytes;
    }
    return ok;
}

/* Reads the part from now on. */
static bool replace_source(struct plan *plan, size_t i, struct plan_spool *spool,
                           struct error *error)
{
    struct source **const source = &plan->job.readers[i].source;
    struct source *part;
    if (!spill_end(&spool->run, error) ||
        !source_open_file(spool->run.file, source_name(*source), &codecs[0], plan->job.sort.threads,
                          &part, error))
        return false;
    source_close(*source);
    *source = part;
    return true;
}

static bool move_parts(struct plan *plan, size_t i, const struct part *parts, unsigned char *piece,
                       struct error *error)
{
    struct group *const group = plan->job.group;
    struct plan_spool *const spool = &plan->spools[i];
    bool ok = true;
    if (!group_reserve(group, 1, error))
        return false;
    if (group->rank > 0)
        return receive_part(plan, spool, parts[group->rank], piece, error) &&
               replace_source(plan, i, spool, error);
    for (unsigned rank = 1; !group->is_broken && rank < group->size; rank++)
        ok = send_part(plan, spool, parts[rank], rank, piece, error) && ok;
    return ok;
}

/* Collective: distributes the parts of a spooled input. */
static bool distribute(struct plan *plan, size_t i, struct part own, struct error *error)
{
    struct group *const group = plan->job.group;
    struct part *const parts = calloc(group->size, sizeof *parts);
    unsigned char *const piece = malloc(PIECE_BYTES);
    bool ok = group_agree(group, (parts && piece) || error_set(error, "out of memory"), error);
    if (ok) {
        parts[group->rank] = own;
        ok = group_sum(group, &parts->begin, group->size * (sizeof *parts / sizeof(uint64_t)),
                       error);
    }
    if (ok)
        ok = group_agree(group, move_parts(plan, i, parts, piece, error), error);
    free(parts);
    free(piece);
    return ok;
}

bool plan_take_part(struct plan *plan, size_t i, uint64_t place, uint64_t bytes,
                    struct error *error)
{
    struct source *const source = plan->job.readers[i].source;
    const uint64_t left = source_bytes_left(source);
    if (plan_is_spooled(plan, i)) {
        const uint64_t begin = plan->spools[i].facts[SPOOL_BYTES] - left + place;
        if (!distribute(plan, i, (struct part){begin, begin + bytes}, error))
            return false;
        if (plan->job.group->rank > 0)
            return true;
    }
    return left == 0 || source_narrow(source, place, bytes, error);
}
