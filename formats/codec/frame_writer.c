/* SPDX-License-Identifier: Apache-2.0 */
/* frame_writer.c - see frame_writer.h.
 *
 *   data -> copied to the buffer of a job -+
 *   much data ----- not copied ------------+-> jobs, in order
 *                                                |
 *   each worker: takes a job -> compresses it -> waits for its turn -> writes the frame
 *
 * A job is FRAME_CONTENT_BYTES of content. Jobs are a ring, so that the caller waits if the workers
 * are slower:
 *
 *   written <= taken <= put <= written + job_count
 *
 * Workers are started as jobs are put, so that an output of one frame is compressed by the caller.
 * After a failure the turns continue without writing, so that no thread blocks forever, and the
 * next call returns the error.
 */
#include "formats/codec/frame_writer.h"

#include "core/trace.h"
#include "formats/codec/codec.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 64

/* Jobs in addition to one for each worker, which wait. */
#define SPARE_JOBS 2

/* Frames per thread from which data is compressed without a copy. The caller waits for the last of
 * them, which are then few in proportion. */
#define FRAMES_PER_THREAD_IN_PLACE 2

struct frame_job {
    const unsigned char *data;
    size_t bytes;
    unsigned char *buffer; /* FRAME_CONTENT_BYTES, reused; NULL until it is needed */
};

/* The state of a compressing thread. */
struct frame_maker {
    void *encoder;
    unsigned char *frame;
    size_t capacity;
};

struct frame_writer {
    struct frame_writer_spec spec;
    size_t filled; /* bytes in the buffer of the next job */
    struct frame_job *jobs;
    size_t job_count;
    pthread_t workers[WORKERS_MAX];
    unsigned worker_count; /* workers started by the caller */
    pthread_mutex_t lock;  /* protects the fields below */
    pthread_cond_t is_put; /* or the workers must end */
    pthread_cond_t is_written;
    uint64_t put, taken, written;
    bool is_closed;
    struct error error;
};

static struct frame_job *job_at(const struct frame_writer *writer, uint64_t number)
{
    return &writer->jobs[number % writer->job_count];
}

struct frame_writer *frame_writer_open(const struct frame_writer_spec *spec)
{
    struct frame_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->spec = *spec;
    if (writer->spec.threads > WORKERS_MAX)
        writer->spec.threads = WORKERS_MAX;
    pthread_mutex_init(&writer->lock, NULL); /* none of these can fail on Linux */
    pthread_cond_init(&writer->is_put, NULL);
    pthread_cond_init(&writer->is_written, NULL);
    writer->job_count = (size_t)writer->spec.threads + SPARE_JOBS;
    writer->jobs = calloc(writer->job_count, sizeof *writer->jobs);
    if (!writer->jobs) {
        frame_writer_close(writer);
        return NULL;
    }
    return writer;
}

/* ---- compression
 * -------------------------------------------------------------------------------- */

static bool maker_open(const struct frame_writer *writer, struct frame_maker *maker,
                       struct error *error)
{
    const struct codec *const codec = writer->spec.codec;
    if (maker->encoder)
        return true;
    maker->capacity = codec->encoded_bytes_max(FRAME_CONTENT_BYTES);
    maker->frame = malloc(maker->capacity);
    maker->encoder = maker->frame ? codec->encoder_open(writer->spec.level) : NULL;
    return maker->encoder || error_set(error, "%s: no memory to compress it", writer->spec.name);
}

static void maker_close(const struct frame_writer *writer, struct frame_maker *maker)
{
    writer->spec.codec->encoder_close(maker->encoder);
    free(maker->frame);
}

/* Compresses a job to maker->frame, and sets *bytes. */
static bool make_frame(const struct frame_writer *writer, const struct frame_job *job,
                       struct frame_maker *maker, size_t *bytes, struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    struct error cause = {0};
    if (!maker_open(writer, maker, error))
        return false;
    struct byte_writer out = {maker->frame, maker->capacity};
    if (!writer->spec.codec->encode(maker->encoder, (struct byte_reader){job->data, job->bytes},
                                    &out, &cause))
        return error_set(error, "%s: %s", writer->spec.name, cause.message);
    *bytes = maker->capacity - out.bytes;
    trace_end(TRACE_ENCODE, begin_ns, job->bytes);
    return true;
}

/* Waits for the job's turn. Returns false after a failure. */
static bool wait_for_turn(struct frame_writer *writer, uint64_t number)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->written != number)
        pthread_cond_wait(&writer->is_written, &writer->lock);
    const bool is_well = !writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return is_well;
}

static void end_turn(struct frame_writer *writer, const struct error *error)
{
    pthread_mutex_lock(&writer->lock);
    error_merge(&writer->error, error);
    writer->written++;
    pthread_cond_broadcast(&writer->is_written);
    pthread_mutex_unlock(&writer->lock);
}

static bool has_failed(struct frame_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const bool failed = writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return failed;
}

static void run_job(struct frame_writer *writer, uint64_t number, struct frame_maker *maker)
{
    struct error error = {0};
    size_t bytes = 0;
    const bool made =
        !has_failed(writer) && make_frame(writer, job_at(writer, number), maker, &bytes, &error);
    if (wait_for_turn(writer, number) && made)
        writer->spec.write(writer->spec.context, maker->frame, bytes, &error);
    end_turn(writer, &error);
}

/* Waits for a job. Returns false at the end. */
static bool take_job(struct frame_writer *writer, uint64_t *number)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->taken == writer->put && !writer->is_closed)
        pthread_cond_wait(&writer->is_put, &writer->lock);
    const bool taken = !writer->is_closed;
    if (taken)
        *number = writer->taken++;
    pthread_mutex_unlock(&writer->lock);
    return taken;
}

static void *worker_main(void *opaque)
{
    struct frame_writer *writer = opaque;
    struct frame_maker maker = {0};
    uint64_t number;
    while (take_job(writer, &number))
        run_job(writer, number, &maker);
    maker_close(writer, &maker);
    return NULL;
}

/* ---- the caller ------------------------------------------------------------------------------ */

/* Waits until at most `pending` jobs are unwritten. */
static bool wait_for_jobs(struct frame_writer *writer, uint64_t pending, struct error *error)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->put - writer->written > pending)
        pthread_cond_wait(&writer->is_written, &writer->lock);
    error_merge(error, &writer->error);
    const bool is_well = !writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return is_well;
}

/* Waits until the next job to put is free. */
static bool next_job(struct frame_writer *writer, struct frame_job **job, struct error *error)
{
    *job = job_at(writer, writer->put);
    return wait_for_jobs(writer, writer->job_count - 1, error);
}

/* Runs the job that was just put, the only one. */
static void run_here(struct frame_writer *writer)
{
    struct frame_maker maker = {0};
    run_job(writer, writer->taken++, &maker);
    maker_close(writer, &maker);
}

/* Publishes a job. Unless it is the last one, starts another worker if allowed and possible. */
static void put_job(struct frame_writer *writer, bool is_last)
{
    pthread_mutex_lock(&writer->lock);
    writer->put++;
    pthread_cond_signal(&writer->is_put);
    pthread_mutex_unlock(&writer->lock);
    writer->filled = 0;
    if (!is_last && writer->worker_count < writer->spec.threads &&
        pthread_create(&writer->workers[writer->worker_count], NULL, worker_main, writer) == 0)
        writer->worker_count++;
    if (writer->worker_count == 0)
        run_here(writer);
}

/* Copies bytes to the next job, up to its room. */
static bool fill_job(struct frame_writer *writer, struct byte_reader *in, struct error *error)
{
    struct frame_job *job;
    if (!next_job(writer, &job, error))
        return false;
    if (!job->buffer && !(job->buffer = malloc(FRAME_CONTENT_BYTES)))
        return error_set(error, "%s: no memory to compress it", writer->spec.name);
    const size_t room = FRAME_CONTENT_BYTES - writer->filled;
    const size_t part = in->bytes < room ? in->bytes : room;
    memcpy(job->buffer + writer->filled, in->data, part);
    in->data += part;
    in->bytes -= part;
    writer->filled += part;
    job->data = job->buffer;
    job->bytes = writer->filled;
    return true;
}

/* Puts all whole frames of `in` without a copy, and waits for them. */
static bool write_in_place(struct frame_writer *writer, struct byte_reader *in, struct error *error)
{
    while (in->bytes >= FRAME_CONTENT_BYTES) {
        struct frame_job *job;
        if (!next_job(writer, &job, error))
            break;
        job->data = in->data;
        job->bytes = FRAME_CONTENT_BYTES;
        put_job(writer, false);
        in->data += FRAME_CONTENT_BYTES;
        in->bytes -= FRAME_CONTENT_BYTES;
    }
    return wait_for_jobs(writer, 0, error);
}

bool frame_writer_write(struct frame_writer *writer, const void *data, size_t bytes,
                        struct error *error)
{
    const size_t is_much = FRAMES_PER_THREAD_IN_PLACE * writer->spec.threads * FRAME_CONTENT_BYTES;
    struct byte_reader in = {data, bytes};
    while (in.bytes > 0) {
        if (writer->filled == FRAME_CONTENT_BYTES)
            put_job(writer, false);
        const bool ok = writer->filled == 0 && in.bytes >= is_much
                            ? write_in_place(writer, &in, error)
                            : fill_job(writer, &in, error);
        if (!ok)
            return false;
    }
    return true;
}

bool frame_writer_finish(struct frame_writer *writer, struct error *error)
{
    struct byte_reader nothing = {.data = (const unsigned char *)""};
    if (writer->filled > 0 || writer->put == 0) {
        if (!fill_job(writer, &nothing, error))
            return false;
        put_job(writer, true);
    }
    return wait_for_jobs(writer, 0, error);
}

void frame_writer_close(struct frame_writer *writer)
{
    if (!writer)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->is_closed = true;
    pthread_cond_broadcast(&writer->is_put);
    pthread_mutex_unlock(&writer->lock);
    for (unsigned i = 0; i < writer->worker_count; i++)
        pthread_join(writer->workers[i], NULL);
    for (size_t i = 0; writer->jobs && i < writer->job_count; i++)
        free(writer->jobs[i].buffer);
    free(writer->jobs);
    pthread_cond_destroy(&writer->is_written);
    pthread_cond_destroy(&writer->is_put);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
