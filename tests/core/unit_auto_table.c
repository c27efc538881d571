/* SPDX-License-Identifier: Apache-2.0 */
/* unit_auto_table.c - the choices of "auto": every device class and item width has a row for every
 * number of items, and the model agrees with measurements from file to file (docs/performance.md).
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

static void assert_within(double modelled, double least, double most)
{
    if (modelled < least || modelled > most)
        fail_msg("%.3f s, which should be %.3f to %.3f", modelled, least, most);
}

/* From file to file in tmpfs, two hosts with 16 cores of an Intel Xeon, those of 16 bytes by
 * --argsort. The hosts differ by three tenths. */
static void the_model_of_the_cpu_agrees_with_the_measured(void **state)
{
    (void)state;
    static const struct {
        unsigned item_bytes;
        uint64_t count;
        unsigned threads;
        double seconds;
    } measured[] = {
        {8, 100000000, 2, 0.980},  {8, 100000000, 4, 0.550},  {8, 100000000, 8, 0.292},
        {8, 100000000, 16, 0.238}, {8, 1000000000, 16, 2.26}, {8, 200000000, 16, 0.59},
        {8, 1000000000, 16, 2.93}, {1, 2000000000, 16, 0.64}, {16, 200000000, 16, 1.17}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const struct auto_estimate estimate =
            auto_estimate_make(measured[i].item_bytes, measured[i].count, measured[i].threads);
        assert_within(estimate.cpu_seconds, measured[i].seconds / 1.3, measured[i].seconds * 1.3);
    }
}

/* Hosts of an H100 and an H200 with 16 cores; from the fastest run to the slowest, ext4 and tmpfs.
 */
static void the_model_of_the_gpu_agrees_with_the_measured(void **state)
{
    (void)state;
    assert_within(auto_estimate_make(8, 10000000, 16).gpu_seconds, 0.31, 0.48);
    assert_within(auto_estimate_make(8, 200000000, 16).gpu_seconds, 0.62, 0.84);
    assert_within(auto_estimate_make(8, 400000000, 16).gpu_seconds, 0.88, 1.23);
    assert_within(auto_estimate_make(8, 1000000000, 16).gpu_seconds, 1.54, 2.34);
}

static void the_gpu_pays_for_many_items_alone(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        assert_false(gpu_is_sooner(widths[w], 1000000, 1));
    assert_false(gpu_is_sooner(8, 0, 16));
    assert_false(gpu_is_sooner(8, 100000000, 16));
    assert_true(gpu_is_sooner(8, 1000000000, 16));
    assert_false(gpu_is_sooner(8, 20000000, 2));
    assert_true(gpu_is_sooner(8, 100000000, 2));
    assert_false(gpu_is_sooner(1, 1000000000, 16));
}

/* The time of neither reading nor writing is a part of the whole. For lines it is not known. */
static void the_sort_is_a_part_of_the_run(void **state)
{
    (void)state;
    const struct auto_estimate of_items = auto_estimate_make(4, 100000000, 2);
    assert_true(of_items.cpu_sort_seconds > 0 && of_items.cpu_sort_seconds < of_items.cpu_seconds);
    assert_true(of_items.gpu_sort_seconds > 0 && of_items.gpu_sort_seconds < of_items.gpu_seconds);
    const struct auto_estimate of_lines = auto_estimate_lines(100000000, 2);
    assert_true(of_lines.cpu_sort_seconds < 0 && of_lines.gpu_sort_seconds < 0);
}

/* `-g` from file to file: 246 MB in 0.257 s and 6.19 GB in 6.0 s by 16 threads, 123 MB in 0.42 s by
 * 2 threads of another machine; by the GPU 1.24 GB in 0.60 to 0.82 s, 6.2 GB in 2.04 to 2.92 s. */
static void the_model_of_lines_agrees_with_the_measured(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned threads;
        double seconds;
    } measured[] = {{246000000, 16, 0.257},
                    {410000000, 16, 0.66},
                    {1030000000, 16, 1.57},
                    {6190000000, 16, 6.0},
                    {123000000, 2, 0.42}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        assert_within(auto_estimate_lines(measured[i].bytes, measured[i].threads).cpu_seconds,
                      measured[i].seconds / 1.3, measured[i].seconds * 1.3);
    assert_within(auto_estimate_lines(1240000000, 16).gpu_seconds, 0.60, 0.82);
    assert_within(auto_estimate_lines(6200000000, 16).gpu_seconds, 2.04, 2.92);
    const struct auto_estimate small = auto_estimate_lines(measured[0].bytes, 16);
    const struct auto_estimate large = auto_estimate_lines(measured[2].bytes, 16);
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
        cmocka_unit_test(the_model_of_the_cpu_agrees_with_the_measured),
        cmocka_unit_test(the_model_of_the_gpu_agrees_with_the_measured),
        cmocka_unit_test(the_gpu_pays_for_many_items_alone),
        cmocka_unit_test(the_sort_is_a_part_of_the_run),
        cmocka_unit_test(the_model_of_lines_agrees_with_the_measured),
    };
    return cmocka_run_group_tests_name("auto table", tests, NULL, NULL);
}
