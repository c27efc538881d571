/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_share.c - streams of several ranks that sort together (cpu/stream/stream_share.c),
 * against a simple sort. The ranks are threads of this process, which read its memory as that of
 * others.
 */
#include "core/group.h"
#include "core/rank_memory.h"
#include "cpu/cpu_sorts.h"
#include "tests/cpu/cpu_cases.h"

#include <pthread.h>

enum { RANKS = 3 };

/* ---- A group of threads ---- */

struct meeting {
    pthread_barrier_t barrier;
    uint64_t *sums; /* of the sum that is under way */
};

static const char *sum_all(void *context, uint64_t *values, size_t count)
{
    struct meeting *const meeting = context;
    if (pthread_barrier_wait(&meeting->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        meeting->sums = calloc(count, sizeof *meeting->sums);
    pthread_barrier_wait(&meeting->barrier);
    for (size_t i = 0; i < count; i++)
        __atomic_add_fetch(&meeting->sums[i], values[i], __ATOMIC_RELAXED);
    pthread_barrier_wait(&meeting->barrier);
    memcpy(values, meeting->sums, count * sizeof *values);
    if (pthread_barrier_wait(&meeting->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        free(meeting->sums);
    return NULL;
}

static const struct group_functions functions = {.sum = sum_all};

/* ---- A job ---- */

struct job {
    const struct test_case *c;
    uint64_t begins[RANKS + 1];  /* the keys of each rank in the input, */
    uint64_t targets[RANKS + 1]; /* and in the output */
    bool has_stranger;           /* the last rank has an example of its own */
    bool reads_nobody;           /* the memory of rank 1 cannot be read */
    struct meeting meeting;
    unsigned char *output;
    size_t given[RANKS];
    uint64_t sent, received;
    bool are_shared[RANKS], can_read[RANKS];
    struct error errors[RANKS];
};

struct rank {
    struct job *job;
    unsigned number;
};

/* Copies the keys of the rank's range to the output. */
static bool give_range(struct job *job, unsigned rank, struct stream_sort *stream,
                       struct error *error)
{
    const size_t width = job->c->wanted->bytes;
    const uint64_t begin = job->targets[rank], count = job->targets[rank + 1] - begin;
    while (job->given[rank] < count) {
        const size_t left = (size_t)count - job->given[rank];
        void *keys;
        size_t given;
        if (!stream_sort_give(stream, &keys, &given, error) || given == 0)
            return false;
        memcpy(job->output + (begin + job->given[rank]) * width, keys,
               (given < left ? given : left) * width);
        stream_sort_take_back(stream, given);
        job->given[rank] += given < left ? given : left;
    }
    return true;
}

static bool run_stream(struct job *job, struct group *group, const struct rank_memory *memory,
                       struct stream_sort *stream, struct error *error)
{
    const unsigned rank = group->rank;
    const size_t width = job->c->wanted->bytes, begin = job->begins[rank], threads = 2;
    struct shared_sort shared = {.group = group, .targets = job->targets};
    void *const ring = allocate(stream_sort_chunk(threads));
    bool suits = true;
    bool ok = (!stream || stream_sort_put(stream, job->c->input + begin * width,
                                          job->begins[rank + 1] - begin, &suits, error)) &&
              stream_sort_share(stream, &shared, memory, &job->are_shared[rank], error);
    if (ok && job->are_shared[rank]) {
        stream_sort_start(stream, ring, stream_sort_chunk(threads), NULL, &suits);
        ok = suits && give_range(job, rank, stream, error);
    }
    __atomic_add_fetch(&job->sent, shared.sent_bytes, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->received, shared.received_bytes, __ATOMIC_RELAXED);
    ok = group_agree(group, ok, error); /* before the ring and the stream go */
    free(ring);
    return ok;
}

static void *run_rank(void *context)
{
    struct job *const job = ((struct rank *)context)->job;
    const struct test_case *const c = job->c;
    const unsigned rank = ((struct rank *)context)->number;
    struct group group = {.rank = rank, .size = RANKS, .host_rank = rank, .host_size = RANKS};
    struct error *const error = &job->errors[rank];
    const size_t width = c->wanted->bytes, count = c->count / 100;
    const struct sort_task task = {c->wanted->bytes, c->order,
                                   job->begins[rank + 1] - job->begins[rank], 2};
    unsigned char *const keys = allocate(count * width);
    struct rank_memory *memory = NULL;
    struct stream_sort *stream = NULL;
    group.functions = &functions;
    group.context = &job->meeting;
    for (size_t i = 0; i < count; i++)
        memcpy(keys + i * width, c->input + 100 * i * width, width);
    const bool is_stranger = job->has_stranger && rank == RANKS - 1;
    const struct stream_example example = {keys, is_stranger ? count / 2 : count, true, c->count};
    job->can_read[rank] = rank_memory_open(&group, &memory, error) && memory;
    if (job->can_read[rank] && job->reads_nobody)
        memory->processes[1] = 0x7fffffff;
    if (job->can_read[rank]) { /* a sample may show that a stream does not suit: it is NULL then */
        stream_sort_open(&task, &example, &stream, error);
        run_stream(job, &group, memory, stream, error);
    }
    stream_sort_close(stream);
    free(memory);
    free(keys);
    return NULL;
}

/* Runs the job in a thread for each rank. Returns false if no process may read another. */
static bool run_ranks(struct job *job)
{
    pthread_t threads[RANKS];
    struct rank ranks[RANKS];
    job->output = allocate(job->c->count * job->c->wanted->bytes);
    pthread_barrier_init(&job->meeting.barrier, NULL, RANKS);
    for (unsigned i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){job, i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
    }
    for (unsigned i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&job->meeting.barrier);
    return job->can_read[0];
}

/* A job whose ranks have parts of unlike sizes, and ranges of which one is empty. */
static struct job make_job(const struct test_case *c)
{
    const uint64_t count = c->count;
    return (struct job){.c = c,
                        .begins = {0, count / 5, count / 2, count},
                        .targets = {0, count / 7, count / 7, count}};
}

/* ---- Tests ---- */

static void ranks_sort_every_shape_together(void **state)
{
    size_t shared = 0;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t o = 0; o < ORDER_COUNT; o++) {
            if ((orders[o].bytes != 4 && orders[o].bytes != 8) ||
                (o + s) % full_or_small(3, 10) != 0)
                continue;
            struct test_case c = make_case(&orders[o], &shapes[s], 200003);
            struct job job = make_job(&c);
            if (!run_ranks(&job))
                skip();
            for (unsigned i = 0; i < RANKS; i++)
                assert_int_equal(job.are_shared[i], job.are_shared[0]);
            assert_false(job.errors[0].is_set);
            if (job.are_shared[0])
                assert_sorted(&c, job.output, 0, c.count, "by ranks together", 2);
            assert_int_equal(job.sent, job.received);
            shared += job.are_shared[0];
            free(job.output);
            free_case(&c);
        }
    assert_true(shared > full_or_small(20, 5));
}

static void ranks_with_other_samples_sort_apart(void **state)
{
    struct test_case c = make_case(&orders[ORDER_f64], &shapes[0], 200003);
    struct job job = make_job(&c);
    job.has_stranger = true;
    if (!run_ranks(&job))
        skip();
    assert_false(job.are_shared[0] || job.are_shared[RANKS - 1] || job.errors[0].is_set);
    free(job.output);
    free_case(&c);
}

static void a_rank_that_cannot_be_read_is_named(void **state)
{
    struct test_case c = make_case(&orders[ORDER_f64], &shapes[0], 200003);
    struct job job = make_job(&c);
    job.reads_nobody = true;
    if (!run_ranks(&job))
        skip();
    assert_non_null(strstr(job.errors[0].message, "cannot read the memory of rank 1"));
    free(job.output);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_sort_every_shape_together),
        cmocka_unit_test(ranks_with_other_samples_sort_apart),
        cmocka_unit_test(a_rank_that_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests_name("cpu share", tests, NULL, NULL);
}
