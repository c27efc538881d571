/* unit_auto_table.c - what "auto" chooses: every class and width has a row for every number of
 * items, and the model agrees with what was measured file to file (docs/performance.md).
 */
#include "core/auto_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const unsigned widths[] = {1, 2, 4, 8, 16};

static const struct backend gpu = {.name = "gpu"};

static const char *class_of(unsigned units, size_t l2_mib, size_t shared_kib)
{
    const struct device_facts facts = {
        .units = units, .l2_bytes = l2_mib << 20, .shared_bytes = shared_kib << 10};
    return auto_find_class(&gpu, &facts)->name;
}

static void devices_by_what_they_say(void **state)
{
    (void)state;
    const struct device_facts cpu = {.units = 500};
    assert_string_equal(auto_find_class(backends[0], &cpu)->name, "cpu");
    assert_string_equal(class_of(132, 50, 227), "gpu-large"); /* H200 */
    assert_string_equal(class_of(114, 50, 227), "gpu-large"); /* H100 PCIe */
    assert_string_equal(class_of(108, 40, 163), "gpu");       /* A100 */
    assert_string_equal(class_of(128, 72, 99), "gpu");        /* RTX 4090 */
    assert_string_equal(class_of(40, 4, 64), "gpu-small");    /* T4 */
}

static void every_class_has_rows_to_the_end(void **state)
{
    (void)state;
    for (size_t c = 0; c < device_class_count; c++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            const struct device_class *const device_class = &device_classes[c];
            const struct auto_row *row = auto_find_row(device_class, widths[w], 0);
            assert_int_equal(auto_row_least(row), 0);
            while (row->up_to != SIZE_MAX) {
                assert_ptr_equal(auto_find_row(device_class, widths[w], row->up_to), row);
                const struct auto_row *const next =
                    auto_find_row(device_class, widths[w], row->up_to + 1);
                assert_int_equal(auto_row_least(next), row->up_to + 1);
                row = next;
            }
            assert_ptr_equal(auto_find_row(device_class, widths[w], COUNT_UNKNOWN), row);
            assert_string_equal(row->device_class, device_class->name);
        }
}

static void every_row_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < auto_row_count; i++) {
        size_t found = 0;
        for (size_t c = 0; c < device_class_count; c++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                found += auto_find_row(&device_classes[c], widths[w], auto_rows[i].up_to) ==
                         &auto_rows[i];
        assert_true(found > 0);
    }
}

static void rows_of_the_cpu_are_its_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < auto_row_count; i++)
        if (strcmp(auto_rows[i].device_class, "cpu") == 0)
            assert_non_null(backend_find_algorithm(backends[0], auto_rows[i].path));
}

static int gpu_is_sooner(unsigned item_bytes, uint64_t count, unsigned threads)
{
    const struct auto_estimate estimate = auto_estimate_make(item_bytes, count, threads);
    return estimate.gpu_seconds < estimate.cpu_seconds;
}

/* Measured on 16 threads and an H200: 0.47 and 0.60 s for 60,000,000 doubles, 0.62 and 0.77 for
 * 100,000,000, 1.90 and 1.50 for 300,000,000, 7.26 and 4.12 for 1,000,000,000. */
static void the_model_agrees_with_the_measured(void **state)
{
    (void)state;
    assert_false(gpu_is_sooner(8, 0, 16));
    assert_false(gpu_is_sooner(8, 1000000, 16));
    assert_false(gpu_is_sooner(8, 60000000, 16));
    assert_false(gpu_is_sooner(8, 100000000, 16));
    assert_true(gpu_is_sooner(8, 300000000, 16));
    assert_true(gpu_is_sooner(8, 1000000000, 16));
    assert_true(gpu_is_sooner(8, 100000000, 2)); /* 1.61 s for the sort on 2 threads alone */
    assert_false(gpu_is_sooner(1, 1000000000, 16));
}

/* 0.24 s for 246 MB of lines by 16 threads, 6.2 for 5.44 GB, 0.42 for 123 MB by 2 of another
 * machine. */
static void the_model_of_lines_agrees_with_the_measured(void **state)
{
    (void)state;
    struct measured {
        uint64_t bytes;
        unsigned threads;
        double cpu_seconds;
    } const measured[] = {{246000000, 16, 0.24}, {5440000000, 16, 6.2}, {123000000, 2, 0.42}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const struct auto_estimate estimate =
            auto_estimate_lines(measured[i].bytes, measured[i].threads);
        assert_true(estimate.cpu_seconds > measured[i].cpu_seconds * 0.8);
        assert_true(estimate.cpu_seconds < measured[i].cpu_seconds * 1.25);
    }
    const struct auto_estimate small = auto_estimate_lines(measured[0].bytes, 16);
    const struct auto_estimate large = auto_estimate_lines(measured[1].bytes, 16);
    assert_true(small.cpu_seconds < small.gpu_seconds);
    assert_true(large.gpu_seconds < large.cpu_seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_by_what_they_say),
        cmocka_unit_test(every_class_has_rows_to_the_end),
        cmocka_unit_test(every_row_is_found),
        cmocka_unit_test(rows_of_the_cpu_are_its_paths),
        cmocka_unit_test(the_model_agrees_with_the_measured),
        cmocka_unit_test(the_model_of_lines_agrees_with_the_measured),
    };
    return cmocka_run_group_tests_name("auto table", tests, NULL, NULL);
}
