/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text_feed.c - a text that is sent to an engine arrives completely, in order and once,
 * whatever size was announced and whenever the engine opens. A stand-in for the engine keeps its
 * text.
 */
#include "job/text_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ROOM 10000
#define SLOT 7 /* maximum bytes of a loan */

struct engine {
    char text[ROOM];
    size_t taken;
    size_t announced;
    char slot[SLOT];
};

static struct engine the_engine;
static unsigned opened, closed;
static bool is_slow, fails;

static bool fake_open(const struct sort_spec *spec, struct engine **engine, struct error *error)
{
    if (is_slow)
        usleep(20000); /* until all pieces have arrived */
    if (fails)
        return error_set(error, "no device");
    the_engine = (struct engine){.announced = spec->count};
    opened++;
    *engine = &the_engine;
    return true;
}

static bool fake_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error)
{
    if (engine->taken == engine->announced)
        return error_set(error, "more than announced");
    const size_t left = engine->announced - engine->taken, most = left < SLOT ? left : SLOT;
    *chunk = (struct chunk){.items = engine->slot, .capacity = want < most ? want : most};
    return true;
}

static bool fake_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    (void)error;
    memcpy(engine->text + engine->taken, chunk.items, chunk.count);
    engine->taken += chunk.count;
    return true;
}

static void fake_close(struct engine *engine)
{
    closed += engine != NULL;
}

static const struct engine_functions functions = {
    .open = fake_open, .lend = fake_lend, .take = fake_take, .close = fake_close};

static char text[ROOM];

static int set_up(void **state)
{
    (void)state;
    opened = closed = 0;
    is_slow = fails = false;
    for (size_t i = 0; i < ROOM; i++)
        text[i] = (char)(i * 31 >> 3);
    return 0;
}

/* Sends `bytes` bytes in pieces, after `announced` bytes were announced. */
static bool feed_text(size_t announced, size_t bytes, struct error *error)
{
    const struct sort_spec spec = {.count = announced, .threads = 2};
    struct text_feed feed;
    struct engine *engine = NULL;
    text_feed_start(&feed, &functions, &spec);
    if (!is_slow)
        usleep(20000); /* the engine opens before the first piece */
    for (size_t there = 0; there < bytes; there += bytes / 9 + 1)
        text_feed_send(&feed, text, there);
    const bool ok = text_feed_finish(&feed, text, bytes, &engine, error);
    text_feed_close(&feed);
    assert_true(ok == (engine != NULL));
    assert_int_equal(closed, opened - ok); /* all but the one that is returned */
    if (ok) {
        assert_int_equal(engine->taken, bytes);
        assert_memory_equal(engine->text, text, bytes);
    }
    return ok;
}

static void all_of_a_text_comes(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 6, 7, 8, 5000, ROOM};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int slow = 0; slow < 2; slow++) {
            struct error error = {0};
            set_up(state);
            is_slow = slow;
            assert_true(feed_text(sizes[i] + 1, sizes[i], &error)); /* less than announced */
            assert_int_equal(opened, 1);
        }
}

static void a_text_of_unknown_size_is_sent_in_the_end(void **state)
{
    (void)state;
    struct error error = {0};
    assert_true(feed_text(COUNT_UNKNOWN, 5000, &error));
    assert_int_equal(opened, 1);
    assert_int_equal(the_engine.announced, 5000);
}

static void a_text_that_grows_gets_another_engine(void **state)
{
    (void)state;
    struct error error = {0};
    assert_true(feed_text(3000, 5000, &error));
    assert_int_equal(opened, 2);
    assert_int_equal(the_engine.announced, 5000);
}

static void a_failure_to_open_is_told_in_the_end(void **state)
{
    (void)state;
    const size_t announced[] = {5000, 3000, COUNT_UNKNOWN};
    for (size_t i = 0; i < sizeof announced / sizeof *announced; i++) {
        struct error error = {0};
        fails = true;
        assert_false(feed_text(announced[i], 5000, &error));
        assert_string_equal(error.message, "no device");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_of_a_text_comes, set_up),
        cmocka_unit_test_setup(a_text_of_unknown_size_is_sent_in_the_end, set_up),
        cmocka_unit_test_setup(a_text_that_grows_gets_another_engine, set_up),
        cmocka_unit_test_setup(a_failure_to_open_is_told_in_the_end, set_up),
    };
    return cmocka_run_group_tests_name("text feed", tests, NULL, NULL);
}
