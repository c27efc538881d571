/* SPDX-License-Identifier: Apache-2.0 */
/* unit_core.c - the ring between two threads; a counter that threads wait for; the work that
 * threads report, which is counted and recorded in bounded memory; and "auto", whose model agrees
 * with measurements from file to file (docs/performance.md).
 */
#include "core/auto_model.h"
#include "core/threads.h"
#include "core/trace.h"
#include "tests/unit_test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The ring ---- */

enum { ENTRIES = 20000, CAPACITY = 3 };

static void *push_all(void *ring)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (!ring_push(ring, (struct ring_entry){NULL, i}))
            return NULL;
    ring_close(ring);
    return ring;
}

static void *pop_one(void *ring)
{
    struct ring_entry entry;
    return ring_pop(ring, &entry) ? ring : NULL;
}

static void a_ring_keeps_the_order_between_threads(void **state)
{
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

/* A stopped ring refuses to push and to pop, although it holds entries. A closed one is empty. */
static void the_end_of_a_ring_wakes_threads(void **state)
{
    struct ring_entry entry = {NULL, 1};
    static const struct {
        void *(*wait)(void *);
        void (*end)(struct ring *);
    } cases[] = {{push_all, ring_stop}, {pop_one, ring_stop}, {pop_one, ring_close}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct ring *ring = ring_create(CAPACITY);
        pthread_t waiter;
        void *result;
        assert_int_equal(pthread_create(&waiter, NULL, cases[i].wait, ring), 0);
        usleep(20000);
        cases[i].end(ring);
        pthread_join(waiter, &result);
        assert_null(result);
        assert_false(ring_pop(ring, &entry));
        assert_true(cases[i].end == ring_close || !ring_push(ring, entry));
        ring_free(ring);
    }
}

/* ---- The counter ---- */

static void *await_ten(void *counter)
{
    return counter_await(counter, 10) == 7 ? counter : NULL;
}

static void a_stopped_counter_ends_waiting(void **state)
{
    struct counter counter;
    pthread_t waiter;
    void *result;
    counter_start(&counter);
    assert_int_equal(pthread_create(&waiter, NULL, await_ten, &counter), 0);
    counter_raise(&counter, 7);
    counter_raise(&counter, 3); /* no effect */
    counter_stop(&counter);
    pthread_join(waiter, &result);
    assert_ptr_equal(result, &counter);
    assert_int_equal(counter_await(&counter, 5), 7);
    assert_int_equal(counter_await(&counter, 100), 7);
}

/* ---- The trace ---- */

enum { THREADS = 3, SPANS = 200000, SPANS_KEPT = 1 << 19 };

static bool write_trace(FILE *stream)
{
    return trace_write_head(stream) && trace_write_process(stream, 1, "gpusort") &&
           trace_write_end(stream);
}

/* Returns the trace as it is written, malloc'ed. */
static char *written_trace(void)
{
    char *text;
    size_t bytes;
    FILE *const stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    assert_true(write_trace(stream));
    assert_int_equal(fclose(stream), 0);
    return text;
}

static struct trace_view look(void)
{
    struct trace_view view;
    trace_look(&view);
    return view;
}

static void work_is_counted_without_a_trace(void **state)
{
    const uint64_t before = look().bytes[TRACE_READ];
    assert_false(trace_is_recording());
    assert_int_equal(trace_begin(), 0);
    trace_end(TRACE_READ, 0, 7);
    trace_end(TRACE_READ, 0, 8);
    assert_int_equal(look().bytes[TRACE_READ] - before, 15);
    trace_note_device_bytes(5);
    trace_note_device_bytes(9);
    trace_note_device_bytes(6);
    assert_int_equal(look().device_bytes, 9);
}

static void spans_beyond_the_memory_are_counted(void **state)
{
    struct error error = {0};
    char lost[64];
    assert_true(trace_start(true, &error));
    const uint64_t before = look().bytes[TRACE_WRITE];
#pragma omp parallel num_threads(THREADS)
    for (size_t i = 0; i < SPANS; i++)
        trace_end(TRACE_WRITE, trace_begin(), 1);
    assert_int_equal(look().bytes[TRACE_WRITE] - before, THREADS * SPANS);
    FILE *const full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(write_trace(full));
    fclose(full);
    char *const text = written_trace();
    snprintf(lost, sizeof lost, "\"lost_spans\":%d}", THREADS * SPANS - SPANS_KEPT);
    assert_non_null(strstr(text, lost));
    free(text);
    trace_stop();
}

/* ---- "auto" ---- */

static void items_are_merged_by_gpus_with_too_little_memory_for_radix(void **state)
{
    static const struct {
        size_t shared_kib;
        const char *paths[2];                           /* for 8 and 16 bytes */
    } devices[] = {{0, {"radix", "radix"}},             /* the CPU */
                   {227, {"radix", "radix"}},           /* H100, H200 */
                   {163, {"radix", "radix"}},           /* A100 */
                   {99, {"radix", "segmented-merge"}}}; /* RTX 4090 */
    (void)state;
    for (size_t i = 0; i < LENGTH(devices); i++) {
        const struct device_facts facts = {.shared_bytes = devices[i].shared_kib << 10};
        assert_string_equal(auto_find_path(&facts, 8), devices[i].paths[0]);
        assert_string_equal(auto_find_path(&facts, 16), devices[i].paths[1]);
    }
    assert_non_null(backend_find_algorithm(backends[0], "radix"));
}

/* Measured from file to file. item_bytes 0: `-g`, and `count` is bytes. CPU: in tmpfs, hosts with
 * 16 cores of an Intel Xeon, which differ by three tenths; items of 16 bytes by --argsort; 2
 * threads and lines also on other machines. GPU: hosts of an H100 and an H200 with 16 cores, from
 * the fastest run to the slowest, ext4 and tmpfs. */
static void the_model_agrees_with_the_measured(void **state)
{
    static const struct {
        unsigned item_bytes;
        uint64_t count;
        unsigned threads;
        double cpu, gpu_least, gpu_most; /* seconds; 0: not measured */
        const char *faster;              /* NULL: not tested */
    } rows[] = {{8, 10000000, 16, 0, 0.23, 0.33, NULL},
                {8, 100000000, 2, 0.980, 0, 0, "gpu"},
                {8, 100000000, 4, 0.550, 0, 0, NULL},
                {8, 100000000, 8, 0.292, 0, 0, NULL},
                {8, 100000000, 16, 0.238, 0, 0, "cpu"},
                {8, 200000000, 16, 0.59, 0.44, 0.52, NULL},
                {8, 400000000, 16, 0, 0.50, 0.94, NULL},
                {8, 1000000000, 16, 2.26, 0.94, 1.83, "gpu"},
                {8, 1000000000, 16, 2.93, 0, 0, "gpu"},
                {1, 2000000000, 16, 0.64, 0, 0, NULL},
                {16, 200000000, 16, 1.17, 0, 0, NULL},
                {0, 123000000, 2, 0.42, 0, 0, NULL},
                {0, 246000000, 16, 0.257, 0, 0, "cpu"},
                {0, 410000000, 16, 0.66, 0, 0, NULL},
                {0, 1030000000, 16, 1.57, 0, 0, "gpu"},
                {0, 615000000, 16, 0, 0.34, 0.46, NULL},
                {0, 6190000000, 16, 6.0, 1.94, 2.82, "gpu"},
                {1, 1000000, 1, 0, 0, 0, "cpu"},
                {2, 1000000, 1, 0, 0, 0, "cpu"},
                {4, 1000000, 1, 0, 0, 0, "cpu"},
                {8, 1000000, 1, 0, 0, 0, "cpu"},
                {16, 1000000, 1, 0, 0, 0, "cpu"},
                {8, 0, 16, 0, 0, 0, "cpu"},
                {8, 20000000, 2, 0, 0, 0, "cpu"},
                {1, 1000000000, 16, 0, 0, 0, "cpu"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct auto_estimate found =
            rows[i].item_bytes == 0
                ? auto_estimate_lines(rows[i].count, rows[i].threads)
                : auto_estimate_make(rows[i].item_bytes, rows[i].count, rows[i].threads);
        const double cpu = found.cpu_seconds / rows[i].cpu, gpu = found.gpu_seconds;
        if (rows[i].cpu > 0 && (cpu < 1 / 1.3 || cpu > 1.3))
            fail_msg("row %zu: %.2f times as long on the CPU", i, cpu);
        if (rows[i].gpu_most > 0 && (gpu < rows[i].gpu_least || gpu > rows[i].gpu_most))
            fail_msg("row %zu: %.3f s on the GPU", i, gpu);
        if (rows[i].faster)
            assert_string_equal(found.gpu_seconds < found.cpu_seconds ? "gpu" : "cpu",
                                rows[i].faster);
    }
    /* The sort is a part of the job. For lines its time is not known. */
    const struct auto_estimate of_items = auto_estimate_make(4, 100000000, 2);
    assert_true(of_items.cpu_sort_seconds > 0 && of_items.cpu_sort_seconds < of_items.cpu_seconds);
    assert_true(of_items.gpu_sort_seconds > 0 && of_items.gpu_sort_seconds < of_items.gpu_seconds);
    const struct auto_estimate of_lines = auto_estimate_lines(100000000, 2);
    assert_true(isnan(of_lines.cpu_sort_seconds) && isnan(of_lines.gpu_sort_seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_keeps_the_order_between_threads),
        cmocka_unit_test(the_end_of_a_ring_wakes_threads),
        cmocka_unit_test(a_stopped_counter_ends_waiting),
        cmocka_unit_test(work_is_counted_without_a_trace),
        cmocka_unit_test(spans_beyond_the_memory_are_counted),
        cmocka_unit_test(items_are_merged_by_gpus_with_too_little_memory_for_radix),
        cmocka_unit_test(the_model_agrees_with_the_measured),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
