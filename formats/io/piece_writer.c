/* SPDX-License-Identifier: Apache-2.0 */
/* piece_writer.c - see piece_writer.h. */
#include "formats/io/piece_writer.h"

#include "core/trace.h"

#include <pthread.h>

struct piece_writer {
    const struct piece_maker *maker;
    struct sink *sink;
    pthread_mutex_t lending; /* held while a piece gets its number and its buffer */
    size_t next_piece;       /* protected by `lending` */
    pthread_mutex_t lock;    /* protects the fields below */
    pthread_cond_t turn_changed;
    size_t turn; /* the piece to put next */
    struct error error;
};

static bool has_failed(struct piece_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const bool failed = writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return failed;
}

/* Keeps the first error, and wakes threads that wait for their turn, which will not come. */
static void fail(struct piece_writer *writer, const struct error *error)
{
    pthread_mutex_lock(&writer->lock);
    error_merge(&writer->error, error);
    pthread_cond_broadcast(&writer->turn_changed);
    pthread_mutex_unlock(&writer->lock);
}

/* Gets the next piece and a buffer for it. Returns false if there is none, or after a failure. */
static bool begin_piece(struct piece_writer *writer, size_t *piece, unsigned char **buffer)
{
    struct error error = {0};
    bool begun = false;
    pthread_mutex_lock(&writer->lending);
    if (writer->next_piece < writer->maker->pieces && !has_failed(writer)) {
        *piece = writer->next_piece++;
        begun = sink_lend(writer->sink, buffer, &error);
        if (!begun)
            fail(writer, &error);
    }
    pthread_mutex_unlock(&writer->lending);
    return begun;
}

/* Waits for the piece's turn. Returns false after a failure. */
static bool wait_for_turn(struct piece_writer *writer, size_t piece)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->turn != piece && !writer->error.is_set)
        pthread_cond_wait(&writer->turn_changed, &writer->lock);
    const bool is_turn = !writer->error.is_set;
    pthread_mutex_unlock(&writer->lock);
    return is_turn;
}

static void end_turn(struct piece_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->turn++;
    pthread_cond_broadcast(&writer->turn_changed);
    pthread_mutex_unlock(&writer->lock);
}

/* Makes and puts a piece. After a failure, the buffer is returned empty. */
static bool put_piece(struct piece_writer *writer, size_t piece, unsigned char *buffer)
{
    const struct piece_maker *maker = writer->maker;
    struct error error = {0};
    size_t bytes;
    const uint64_t begin_ns = trace_begin();
    const size_t position = maker->make(maker->context, piece, buffer, &bytes);
    trace_end(TRACE_MAKE, begin_ns, bytes);
    const bool is_turn = wait_for_turn(writer, piece);
    bool put = sink_put(writer->sink, buffer, is_turn ? bytes : 0, &error);
    if (put && is_turn && maker->rest)
        put = maker->rest(maker->context, piece, position, writer->sink, &error);
    if (!put)
        fail(writer, &error);
    else if (is_turn)
        end_turn(writer);
    return put && is_turn;
}

static void make_pieces(struct piece_writer *writer)
{
    size_t piece;
    unsigned char *buffer;
    while (begin_piece(writer, &piece, &buffer) && put_piece(writer, piece, buffer))
        ;
}

bool piece_writer_run(const struct piece_maker *maker, struct sink *sink, struct error *error)
{
    struct piece_writer writer = {.maker = maker, .sink = sink};
    pthread_mutex_init(&writer.lending, NULL);
    pthread_mutex_init(&writer.lock, NULL);
    pthread_cond_init(&writer.turn_changed, NULL);
    const size_t useful = maker->pieces < maker->threads ? maker->pieces : maker->threads;
#pragma omp parallel num_threads(useful > 1 ? (int)useful : 1)
    make_pieces(&writer);
    pthread_cond_destroy(&writer.turn_changed);
    pthread_mutex_destroy(&writer.lock);
    pthread_mutex_destroy(&writer.lending);
    error_merge(error, &writer.error);
    return !writer.error.is_set;
}
