/* SPDX-License-Identifier: Apache-2.0 */
/* plan_spool.c - inputs of a job that ranks share, which cannot be read at arbitrary positions:
 * pipes, standard input and compressed data.
 *
 *   rank 0: input -> decoded -> a file in the directory of -T -> its own part, and messages
 *   others: the first bytes, for the plan; then their part -> a file in the directory of -T
 *
 * If the input is compressed in frames of known content, and holds numbers, rank 0 has only its
 * first bytes too. Then each rank decodes the frames that hold its part:
 *
 *   all: input, from a frame on -> decoded -> the part -> a file in the directory of -T
 *
 * A rank with inputs of its own decodes such an input into a file as well, and keeps it.
 */
#include "cli/plan/plan.h"

#include "core/check/check.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/descriptor.h"
#include "formats/io/input_file.h"
#include "formats/io/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum bytes of a message. */
#define PIECE_BYTES ((size_t)4 << 20)

enum { SPOOL_BYTES, SPOOL_CODEC, SPOOL_IS_DIVIDED }; /* of plan_spool.facts */

static void free_spool(struct plan_spool *spool)
{
    spill_free(spool->spill);
    source_close(spool->original);
    free(spool->head);
    *spool = (struct plan_spool){0};
}

void plan_free_spools(struct plan *plan)
{
    for (size_t i = 0; i < plan->spool_count; i++)
        free_spool(&plan->spools[i]);
    free(plan->spools);
}

bool plan_is_spooled(const struct plan *plan, size_t i)
{
    return plan->spools[i].spill;
}

/* Begins the run of the spool, in the first directory of -T that has room. */
static bool begin_run(const struct options *options, struct plan *plan, struct plan_spool *spool,
                      struct error *error)
{
    const struct memory_limits *const memory = &plan->job.memory;
    plan_choose_directories(options, plan);
    spool->spill = spill_create(memory->directories, memory->directory_count);
    return (spool->spill || error_set(error, "out of memory")) &&
           spill_begin(spool->spill, &spool->run, error);
}

static void keep_original(struct plan_spool *spool, struct source **source)
{
    spool->original = *source;
    for (size_t i = 0; i < codec_count; i++)
        if (codecs[i] == source_codec(*source))
            spool->facts[SPOOL_CODEC] = i;
    *source = NULL;
}

/* Ends the run, and opens a source on it. A file is read by several threads; a run that continues
 * in another directory is no single file. */
static bool open_run(const struct plan *plan, struct spill_run *run, const char *name,
                     struct source **source, struct error *error)
{
    if (!spill_end(run, error))
        return false;
    const struct input_stream stream = spill_stream(run);
    return run->before ? source_open_stream(&stream, name, source, error)
                       : source_open_file(run->file, name, codecs[0], plan->job.sort.threads,
                                          source, error);
}

/* Decodes the original into the run, and opens that. */
static bool decode_all(const struct plan *plan, struct plan_spool *spool, struct source **source,
                       struct error *error)
{
    (void)trace_stage(stage_names[STAGE_READ]);
    return source_store(spool->original, SIZE_UNKNOWN, &spool->run, &spool->facts[SPOOL_BYTES],
                        error) &&
           open_run(plan, &spool->run, source_name(spool->original), source, error);
}

static bool store_input(const struct plan *plan, struct plan_spool *spool, struct source **source,
                        struct error *error)
{
    keep_original(spool, source);
    return decode_all(plan, spool, source, error);
}

/* Finds the frames of a file that hold the bytes of its content at these positions. Returns false
 * if the codec cannot find them. */
static bool find_frames(const char *path, const struct codec *codec,
                        struct frame_position *positions, size_t count)
{
    struct stat status;
    uint64_t content = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool ok =
        file >= 0 && fstat(file, &status) == 0 &&
        codec->find_frames(file, 0, (uint64_t)status.st_size, positions, count, &content);
    if (file >= 0)
        close(file);
    return ok;
}

/* Returns true if no two parts of ranks begin in the same frame of the input. */
static bool can_divide(const struct group *group, const struct source_spec *spec,
                       struct source *source)
{
    const struct codec *const codec = source_codec(source);
    const uint64_t bytes = source_stop_and_get_left(source);
    if (strcmp(spec->path, "-") == 0 || bytes == SIZE_UNKNOWN || !codec->find_frames)
        return false;
    struct frame_position *const positions = calloc(group->size, sizeof *positions);
    for (unsigned rank = 0; positions && rank < group->size; rank++)
        positions[rank].position = group_begin(group, bytes, rank);
    bool can = positions && find_frames(spec->path, codec, positions, group->size);
    for (unsigned rank = 1; can && rank < group->size; rank++)
        can = positions[rank].offset > positions[rank - 1].offset;
    free(positions);
    return can;
}

/* Keeps the first bytes of an input of which each rank decodes a part. */
static bool keep_head(struct plan_spool *spool, struct source **source, struct error *error)
{
    const unsigned char *head;
    size_t bytes;
    spool->facts[SPOOL_BYTES] = source_stop_and_get_left(*source);
    spool->facts[SPOOL_IS_DIVIDED] = true;
    keep_original(spool, source);
    if (!source_peek(spool->original, PLAN_SPOOL_HEAD_BYTES, &head, &bytes, error))
        return false;
    spool->head = calloc(PLAN_SPOOL_HEAD_BYTES, 1);
    if (spool->head)
        memcpy(spool->head, head, bytes < PLAN_SPOOL_HEAD_BYTES ? bytes : PLAN_SPOOL_HEAD_BYTES);
    return spool->head || error_set(error, "out of memory");
}

/* Reads for the plan of ranks that have not stored the input. It needs no bytes after the head,
 * which are zeros here. */
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

/* Collective: gives the facts and the first bytes to the other ranks. Ranks that have not stored
 * the input open a source on its first bytes. */
static bool share_head(struct plan *plan, const char *path, struct plan_spool *spool,
                       struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    if (!group_broadcast(group, spool->facts, sizeof spool->facts, error))
        return false;
    const uint64_t bytes = spool->facts[SPOOL_BYTES];
    spool->head_bytes = bytes < PLAN_SPOOL_HEAD_BYTES ? (size_t)bytes : PLAN_SPOOL_HEAD_BYTES;
    const bool is_stored = group->rank == 0 && !spool->facts[SPOOL_IS_DIVIDED];
    if (!spool->head)
        spool->head = malloc(spool->head_bytes + 1);
    bool ok = spool->head || error_set(error, "out of memory");
    if (ok && is_stored)
        ok = spill_read(&spool->run, 0, spool->head, spool->head_bytes, error);
    if (!group_agree(group, ok, error) ||
        !group_broadcast(group, spool->head, spool->head_bytes, error))
        return false;
    const struct input_stream stream = {read_head, NULL, spool, bytes};
    if (!is_stored && !source_open_stream(&stream, source_path_name(path), source, error))
        return false;
    source_note_codec(*source, codecs[spool->facts[SPOOL_CODEC]]);
    return true;
}

/* Collective: opens an input that cannot be read at arbitrary positions. */
static bool open_spooled(const struct options *options, const struct source_spec *spec,
                         struct plan *plan, struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    struct plan_spool *const spool = &plan->spools[plan->job.reader_count];
    spool->spec = *spec;
    const bool is_divided = group->rank == 0 && can_divide(group, spec, *source);
    bool ok = begin_run(options, plan, spool, error);
    if (ok && group->rank == 0)
        ok = is_divided ? keep_head(spool, source, error) : store_input(plan, spool, source, error);
    return group_agree(group, ok, error) && share_head(plan, spec->path, spool, source, error);
}

/* Returns true if the path leads to the regular file with this status. */
static bool leads_to(const char *path, const struct stat *status)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) &&
           descriptor_same_file(&found, status);
}

/* Opens the file of an input. Records that the output will replace it, if the name of the output
 * leads to it before or after it is opened. */
static bool open_path(const struct options *options, const struct source_spec *spec,
                      struct plan *plan, struct source **source, struct error *error)
{
    struct sink_spec *const output = &plan->job.output;
    struct stat before;
    const bool is_found = options->output && stat(options->output, &before) == 0;
    if (options->output && !is_found && errno != ENOENT)
        return error_set_errno(error, "%s", options->output);
    if (!source_open_as(spec, source, error))
        return false;
    const struct stat *const input = source_status(*source);
    if (options->output && !output->replaces_input && S_ISREG(input->st_mode) &&
        ((is_found && descriptor_same_file(&before, input)) || leads_to(options->output, input))) {
        output->replaces_input = true;
        output->input = *input;
    }
    return true;
}

static bool open_own(const struct options *options, const struct source_spec *spec,
                     struct plan *plan, struct source **source, struct error *error)
{
    struct plan_spool *const spool = &plan->spools[plan->job.reader_count];
    if (!open_path(options, spec, plan, source, error))
        return false;
    if (source_can_narrow(*source) || source_stop_and_get_left(*source) == 0)
        return true;
    if (!begin_run(options, plan, spool, error) || !store_input(plan, spool, source, error))
        return false;
    source_note_codec(*source, codecs[spool->facts[SPOOL_CODEC]]);
    return true;
}

/* True for a regular file without content. A pipe that has ended must not be opened again. */
static bool is_empty_file(const struct source_spec *spec, struct source *source)
{
    struct stat status;
    return source_stop_and_get_left(source) == 0 && stat(spec->path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* Collective: opens an input that all ranks share. */
static bool open_shared(const struct options *options, const struct source_spec *spec,
                        struct plan *plan, struct source **source, struct error *error)
{
    struct group *const group = plan->job.group;
    bool ok = true, is_plain = true;
    if (group->rank == 0) {
        ok = open_path(options, spec, plan, source, error);
        const bool is_named = strcmp(spec->path, "-") != 0; /* standard input is rank 0's */
        is_plain = ok && is_named && (source_can_narrow(*source) || is_empty_file(spec, *source));
    }
    if (!group_agree(group, ok, error) ||
        !group_broadcast(group, &is_plain, sizeof is_plain, error))
        return false;
    if (!is_plain)
        return open_spooled(options, spec, plan, source, error);
    return group->rank == 0 || open_path(options, spec, plan, source, error);
}

bool plan_open_input(const struct options *options, const struct source_spec *spec,
                     struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    struct source *source = NULL;
    if (job->group)
        free_spool(&plan->spools[job->reader_count]); /* of an input that was left out */
    const bool ok = !job->group            ? open_path(options, spec, plan, &source, error)
                    : job->has_rank_inputs ? open_own(options, spec, plan, &source, error)
                                           : open_shared(options, spec, plan, &source, error);
    job->readers[job->reader_count].source = source;
    if (!ok)
        source_close(source);
    return ok;
}

/* ---- Parts ---- */

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

/* Replaces the source of reader i by one on the run, which has the part. */
static bool replace_source(struct plan *plan, size_t i, struct plan_spool *spool,
                           struct error *error)
{
    struct source **const source = &plan->job.readers[i].source;
    struct source *part;
    if (!open_run(plan, &spool->run, source_name(*source), &part, error))
        return false;
    source_note_codec(part, source_codec(*source));
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

/* Reads `bytes` bytes of the source, which must be there, into the run, if there is one. */
static bool copy_bytes(struct source *source, uint64_t bytes, struct spill_run *run,
                       struct error *error)
{
    uint64_t got;
    return source_store(source, bytes, run, &got, error) &&
           (got == bytes ||
            error_set(error, "%s: it was changed while it was read", source_name(source)));
}

/* Decodes the part of this rank, from a frame on. One more byte is read, so that the checksum of a
 * frame that ends with the part is verified. */
static bool decode_part(struct plan_spool *spool, struct part part,
                        const struct frame_position *frame, struct error *error)
{
    struct source_spec spec = spool->spec;
    struct source *source;
    uint64_t got;
    if (part.begin == part.end)
        return true;
    spec.codec = codecs[spool->facts[SPOOL_CODEC]];
    spec.offset = frame->offset;
    if (!source_open_as(&spec, &source, error))
        return false;
    (void)trace_stage(stage_names[STAGE_READ]);
    const bool ok = copy_bytes(source, part.begin - frame->before, NULL, error) &&
                    copy_bytes(source, part.end - part.begin, &spool->run, error) &&
                    source_store(source, 1, NULL, &got, error);
    source_close(source);
    return ok;
}

/* Returns a checksum of the size of the file and of some bytes from `offset` on; 0 if they cannot
 * be read. */
static uint64_t sum_place(const char *path, uint64_t offset)
{
    unsigned char data[4096];
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? pread(file, data, sizeof data, (off_t)offset) : -1;
    const bool ok = got > 0 && fstat(file, &status) == 0;
    if (file >= 0)
        close(file);
    return ok ? text_check_sum((uint64_t)status.st_size, data, (size_t)got).hash : 0;
}

/* Fills in the frames of all ranks, and checksums of their beginnings. If the frames cannot be
 * found, all ranks begin with the first one. */
static void find_parts(const struct plan *plan, const struct plan_spool *spool,
                       const struct part *parts, struct frame_position *frames, uint64_t *sums)
{
    const unsigned ranks = plan->job.group->size;
    const uint64_t last = spool->facts[SPOOL_BYTES] - 1;
    for (unsigned rank = 0; rank < ranks; rank++)
        frames[rank].position = parts[rank].begin < last ? parts[rank].begin : last;
    if (!find_frames(spool->spec.path, codecs[spool->facts[SPOOL_CODEC]], frames, ranks))
        memset(frames, 0, ranks * sizeof *frames);
    for (unsigned rank = 0; rank < ranks; rank++)
        sums[rank] = sum_place(spool->spec.path, frames[rank].offset);
}

/* Collective: each rank decodes its part. */
static bool divide(struct plan *plan, size_t i, const struct part *parts,
                   struct frame_position *frames, uint64_t *sums, struct error *error)
{
    struct group *const group = plan->job.group;
    struct plan_spool *const spool = &plan->spools[i];
    if (group->rank == 0)
        find_parts(plan, spool, parts, frames, sums);
    if (!group_broadcast(group, frames, group->size * sizeof *frames, error) ||
        !group_broadcast(group, sums, group->size * sizeof *sums, error))
        return false;
    const struct frame_position *const own = &frames[group->rank];
    if (sum_place(spool->spec.path, own->offset) != sums[group->rank])
        return error_set(error, "%s: not as rank 0 has it", spool->spec.path);
    return decode_part(spool, parts[group->rank], own, error) &&
           replace_source(plan, i, spool, error);
}

/* Collective: distributes the parts of a spooled input. */
static bool distribute(struct plan *plan, size_t i, struct part own, struct error *error)
{
    struct group *const group = plan->job.group;
    const bool is_divided = plan->spools[i].facts[SPOOL_IS_DIVIDED];
    struct frame_position *const frames = calloc(group->size, sizeof *frames);
    uint64_t *const sums = calloc(group->size, sizeof *sums);
    unsigned char *const piece = malloc(PIECE_BYTES);
    const bool has_memory = (frames && sums && piece) || error_set(error, "out of memory");
    struct part *parts = NULL;
    if (group_agree(group, has_memory, error))
        parts = (struct part *)group_gather(group, &own.begin, 2, error);
    bool ok = parts;
    if (ok)
        ok = group_agree(group,
                         is_divided ? divide(plan, i, parts, frames, sums, error)
                                    : move_parts(plan, i, parts, piece, error),
                         error);
    free(parts);
    free(frames);
    free(sums);
    free(piece);
    return ok;
}

bool plan_store_spools(struct plan *plan, struct error *error)
{
    struct group *const group = plan->job.group;
    bool ok = true;
    for (size_t i = 0; i < plan->job.reader_count; i++) {
        struct plan_spool *const spool = &plan->spools[i];
        struct source **const source = &plan->job.readers[i].source;
        if (spool->facts[SPOOL_IS_DIVIDED] && group->rank == 0 && ok) {
            const uint64_t left = source_stop_and_get_left(*source);
            const uint64_t done = spool->facts[SPOOL_BYTES] - left;
            source_close(*source);
            *source = NULL;
            ok = decode_all(plan, spool, source, error) &&
                 (left == 0 || source_narrow(*source, done, left, error));
            if (ok)
                source_note_codec(*source, codecs[spool->facts[SPOOL_CODEC]]);
        }
        spool->facts[SPOOL_IS_DIVIDED] = false;
    }
    return group_agree(group, ok, error);
}

bool plan_take_part(struct plan *plan, size_t i, uint64_t position, uint64_t bytes,
                    struct error *error)
{
    struct source *const source = plan->job.readers[i].source;
    const uint64_t left = source_stop_and_get_left(source);
    if (plan_is_spooled(plan, i)) {
        const uint64_t begin = plan->spools[i].facts[SPOOL_BYTES] - left + position;
        if (!distribute(plan, i, (struct part){begin, begin + bytes}, error))
            return false;
        if (plan->job.group->rank > 0 || plan->spools[i].facts[SPOOL_IS_DIVIDED])
            return true;
    }
    return left == 0 || source_narrow(source, position, bytes, error);
}
