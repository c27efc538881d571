/* SPDX-License-Identifier: Apache-2.0 */
/* unit_frames_written.c - compressed output: the same frames for any number of threads, and bounded
 * memory. libzstd itself reads them. How frames are read: unit_frames.c.
 */
#include "formats/codec/codec.h"
#include "formats/io/sink.h"
#include "tests/unit_files.h"

#include <zstd.h>

#define MIB ((size_t)1 << 20)
#define FRAME (16 * MIB) /* content of a frame of gpusort */

static const unsigned thread_counts[] = {1, 2, 7};
#define THREAD_COUNTS (sizeof thread_counts / sizeof thread_counts[0])

static struct sink *open_packed(const char *name, unsigned threads)
{
    struct error error = {0};
    struct sink *sink;
    assert_true(
        sink_open(&(struct sink_spec){name, &codecs[1], 1, threads, false, NULL}, &sink, &error));
    return sink;
}

/* Checks each frame: it states its size, which is FRAME except for the last frame, and has a
 * checksum. */
static void assert_is_framed(const char *name, const unsigned char *data, size_t bytes)
{
    size_t length, done = 0, at = 0, frames = 0;
    unsigned char *packed = get_file(name, &length), *found = malloc(FRAME);
    while (at < length) {
        const size_t content = bytes - done < FRAME ? bytes - done : FRAME;
        const size_t frame_bytes = ZSTD_findFrameCompressedSize(packed + at, length - at);
        assert_false(ZSTD_isError(frame_bytes));
        assert_int_equal(ZSTD_getFrameContentSize(packed + at, length - at), content);
        assert_true(packed[at + 4] & 4); /* the checksum flag, RFC 8878 section 3.1.1.1.1 */
        assert_int_equal(ZSTD_decompress(found, FRAME, packed + at, frame_bytes), content);
        assert_memory_equal(found, data + done, content);
        done += content;
        at += frame_bytes;
        frames++;
    }
    assert_int_equal(done, bytes);
    assert_int_equal(frames, bytes == 0 ? 1 : (bytes + FRAME - 1) / FRAME);
    free(found);
    free(packed);
}

static void test_frames_go_by_the_content_alone(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,         1,         FRAME - 1,     FRAME,
                                   FRAME + 1, 2 * FRAME, 2 * FRAME + 1, 5 * FRAME + 77};
    unsigned char *data = make_bytes(6 * FRAME), *lent = malloc(6 * FRAME);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < THREAD_COUNTS; j++) {
            struct error error = {0};
            struct sink *sink = open_packed(j == 0 ? "one" : "more", thread_counts[j]);
            const size_t first = j == 1 ? sizes[i] / 3 : 0; /* in one piece, and in two */
            memcpy(lent, data, sizes[i]);
            assert_true(sink_write(sink, lent, first, &error));
            assert_true(sink_write(sink, lent + first, sizes[i] - first, &error));
            memset(lent, 0, sizes[i]); /* the sink does not use it any more */
            assert_true(sink_commit(sink, &error));
            if (j == 0) {
                assert_is_framed("one", data, sizes[i]);
                continue;
            }
            size_t bytes;
            unsigned char *one = get_file("one", &bytes);
            assert_file_holds("more", one, bytes);
            free(one);
        }
    }
    free(lent);
    free(data);
    unlink("one");
    unlink("more");
}

static void test_lent_buffers_become_frames(void **state)
{
    (void)state;
    const size_t bytes = 2 * FRAME + 12345, most = SINK_BUFFER_BYTES - 123456;
    unsigned char *data = make_bytes(bytes);
    struct error error = {0};
    struct sink *sink = open_packed("out", 2);
    for (size_t done = 0, piece; done < bytes; done += piece) {
        unsigned char *buffer;
        piece = bytes - done < most ? bytes - done : most;
        assert_true(sink_lend(sink, &buffer, &error));
        memcpy(buffer, data + done, piece);
        assert_true(sink_put(sink, buffer, piece, &error));
    }
    assert_true(sink_commit(sink, &error));
    assert_is_framed("out", data, bytes);
    free(data);
    unlink("out");
}

static void test_full_disk_while_compressing(void **state)
{
    (void)state;
    const size_t bytes = 10 * FRAME;
    unsigned char *data = calloc(1, bytes);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct error error = {0};
        struct sink *sink = open_packed("/dev/full", thread_counts[i]);
        if (sink_write(sink, data, bytes, &error))
            assert_false(sink_commit(sink, &error));
        else
            sink_discard(sink);
        assert_string_equal(error.message, "/dev/full: No space left on device");
    }
    free(data);
}

static void test_discard_while_compressing(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(3 * FRAME);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct error error = {0};
        struct sink *sink = open_packed("out", thread_counts[i]);
        assert_true(sink_write(sink, data, 2 * FRAME + FRAME / 2, &error));
        sink_discard(sink);
        assert_int_equal(access("out", F_OK), -1);
    }
    free(data);
}

static void test_compressing_is_bounded(void **state)
{
    (void)state;
    struct error error = {0};
    struct sink *sink = open_packed("out", 2);
    unsigned char *data = calloc(1, MIB);
    memset(data, 1, MIB);
    const size_t before = resident_bytes();
    for (size_t i = 0; i < 1000; i++) {
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
        cmocka_unit_test(test_frames_go_by_the_content_alone),
        cmocka_unit_test(test_lent_buffers_become_frames),
        cmocka_unit_test(test_full_disk_while_compressing),
        cmocka_unit_test(test_discard_while_compressing),
        cmocka_unit_test(test_compressing_is_bounded),
    };
    return cmocka_run_group_tests_name("frames written", tests, enter_scratch, leave_scratch);
}
