/* SPDX-License-Identifier: Apache-2.0 */
/* unit_trace_ranks.c - two ranks that are processes: rank 0 reads the bytes that rank 1 counts, and
 * files that are not its memory are left alone. */
#include "core/trace_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What rank 0 broadcasts goes through this pipe to rank 1. */
static int tube[2];
static void (*change)(void *data); /* NULL, or changes what rank 1 receives */

static const char *send_all(void *context, void *data, size_t bytes)
{
    (void)context;
    return write(tube[1], data, bytes) == (ssize_t)bytes ? NULL : "cannot send";
}

static const char *receive_all(void *context, void *data, size_t bytes)
{
    (void)context;
    if (read(tube[0], data, bytes) != (ssize_t)bytes)
        return "cannot receive";
    if (change)
        change(data);
    return NULL;
}

/* Rank 1 counts 5 and 7 bytes, which rank 0 should see or not. Returns what it sees. */
static uint64_t count_in_child(bool is_wanted, unsigned *ranks)
{
    static const struct group_functions first = {.broadcast = send_all},
                                        second = {.broadcast = receive_all};
    struct error error = {0};
    struct trace_view view;
    int status;
    struct group group = {.rank = 0, .size = 2, .functions = &first};
    assert_int_equal(pipe(tube), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        group = (struct group){.rank = 1, .size = 2, .functions = &second};
        trace_start(false, &error);
        trace_end(TRACE_READ, 0, 5);
        if (!trace_ranks_share(&group, false, &error))
            _exit(1);
        trace_end(TRACE_READ, 0, 7);
        trace_look(&view);
        _exit(view.bytes[TRACE_READ] == 12 ? 0 : 2);
    }
    assert_true(trace_start(false, &error));
    trace_end(TRACE_READ, 0, 100);
    assert_true(trace_ranks_share(&group, is_wanted, &error));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    trace_end(TRACE_READ, 0, 1);
    trace_look(&view);
    assert_int_equal(view.bytes[TRACE_READ], 101);
    *ranks = trace_ranks_look(&view);
    return view.bytes[TRACE_READ];
}

static void test_not_wanted(void **state)
{
    unsigned ranks;
    (void)state;
    assert_int_equal(count_in_child(false, &ranks), 101);
    assert_int_equal(ranks, 1);
}

/* The mark is the last member. */
static void change_mark(void *data)
{
    ((unsigned char *)data)[sizeof(int) * 2] ^= 1;
}

static void test_memory_of_another(void **state)
{
    unsigned ranks;
    (void)state;
    change = change_mark;
    assert_int_equal(count_in_child(true, &ranks), 101);
    assert_int_equal(ranks, 1);
    change = NULL;
}

static void test_counted(void **state)
{
    unsigned ranks;
    (void)state;
    assert_int_equal(count_in_child(true, &ranks), 113);
    assert_int_equal(ranks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_memory_of_another),
        cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests_name("trace_ranks", tests, NULL, NULL);
}
