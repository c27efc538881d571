/* SPDX-License-Identifier: Apache-2.0 */
/* piece_writer.c - see piece_writer.h. After a failure the turns continue, with empty buffers, so
 * that no thread waits forever.
 */
#include "formats/io/piece_writer.h"

#include "core/threads.h"
#include "core/trace.h"

#include <stdatomic.h>
#include <stdlib.h>

struct piece_writer {
    const struct piece_maker *maker;
    struct sink *sink;
    pthread_mutex_t lending; /* held while a piece gets its number and its buffer */
    size_t next_piece;       /* protected by `lending` */
    struct counter turn;     /* the piece to put next, whose thread may use `error` */
    struct error error;
    atomic_bool has_failed;
};

/* Gets the next piece and a buffer for it, NULL with *error. Returns false if there is no piece, or
 * after a failure. */
static bool begin_piece(struct piece_writer *writer, size_t *piece, unsigned char **buffer,
                        struct error *error)
{
    pthread_mutex_lock(&writer->lending);
    const bool begun = writer->next_piece < writer->maker->pieces && !writer->has_failed;
    if (begun) {
        *piece = writer->next_piece++;
        if (!sink_lend(writer->sink, buffer, error))
            *buffer = NULL;
    }
    pthread_mutex_unlock(&writer->lending);
    return begun;
}

static bool write_rest(const struct piece_maker *maker, size_t piece, size_t position,
                       struct sink *sink, struct error *error)
{
    unsigned char *const buffer = malloc(SINK_BUFFER_BYTES);
    bool ok = buffer || error_set(error, "%s: no memory to write it", sink_name(sink));
    for (bool has_ended = false; ok && !has_ended;) {
        size_t bytes;
        has_ended = maker->make(maker->context, piece, &position, buffer, &bytes);
        if (bytes > 0)
            ok = sink_write(sink, buffer, bytes, error);
        else if (!has_ended)
            ok = maker->write_long(maker->context, piece, &position, sink, error);
    }
    free(buffer);
    return ok;
}

static bool put_piece(struct piece_writer *writer, size_t piece, unsigned char *buffer,
                      struct error *error)
{
    const struct piece_maker *maker = writer->maker;
    size_t bytes, position = 0;
    const uint64_t begin_ns = trace_begin();
    const bool has_ended = maker->make(maker->context, piece, &position, buffer, &bytes);
    trace_end(TRACE_MAKE, begin_ns, bytes);
    counter_await(&writer->turn, piece);
    const bool is_well = !writer->has_failed;
    return sink_put(writer->sink, buffer, is_well ? bytes : 0, error) &&
           (!is_well || has_ended || write_rest(maker, piece, position, writer->sink, error));
}

static void make_pieces(struct piece_writer *writer)
{
    size_t piece;
    unsigned char *buffer;
    struct error error = {0};
    while (begin_piece(writer, &piece, &buffer, &error)) {
        const bool is_put = buffer && put_piece(writer, piece, buffer, &error);
        counter_await(&writer->turn, piece);
        if (!is_put) {
            error_merge(&writer->error, &error);
            writer->has_failed = true;
        }
        counter_raise(&writer->turn, piece + 1);
    }
}

bool piece_writer_run(const struct piece_maker *maker, struct sink *sink, struct error *error)
{
    struct piece_writer writer = {
        .maker = maker, .sink = sink, .lending = PTHREAD_MUTEX_INITIALIZER};
    counter_start(&writer.turn);
    const size_t useful = maker->pieces < maker->threads ? maker->pieces : maker->threads;
#pragma omp parallel num_threads(useful > 1 ? (int)useful : 1)
    make_pieces(&writer);
    error_merge(error, &writer.error);
    return !writer.has_failed;
}
