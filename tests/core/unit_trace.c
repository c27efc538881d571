/* SPDX-License-Identifier: Apache-2.0 */
/* unit_trace.c - the work that threads report is counted, and recorded in bounded memory. */
#include "core/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, SPANS = 200000, SPANS_KEPT = 1 << 19 };

static bool write_trace(FILE *stream)
{
    return trace_write_head(stream) && trace_write_process(stream, 1, "gpusort") &&
           trace_write_end(stream);
}

static uint64_t bytes_of(enum trace_lane lane)
{
    struct trace_view view;
    trace_look(&view);
    return view.bytes[lane];
}

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        found++;
    return found;
}

/* Returns the trace as it is written, malloc'ed. */
static char *written(void)
{
    char *text;
    size_t bytes;
    FILE *const stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    assert_true(write_trace(stream));
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void test_counts_without_a_trace(void **state)
{
    (void)state;
    const uint64_t before = bytes_of(TRACE_READ);
    assert_false(trace_is_recording());
    const uint64_t begin_ns = trace_begin();
    assert_int_equal(begin_ns, 0);
    trace_end(TRACE_READ, begin_ns, 7);
    trace_end(TRACE_READ, begin_ns, 8);
    assert_int_equal(bytes_of(TRACE_READ) - before, 15);
}

static void test_the_most_is_kept(void **state)
{
    (void)state;
    struct trace_view view;
    trace_note_device_bytes(5);
    trace_note_device_bytes(9);
    trace_note_device_bytes(6);
    trace_look(&view);
    assert_int_equal(view.device_bytes, 9);
}

static void test_a_stage_lasts(void **state)
{
    (void)state;
    static const char read[] = "read", sort[] = "sort";
    struct trace_view view;
    const uint64_t begin_ns = trace_stage(read);
    trace_stage(read);
    trace_look(&view);
    assert_ptr_equal(view.stage, read);
    assert_int_equal(view.stage_begin_ns, begin_ns);
    trace_stage(sort);
    trace_look(&view);
    assert_ptr_equal(view.stage, sort);
}

static void *work(void *context)
{
    for (size_t i = 0; i < SPANS; i++)
        trace_end(TRACE_WRITE, trace_begin(), 1);
    return context;
}

static void test_what_has_no_room_is_told(void **state)
{
    (void)state;
    struct error error = {0};
    pthread_t threads[THREADS];
    char lost[64], head[256] = "";
    const uint64_t before = bytes_of(TRACE_WRITE);
    assert_true(trace_start(true, &error));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(bytes_of(TRACE_WRITE) - before, THREADS * SPANS);
    FILE *const file = tmpfile();
    assert_non_null(file);
    assert_true(write_trace(file));
    rewind(file);
    assert_int_equal(fread(head, 1, sizeof head - 1, file), sizeof head - 1);
    fclose(file);
    snprintf(lost, sizeof lost, "\"lost_spans\":%d}", THREADS * SPANS - SPANS_KEPT);
    assert_non_null(strstr(head, lost));
    trace_stop();
}

static void *work_once(void *context)
{
    trace_end(TRACE_READ, trace_begin(), 1);
    return context;
}

/* Overlapping spans have a row each, whether of two threads or, as with a device, of one thread. */
static void test_spans_of_a_row_do_not_overlap(void **state)
{
    (void)state;
    struct error error = {0};
    pthread_t thread;
    assert_true(trace_start(true, &error));
    const uint64_t begin_ns = trace_begin();
    trace_span(TRACE_UPLOAD, "a", begin_ns, begin_ns + 2500, 1);
    trace_span(TRACE_UPLOAD, "b", begin_ns + 2500, begin_ns + 3000, 1);
    trace_span(TRACE_UPLOAD, "c", begin_ns + 2999, begin_ns + 4000, 1);
    trace_end(TRACE_READ, begin_ns, 1);
    assert_int_equal(pthread_create(&thread, NULL, work_once, NULL), 0);
    pthread_join(thread, NULL);
    char *const text = written();
    assert_int_equal(count(text, "\"ph\":\"X\""), 5);
    assert_int_equal(count(text, "\"thread_name\""), 4);
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[] = {"upload", "upload 1", "read 0", "read 1"};
        char name[64];
        snprintf(name, sizeof name, "{\"name\":\"%s\"}", names[i]);
        assert_int_equal(count(text, name), 1);
    }
    assert_int_equal(count(text, "\"dur\":2.500,"), 1);
    assert_int_equal(count(text, "\"dur\":0.500,"), 1);
    free(text);
    trace_stop();
    assert_false(trace_is_recording());
}

static void test_a_trace_that_cannot_be_written(void **state)
{
    (void)state;
    struct error error = {0};
    FILE *const full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_true(trace_start(true, &error));
    assert_false(write_trace(full));
    fclose(full);
    trace_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_without_a_trace),
        cmocka_unit_test(test_the_most_is_kept),
        cmocka_unit_test(test_a_stage_lasts),
        cmocka_unit_test(test_what_has_no_room_is_told),
        cmocka_unit_test(test_spans_of_a_row_do_not_overlap),
        cmocka_unit_test(test_a_trace_that_cannot_be_written),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
