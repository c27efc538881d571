/* SPDX-License-Identifier: Apache-2.0 */
/* unit_frames_bounds.c - the resources for reading compressed files of many frames: memory, and
 * threads, also where few can be started. The content that is read: unit_frames.c.
 */
#include "tests/formats/unit_frames.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

/* The number of threads that were started, and how many more can be. */
static size_t threads_started, threads_left = SIZE_MAX;

/* Replaces the function of the C library. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *const next = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &next, sizeof create); /* ISO C has no cast for that */
    if (threads_left == 0)
        return EAGAIN;
    threads_left--;
    threads_started++;
    return create(thread, attributes, run, argument);
}

/* Reads a little of `in`, lets the threads run ahead, and reads on. That must take at most `limit`
 * bytes. */
static void assert_takes_at_most(size_t limit)
{
    struct error error = {0};
    struct source *source;
    unsigned char *found = malloc(64 * MIB);
    size_t got;
    memset(found, 1, 64 * MIB);
    const size_t before = resident_bytes();
    assert_true(source_open("in", 2, &source, &error));
    for (int i = 0; i < 5; i++) {
        assert_true(source_read(source, found, i == 0 ? 1 : 64 * MIB, &got, &error));
        usleep(200000);
        assert_in_range(resident_bytes(), 0, before + limit);
    }
    source_close(source);
    free(found);
    unlink("in");
}

static void test_look_ahead_is_bounded(void **state)
{
    (void)state;
    struct frames frames = {0};
    const size_t frame_bytes = 28 * MIB;
    unsigned char *data = calloc(1, frame_bytes);
    frames.packed = malloc(MIB);
    for (size_t i = 0; i < 40; i++)
        frames.packed_bytes +=
            ZSTD_compress(frames.packed + frames.packed_bytes, 20000, data, frame_bytes, 1);
    put_file("in", frames.packed, frames.packed_bytes);
    assert_takes_at_most(4 * 32 * MIB + 16 * MIB); /* a slot for each thread, and two */
    free_frames(&frames);
    free(data);
}

/* 500 MiB in a frame of 16 KB that does not state its size. */
static void test_bomb_takes_no_memory(void **state)
{
    (void)state;
    const size_t blocks = 4000;
    unsigned char *bomb = malloc(6 + 4 * blocks);
    memcpy(bomb, (unsigned char[]){0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}, 6);
    for (size_t i = 0; i < blocks; i++) /* blocks of 128 KiB by run length */
        memcpy(bomb + 6 + 4 * i, (unsigned char[]){0x02, 0x00, 0x10, 'x'}, 4);
    bomb[6 + 4 * (blocks - 1)] |= 1; /* the last one */
    put_file("in", bomb, 6 + 4 * blocks);
    assert_takes_at_most(32 * MIB);
    free(bomb);
}

/* A caller that has read enough need not wait for the end of a pipe. Standard error is closed and
 * stays closed: no file that is opened may get its descriptor. */
static void test_open_pipe_can_be_closed(void **state)
{
    (void)state;
    struct frames frames = {0};
    add_frame(&frames, 5000, SIZED);
    add_frame(&frames, 5 * MIB, SIZED);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct error error = {0};
        struct source *source;
        unsigned char found[5000];
        int saved;
        size_t got;
        const int end = redirect_input(&saved), messages = dup(STDERR_FILENO);
        assert_int_equal(write(end, frames.packed, 20000), 20000);
        close(STDERR_FILENO);
        assert_true(source_open("-", thread_counts[i], &source, &error));
        assert_true(source_read(source, found, sizeof found, &got, &error));
        assert_int_equal(fcntl(STDERR_FILENO, F_GETFD), -1);
        restore(STDERR_FILENO, messages);
        assert_int_equal(got, sizeof found);
        assert_memory_equal(found, frames.content, sizeof found);
        source_close(source);
        close(end);
        restore(STDIN_FILENO, saved);
    }
    free_frames(&frames);
}

static size_t thread_count(void)
{
    size_t threads = 0;
    char line[200];
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && sscanf(line, "Threads: %zu", &threads) == 0)
        ;
    fclose(file);
    return threads;
}

/* Threads are not worth their start for a short input. */
static void test_small_file_starts_no_threads(void **state)
{
    (void)state;
    struct frames frames = {0};
    unsigned char found[3000];
    add_frame(&frames, 1000, SIZED);
    add_skippable(&frames, 10);
    add_frame(&frames, 1500, SIZED);
    put_file("in", frames.packed, frames.packed_bytes);
    const size_t before = threads_started;
    for (size_t i = 0; i < 2; i++) {
        struct error error = {0};
        struct source *source;
        size_t got;
        assert_true(source_open("in", 7, &source, &error));
        assert_true(source_read(source, found, i == 0 ? 2500 : sizeof found, &got, &error));
        assert_int_equal(got, frames.content_bytes);
        assert_memory_equal(found, frames.content, got);
        source_close(source);
    }
    assert_int_equal(threads_started, before);
    free_frames(&frames);
    unlink("in");
}

/* If no thread can be started, the caller decodes; if only one can, that one does. */
static void test_threads_that_cannot_be_started(void **state)
{
    (void)state;
    struct frames frames = {0};
    for (size_t i = 0; i < 3; i++) {
        add_skippable(&frames, 300000); /* a batch of its own */
        add_frame(&frames, 3 * MIB, UNSIZED);
        add_frame(&frames, 10 * i, SIZED);
    }
    put_file("in", frames.packed, frames.packed_bytes);
    unsigned char *found = malloc(frames.content_bytes + 1);
    for (size_t i = 0; i < 4; i++) {
        struct error error = {0};
        threads_left = i;
        const size_t bytes = read_all("in", 7, found, frames.content_bytes + 1, 100001, &error);
        threads_left = SIZE_MAX;
        assert_string_equal(error.message, "");
        assert_int_equal(bytes, frames.content_bytes);
        assert_memory_equal(found, frames.content, bytes);
    }
    free(found);
    free_frames(&frames);
    unlink("in");
}

/* A thousand inputs may be open at once: one has threads only while it is read. */
static void test_threads_only_while_reading(void **state)
{
    (void)state;
    struct error error = {0};
    struct source *source;
    struct frames frames = {0};
    const unsigned char *data;
    for (int i = 0; i < 12; i++) /* more than are decoded ahead: 9, one of them half read */
        add_frame(&frames, 4 * MIB, SIZED);
    put_file("in", frames.packed, frames.packed_bytes);
    unsigned char *found = malloc(frames.content_bytes);
    const size_t before = thread_count();
    size_t got;
    assert_true(source_open("in", 7, &source, &error));
    assert_true(source_peek(source, SOURCE_PEEK_MAX, &data, &got, &error));
    assert_true(source_read(source, found, 100, &got, &error));
    assert_int_equal(thread_count(), before);
    assert_true(source_read(source, found + 100, 2 * MIB, &got, &error));
    assert_true(thread_count() > before);
    const size_t left = frames.content_bytes - 100 - 2 * MIB;
    assert_true(source_read(source, found + 100 + 2 * MIB, left, &got, &error));
    assert_int_equal(got, left);
    assert_memory_equal(found, frames.content, frames.content_bytes);
    assert_true(source_peek(source, 1, &data, &got, &error));
    assert_int_equal(got, 0);
    assert_int_equal(thread_count(), before);
    source_close(source);
    free(found);
    free_frames(&frames);
    unlink("in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look_ahead_is_bounded),
        cmocka_unit_test(test_bomb_takes_no_memory),
        cmocka_unit_test(test_open_pipe_can_be_closed),
        cmocka_unit_test(test_small_file_starts_no_threads),
        cmocka_unit_test(test_threads_that_cannot_be_started),
        cmocka_unit_test(test_threads_only_while_reading),
    };
    return cmocka_run_group_tests_name("frames, bounds", tests, enter_scratch, leave_scratch);
}
