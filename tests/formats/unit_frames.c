/* SPDX-License-Identifier: Apache-2.0 */
/* unit_frames.c - compressed files: any number of threads reads what libzstd wrote, with bounded
 * memory, and reports the same errors. tests/fuzz/fuzz_zstd.c compares one thread with libzstd, and
 * zstd.sh reads what was written by zstd(1).
 */
#include "formats/codec/codec.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"
#include "tests/test_size.h"
#include "tests/unit_files.h"

#include <fcntl.h>
#include <zstd.h>

#define MIB ((size_t)1 << 20)
#define FRAME (16 * MIB) /* content of a frame of gpusort */

static const unsigned thread_counts[] = {1, 2, 7};
#define THREAD_COUNTS (sizeof thread_counts / sizeof thread_counts[0])

/* ---- Frames by libzstd ---- */

/* A file of frames, and the content of all frames. */
struct frames {
    unsigned char *packed, *content;
    size_t packed_bytes, content_bytes;
    size_t packed_room, content_room;
};

/* Makes room for `more` bytes after the existing ones, and doubles it, as the realloc of sanitizers
 * copies each time. */
static void make_room(unsigned char **data, size_t bytes, size_t more, size_t *room)
{
    if (bytes + more <= *room)
        return;
    *room = 2 * (bytes + more);
    *data = realloc(*data, *room);
    assert_non_null(*data);
}

/* How a frame is made; FLUSHED has blocks of 1000 bytes. */
enum make { SIZED, UNSIZED, FLUSHED };

static void add_frame(struct frames *frames, size_t bytes, enum make make)
{
    static unsigned char *source;
    static uint64_t random = 1;
    if (!source)
        source = make_bytes(40 * MIB);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    const size_t room = ZSTD_compressBound(bytes) + bytes / 100 + 100;
    make_room(&frames->packed, frames->packed_bytes, room, &frames->packed_room);
    make_room(&frames->content, frames->content_bytes, bytes + 1, &frames->content_room);
    const unsigned char *data = source + random_next(&random) % (40 * MIB - bytes + 1);
    memcpy(frames->content + frames->content_bytes, data, bytes);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (make == SIZED)
        ZSTD_CCtx_setPledgedSrcSize(context, bytes);
    ZSTD_inBuffer in = {data, make == FLUSHED && bytes > 1000 ? 1000 : bytes, 0};
    ZSTD_outBuffer out = {frames->packed + frames->packed_bytes, room, 0};
    while (in.size < bytes) {
        assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0);
        in.size = bytes - in.size < 1000 ? bytes : in.size + 1000;
    }
    if (make == UNSIZED) /* otherwise libzstd knows the size */
        ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
    assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
    ZSTD_freeCCtx(context);
    frames->packed_bytes += out.pos;
    frames->content_bytes += bytes;
}

/* Adds a skippable frame, like pzstd(1) before each frame. */
static void add_skippable(struct frames *frames, size_t bytes)
{
    const uint32_t header[2] = {0x184d2a50, (uint32_t)bytes};
    make_room(&frames->packed, frames->packed_bytes, 8 + bytes, &frames->packed_room);
    memcpy(frames->packed + frames->packed_bytes, header, 8);
    memset(frames->packed + frames->packed_bytes + 8, 'x', bytes);
    frames->packed_bytes += 8 + bytes;
}

static void free_frames(struct frames *frames)
{
    free(frames->packed);
    free(frames->content);
    *frames = (struct frames){0};
}

/* ---- Reading ---- */

/* Peeks, as the program does, and reads to the end in pieces of `piece` bytes. The result must be
 * the content. */
static void assert_reads_as(const char *name, unsigned threads, size_t piece,
                            const struct frames *frames)
{
    struct source *source;
    struct error error = {0};
    const unsigned char *peeked;
    unsigned char *const found = malloc(frames->content_bytes + 16);
    size_t done = 0, got = 1;
    assert_true(source_open(name, threads, &source, &error));
    bool ok = source_peek(source, SOURCE_PEEK_MAX, &peeked, &got, &error);
    while (ok && got > 0) {
        const size_t left = frames->content_bytes + 16 - done;
        ok = source_read(source, found + done, left < piece ? left : piece, &got, &error);
        done += got;
    }
    source_close(source);
    assert_string_equal(error.message, "");
    assert_int_equal(done, frames->content_bytes);
    assert_true(memcmp(found, frames->content, done) == 0);
    free(found);
}

/* Makes a pipe the standard input, and *saved a duplicate of the old one. Returns the write end. */
static int redirect_input(int *saved)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *saved = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    return ends[1];
}

/* Makes the descriptor what it was before, and closes `saved`. */
static void restore(int file, int saved)
{
    dup2(saved, file);
    close(saved);
}

/* Reads from a file, by one thread and by several, and frees the frames. zstd.sh reads pipes. */
static void assert_reads(struct frames *frames)
{
    put_file("in", frames->packed, frames->packed_bytes);
    for (size_t i = 0; i < THREAD_COUNTS; i++)
        assert_reads_as("in", thread_counts[i], i == 0 ? 64 * MIB : 100001, frames);
    free_frames(frames);
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
        if (make == SIZED)
            for (size_t more = 0; more < 3; more++) /* a frame is kept whole up to 32 MiB */
                add_frame(&frames, 32 * MIB - 1 + more, more == 1 ? UNSIZED : SIZED);
        add_frame(&frames, 1, make);
        add_skippable(&frames, 200);
        assert_reads(&frames);
    }
}

static void test_many_small_frames(void **state)
{
    (void)state;
    struct frames frames = {0};
    for (size_t i = 0; i < 1500; i++) {
        add_frame(&frames, i * 37 % 5000, i % 2 ? SIZED : UNSIZED);
        if (i % 7 == 0)
            add_skippable(&frames, i % 200);
    }
    assert_reads(&frames);
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
}

/* Returns the error of reading `in`. There is no peek, as that uses one thread. */
static struct error reading_error(unsigned threads)
{
    static unsigned char found[1 << 20];
    struct error error = {0};
    struct source *source;
    size_t got;
    if (source_open("in", threads, &source, &error))
        source_read(source, found, sizeof found, &got, &error);
    source_close(source);
    return error;
}

/* All numbers of threads must have the same message, which has the position in the file. Returns
 * true if the file is refused. */
static bool is_refused(void)
{
    const struct error one = reading_error(1);
    for (size_t i = 1; i < THREAD_COUNTS; i++)
        assert_string_equal(reading_error(thread_counts[i]).message, one.message);
    assert_true(!one.is_set || memcmp(one.message, "in: compressed byte ", 20) == 0);
    return one.is_set;
}

/* A file that is changed at any byte after the magic, except in a skippable frame, or is cut off
 * within a frame. A small test takes every fifth byte. */
static void test_damage_is_refused_alike(void **state)
{
    (void)state;
    struct frames frames = {0};
    size_t refused = 0, tried = 0;
    add_frame(&frames, 100, SIZED);
    add_skippable(&frames, 5);
    add_frame(&frames, 1050, FLUSHED); /* two blocks */
    add_frame(&frames, 120, UNSIZED);
    add_frame(&frames, 0, SIZED);
    for (size_t at = 4; at < frames.packed_bytes; at += full_or_small(1, 5)) {
        put_file("in", frames.packed, at);
        refused += is_refused();
        frames.packed[at] ^= 0x55;
        put_file("in", frames.packed, frames.packed_bytes);
        frames.packed[at] ^= 0x55;
        refused += is_refused();
        tried += 2;
    }
    assert_in_range(refused, tried - 25,
                    tried - 2); /* 4 ends of frames; 13 bytes that are skipped */
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

/* ---- Limits of reading ---- */

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
    for (int i = 0; i < 4; i++) {
        assert_true(source_read(source, found, i == 0 ? 1 : 64 * MIB, &got, &error));
        usleep(100000);
        assert_in_range(resident_bytes(), 0, before + limit);
    }
    source_close(source);
    free(found);
    unlink("in");
}

static void test_memory_of_reading_is_bounded(void **state)
{
    (void)state;
    struct frames frames = {0};
    const size_t frame_bytes = 28 * MIB;
    unsigned char *data = calloc(1, frame_bytes);
    frames.packed = malloc(MIB);
    for (size_t i = 0; i < 20; i++)
        frames.packed_bytes +=
            ZSTD_compress(frames.packed + frames.packed_bytes, 20000, data, frame_bytes, 1);
    put_file("in", frames.packed, frames.packed_bytes);
    assert_takes_at_most(4 * 32 * MIB + 16 * MIB); /* a slot for each thread, and two */
    free_frames(&frames);
    free(data);
    /* 500 MiB in a frame of 16 KB that does not state its size. */
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

static void test_memory_of_compressing_is_bounded(void **state)
{
    (void)state;
    struct error error = {0};
    struct sink *sink;
    const struct sink_spec spec = {"out", &codecs[1], 1, 2, false, NULL};
    unsigned char *data = malloc(MIB);
    assert_true(sink_open(&spec, &sink, &error));
    memset(data, 1, MIB);
    const size_t before = resident_bytes();
    for (size_t i = 0; i < 500; i++) {
        assert_true(sink_write(sink, data, MIB, &error));
        assert_in_range(resident_bytes(), 0, before + 4 * FRAME + 32 * MIB);
    }
    assert_true(sink_commit(sink, &error));
    free(data);
    unlink("out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_of_reading_is_bounded),
        cmocka_unit_test(test_memory_of_compressing_is_bounded),
        cmocka_unit_test(test_frames_of_every_kind),
        cmocka_unit_test(test_many_small_frames),
        cmocka_unit_test(test_large_skippable_frames),
        cmocka_unit_test(test_damage_is_refused_alike),
        cmocka_unit_test(test_size_is_known_from_headers),
        cmocka_unit_test(test_open_pipe_can_be_closed),
    };
    return cmocka_run_group_tests_name("frames", tests, enter_scratch, leave_scratch);
}
