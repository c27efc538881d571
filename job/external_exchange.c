/* SPDX-License-Identifier: Apache-2.0 */
/* external_exchange.c - see external_exchange.h. */
#include "job/external_exchange.h"

#include "core/rank_memory.h"
#include "core/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Messages in flight, at most, of a stream. */
#define DEPTH 2

/* Maximum and minimum bytes of a message. The maximum is small, because a message is copied several
 * times between ranks of one host. */
#define MESSAGE_BYTES_MAX ((size_t)4 << 20)
#define MESSAGE_BYTES_MIN ((size_t)4 << 10)

enum message_state { MESSAGE_FREE, MESSAGE_MOVING, MESSAGE_READY };

struct message {
    enum message_state state;
    unsigned char *buffer;
    size_t number; /* in its stream */
    size_t bytes;  /* expected while it moves */
    size_t used;   /* of a received one: bytes that the merge has taken */
};

/* A range of a run on its way to or from another rank. */
struct stream {
    const struct item_run *run; /* NULL if the stream is received */
    unsigned rank;              /* the rank that receives or sends the stream */
    unsigned tag;
    uint64_t begin, end; /* items of the run */
    size_t count;        /* messages; fewer after a failure */
    size_t begun;        /* messages */
    size_t taken;        /* messages that the merge has used up */
    struct exchange *exchange;
    struct message messages[DEPTH]; /* message n is in messages[n % DEPTH] */
};

struct exchange {
    struct external_exchange *task;
    struct stream *streams; /* sent_count that are sent, then the received ones */
    size_t sent_count, count;
    unsigned char *buffers;
    struct item_run *runs; /* the range of this rank in each run */
    struct rank_memory *memory;
    struct remote_range *ranges; /* in the memory of all ranks; NULL: messages are sent */
    struct error *error;         /* of the messages */
    pthread_mutex_t lock; /* protects the messages of received streams, and the fields below */
    pthread_cond_t has_come;
    bool has_failed;  /* on this rank or another one */
    bool is_given_up; /* await_message() has reported the failure to the merge */
    bool is_merged;   /* the merge has ended, well or not */
    struct error merge_error;
};

size_t external_exchange_message_bytes(size_t memory_bytes, size_t streams, unsigned item_bytes)
{
    const size_t each = memory_bytes / DEPTH / (streams > 0 ? streams : 1);
    const size_t bytes = each < MESSAGE_BYTES_MIN   ? MESSAGE_BYTES_MIN
                         : each > MESSAGE_BYTES_MAX ? MESSAGE_BYTES_MAX
                                                    : each;
    return bytes / item_bytes * item_bytes;
}

/* ---- What the merge reads ---- */

/* Waits for the next message of the stream. Returns NULL after a failure. */
static struct message *await_message(struct stream *stream)
{
    struct exchange *const exchange = stream->exchange;
    struct message *const message = &stream->messages[stream->taken % DEPTH];
    pthread_mutex_lock(&exchange->lock);
    while (message->state != MESSAGE_READY && !exchange->has_failed)
        pthread_cond_wait(&exchange->has_come, &exchange->lock);
    const bool has_failed = exchange->has_failed;
    exchange->is_given_up |= has_failed;
    pthread_mutex_unlock(&exchange->lock);
    return has_failed ? NULL : message;
}

static bool read_received(void *context, uint64_t first, void *items, size_t count,
                          struct error *error)
{
    struct stream *const stream = context;
    struct exchange *const exchange = stream->exchange;
    unsigned char *out = items;
    (void)first;
    for (size_t left = count * exchange->task->item_bytes; left > 0;) {
        struct message *const message = await_message(stream);
        if (!message)
            return error_set(error, "given up, as a rank has failed");
        const size_t has = message->bytes - message->used, some = has < left ? has : left;
        memcpy(out, message->buffer + message->used, some);
        message->used += some;
        out += some;
        left -= some;
        if (message->used < message->bytes)
            continue;
        pthread_mutex_lock(&exchange->lock);
        message->state = MESSAGE_FREE;
        stream->taken++;
        pthread_mutex_unlock(&exchange->lock);
    }
    return true;
}

static void *merge_main(void *opaque)
{
    struct exchange *const exchange = opaque;
    const struct external_exchange *const task = exchange->task;
    struct error error = {0};
    omp_set_num_threads((int)task->threads); /* for `merge`: OpenMP keeps this number per thread */
    const bool ok = task->merge(task->context, exchange->runs, task->numbered->count, &error);
    pthread_mutex_lock(&exchange->lock);
    exchange->merge_error = error;
    exchange->has_failed |= !ok;
    exchange->is_merged = true;
    pthread_mutex_unlock(&exchange->lock);
    return NULL;
}

/* ---- Messages ---- */

static bool check(struct exchange *exchange, const char *failure)
{
    return group_check(exchange->task->group, failure, exchange->error);
}

static size_t slot_of(const struct exchange *exchange, const struct stream *stream, size_t message)
{
    return (size_t)(stream - exchange->streams) * DEPTH + message;
}

/* Begins the next message of the stream, and sets its size. Returns the index of its first item. */
static uint64_t begin_message(struct exchange *exchange, struct stream *stream,
                              struct message *message)
{
    const unsigned width = exchange->task->item_bytes;
    const size_t room = exchange->task->message_bytes / width;
    const uint64_t first = stream->begin + (uint64_t)stream->begun * room;
    const uint64_t left = stream->end - first;
    message->bytes = (left < room ? (size_t)left : room) * width;
    message->used = 0;
    message->number = stream->begun++;
    message->state = MESSAGE_MOVING;
    return first;
}

/* Ends the stream after message `number`, which had no bytes because its sender has failed. The
 * receiver may already await DEPTH - 1 messages after it, so these are still sent. */
static void cut_stream(struct stream *stream, size_t number)
{
    if (stream->count > number + DEPTH)
        stream->count = number + DEPTH;
}

/* Marks the exchange as failed, which ends the merge and the messages, and wakes threads that wait.
 */
static void note_failure(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->has_failed = true;
    pthread_cond_broadcast(&exchange->has_come);
    pthread_mutex_unlock(&exchange->lock);
}

/* Returns the data of a message, in the run or in the message's buffer; NULL if it cannot be
 * read. */
static const unsigned char *find_data(struct exchange *exchange, const struct stream *stream,
                                      const struct message *message, uint64_t first)
{
    const struct item_run *const run = stream->run;
    const unsigned width = exchange->task->item_bytes;
    struct error cause = {0};
    if (run->items)
        return run->items + first * width;
    if (item_run_read(run, first, message->buffer, message->bytes / width, width, &cause))
        return message->buffer;
    error_merge(exchange->error, &cause);
    note_failure(exchange);
    return NULL;
}

/* Sends the next message, without bytes if the exchange has failed or they cannot be read. */
static bool send_next(struct exchange *exchange, struct stream *stream, bool has_failed)
{
    const struct group *const group = exchange->task->group;
    const size_t slot = stream->begun % DEPTH;
    struct message *const message = &stream->messages[slot];
    const uint64_t first = begin_message(exchange, stream, message);
    const unsigned char *const data =
        has_failed ? NULL : find_data(exchange, stream, message, first);
    if (!data) {
        message->bytes = 0;
        cut_stream(stream, message->number);
    }
    exchange->task->sent_bytes += message->bytes;
    return check(exchange, group->functions->send(group->context, slot_of(exchange, stream, slot),
                                                  data ? data : message->buffer, message->bytes,
                                                  stream->rank, stream->tag));
}

static bool receive_next(struct exchange *exchange, struct stream *stream)
{
    const struct group *const group = exchange->task->group;
    const size_t slot = stream->begun % DEPTH;
    struct message *const message = &stream->messages[slot];
    begin_message(exchange, stream, message);
    return check(exchange, group->functions->receive(
                               group->context, slot_of(exchange, stream, slot), message->buffer,
                               message->bytes, stream->rank, stream->tag));
}

static bool has_room(const struct stream *stream)
{
    return stream->begun < stream->count &&
           stream->messages[stream->begun % DEPTH].state == MESSAGE_FREE;
}

/* Begins the messages that there is room for. Once the merge has ended, received ones are dropped.
 */
static bool begin_messages(struct exchange *exchange)
{
    bool ok = true;
    pthread_mutex_lock(&exchange->lock);
    const bool has_failed = exchange->has_failed, is_merged = exchange->is_merged;
    for (size_t i = exchange->sent_count; ok && i < exchange->count; i++) {
        struct stream *const stream = &exchange->streams[i];
        for (size_t slot = 0; is_merged && slot < DEPTH; slot++)
            if (stream->messages[slot].state == MESSAGE_READY)
                stream->messages[slot].state = MESSAGE_FREE;
        while (ok && has_room(stream))
            ok = receive_next(exchange, stream);
    }
    pthread_mutex_unlock(&exchange->lock);
    for (size_t i = 0; ok && i < exchange->sent_count; i++) {
        struct stream *const stream = &exchange->streams[i];
        while (ok && has_room(stream))
            ok = send_next(exchange, stream, has_failed);
    }
    return ok;
}

/* Marks a message as complete: it was sent, or can be merged. */
static void end_message(struct exchange *exchange, size_t slot, size_t bytes)
{
    const size_t number = slot / DEPTH;
    struct stream *const stream = &exchange->streams[number];
    struct message *const message = &stream->messages[slot % DEPTH];
    if (number < exchange->sent_count) {
        message->state = MESSAGE_FREE;
        return;
    }
    pthread_mutex_lock(&exchange->lock);
    if (bytes < message->bytes) {
        exchange->has_failed = true;
        cut_stream(stream, message->number);
    }
    exchange->task->received_bytes += bytes;
    message->state = MESSAGE_READY;
    pthread_cond_broadcast(&exchange->has_come);
    pthread_mutex_unlock(&exchange->lock);
}

/* True if no message is under way, or will be. */
static bool is_done(struct exchange *exchange)
{
    bool done = true;
    pthread_mutex_lock(&exchange->lock);
    for (size_t i = 0; done && i < exchange->count; i++) {
        const struct stream *const stream = &exchange->streams[i];
        done = stream->begun == stream->count;
        for (size_t slot = 0; slot < DEPTH; slot++)
            done &= stream->messages[slot].state != MESSAGE_MOVING;
    }
    done &= exchange->is_merged;
    pthread_mutex_unlock(&exchange->lock);
    return done;
}

static bool move_messages(struct exchange *exchange)
{
    const struct group *const group = exchange->task->group;
    for (unsigned looks = 0; !is_done(exchange);) {
        size_t slot, bytes;
        if (!begin_messages(exchange) ||
            !check(exchange, group->functions->poll(group->context, &slot, &bytes)))
            return false;
        if (slot != GROUP_NO_SLOT) {
            end_message(exchange, slot, bytes);
            looks = 0;
        } else {
            group_pause(looks++);
        }
    }
    return true;
}

/* ---- The memory of other ranks ----
 *
 * A message between two processes is copied by one thread, into a buffer, from which the merge
 * copies it again. If the ranks are on one host, the threads of the merge copy what they need,
 * once (core/rank_memory.h).
 */

struct remote_range {
    const struct rank_memory *memory;
    unsigned rank;
    uint64_t address; /* of the first item */
    unsigned item_bytes;
};

/* The address of a run without items, which need not be in memory. */
#define UNREAD 1

/* A `read` of struct item_run; the context is a struct remote_range. */
static bool read_remote(void *context, uint64_t first, void *items, size_t count,
                        struct error *error)
{
    const struct remote_range *const range = context;
    return rank_memory_read(range->memory, range->rank, range->address + first * range->item_bytes,
                            items, count * range->item_bytes, error);
}

/* Sets exchange->ranges from the addresses of all runs. */
static bool find_ranges(struct exchange *exchange, const uint64_t *addresses, struct error *error)
{
    const struct external_exchange *const task = exchange->task;
    const uint64_t *const begins =
        task->numbered->positions + task->group->rank * task->numbered->count;
    exchange->ranges = calloc(task->numbered->count + 1, sizeof *exchange->ranges);
    for (size_t i = 0; exchange->ranges && i < task->numbered->count; i++)
        exchange->ranges[i] = (struct remote_range){
            .memory = exchange->memory,
            .rank = task->numbered->owners[i],
            .address = addresses[i] + begins[i] * task->item_bytes,
            .item_bytes = task->item_bytes,
        };
    return exchange->ranges || error_set(error, "out of memory");
}

/* Collective: if each rank can read the memory of all others, and all runs are in memory, sets
 * exchange->ranges to the range of this rank in each run. The runs must stay until all ranks have
 * merged. Fails only if the group does, or memory runs out. */
static bool open_ranges(struct exchange *exchange, struct error *error)
{
    const struct external_exchange *const task = exchange->task;
    struct group *const group = task->group;
    const size_t count = task->numbered->count;
    if (!rank_memory_open(group, &exchange->memory, error))
        return false;
    if (!exchange->memory)
        return true;
    uint64_t *const addresses = calloc(count + 1, sizeof *addresses);
    bool ok = group_agree(group, addresses || error_set(error, "out of memory"), error);
    for (size_t i = 0; ok && i < task->run_count; i++) {
        const struct item_run *const run = &task->runs[i];
        addresses[task->numbered->first + i] = run->count > 0 ? (uintptr_t)run->items : UNREAD;
    }
    ok = ok && group_sum(group, addresses, count, error);
    bool are_in_memory = ok;
    for (size_t i = 0; are_in_memory && i < count; i++)
        are_in_memory = addresses[i] != 0;
    if (are_in_memory)
        ok = group_agree(group, find_ranges(exchange, addresses, error), error);
    free(addresses);
    return ok;
}

/* ---- Life ---- */

static uint64_t position(const struct external_exchange *task, unsigned rank, size_t run)
{
    return task->numbered->positions[rank * task->numbered->count + run];
}

static void add_stream(struct exchange *exchange, const struct item_run *run, size_t number,
                       unsigned rank, unsigned receiver)
{
    const struct external_exchange *const task = exchange->task;
    struct stream *const stream = &exchange->streams[exchange->count];
    *stream = (struct stream){
        .run = run,
        .rank = rank,
        .tag = (unsigned)number,
        .begin = position(task, receiver, number),
        .end = position(task, receiver + 1, number),
        .exchange = exchange,
    };
    const uint64_t bytes = (stream->end - stream->begin) * task->item_bytes;
    stream->count = (size_t)((bytes + task->message_bytes - 1) / task->message_bytes);
    for (size_t slot = 0; slot < DEPTH; slot++)
        stream->messages[slot].buffer =
            exchange->buffers + (exchange->count * DEPTH + slot) * task->message_bytes;
    exchange->count++;
}

static void add_streams(struct exchange *exchange)
{
    const struct external_exchange *const task = exchange->task;
    const unsigned self = task->group->rank;
    if (exchange->ranges)
        return;
    for (size_t i = 0; i < task->run_count; i++)
        for (unsigned rank = 0; rank < task->group->size; rank++)
            if (rank != self)
                add_stream(exchange, &task->runs[i], task->numbered->first + i, rank, rank);
    exchange->sent_count = exchange->count;
    for (size_t number = 0; number < task->numbered->count; number++)
        if (task->numbered->owners[number] != self)
            add_stream(exchange, NULL, number, task->numbered->owners[number], self);
}

static void make_runs(struct exchange *exchange)
{
    struct external_exchange *const task = exchange->task;
    struct stream *received = exchange->streams + exchange->sent_count;
    const unsigned self = task->group->rank, width = task->item_bytes;
    for (size_t number = 0; number < task->numbered->count; number++) {
        const uint64_t begin = position(task, self, number);
        struct item_run *const run = &exchange->runs[number];
        *run = (struct item_run){.count = position(task, self + 1, number) - begin};
        if (task->numbered->owners[number] != self && exchange->ranges) {
            run->read = read_remote;
            run->context = &exchange->ranges[number];
            run->reads_anywhere = true;
            task->received_bytes += run->count * width;
            continue;
        }
        if (task->numbered->owners[number] != self) {
            run->read = read_received;
            run->context = received++;
            continue;
        }
        const struct item_run *const own = &task->runs[number - task->numbered->first];
        if (exchange->ranges)
            task->sent_bytes += (position(task, task->group->size, number) -
                                 position(task, 0, number) - run->count) *
                                width;
        run->items = own->items ? own->items + begin * width : NULL;
        run->spilled = own->spilled;
        run->begin = begin;
    }
}

/* Merges in another thread while this one moves messages; in this one if there are no messages. */
static bool run_exchange(struct exchange *exchange, struct error *error)
{
    pthread_t thread;
    if (exchange->ranges) {
        merge_main(exchange);
        error_merge(error, &exchange->merge_error);
        return !exchange->has_failed;
    }
    const int cause = thread_start(&thread, "exchange", merge_main, exchange);
    const bool is_started = cause == 0 || thread_set_error(cause, "merge", error);
    if (!is_started) /* the messages below report it to the other ranks */
        exchange->has_failed = exchange->is_merged = true;
    const bool is_moved = move_messages(exchange);
    if (!is_moved)
        note_failure(exchange);
    if (is_started)
        pthread_join(thread, NULL);
    if (!exchange->is_given_up)
        error_merge(error, &exchange->merge_error);
    return is_started && is_moved && !exchange->has_failed;
}

static bool allocate(struct exchange *exchange, struct error *error)
{
    const struct external_exchange *const task = exchange->task;
    const size_t most =
        exchange->ranges ? 0 : task->run_count * (task->group->size - 1) + task->numbered->count;
    exchange->streams = calloc(most + 1, sizeof *exchange->streams);
    exchange->runs = calloc(task->numbered->count + 1, sizeof *exchange->runs);
    exchange->buffers = malloc(most * DEPTH * task->message_bytes + 1);
    if (!exchange->streams || !exchange->runs || !exchange->buffers)
        return error_set(error, "out of memory: no room for messages between the ranks");
    return group_reserve(task->group, most * DEPTH, error);
}

bool external_exchange_run(struct external_exchange *task, struct error *error)
{
    struct exchange exchange = {.task = task, .error = error};
    pthread_mutex_init(&exchange.lock, NULL);
    pthread_cond_init(&exchange.has_come, NULL);
    bool ok = open_ranges(&exchange, error) &&
              group_agree(task->group, allocate(&exchange, error), error);
    if (ok) {
        add_streams(&exchange);
        make_runs(&exchange);
        ok = run_exchange(&exchange, error);
    }
    free(exchange.ranges);
    free(exchange.memory);
    free(exchange.buffers);
    free(exchange.runs);
    free(exchange.streams);
    pthread_cond_destroy(&exchange.has_come);
    pthread_mutex_destroy(&exchange.lock);
    return ok;
}
