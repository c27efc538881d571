/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c - see sink.h.
 *
 *   sink_write ------------------------------> [frame_writer] -> file
 *
 *   sink_lend -> the caller fills -> sink_put
 *        ^                              |
 *        |                              v
 *      idle <---- writer threads <--- filled
 *                      |
 *                      +------------------> [frame_writer] -> file
 *
 * There is one writer thread, or several if the file can be written at several positions at once
 * (output_file.h). A thread takes a buffer and claims its position in the file in one step, so
 * that positions are in the order of the buffers. The file and the frame writer belong to the
 * writer threads while buffers are unwritten, and otherwise to the caller: sink_write(),
 * sink_move(), sink_end_trial(), sink_store() and commit first wait until all buffers are written.
 * If a thread fails, the threads take buffers without writing them, so that no caller blocks
 * forever. The next of these calls, or of sink_lend() and sink_put(), returns the error. The second
 * sink_lend() starts the threads. A single buffer is written by the call that waits for it.
 */
#include "formats/io/sink.h"

#include "core/threads.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "formats/io/output_file.h"
#include "formats/io/source.h"
#include "formats/io/spill.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Buffers in addition to one for each thread, for the caller to fill and for slow writers. */
#define SPARE_BUFFERS 4
#define NO_NAME "''" /* an empty path in messages */

/* The writer threads, and the state they share with the caller. */
struct writer {
    pthread_t threads[OUTPUT_WRITERS_MAX];
    unsigned thread_count;  /* running threads; 0: not started */
    unsigned char *buffers; /* all buffers, in one block */
    size_t buffer_count;
    struct check_sum *seals;  /* checksums of the buffers at sink_put() */
    struct ring *idle;        /* buffers neither lent nor filled */
    struct ring *filled;      /* buffers to write, in order */
    pthread_mutex_t starting; /* held while threads start, or the caller does their work */
    pthread_mutex_t taking;   /* held while a buffer is taken and its position claimed */
    pthread_mutex_t lock;     /* protects the fields below */
    pthread_cond_t is_drained;
    size_t unwritten; /* buffers put and not yet written */
    struct error error;
};

struct sink {
    char *name;
    struct output_file output;
    struct spill_run *run; /* written instead of the output file; NULL: none */
    unsigned threads;
    const struct codec *codec;
    struct frame_writer *frames; /* NULL: plain bytes */
    bool is_summed;
    struct check_sum content; /* checksum of the bytes written */
    uint64_t content_begun;   /* bytes claimed: the next position in the content */
    struct writer writer;
};

static uint64_t claim_content(struct sink *sink, size_t bytes)
{
    const uint64_t position = sink->content_begun;
    sink->content_begun += bytes;
    return position;
}

static void note_content(struct sink *sink, uint64_t position, const void *data, size_t bytes)
{
    if (sink->is_summed && !(sink->run && sink->frames))
        check_sum_add(&sink->content, text_check_sum(position, data, bytes));
}

/* Writes to a claimed position with at most `threads` threads. */
static bool write_position(struct sink *sink, uint64_t position, const void *data, size_t bytes,
                           unsigned threads, struct tap *tap, struct error *error)
{
    if (!sink->run)
        return output_file_write(&sink->output, position, data, bytes, threads, tap, error);
    tap_observe_all(tap, data, bytes, threads);
    return spill_append(sink->run, data, bytes, error);
}

static bool write_next(struct sink *sink, const void *data, size_t bytes, struct tap *tap,
                       struct error *error)
{
    note_content(sink, claim_content(sink, bytes), data, bytes);
    if (!sink->frames)
        return write_position(sink, output_file_claim(&sink->output, bytes), data, bytes,
                              sink->threads, tap, error);
    tap_observe_all(tap, data, bytes, sink->threads);
    return frame_writer_write(sink->frames, data, bytes, error);
}

struct filled {
    struct ring_entry entry;
    uint64_t position;         /* position in the file, of plain data */
    uint64_t content_position; /* position in the content, before compression */
};

static bool take_filled(struct sink *sink, struct filled *filled)
{
    struct writer *writer = &sink->writer;
    pthread_mutex_lock(&writer->taking);
    const bool taken = ring_pop(writer->filled, &filled->entry);
    if (taken && !sink->frames)
        filled->position = output_file_claim(&sink->output, filled->entry.bytes);
    if (taken)
        filled->content_position = claim_content(sink, filled->entry.bytes);
    pthread_mutex_unlock(&writer->taking);
    return taken;
}

static struct check_sum *seal_of(const struct writer *writer, const unsigned char *buffer)
{
    return &writer->seals[(size_t)(buffer - writer->buffers) / SINK_BUFFER_BYTES];
}

static bool is_sealed(const struct sink *sink, const struct filled *filled, struct check_sum found,
                      struct error *error)
{
    return check_sum_equal(found, *seal_of(&sink->writer, filled->entry.data)) ||
           sink_fail_proof(sink, "what was to be written changed in memory", error);
}

/* Writes the buffer and checks its checksum: of plain data, while it is written. */
static bool write_filled(struct sink *sink, const struct filled *filled, struct error *error)
{
    const unsigned char *const data = filled->entry.data;
    const size_t bytes = filled->entry.bytes;
    struct text_check found;
    note_content(sink, filled->content_position, data, bytes);
    if (sink->frames)
        return is_sealed(sink, filled, text_check_sum(0, data, bytes), error) &&
               frame_writer_write(sink->frames, data, bytes, error);
    text_check_start(&found);
    text_check_begin_chunk(&found, data, 0);
    return write_position(sink, filled->position, data, bytes, 1, &found.tap, error) &&
           is_sealed(sink, filled, found.sum, error);
}

static bool has_failed(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const bool failed = writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return failed;
}

static void write_taken(struct sink *sink, const struct filled *filled)
{
    struct writer *writer = &sink->writer;
    struct error error = {0};
    if (!has_failed(writer))
        write_filled(sink, filled, &error);
    else if (!sink->frames)
        output_file_lose(&sink->output, filled->position);
    ring_push(writer->idle, filled->entry);
    pthread_mutex_lock(&writer->lock);
    error_merge(&writer->error, &error);
    if (--writer->unwritten == 0)
        pthread_cond_signal(&writer->is_drained);
    pthread_mutex_unlock(&writer->lock);
}

static void *writer_main(void *opaque)
{
    struct sink *sink = opaque;
    struct filled filled;
    while (take_filled(sink, &filled))
        write_taken(sink, &filled);
    return NULL;
}

static bool is_unwritten(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const bool unwritten = writer->unwritten > 0;
    pthread_mutex_unlock(&writer->lock);
    return unwritten;
}

/* Writes the buffers in the calling thread if no writer thread was started. */
static void write_without_threads(struct sink *sink)
{
    struct writer *writer = &sink->writer;
    struct filled filled;
    pthread_mutex_lock(&writer->starting);
    while (writer->thread_count == 0 && is_unwritten(writer) && take_filled(sink, &filled))
        write_taken(sink, &filled);
    pthread_mutex_unlock(&writer->starting);
}

/* Allocates the buffers, all idle, and the rings. The buffers come from mmap(2): free(3) would keep
 * their memory in the arena of the thread that allocated it, in addition to that of the next
 * sink. */
static bool writer_allocate(struct writer *writer, size_t count)
{
    void *const buffers = mmap(NULL, count * SINK_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffers == MAP_FAILED)
        return false;
    writer->buffers = buffers;
    writer->buffer_count = count;
    writer->seals = calloc(count, sizeof *writer->seals);
    writer->idle = ring_create(count);
    writer->filled = ring_create(count);
    if (!writer->seals || !writer->idle || !writer->filled)
        return false;
    for (size_t i = 0; i < count; i++)
        ring_push(writer->idle, (struct ring_entry){writer->buffers + i * SINK_BUFFER_BYTES, 0});
    return true;
}

/* Returns the number of buffers: SPARE_BUFFERS, one for each of the caller's threads, and one for
 * each writer thread after the first. */
static size_t buffer_count(unsigned threads, unsigned writers)
{
    return SPARE_BUFFERS + (size_t)threads + (writers - 1);
}

/* Prepares for the next loan of a buffer: the first one allocates the buffers, the second one
 * starts the threads, of which one is enough. A single buffer is written by the caller, because
 * starting a thread takes longer. If memory runs out, later calls fail, too. */
static bool writer_start(struct sink *sink, struct error *error)
{
    struct writer *writer = &sink->writer;
    const unsigned wanted = sink->output.writers;
    if (!writer->buffers) {
        if (writer_allocate(writer, buffer_count(sink->threads, wanted)))
            return true;
        error_set(error, "%s: no memory to write it", sink->name);
        pthread_mutex_lock(&writer->lock);
        error_merge(&writer->error, error);
        pthread_mutex_unlock(&writer->lock);
        return false;
    }
    if (writer->thread_count > 0)
        return true;
    pthread_mutex_lock(&writer->starting);
    int cause = 0;
    while (cause == 0 && writer->thread_count < wanted) {
        cause =
            thread_start(&writer->threads[writer->thread_count], "sink writer", writer_main, sink);
        writer->thread_count += cause == 0;
    }
    pthread_mutex_unlock(&writer->starting);
    return writer->thread_count > 0 || thread_set_error(cause, "write the output", error);
}

/* Returns false with the error of the writer threads, if there is one. drain: waits until all
 * buffers are written. */
static bool writer_check(struct sink *sink, bool drain, struct error *error)
{
    struct writer *writer = &sink->writer;
    if (drain)
        write_without_threads(sink);
    pthread_mutex_lock(&writer->lock);
    while (drain && writer->unwritten > 0)
        pthread_cond_wait(&writer->is_drained, &writer->lock);
    error_merge(error, &writer->error);
    const bool is_well = !writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return is_well;
}

/* The number of writers is known only later, so this assumes the maximum. */
size_t sink_buffers_bytes(unsigned threads)
{
    return buffer_count(threads, output_writers_most(threads)) * SINK_BUFFER_BYTES;
}

/* Ends the threads. Filled buffers that are not yet written are dropped. */
static void writer_end(struct writer *writer)
{
    if (writer->thread_count > 0)
        ring_stop(writer->filled);
    for (unsigned i = 0; i < writer->thread_count; i++)
        pthread_join(writer->threads[i], NULL);
    ring_free(writer->idle);
    ring_free(writer->filled);
    free(writer->seals);
    if (writer->buffers)
        munmap(writer->buffers, writer->buffer_count * SINK_BUFFER_BYTES);
    pthread_cond_destroy(&writer->is_drained);
    pthread_mutex_destroy(&writer->lock);
    pthread_mutex_destroy(&writer->taking);
    pthread_mutex_destroy(&writer->starting);
}

static bool write_frame(void *context, const void *frame, size_t bytes, struct error *error)
{
    struct sink *const sink = context;
    const uint64_t position = output_file_claim(&sink->output, bytes);
    if (sink->run)
        check_sum_add(&sink->content, text_check_sum(position, frame, bytes));
    return write_position(sink, position, frame, bytes, 1, NULL, error);
}

static bool open_frames(struct sink *sink, int level, struct error *error)
{
    if (!sink->codec->encode)
        return true;
    const struct frame_writer_spec spec = {.name = sink->name,
                                           .write = write_frame,
                                           .context = sink,
                                           .codec = sink->codec,
                                           .level = level ? level : sink->codec->level_default,
                                           .threads = sink->threads};
    sink->frames = frame_writer_open(&spec);
    return sink->frames || error_set(error, "%s: no memory to compress it", sink->name);
}

/* Creates a sink without a file. Returns NULL if memory runs out. */
static struct sink *sink_create(const char *name, const struct codec *codec, unsigned threads)
{
    struct sink *const sink = calloc(1, sizeof *sink);
    if (!sink)
        return NULL;
    pthread_mutex_init(&sink->writer.starting, NULL);
    pthread_mutex_init(&sink->writer.taking, NULL); /* none of these can fail on Linux */
    pthread_mutex_init(&sink->writer.lock, NULL);
    pthread_cond_init(&sink->writer.is_drained, NULL);
    sink->output = output_file_closed();
    sink->threads = threads > 0 ? threads : 1;
    sink->codec = codec;
    sink->name = strdup(name);
    if (!sink->name) {
        sink_discard(sink);
        return NULL;
    }
    return sink;
}

/* Returns the path of the output; NULL for standard output. */
static const char *file_path(const char *path)
{
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

bool sink_check(const char *path, bool is_in_place, struct error *error)
{
    return !file_path(path) || output_file_check(path, *path ? path : NO_NAME, is_in_place, error);
}

bool sink_open(const struct sink_spec *spec, struct sink **out, struct error *error)
{
    const char *const path = file_path(spec->path);
    const char *const name = !path ? "standard output" : *path ? path : NO_NAME;
    *out = NULL;
    struct sink *sink = sink_create(name, spec->codec, spec->threads);
    if (!sink)
        return error_set(error, "%s: no memory to open it", name);
    TRY(spec->is_in_place
            ? output_file_open_in_place(path, sink->name, &spec->input, sink->threads,
                                        &sink->output, error)
            : output_file_open(path, sink->name, spec->replaces_input ? &spec->input : NULL,
                               spec->group, &sink->output, error));
    sink->output.ahead_bytes = spec->ahead_bytes;
    TRY(open_frames(sink, spec->level, error));
    *out = sink;
    return true;
done:
    sink_discard(sink);
    return false;
}

bool sink_open_run(struct spill_run *run, const struct sink_spec *spec, struct sink **out,
                   struct error *error)
{
    struct sink *const sink = sink_create(run->name, spec->codec, spec->threads);
    *out = NULL;
    if (!sink)
        return error_set(error, "%s: no memory to open it", run->name);
    sink->is_summed = true;
    sink->run = run;
    if (!open_frames(sink, spec->level, error)) {
        sink_discard(sink);
        return false;
    }
    *out = sink;
    return true;
}

const char *sink_name(const struct sink *sink)
{
    return sink->name;
}

bool sink_is_terminal(const struct sink *sink)
{
    return isatty(sink->output.file) == 1;
}

bool sink_fail_proof(const struct sink *sink, const char *what, struct error *error)
{
    const char *const name = sink->name;
    if (sink_is_overwriting(sink))
        return error_set(error, "%s: the proof failed: %s", name, what);
    if (sink_replaces(sink) || sink_is_trial(sink))
        return error_set(error, "%s: the proof failed: %s; %s is left as it was", name, what, name);
    return error_set(error, "%s: the proof failed: %s; the data written is of no use", name, what);
}

bool sink_replaces(const struct sink *sink)
{
    return output_file_replaces(&sink->output);
}

bool sink_is_unused(const struct sink *sink)
{
    const bool is_written = sink->content_begun > 0 || sink->writer.buffers;
    return sink_replaces(sink) || sink_is_trial(sink) ||
           (sink->output.kind == OUTPUT_GIVEN && !is_written);
}

bool sink_is_trial(const struct sink *sink)
{
    return sink->output.kind == OUTPUT_TRIAL;
}

bool sink_is_overwriting(const struct sink *sink)
{
    return sink->output.kind == OUTPUT_IN_PLACE;
}

bool sink_has_damage(struct sink *sink)
{
    struct writer *const writer = &sink->writer;
    return sink_is_overwriting(sink) &&
           (__atomic_load_n(&sink->output.is_changed, __ATOMIC_RELAXED) ||
            (writer->thread_count > 0 && is_unwritten(writer)));
}

void sink_skip(struct sink *sink, size_t bytes)
{
    (void)output_file_claim(&sink->output, bytes);
}

bool sink_end_trial(struct sink *sink, struct error *error)
{
    if (!writer_check(sink, true, error) || !output_file_end_trial(&sink->output, error))
        return false;
    sink->content = (struct check_sum){0};
    sink->content_begun = 0;
    return true;
}

bool sink_writes_to(const struct sink *sink, const struct source *source)
{
    return !sink_replaces(sink) && source_is_file(source, sink->output.file);
}

bool sink_move(struct sink *sink, uint64_t position, struct error *error)
{
    if (!writer_check(sink, true, error))
        return false;
    output_file_move(&sink->output, position);
    sink->content_begun = position;
    return true;
}

void sink_expect(struct sink *sink, uint64_t bytes)
{
    if (sink->run)
        return;
    trace_expect(bytes <= INT64_MAX ? bytes : 0);
    if (!sink->frames)
        output_file_expect(&sink->output, bytes, sink->threads);
}

uint64_t sink_free_bytes(const char *path, dev_t *device)
{
    struct output_path found;
    struct statfs system;
    struct stat status;
    struct error ignored = {0};
    uint64_t bytes = UINT64_MAX;
    if (!file_path(path))
        return bytes;
    if (output_path_open(path, path, &found, &ignored) && found.directory >= 0 &&
        (!found.exists || S_ISREG(found.status.st_mode)) &&
        fstatfs(found.directory, &system) == 0 && system.f_blocks > 0 &&
        fstat(found.directory, &status) == 0) {
        bytes = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
        *device = status.st_dev;
    }
    output_path_close(&found);
    return bytes;
}

bool sink_check_room(struct sink *sink, uint64_t bytes, struct error *error)
{
    return sink->frames || output_file_check_room(&sink->output, bytes, error);
}

struct spill_neighbour sink_needs(const struct sink *sink, uint64_t bytes)
{
    const bool needs = !sink->frames && output_file_is_new(&sink->output);
    return (struct spill_neighbour){sink->output.file, needs ? bytes : 0};
}

void sink_release_room(struct sink *sink)
{
    output_file_release_room(&sink->output);
}

bool sink_map_shared(struct sink *sink, struct error *error)
{
    return !sink->output.group || output_file_map_shared(&sink->output, error);
}

void sink_expect_least(struct sink *sink, uint64_t bytes)
{
    if (!sink->frames)
        output_file_expect_least(&sink->output, bytes, sink->threads);
}

bool sink_write_observed(struct sink *sink, const void *data, size_t bytes, struct tap *tap,
                         struct error *error)
{
    return writer_check(sink, true, error) && write_next(sink, data, bytes, tap, error);
}

bool sink_write_at(void *context, uint64_t position, const void *data, size_t bytes,
                   unsigned threads, struct tap *tap, struct error *error)
{
    struct sink *const sink = context;
    return output_file_write(&sink->output, position, data, bytes, threads, tap, error);
}

bool sink_write(struct sink *sink, const void *data, size_t bytes, struct error *error)
{
    return sink_write_observed(sink, data, bytes, NULL, error);
}

bool sink_lend(struct sink *sink, unsigned char **buffer, struct error *error)
{
    struct ring_entry entry;
    if (!writer_check(sink, false, error) || !writer_start(sink, error))
        return false;
    if (!ring_pop(sink->writer.idle, &entry))
        return error_set(error, "%s: no buffer to write it", sink->name);
    *buffer = entry.data;
    return true;
}

bool sink_put(struct sink *sink, unsigned char *buffer, size_t bytes, struct error *error)
{
    struct writer *writer = &sink->writer;
    *seal_of(writer, buffer) = text_check_sum(0, buffer, bytes);
    pthread_mutex_lock(&writer->lock);
    writer->unwritten++;
    pthread_mutex_unlock(&writer->lock);
    ring_push(writer->filled, (struct ring_entry){buffer, bytes}); /* never full */
    return writer_check(sink, false, error);
}

static bool flush(struct sink *sink, struct error *error)
{
    return writer_check(sink, true, error) &&
           (!sink->frames || frame_writer_finish(sink->frames, error));
}

bool sink_store(struct sink *sink, int *file, struct error *error)
{
    *file = sink->output.file;
    return flush(sink, error) && output_file_store(&sink->output, error);
}

void sink_sum_content(struct sink *sink)
{
    sink->is_summed = true;
}

struct check_sum sink_content(const struct sink *sink)
{
    return sink->content;
}

bool sink_commit(struct sink *sink, struct group *group, struct error *error)
{
    struct output_file *const output = &sink->output;
    const bool is_complete = flush(sink, error) && output_file_close(output, error);
    const bool are_complete = group_agree(group, is_complete, error);
    const bool is_published = are_complete && output_file_publish(output, error);
    if (are_complete && !is_published && group && !output->group)
        error_add(error, "; other ranks may have replaced their files");
    sink_discard(sink); /* frees what the commit left */
    return is_published;
}

bool sink_commit_run(struct sink *sink, struct check_sum *content, struct error *error)
{
    const bool flushed = flush(sink, error);
    *content = sink->content;
    sink_discard(sink);
    return flushed;
}

void sink_discard(struct sink *sink)
{
    if (!sink)
        return;
    writer_end(&sink->writer); /* before the file that the threads write to is closed */
    frame_writer_close(sink->frames);
    output_file_discard(&sink->output);
    free(sink->name);
    free(sink);
}
