/* SPDX-License-Identifier: Apache-2.0 */
/* unit_ring.c - the ring keeps the order between two threads, and ends all waiting when it is
 * stopped or closed.
 */
#include "core/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ENTRIES = 100000, CAPACITY = 3 };

static void *push_all(void *ring)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (!ring_push(ring, (struct ring_entry){NULL, i}))
            return NULL;
    ring_close(ring);
    return ring;
}

static void test_order_between_threads(void **state)
{
    (void)state;
    struct ring *ring = ring_create(CAPACITY);
    pthread_t pusher;
    struct ring_entry entry;
    void *pushed;
    assert_int_equal(pthread_create(&pusher, NULL, push_all, ring), 0);
    for (size_t i = 0; i < ENTRIES; i++) {
        assert_true(ring_pop(ring, &entry));
        assert_int_equal(entry.bytes, i);
    }
    assert_false(ring_pop(ring, &entry));
    pthread_join(pusher, &pushed);
    assert_ptr_equal(pushed, ring);
    ring_free(ring);
}

static void test_close_leaves_what_is_in(void **state)
{
    (void)state;
    unsigned char byte;
    struct ring *ring = ring_create(CAPACITY);
    struct ring_entry entry;
    assert_true(ring_push(ring, (struct ring_entry){&byte, 1}));
    assert_true(ring_push(ring, (struct ring_entry){&byte, 2}));
    ring_close(ring);
    assert_true(ring_pop(ring, &entry));
    assert_ptr_equal(entry.data, &byte);
    assert_int_equal(entry.bytes, 1);
    assert_true(ring_pop(ring, &entry));
    assert_int_equal(entry.bytes, 2);
    assert_false(ring_pop(ring, &entry));
    ring_free(ring);
}

static void test_stop_refuses_both_sides(void **state)
{
    (void)state;
    struct ring *ring = ring_create(CAPACITY);
    struct ring_entry entry = {NULL, 1};
    assert_true(ring_push(ring, entry));
    ring_stop(ring);
    assert_false(ring_push(ring, entry));
    assert_false(ring_pop(ring, &entry));
    ring_free(ring);
}

static void *pop_one(void *ring)
{
    struct ring_entry entry;
    return ring_pop(ring, &entry) ? ring : NULL;
}

/* Starts a thread that has to wait, calls `end`, and returns the result of the thread. */
static void *run_waiting(void *(*wait)(void *), struct ring *ring, void (*end)(struct ring *))
{
    pthread_t waiter;
    void *result;
    assert_int_equal(pthread_create(&waiter, NULL, wait, ring), 0);
    usleep(20000);
    end(ring);
    pthread_join(waiter, &result);
    return result;
}

static void test_stop_wakes_pusher(void **state)
{
    (void)state;
    struct ring *ring = ring_create(CAPACITY);
    assert_null(run_waiting(push_all, ring, ring_stop));
    ring_free(ring);
}

static void test_stop_and_close_wake_popper(void **state)
{
    (void)state;
    void (*const ends[])(struct ring *) = {ring_stop, ring_close};
    for (size_t i = 0; i < 2; i++) {
        struct ring *ring = ring_create(CAPACITY);
        assert_null(run_waiting(pop_one, ring, ends[i]));
        ring_free(ring);
    }
}

static void test_impossible_capacities(void **state)
{
    (void)state;
    assert_null(ring_create(0));
    assert_null(ring_create(SIZE_MAX));
    assert_null(ring_create(SIZE_MAX / sizeof(struct ring_entry)));
    ring_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_between_threads),
        cmocka_unit_test(test_close_leaves_what_is_in),
        cmocka_unit_test(test_stop_refuses_both_sides),
        cmocka_unit_test(test_stop_wakes_pusher),
        cmocka_unit_test(test_stop_and_close_wake_popper),
        cmocka_unit_test(test_impossible_capacities),
    };
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
