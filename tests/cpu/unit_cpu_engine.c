/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_engine.c - the CPU's backend fulfills the contract of struct backend: its facts, the
 * arguments that it refuses, calls in the wrong order, and engines inside a parallel region.
 */
#include "tests/cpu/cpu_cases.h"

static void inside_a_parallel_region(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 200003);
    unsigned char *sorted[2] = {allocate(c.count * 8), allocate(c.count * 8)};
    const struct sort_spec spec = make_spec(&c, true, 3);
    bool fine[2] = {false, false};
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 2; i++) {
        struct engine *engine = NULL;
        struct error error = {0};
        struct chunk chunk;
        fine[i] = backends[0]->keys->open(&spec, &engine, &error) &&
                  backends[0]->keys->lend(engine, c.count, &chunk, &error);
        if (fine[i]) {
            chunk.count = c.count;
            memcpy(chunk.items, c.input, c.count * 8);
            fine[i] = backends[0]->keys->take(engine, chunk, &error) &&
                      backends[0]->keys->sort(engine, &error);
        }
        for (size_t given = 0; fine[i] && given < c.count; given += chunk.count) {
            fine[i] = backends[0]->keys->give(engine, &chunk, &error) && chunk.count > 0;
            if (fine[i])
                memcpy(sorted[i] + given * 8, chunk.items, chunk.count * 8);
        }
        backends[0]->keys->close(engine);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(fine[i]);
        assert_memory_equal(sorted[i], c.expected, c.count * 8);
        free(sorted[i]);
    }
    free_case(&c);
}

static void another_number_of_items_than_promised(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 100);
    const struct sort_spec spec = make_spec(&c, true, 1);
    struct engine *engine = NULL;
    struct error error = {0};
    struct chunk chunk;
    assert_true(backends[0]->keys->open(&spec, &engine, &error));
    assert_true(backends[0]->keys->lend(engine, 1000, &chunk, &error));
    assert_int_equal(chunk.capacity, 100);
    chunk.count = 99;
    memcpy(chunk.items, c.input, chunk.count * 8);
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    assert_non_null(strstr(error.message, "99 items came where 100 were promised"));
    error = (struct error){0};
    assert_true(backends[0]->keys->lend(engine, 1, &chunk, &error));
    chunk.count = 1;
    memcpy(chunk.items, c.input, 8);
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_false(backends[0]->keys->lend(engine, 1, &chunk, &error));
    assert_non_null(strstr(error.message, "more than the promised 100 items"));
    backends[0]->keys->close(engine);
    free_case(&c);
}

static void calls_out_of_turn(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 100);
    const struct sort_spec spec = make_spec(&c, false, 1);
    struct engine *engine = NULL;
    struct error error = {0};
    struct chunk chunk, second;
    assert_true(backends[0]->keys->open(&spec, &engine, &error));
    assert_false(backends[0]->keys->give(engine, &chunk, &error));
    assert_true(backends[0]->keys->lend(engine, 10, &chunk, &error));
    assert_false(backends[0]->keys->lend(engine, 10, &second, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    chunk.count = 11;
    assert_false(backends[0]->keys->take(engine, chunk, &error));
    chunk.count = 0;
    error = (struct error){0};
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_true(backends[0]->keys->sort(engine, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    backends[0]->keys->close(engine);
    backends[0]->keys->close(NULL);
    free_case(&c);
}

static void more_than_any_memory(void **state)
{
    (void)state;
    struct sort_spec spec = {.item_bytes = 8,
                             .order = key_order_identity(),
                             .count = (size_t)1 << 50,
                             .algorithm = backend_find_algorithm(backends[0], "radix"),
                             .threads = 1};
    struct engine *engine = NULL;
    struct error error = {0};
    assert_false(backends[0]->keys->open(&spec, &engine, &error));
    assert_null(engine);
    assert_non_null(strstr(error.message, "out of memory: 9007199254740992 bytes"));
    spec.count = SIZE_MAX - 1;
    error = (struct error){0};
    assert_false(backends[0]->keys->open(&spec, &engine, &error));
    assert_non_null(strstr(error.message, "out of memory"));
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    struct engine *engine = NULL;
    struct error error = {0};
    const struct sort_spec fine = {.item_bytes = 8,
                                   .order = key_order_identity(),
                                   .count = 8,
                                   .algorithm = backend_find_algorithm(backends[0], "radix"),
                                   .threads = 1};
    struct sort_spec wrong[5] = {fine, fine, fine, fine, fine};
    wrong[0].item_bytes = 3;
    wrong[1].algorithm = NULL;
    wrong[2].tile_size = 512;
    wrong[3].device = 1;
    wrong[4].threads = 0;
    for (size_t i = 0; i < 5; i++) {
        error = (struct error){0};
        assert_false(backends[0]->keys->open(&wrong[i], &engine, &error));
        assert_true(error.is_set);
    }
}

static void the_table_and_the_facts(void **state)
{
    (void)state;
    struct device_facts facts;
    struct error error = {0};
    assert_string_equal(backends[0]->name, "cpu");
    assert_true(backends[0]->probe(0, &facts, &error));
    assert_true(facts.name[0] != '\0' && facts.units > 0);
    assert_false(backends[0]->probe(1, &facts, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_and_the_facts),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(more_than_any_memory),
        cmocka_unit_test(calls_out_of_turn),
        cmocka_unit_test(another_number_of_items_than_promised),
        cmocka_unit_test(inside_a_parallel_region),
    };
    return cmocka_run_group_tests_name("cpu engine", tests, NULL, NULL);
}
