/* SPDX-License-Identifier: Apache-2.0 */
/* unit_group.c - cuts of sorted runs and their exchange (job/external_cuts.h,
 * job/external_exchange.h), with ranks that are threads: what all ranks write is what qsort(3)
 * makes of all items, whatever the items, with messages of 1 KiB; and each function of the group
 * fails once. tests/job/mpi.sh has processes, and lines. */
#include "job/external_cuts.h"
#include "job/external_exchange.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 5u
#define COUNT_MAX ((size_t)20000) /* items of a rank */
#define SLOTS_MAX 256
#define MESSAGE_BYTES 1024

__extension__ typedef unsigned __int128 wide_item;

/* ---- Ranks that are threads ---- */

struct mail {
    bool is_used, is_send, is_done;
    unsigned char *data;
    size_t bytes;
    unsigned other, tag;
    uint64_t order; /* of its post */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned size, arrived, left;
    uint64_t *values; /* of the collective call under way */
    uint64_t order;
    bool is_dead; /* a rank has left the others */
    struct mail mails[RANKS_MAX][SLOTS_MAX];
    size_t calls, failing_call; /* over all ranks; 0: none fails */
} world;

static const char *count_call(void)
{
    if (world.is_dead || ++world.calls == world.failing_call) {
        world.is_dead = true;
        pthread_cond_broadcast(&world.changed);
    }
    return world.is_dead ? "made to fail" : NULL;
}

/* The last rank to arrive has the sum; all copy it; the last to leave clears it. */
static const char *add_up(void *context, uint64_t *values, size_t count)
{
    (void)context;
    pthread_mutex_lock(&world.lock);
    const char *failure = count_call();
    while (!failure && world.left > 0 && !world.is_dead)
        pthread_cond_wait(&world.changed, &world.lock);
    if (!failure && world.is_dead)
        failure = "another rank has gone";
    if (!failure && world.arrived == 0)
        world.values = calloc(count, sizeof *values);
    for (size_t i = 0; !failure && i < count; i++)
        world.values[i] += values[i];
    if (!failure && ++world.arrived == world.size) {
        world.left = world.size;
        pthread_cond_broadcast(&world.changed);
    }
    while (!failure && world.left == 0 && !world.is_dead)
        pthread_cond_wait(&world.changed, &world.lock);
    if (!failure && world.is_dead)
        failure = "another rank has gone";
    if (!failure)
        memcpy(values, world.values, count * sizeof *values);
    if (!failure && --world.left == 0) {
        world.arrived = 0;
        free(world.values);
        world.values = NULL;
        pthread_cond_broadcast(&world.changed);
    }
    pthread_mutex_unlock(&world.lock);
    return failure;
}

static const char *reserve(void *context, size_t count)
{
    assert_true(count <= SLOTS_MAX);
    memset(context, 0, SLOTS_MAX * sizeof(struct mail));
    return NULL;
}

static const char *post(void *context, size_t slot, struct mail mail)
{
    struct mail *const mails = context;
    pthread_mutex_lock(&world.lock);
    const char *const failure = count_call();
    assert_false(mails[slot].is_used);
    mail.order = ++world.order;
    mails[slot] = mail;
    pthread_mutex_unlock(&world.lock);
    return failure;
}

static const char *send(void *context, size_t slot, const void *data, size_t bytes, unsigned to,
                        unsigned tag)
{
    const struct mail mail = {true, true, false, (unsigned char *)data, bytes, to, tag, 0};
    return post(context, slot, mail);
}

static const char *receive(void *context, size_t slot, void *data, size_t bytes, unsigned from,
                           unsigned tag)
{
    const struct mail mail = {true, false, false, data, bytes, from, tag, 0};
    return post(context, slot, mail);
}

/* The first of a rank's mails of that kind to another rank that is not done. */
static struct mail *find_first(unsigned rank, bool is_send, unsigned other, unsigned tag)
{
    struct mail *first = NULL;
    for (size_t i = 0; i < SLOTS_MAX; i++) {
        struct mail *const mail = &world.mails[rank][i];
        if (mail->is_used && !mail->is_done && mail->is_send == is_send && mail->other == other &&
            mail->tag == tag && (!first || mail->order < first->order))
            first = mail;
    }
    return first;
}

static const char *poll_mails(void *context, size_t *slot, size_t *bytes)
{
    struct mail *const mails = context;
    const unsigned rank = (unsigned)((mails - world.mails[0]) / SLOTS_MAX);
    *slot = GROUP_NO_SLOT;
    pthread_mutex_lock(&world.lock);
    const char *const failure = world.is_dead ? "another rank has gone" : NULL;
    for (size_t i = 0; !failure && *slot == GROUP_NO_SLOT && i < SLOTS_MAX; i++) {
        struct mail *const mail = &mails[i];
        if (mail->is_used && !mail->is_done && !mail->is_send &&
            find_first(rank, false, mail->other, mail->tag) == mail) {
            struct mail *const sent = find_first(mail->other, true, rank, mail->tag);
            if (sent) {
                assert_true(sent->bytes <= mail->bytes);
                memcpy(mail->data, sent->data, sent->bytes);
                mail->bytes = sent->bytes;
                mail->is_done = sent->is_done = true;
            }
        }
        if (mail->is_used && mail->is_done) {
            *slot = i;
            *bytes = mail->bytes;
            mail->is_used = false;
        }
    }
    pthread_mutex_unlock(&world.lock);
    return failure;
}

static const struct group_functions functions = {
    .sum = add_up, .reserve = reserve, .send = send, .receive = receive, .poll = poll_mails};

/* ---- A job ---- */

struct rank {
    struct group group;
    unsigned item_bytes;
    size_t memory_bytes;
    struct item_run runs[2];
    size_t run_count;
    unsigned char *items; /* of all runs, one after the other */
    unsigned char *written;
    size_t written_count;
    uint64_t target_begin, target_end;
    size_t fail_after; /* items that `write` takes before it fails; 0: all */
    bool ok;
    struct error error;
};

static unsigned width;
static int compare_items(const void *a, const void *b)
{
    wide_item x = 0, y = 0;
    memcpy(&x, a, width);
    memcpy(&y, b, width);
    return (x > y) - (x < y);
}

static bool take_written(void *context, const void *items, size_t count, struct error *error)
{
    struct rank *const rank = context;
    memcpy(rank->written + rank->written_count * rank->item_bytes, items, count * rank->item_bytes);
    rank->written_count += count;
    return rank->fail_after == 0 || rank->written_count < rank->fail_after ||
           error_set(error, "made to fail in rank %u", rank->group.rank);
}

static size_t all_runs;
static unsigned owners[2 * RANKS_MAX];
static uint64_t targets[RANKS_MAX + 1];

static bool merge_runs(void *context, struct item_run *runs, size_t run_count, struct error *error)
{
    struct rank *const rank = context;
    const struct external_merge merge = {.item_bytes = rank->item_bytes,
                                         .order = key_order_identity(),
                                         .runs = runs,
                                         .run_count = run_count,
                                         .wanted = targets[rank->group.rank + 1] -
                                                   targets[rank->group.rank],
                                         .threads = 1,
                                         .memory_bytes = 1 << 20,
                                         .write = take_written,
                                         .context = rank};
    return external_merge_run(&merge, error);
}

static bool run_rank(struct rank *rank, uint64_t *positions)
{
    const size_t first_run = rank->group.rank * rank->run_count;
    const struct external_cuts cuts = {.group = &rank->group,
                                       .item_bytes = rank->item_bytes,
                                       .order = key_order_identity(),
                                       .runs = rank->runs,
                                       .run_count = rank->run_count,
                                       .first_run = first_run,
                                       .all_runs = all_runs,
                                       .targets = targets + 1,
                                       .cut_count = rank->group.size};
    struct external_exchange exchange = {.group = &rank->group,
                                         .item_bytes = rank->item_bytes,
                                         .threads = 1,
                                         .merge = merge_runs,
                                         .context = rank,
                                         .runs = rank->runs,
                                         .run_count = rank->run_count,
                                         .first_run = first_run,
                                         .owners = owners,
                                         .all_runs = all_runs,
                                         .positions = positions,
                                         .message_bytes = MESSAGE_BYTES};
    if (!external_cuts_find(&cuts, positions + all_runs, &rank->error))
        return false;
    const bool ok = external_exchange_run(&exchange, &rank->error);
    return group_agree(&rank->group, ok || !rank->error.is_set, &rank->error) && ok;
}

static void *rank_main(void *opaque)
{
    struct rank *const rank = opaque;
    uint64_t *const positions = calloc((RANKS_MAX + 1) * all_runs, sizeof *positions);
    rank->ok = run_rank(rank, positions);
    if (!rank->ok && !rank->group.has_agreed_to_fail) { /* as group_close() does */
        pthread_mutex_lock(&world.lock);
        world.is_dead = true;
        pthread_cond_broadcast(&world.changed);
        pthread_mutex_unlock(&world.lock);
    }
    free(positions);
    return NULL;
}

enum shape { SHAPE_RANDOM, SHAPE_EQUAL, SHAPE_HOT, SHAPE_REVERSED, SHAPE_FEW, SHAPE_COUNT };

static uint64_t make_key(enum shape shape, uint64_t random, size_t place)
{
    switch (shape) {
    case SHAPE_EQUAL:
        return 42;
    case SHAPE_HOT:
        return random % 100 == 0 ? random : 42;
    case SHAPE_REVERSED:
        return UINT32_MAX - place;
    case SHAPE_FEW:
        return random % 3;
    default:
        return random;
    }
}

static struct rank ranks[RANKS_MAX];
static unsigned char *all_items;
static size_t all_count;

/* Makes sorted runs for each rank. Items of 16 bytes are all different. */
static void make_ranks(unsigned size, unsigned item_bytes, size_t run_count, enum shape shape,
                       size_t count)
{
    uint64_t random = size * 31 + item_bytes + shape;
    width = item_bytes;
    all_runs = size * run_count;
    all_items = malloc(size * count * item_bytes + 1);
    all_count = 0;
    for (unsigned r = 0; r < size; r++) {
        struct rank *const rank = &ranks[r];
        *rank = (struct rank){
            .group = {.rank = r, .size = size, .functions = &functions, .context = world.mails[r]},
            .item_bytes = item_bytes,
            .run_count = run_count};
        const size_t has = r == 1 ? count / 3 : count; /* not all alike */
        rank->items = malloc(count * item_bytes + 1);
        rank->written = malloc(size * count * item_bytes + 1);
        for (size_t i = 0; i < has; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint64_t key = make_key(shape, random >> 16, all_count + i);
            wide_item item = item_bytes == 16 ? (wide_item)key << 64 | (all_count + i) : key;
            memcpy(rank->items + i * item_bytes, &item, item_bytes);
        }
        memcpy(all_items + all_count * item_bytes, rank->items, has * item_bytes);
        all_count += has;
        for (size_t i = 0, begin = 0; i < run_count; i++) {
            const size_t end = has * (i + 1) / run_count;
            rank->runs[i] =
                (struct item_run){.items = rank->items + begin * item_bytes, .count = end - begin};
            qsort(rank->runs[i].items, end - begin, item_bytes, compare_items);
            owners[r * run_count + i] = r;
            begin = end;
        }
    }
    qsort(all_items, all_count, item_bytes, compare_items);
    for (unsigned r = 0; r <= size; r++)
        targets[r] = group_share(&ranks[0].group, all_count, r);
}

static void free_ranks(unsigned size)
{
    for (unsigned r = 0; r < size; r++) {
        free(ranks[r].items);
        free(ranks[r].written);
    }
    free(all_items);
    free(world.values);
}

/* Runs all ranks; the call of that number, over all ranks, fails, 0: none. */
static void run_ranks(unsigned size, size_t failing_call)
{
    pthread_t threads[RANKS_MAX];
    memset(&world, 0, sizeof world);
    pthread_mutex_init(&world.lock, NULL);
    pthread_cond_init(&world.changed, NULL);
    world.size = size;
    world.failing_call = failing_call;
    for (unsigned r = 0; r < size; r++)
        assert_int_equal(pthread_create(&threads[r], NULL, rank_main, &ranks[r]), 0);
    for (unsigned r = 0; r < size; r++)
        pthread_join(threads[r], NULL);
}

static void check_written(unsigned size)
{
    for (unsigned r = 0; r < size; r++) {
        assert_true(ranks[r].ok);
        assert_int_equal(ranks[r].written_count, targets[r + 1] - targets[r]);
        assert_memory_equal(ranks[r].written, all_items + targets[r] * width,
                            ranks[r].written_count * width);
    }
}

static void ranks_write_all_items_in_order(void **state)
{
    static const unsigned widths[] = {4, 8, 16};
    static const size_t counts[] = {0, 1, 700, COUNT_MAX};
    (void)state;
    for (unsigned size = 1; size <= RANKS_MAX; size += 2)
        for (size_t w = 0; w < 3; w++)
            for (int shape = 0; shape < SHAPE_COUNT; shape++)
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                    make_ranks(size, widths[w], 1 + c % 2, (enum shape)shape, counts[c]);
                    run_ranks(size, 0);
                    check_written(size);
                    free_ranks(size);
                }
}

static void the_first_items_alone(void **state)
{
    (void)state;
    make_ranks(3, 8, 2, SHAPE_HOT, 5000);
    for (unsigned r = 0; r <= 3; r++)
        targets[r] = group_share(&ranks[0].group, 1000, r);
    run_ranks(3, 0);
    check_written(3);
    free_ranks(3);
}

static void a_rank_that_fails_ends_all_with_its_error(void **state)
{
    (void)state;
    for (unsigned failing = 0; failing < 3; failing++) {
        make_ranks(3, 8, 2, SHAPE_RANDOM, COUNT_MAX);
        ranks[failing].fail_after = 1000;
        run_ranks(3, 0);
        for (unsigned r = 0; r < 3; r++) {
            char expected[64];
            snprintf(expected, sizeof expected, "made to fail in rank %u", failing);
            assert_false(ranks[r].ok);
            assert_true(ranks[r].group.has_agreed_to_fail);
            assert_int_equal(ranks[r].group.speaks, r == failing);
            assert_non_null(strstr(ranks[r].error.message, expected));
        }
        free_ranks(3);
    }
}

static void each_call_fails_once(void **state)
{
    size_t calls = 0;
    (void)state;
    make_ranks(3, 4, 1, SHAPE_RANDOM, 700);
    run_ranks(3, 0);
    calls = world.calls;
    free_ranks(3);
    assert_true(calls > 100);
    for (size_t call = 1; call <= calls; call++) {
        make_ranks(3, 4, 1, SHAPE_RANDOM, 700);
        run_ranks(3, call);
        bool is_told = false;
        for (unsigned r = 0; r < 3; r++)
            is_told |= !ranks[r].ok && strstr(ranks[r].error.message, "made to fail");
        assert_true(is_told);
        free_ranks(3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_write_all_items_in_order),
        cmocka_unit_test(the_first_items_alone),
        cmocka_unit_test(a_rank_that_fails_ends_all_with_its_error),
        cmocka_unit_test(each_call_fails_once),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
