/* SPDX-License-Identifier: Apache-2.0 */
/* frame_writer.c - see frames.h.
 *
 *   data -> copied to the buffers of tasks, in order
 *                                   |
 *   each worker: takes a task -> compresses it -> waits for its turn -> writes the frame
 *
 * A task is FRAME_CONTENT_BYTES of content. Tasks are a ring, so that the caller waits if the
 * workers are slower:
 *
 *   written <= put <= written + task_count
 *   written <= taken <= put + worker_count: a worker takes the number of a task before it is put
 *
 * Workers are started as tasks are put, so that an output of one frame is compressed by the caller.
 * After a failure the turns continue without writing, so that no thread blocks forever, and the
 * next call returns the error.
 */
#include "formats/codec/frames.h"

#include "core/host_limits.h"
#include "core/threads.h"
#include "core/trace.h"
#include "formats/codec/codec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 64

/* Tasks in addition to one for each worker, which wait. */
#define SPARE_TASKS 2

struct frame_task {
    unsigned char *buffer; /* FRAME_CONTENT_BYTES, reused; NULL until it is needed */
    size_t bytes;
};

struct frame_maker {
    void *encoder;
    unsigned char *frame;
    size_t capacity;
};

struct frame_writer {
    struct frame_writer_spec spec;
    size_t filled; /* bytes in the buffer of the next task */
    struct frame_task *tasks;
    unsigned task_count;
    pthread_t workers[WORKERS_MAX];
    unsigned worker_count;      /* workers started by the caller */
    atomic_uint_fast64_t taken; /* tasks that a worker runs or waits for */
    struct counter put;
    struct counter written; /* the thread of the next task may write the frame and set the error */
    struct error error;
    atomic_bool has_failed; /* `error` is set, or the writer is closed */
};

static struct frame_task *task_at(const struct frame_writer *writer, uint64_t number)
{
    return &writer->tasks[number % writer->task_count];
}

/* Returns the memory of a compressing thread, and of a task for it. */
static size_t thread_bytes(const struct codec *codec, int level)
{
    return FRAME_CONTENT_BYTES + codec->encoded_bytes_max(FRAME_CONTENT_BYTES) +
           codec->encoder_bytes(level);
}

/* Returns how many tasks there are for up to `threads` threads. In a small container many threads
 * would exceed its memory, and the process would be killed. */
static unsigned tasks_with_room(const struct codec *codec, int level, unsigned threads)
{
    const unsigned tasks = (unsigned)smaller(threads, WORKERS_MAX) + SPARE_TASKS;
    const size_t memory = memory_at_start(); /* 0: not known */
    const size_t room = memory / 4 / thread_bytes(codec, level);
    return memory == 0 ? tasks : room > 0 ? (unsigned)smaller(room, tasks) : 1;
}

size_t frame_writer_bytes(const struct codec *codec, int level, unsigned threads)
{
    return tasks_with_room(codec, level, threads) * thread_bytes(codec, level);
}

static bool refuse_memory(const struct codec *codec, int level, const char *name,
                          struct error *error)
{
    if (codec->encoder_bytes(level) == codec->encoder_bytes(codec->level_min))
        return error_set(error, "%s: no memory to compress it", name);
    return error_set(error, "%s: no memory to compress it at level %d: use a lower level (--%s=N)",
                     name, level, codec->name);
}

bool frame_writer_check(const struct codec *codec, int level, const char *name, struct error *error)
{
    return memory_holds(thread_bytes(codec, level)) || refuse_memory(codec, level, name, error);
}

struct frame_writer *frame_writer_open(const struct frame_writer_spec *spec)
{
    struct frame_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->spec = *spec;
    counter_start(&writer->put);
    counter_start(&writer->written);
    writer->task_count = tasks_with_room(spec->codec, spec->level, spec->threads);
    writer->spec.threads = writer->task_count > SPARE_TASKS ? writer->task_count - SPARE_TASKS : 1;
    writer->tasks = calloc(writer->task_count, sizeof *writer->tasks);
    if (!writer->tasks) {
        frame_writer_close(writer);
        return NULL;
    }
    return writer;
}

/* ---- Compression ---- */

/* is_whole: the frame is full, so the encoder will use all of its memory. */
static bool maker_open(const struct frame_writer *writer, struct frame_maker *maker, bool is_whole,
                       struct error *error)
{
    const struct codec *const codec = writer->spec.codec;
    const int level = writer->spec.level;
    if (maker->encoder)
        return true;
    if (is_whole && !frame_writer_check(codec, level, writer->spec.name, error))
        return false;
    maker->capacity = codec->encoded_bytes_max(FRAME_CONTENT_BYTES);
    maker->frame = malloc(maker->capacity);
    maker->encoder = maker->frame ? codec->encoder_open(level) : NULL;
    return maker->encoder || refuse_memory(codec, level, writer->spec.name, error);
}

static void maker_close(const struct frame_writer *writer, struct frame_maker *maker)
{
    writer->spec.codec->encoder_close(maker->encoder);
    free(maker->frame);
}

static bool make_frame(const struct frame_writer *writer, const struct frame_task *task,
                       struct frame_maker *maker, size_t *bytes, struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    struct error cause = {0};
    if (!maker_open(writer, maker, task->bytes == FRAME_CONTENT_BYTES, error))
        return false;
    struct byte_writer out = {maker->frame, maker->capacity};
    if (!writer->spec.codec->encode(maker->encoder, (struct byte_reader){task->buffer, task->bytes},
                                    &out, &cause))
        return error_set(error, "%s: %s", writer->spec.name, cause.message);
    *bytes = maker->capacity - out.bytes;
    trace_end(TRACE_ENCODE, begin_ns, task->bytes);
    return true;
}

static void run_task(struct frame_writer *writer, uint64_t number, struct frame_maker *maker)
{
    struct error error = {0};
    size_t bytes = 0;
    bool ok =
        !writer->has_failed && make_frame(writer, task_at(writer, number), maker, &bytes, &error);
    counter_await(&writer->written, number);
    if (!writer->has_failed) {
        ok = ok && writer->spec.write(writer->spec.context, maker->frame, bytes, &error);
        writer->error = error;
        writer->has_failed = !ok;
    }
    counter_raise(&writer->written, number + 1);
}

static void *worker_main(void *opaque)
{
    struct frame_writer *writer = opaque;
    struct frame_maker maker = {0};
    for (;;) {
        const uint64_t number = atomic_fetch_add(&writer->taken, 1);
        if (counter_await(&writer->put, number + 1) <= number)
            break;
        run_task(writer, number, &maker);
    }
    maker_close(writer, &maker);
    return NULL;
}

/* ---- The caller ---- */

static bool wait_for_tasks(struct frame_writer *writer, uint64_t pending, struct error *error)
{
    const uint64_t put = writer->put.value; /* only this thread changes it */
    counter_await(&writer->written, put > pending ? put - pending : 0);
    const bool has_failed = writer->has_failed; /* another thread may fail at any time */
    if (has_failed)
        error_merge(error, &writer->error);
    return !has_failed;
}

/* Publishes a task. Unless it is the last one, starts another worker if allowed and possible. If
 * there is no worker at all, runs the task in this thread. */
static void put_task(struct frame_writer *writer, bool is_last)
{
    const uint64_t number = writer->put.value;
    counter_raise(&writer->put, number + 1);
    writer->filled = 0;
    if (!is_last && writer->worker_count < writer->spec.threads &&
        thread_start(&writer->workers[writer->worker_count], "compressor", worker_main, writer) ==
            0)
        writer->worker_count++;
    if (writer->worker_count > 0)
        return;
    struct frame_maker maker = {0}; /* it is the only task, or no thread can be started */
    run_task(writer, number, &maker);
    writer->taken = number + 1;
    maker_close(writer, &maker);
}

/* Copies bytes to the next task, up to its room, once that is free. */
static bool fill_task(struct frame_writer *writer, struct byte_reader *in, struct error *error)
{
    struct frame_task *const task = task_at(writer, writer->put.value);
    if (!wait_for_tasks(writer, writer->task_count - 1, error))
        return false;
    if (!task->buffer && !(task->buffer = malloc(FRAME_CONTENT_BYTES)))
        return error_set(error, "%s: no memory to compress it", writer->spec.name);
    const size_t part = smaller(in->bytes, FRAME_CONTENT_BYTES - writer->filled);
    memcpy(task->buffer + writer->filled, in->data, part);
    in->data += part;
    in->bytes -= part;
    writer->filled += part;
    task->bytes = writer->filled;
    return true;
}

bool frame_writer_write(struct frame_writer *writer, const void *data, size_t bytes,
                        struct error *error)
{
    struct byte_reader in = {data, bytes};
    while (in.bytes > 0) {
        if (writer->filled == FRAME_CONTENT_BYTES)
            put_task(writer, false);
        if (!fill_task(writer, &in, error))
            return false;
    }
    return true;
}

bool frame_writer_finish(struct frame_writer *writer, struct error *error)
{
    struct byte_reader nothing = {.data = (const unsigned char *)""};
    if (writer->filled > 0 || writer->put.value == 0) {
        if (!fill_task(writer, &nothing, error))
            return false;
        put_task(writer, true);
    }
    return wait_for_tasks(writer, 0, error);
}

void frame_writer_close(struct frame_writer *writer)
{
    if (!writer)
        return;
    writer->has_failed = true; /* tasks that have not begun are dropped */
    counter_stop(&writer->put);
    for (unsigned i = 0; i < writer->worker_count; i++)
        pthread_join(writer->workers[i], NULL);
    for (size_t i = 0; writer->tasks && i < writer->task_count; i++)
        free(writer->tasks[i].buffer);
    free(writer->tasks);
    free(writer);
}
