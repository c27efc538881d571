/* SPDX-License-Identifier: Apache-2.0 */
/* unit_frames.c - compressed files of many frames: any number of threads reads the same content as
 * a single thread. Memory and threads: unit_frames_bounds.c. How frames are written:
 * unit_frames_written.c.
 *
 * libzstd itself makes the frames; unit_codecs.c tests codecs of all kinds.
 */
#include "tests/formats/unit_frames.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <zstd.h>

struct feed {
    int file;
    const struct frames *frames;
};

static void *feed_main(void *opaque)
{
    const struct feed *feed = opaque;
    for (size_t done = 0; done < feed->frames->packed_bytes;) {
        const size_t left = feed->frames->packed_bytes - done;
        const ssize_t written =
            write(feed->file, feed->frames->packed + done, left < 7777 ? left : 7777);
        if (written < 0)
            break;
        done += (size_t)written;
    }
    close(feed->file);
    return NULL;
}

static void assert_reads_pipe(const struct frames *frames, unsigned threads)
{
    struct error error = {0};
    int saved;
    struct feed feed = {redirect_input(&saved), frames};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed_main, &feed), 0);
    unsigned char *found = malloc(frames->content_bytes + 16);
    assert_int_equal(read_all("-", threads, found, frames->content_bytes + 16, 3 * MIB, &error),
                     frames->content_bytes);
    assert_true(memcmp(found, frames->content, frames->content_bytes) == 0);
    pthread_join(thread, NULL);
    restore(STDIN_FILENO, saved);
    free(found);
}

/* Reads from a file and from a pipe, by any number of threads. */
static void assert_reads(const struct frames *frames)
{
    static const size_t pieces[] = {100001, 64 * MIB};
    unsigned char *found = malloc(frames->content_bytes + 16);
    put_file("in", frames->packed, frames->packed_bytes);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        for (size_t j = 0; j < 2; j++) {
            struct error error = {0};
            const size_t bytes = read_all("in", thread_counts[i], found, frames->content_bytes + 16,
                                          pieces[j], &error);
            assert_string_equal(error.message, "");
            assert_int_equal(bytes, frames->content_bytes);
            assert_true(memcmp(found, frames->content, bytes) == 0);
        }
        assert_reads_pipe(frames, thread_counts[i]);
    }
    free(found);
    unlink("in");
}

static void test_frames_of_every_kind(void **state)
{
    (void)state;
    for (int make = SIZED; make <= FLUSHED; make++) {
        struct frames frames = {0};
        add_frame(&frames, 3 * MIB, make); /* more than is read ahead */
        add_frame(&frames, 0, make);
        for (size_t i = 0; i < 6; i++) {
            add_skippable(&frames, i);
            add_frame(&frames, 1 + i * 700001, make);
        }
        add_frame(&frames, 33 * MIB, make); /* too large to be kept whole */
        add_frame(&frames, 1, make);
        add_skippable(&frames, 200);
        assert_reads(&frames);
        free_frames(&frames);
    }
}

static void test_many_small_frames(void **state)
{
    (void)state;
    struct frames frames = {0};
    for (size_t i = 0; i < 3000; i++) {
        add_frame(&frames, i * 37 % 5000, i % 2 ? SIZED : UNSIZED);
        if (i % 7 == 0)
            add_skippable(&frames, i % 200);
    }
    assert_reads(&frames);
    free_frames(&frames);
}

/* The first skippable frame is too large to be kept when it is read ahead, so the source cannot go
 * back to its beginning. The next one is larger than the frames that are kept whole. */
static void test_large_skippable_frames(void **state)
{
    (void)state;
    struct frames frames = {0};
    add_skippable(&frames, 6 * MIB);
    add_frame(&frames, 5 * MIB, SIZED);
    add_skippable(&frames, 40 * MIB);
    for (size_t i = 0; i < 5; i++)
        add_frame(&frames, MIB, SIZED);
    assert_reads(&frames);
    free_frames(&frames);
}

/* Frames around the limit up to which a frame is kept whole: 32 MiB. */
static void test_frames_about_the_limit(void **state)
{
    (void)state;
    static const size_t sizes[] = {32 * MIB - 1, 32 * MIB, 32 * MIB + 1};
    struct frames frames = {0};
    for (size_t i = 0; i < 3; i++)
        add_frame(&frames, sizes[i], i == 1 ? UNSIZED : SIZED);
    assert_reads(&frames);
    free_frames(&frames);
}

/* Returns the error of reading `in` by `threads` threads. There is no peek, as that uses one
 * thread. */
static struct error reading_error(unsigned threads)
{
    static unsigned char found[16 << 20];
    struct error error = {0};
    struct source *source;
    size_t got;
    if (source_open("in", threads, &source, &error))
        source_read(source, found, sizeof found, &got, &error);
    source_close(source);
    return error;
}

/* A file that is cut off or changed at any byte is refused by any number of threads with the same
 * message: that of a single thread, which reads it as a stream. */
static void test_damage_is_told_alike(void **state)
{
    (void)state;
    struct frames frames = {0};
    add_frame(&frames, 100, SIZED);
    add_skippable(&frames, 5);
    add_frame(&frames, 1050, FLUSHED); /* two blocks */
    add_frame(&frames, 120, UNSIZED);
    add_frame(&frames, 0, SIZED);
    size_t refused = 0;
    for (size_t i = 4; i < 2 * frames.packed_bytes; i++) {
        const size_t at = i % frames.packed_bytes, is_cut = i < frames.packed_bytes;
        frames.packed[at] ^= is_cut ? 0 : 0x55;
        put_file("in", frames.packed, is_cut ? at : frames.packed_bytes);
        frames.packed[at] ^= is_cut ? 0 : 0x55;
        const struct error one = reading_error(1);
        const unsigned threads = thread_counts[1 + i % (THREAD_COUNTS - 1)];
        assert_string_equal(reading_error(threads).message, one.message);
        refused += one.is_set;
    }
    assert_true(refused > 2 * frames.packed_bytes - 50);
    free_frames(&frames);
    unlink("in");
}

/* A frame that states a larger content than it holds: 9 bytes instead of 5, with or without an
 * empty block after them. */
static void test_less_than_stated_is_refused(void **state)
{
    (void)state;
    static const unsigned char unsized[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0};
    unsigned char frames[9 + 6 + 8 + 3] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 9, 5 << 3, 0, 0, '1', '2'};
    memmove(frames + 9, frames, sizeof frames - 9);
    memcpy(frames, unsized, 9);
    for (size_t i = 0; i < 2; i++) {
        frames[9 + 6] = (unsigned char)(5 << 3 | i); /* is it the last block? */
        frames[9 + 6 + 8] = 1;
        put_file("in", frames, sizeof frames - 3 * i);
        for (size_t j = 0; j < THREAD_COUNTS; j++)
            assert_non_null(strstr(reading_error(thread_counts[j]).message, ": corrupt zstd data"));
    }
    unlink("in");
}

/* Blocks on which decoders of whole frames and of streams may disagree: the result is always that
 * of the stream. */
static void test_odd_blocks_are_told_alike(void **state)
{
    (void)state;
    enum { RAW, RUN_LENGTH, COMPRESSED };
    static const struct {
        size_t window_bytes, kind, block_bytes;
    } cases[] = {
        {1024, RAW, 1024},        {1024, RAW, 1025},        {1024, RUN_LENGTH, 1024},
        {1024, RUN_LENGTH, 1025}, {8 * MIB, RAW, 131072},   {8 * MIB, RAW, 131073},
        {8 * MIB, RAW, 0},        {8 * MIB, COMPRESSED, 0}, {8 * MIB, RUN_LENGTH, 0},
        {8 * MIB, COMPRESSED, 1}, {8 * MIB, COMPRESSED, 2}, {8 * MIB, COMPRESSED, 131073},
    };
    unsigned char *const frame = calloc(1, 200000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t size = cases[i].block_bytes, is_run = cases[i].kind == RUN_LENGTH;
        const unsigned char window = cases[i].window_bytes == 1024 ? 0 : 13 << 3; /* 2^(10+13) */
        const unsigned char head[] = {0x28,
                                      0xb5,
                                      0x2f,
                                      0xfd,
                                      0,
                                      window,
                                      (unsigned char)(cases[i].kind << 1 | size << 3),
                                      (unsigned char)(size >> 5),
                                      (unsigned char)(size >> 13)};
        const size_t body = is_run ? 1 : size;
        memcpy(frame, head, sizeof head);
        memcpy(frame + sizeof head + body, (unsigned char[]){1, 0, 0}, 3); /* empty, and the last */
        put_file("in", frame, sizeof head + body + 3);
        memset(frame + sizeof head + body, 0, 3);
        const struct error one = reading_error(1);
        for (size_t j = 1; j < THREAD_COUNTS; j++)
            assert_string_equal(reading_error(thread_counts[j]).message, one.message);
    }
    free(frame);
    unlink("in");
}

/* After large frames too, a message has the position in the file. */
static void test_place_of_damage_far_in(void **state)
{
    (void)state;
    struct frames frames = {0};
    for (size_t i = 0; i < 3; i++)
        add_frame(&frames, 5 * MIB, SIZED);
    const size_t sound = frames.packed_bytes;
    add_frame(&frames, 300, SIZED);
    frames.packed[frames.packed_bytes - 1] ^= 1; /* the checksum */
    put_file("in", frames.packed, frames.packed_bytes);
    const struct error one = reading_error(1);
    size_t place = 0;
    assert_int_equal(sscanf(one.message, "in: compressed byte %zu: corrupt", &place), 1);
    assert_in_range(place, sound, frames.packed_bytes);
    for (size_t i = 1; i < THREAD_COUNTS; i++)
        assert_string_equal(reading_error(thread_counts[i]).message, one.message);
    free_frames(&frames);
    unlink("in");
}

/* Returns source_bytes_left() of `in` when it has just been opened. */
static uint64_t stated_bytes(void)
{
    struct error error = {0};
    struct source *source;
    assert_true(source_open("in", 2, &source, &error));
    const uint64_t left = source_bytes_left(source);
    source_close(source);
    return left;
}

static void test_size_is_known_from_headers(void **state)
{
    (void)state;
    struct frames frames = {0};
    add_skippable(&frames, 9);
    add_frame(&frames, 300000, SIZED);
    add_frame(&frames, 0, SIZED);
    add_skippable(&frames, 0);
    add_frame(&frames, 1, SIZED);
    put_file("in", frames.packed, frames.packed_bytes);
    assert_int_equal(stated_bytes(), 300001);
    append_unsized_frame("in");
    assert_int_equal(stated_bytes(), SIZE_UNKNOWN);
    put_file("in", frames.packed, frames.packed_bytes - 1); /* cut off */
    assert_int_equal(stated_bytes(), SIZE_UNKNOWN);
    /* A frame with a size of 8 bytes, 2^56 - 1, and an empty block: more than blocks can hold. */
    static const unsigned char liar[] = {0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x00, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0x00, 0x01, 0x00, 0x00};
    put_file("in", liar, sizeof liar);
    assert_int_equal(stated_bytes(), SIZE_UNKNOWN);
    free_frames(&frames);
    unlink("in");
}

/* Drops the file from the page cache. Returns true if none of its pages that can be dropped is in
 * memory. */
static bool is_cold(const char *name, size_t bytes)
{
    unsigned char pages[4096];
    const int file = open(name, O_RDONLY);
    assert_true(file >= 0 && bytes / 4096 < sizeof pages);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, bytes, pages), 0);
    munmap(map, bytes);
    close(file);
    for (size_t i = 0; i <= (bytes - 1) / 4096; i++)
        if (pages[i] & 1)
            return false;
    return true;
}

/* Looking for the headers would wait for each of them before the file is read. A fast disk may have
 * them in memory by the time of the check, as the system reads ahead; so the test is repeated. */
static void test_size_of_a_cold_file_is_not_looked_for(void **state)
{
    (void)state;
    struct frames frames = {0};
    for (size_t i = 0; i < 4; i++)
        add_frame(&frames, 3 << 20, SIZED);
    put_file("in", frames.packed, frames.packed_bytes);
    bool is_found = true;
    for (int tries = 0; is_found && tries < 5; tries++) {
        if (!is_cold("in", frames.packed_bytes)) {
            free_frames(&frames);
            skip(); /* a file system in memory, or another reader */
        }
        is_found = stated_bytes() != SIZE_UNKNOWN;
    }
    assert_false(is_found);
    assert_reads(&frames);
    free_frames(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_of_every_kind),
        cmocka_unit_test(test_many_small_frames),
        cmocka_unit_test(test_large_skippable_frames),
        cmocka_unit_test(test_frames_about_the_limit),
        cmocka_unit_test(test_damage_is_told_alike),
        cmocka_unit_test(test_less_than_stated_is_refused),
        cmocka_unit_test(test_odd_blocks_are_told_alike),
        cmocka_unit_test(test_place_of_damage_far_in),
        cmocka_unit_test(test_size_is_known_from_headers),
        cmocka_unit_test(test_size_of_a_cold_file_is_not_looked_for),
    };
    return cmocka_run_group_tests_name("frames", tests, enter_scratch, leave_scratch);
}
