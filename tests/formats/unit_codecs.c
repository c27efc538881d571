/* SPDX-License-Identifier: Apache-2.0 */
/* unit_codecs.c - data is read as it was written, compressed or not, and all damage is detected.
 *
 * libzstd itself makes the streams that are read, and reads the streams that are checked. The codec
 * under test is used through sources and sinks, as in the program.
 */
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"
#include "tests/unit_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

enum { SMALL = 300, LARGE = 40 << 20 };

static const unsigned thread_counts[] = {1, 2, 7};
#define THREAD_COUNTS (sizeof thread_counts / sizeof thread_counts[0])

/* Makes one frame with a checksum by libzstd; returns its length. */
static size_t compress(void *frame, size_t capacity, const void *data, size_t bytes)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const size_t length = ZSTD_compress2(context, frame, capacity, data, bytes);
    assert_false(ZSTD_isError(length));
    ZSTD_freeCCtx(context);
    return length;
}

/* Reads the file to its end with `threads` threads, in pieces of `piece` bytes. Returns the number
 * of bytes, or SIZE_MAX. */
static size_t read_all(const char *name, unsigned threads, void *data, size_t capacity,
                       size_t piece, struct error *error)
{
    struct source *source;
    size_t done = 0, got = 1;
    if (!source_open(name, threads, &source, error))
        return SIZE_MAX;
    while (got > 0 && done < capacity) {
        const size_t left = capacity - done;
        if (!source_read(source, (char *)data + done, left < piece ? left : piece, &got, error)) {
            source_close(source);
            return SIZE_MAX;
        }
        done += got;
    }
    source_close(source);
    return done;
}

static void assert_reads_as(const char *name, const void *data, size_t bytes, size_t piece)
{
    unsigned char *found = malloc(bytes + 16);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct error error = {0};
        const size_t found_bytes =
            read_all(name, thread_counts[i], found, bytes + 16, piece, &error);
        assert_string_equal(error.message, "");
        assert_int_equal(found_bytes, bytes);
        assert_memory_equal(found, data, bytes);
    }
    free(found);
}

static void assert_refused(const char *name, const char *message)
{
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        struct error error = {0};
        unsigned char found[8 * SMALL];
        assert_int_equal(read_all(name, thread_counts[i], found, sizeof found, 300, &error),
                         SIZE_MAX);
        assert_true(error.is_set);
        if (message && !strstr(error.message, message))
            fail_msg("'%s' is not in '%s'", message, error.message);
    }
}

static void test_plain_round_trip(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(LARGE);
    put_file("plain", data, LARGE);
    assert_reads_as("plain", data, LARGE, 777777);
    assert_reads_as("plain", data, LARGE, LARGE); /* divided among threads */
    assert_int_equal(truncate("plain", 0), 0);
    assert_reads_as("plain", data, 0, 1);
    free(data);
    unlink("plain");
}

static void test_zstd_sink_is_read_by_libzstd(void **state)
{
    (void)state;
    const size_t bytes = 10 << 20;
    unsigned char *data = make_bytes(bytes), *found = malloc(bytes);
    for (int level = 0; level <= 4; level += 4) {
        struct error error = {0};
        struct sink *sink;
        const struct sink_spec spec = {"out.zst", &codecs[1], level, 2, false, NULL};
        assert_true(sink_open(&spec, &sink, &error));
        assert_true(sink_write(sink, data, 12345, &error));
        assert_true(sink_write(sink, data + 12345, bytes - 12345, &error));
        assert_true(sink_commit(sink, &error));
        size_t frame_bytes;
        unsigned char *frame = get_file("out.zst", &frame_bytes);
        assert_true(frame_bytes < bytes);
        assert_int_equal(ZSTD_findFrameCompressedSize(frame, frame_bytes), frame_bytes);
        assert_true(frame[4] & 4); /* the checksum flag, RFC 8878 section 3.1.1.1.1 */
        assert_int_equal(ZSTD_decompress(found, bytes, frame, frame_bytes), bytes);
        assert_memory_equal(found, data, bytes);
        assert_reads_as("out.zst", data, bytes, 100001);
        assert_reads_as("out.zst", data, bytes, bytes);
        free(frame);
        unlink("out.zst");
    }
    free(data);
    free(found);
}

static void test_empty_zstd_output_is_a_frame(void **state)
{
    (void)state;
    struct error error = {0};
    struct sink *sink;
    assert_true(
        sink_open(&(struct sink_spec){"out.zst", &codecs[1], 0, 1, false, NULL}, &sink, &error));
    assert_true(sink_commit(sink, &error));
    size_t bytes;
    unsigned char *frame = get_file("out.zst", &bytes), nothing;
    assert_true(bytes > 0);
    assert_int_equal(ZSTD_decompress(&nothing, 1, frame, bytes), 0);
    assert_reads_as("out.zst", "", 0, 1);
    free(frame);
    unlink("out.zst");
}

/* Writes a frame, a skippable frame, an empty frame and a frame. Their content is `data` twice.
 * Returns the length. */
static size_t put_frames(const char *name, const unsigned char *data)
{
    static const unsigned char skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};
    unsigned char stream[8 * SMALL];
    size_t length = compress(stream, sizeof stream, data, SMALL);
    memcpy(stream + length, skippable, sizeof skippable);
    length += sizeof skippable;
    length += compress(stream + length, sizeof stream - length, "", 0);
    length += compress(stream + length, sizeof stream - length, data, SMALL);
    put_file(name, stream, length);
    return length;
}

static void test_several_frames(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(SMALL), twice[2 * SMALL];
    memcpy(twice, data, SMALL);
    memcpy(twice + SMALL, data, SMALL);
    put_frames("frames", data);
    for (size_t piece = 1; piece <= 2 * SMALL; piece = piece * 3 + 1)
        assert_reads_as("frames", twice, sizeof twice, piece);
    unlink("frames");
    static const unsigned char leading[] = {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 'x'};
    put_file("frames", leading, sizeof leading); /* not recognized as compressed */
    assert_reads_as("frames", leading, sizeof leading, 1);
    put_file("frames.zst", leading, sizeof leading);
    assert_reads_as("frames.zst", "", 0, 1);
    free(data);
    unlink("frames");
    unlink("frames.zst");
}

/* Except at the end of the first, the skippable or the empty frame, where the rest is complete. */
static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(SMALL);
    const size_t length = put_frames("whole", data);
    size_t bytes, accepted = 0;
    unsigned char *stream = get_file("whole", &bytes);
    assert_int_equal(bytes, length);
    for (size_t cut = 4; cut < length; cut++) {
        unsigned char found[4 * SMALL];
        struct error error = {0};
        put_file("cut", stream, cut);
        if (read_all("cut", 2, found, sizeof found, sizeof found, &error) != SIZE_MAX) {
            accepted++;
            continue;
        }
        char expected[100];
        snprintf(expected, sizeof expected, "cut: compressed byte %zu: truncated zstd data", cut);
        assert_string_equal(error.message, expected);
        assert_refused("cut", expected);
    }
    assert_int_equal(accepted, 3);
    free(stream);
    free(data);
    unlink("whole");
    unlink("cut");
}

/* The checksum detects every change of the data; the decoder detects changes of a frame's header
 * and size. A flipped bit in the magic makes it plain data, so the first four bytes are not
 * changed. */
static void test_every_corrupted_byte_is_refused(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(SMALL), frame[2 * SMALL];
    const size_t length = compress(frame, sizeof frame, data, SMALL);
    for (size_t i = 4; i < length; i++) {
        frame[i] ^= 0x55;
        put_file("corrupt", frame, length);
        assert_refused("corrupt", "corrupt: compressed byte ");
        frame[i] ^= 0x55;
    }
    frame[length - 1] ^= 1; /* the checksum itself */
    put_file("corrupt", frame, length);
    assert_refused("corrupt", "corrupt zstd data: Restored data doesn't match checksum");
    free(data);
    unlink("corrupt");
}

static void test_garbage_behind_is_refused(void **state)
{
    (void)state;
    unsigned char *data = make_bytes(SMALL), stream[2 * SMALL];
    const size_t length = compress(stream, sizeof stream, data, SMALL);
    for (size_t garbage = 1; garbage < 20; garbage++) {
        memset(stream + length, 'x', garbage);
        put_file("garbage", stream, length + garbage);
        char place[100];
        snprintf(place, sizeof place, "garbage: compressed byte %zu: ", length);
        assert_refused("garbage", garbage < 5 ? "zstd data" : place);
    }
    assert_refused("garbage", "corrupt zstd data: garbage behind the last frame");
    free(data);
    unlink("garbage");
}

static void test_large_window_is_refused(void **state)
{
    (void)state;
    /* Magic; no single segment, no checksum; a window of 2^28 bytes; a raw block of 1 byte, the
     * last. */
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 9, 0, 0, 'x'};
    put_file("window", frame, sizeof frame);
    assert_refused("window", "window is larger than 128 MiB");
    unlink("window");
}

static void test_peek_consumes_nothing(void **state)
{
    (void)state;
    const size_t bytes = 3 << 20;
    struct error error = {0};
    unsigned char *data = make_bytes(bytes), *stream = malloc(ZSTD_compressBound(bytes));
    const size_t length = compress(stream, ZSTD_compressBound(bytes), data, bytes);
    put_file("plain", data, bytes);
    put_file("packed", stream, length);
    static const char *const names[] = {"plain", "packed"};
    for (size_t i = 0; i < 2; i++) {
        struct source *source;
        const unsigned char *peeked;
        unsigned char *rest = malloc(bytes);
        size_t got;
        assert_true(source_open(names[i], 1, &source, &error));
        assert_int_equal(source_bytes_left(source), bytes);
        assert_true(source_peek(source, 6, &peeked, &got, &error));
        assert_true(got >= 6);
        assert_memory_equal(peeked, data, got);
        assert_true(source_read(source, rest, 5, &got, &error));
        assert_true(source_peek(source, SOURCE_PEEK_MAX, &peeked, &got, &error));
        assert_true(got >= SOURCE_PEEK_MAX);
        assert_memory_equal(peeked, data + 5, SOURCE_PEEK_MAX);
        assert_int_equal(source_bytes_left(source), bytes - 5);
        assert_true(source_read(source, rest, bytes, &got, &error));
        assert_int_equal(got, bytes - 5);
        assert_memory_equal(rest, data + 5, bytes - 5);
        assert_true(source_peek(source, 1, &peeked, &got, &error));
        assert_int_equal(got, 0);
        assert_int_equal(source_bytes_left(source), 0);
        source_close(source);
        free(rest);
        unlink(names[i]);
    }
    free(stream);
    free(data);
}

/* Standard input may be a file of which another process has read a part. */
static void test_standard_input_from_its_offset(void **state)
{
    (void)state;
    struct error error = {0};
    struct source *source;
    char found[16];
    size_t got;
    put_file("input", "0123456789", 10);
    const int saved = dup(STDIN_FILENO), file = open("input", O_RDONLY);
    assert_int_equal(lseek(file, 4, SEEK_SET), 4);
    dup2(file, STDIN_FILENO);
    close(file);
    assert_true(source_open("-", 1, &source, &error));
    assert_string_equal(source_name(source), "standard input");
    assert_int_equal(source_bytes_left(source), 6);
    assert_true(source_read(source, found, sizeof found, &got, &error));
    assert_int_equal(got, 6);
    assert_memory_equal(found, "456789", 6);
    source_close(source);
    dup2(saved, STDIN_FILENO);
    close(saved);
    unlink("input");
}

static void test_what_cannot_be_read(void **state)
{
    (void)state;
    struct error error = {0};
    struct source *source;
    assert_false(source_open("missing", 1, &source, &error));
    assert_string_equal(error.message, "missing: No such file or directory");
    error.is_set = false;
    assert_false(source_open(".", 1, &source, &error));
    assert_string_equal(error.message, ".: Is a directory");
    source_close(NULL);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *format, *type, *codec;
    } rows[] = {
        {"x.npy", "npy", NULL, "plain"},    {"x.npy.zst", "npy", NULL, "zstd"},
        {"x.f64", "raw", "f64", "plain"},   {"d.npy/x.u8.zstd", "raw", "u8", "zstd"},
        {"x.bf16", "raw", "bf16", "plain"}, {"x.bin", "raw", NULL, "plain"},
        {"x.raw.zst", "raw", NULL, "zstd"}, {"x.float64", NULL, NULL, "plain"},
        {"f64", NULL, NULL, "plain"},       {".npy", NULL, NULL, "plain"},
        {"d/.f64", NULL, NULL, "plain"},    {"x.zst", NULL, NULL, "zstd"},
        {".zst", NULL, NULL, "plain"},      {"", NULL, NULL, "plain"},
        {"x.zst.zst", NULL, NULL, "zstd"},  {"x.F64", NULL, NULL, "plain"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct key_type *type;
        size_t stem;
        const struct format *format = format_find_by_name(rows[i].name, &type);
        assert_string_equal(format ? format->name : "", rows[i].format ? rows[i].format : "");
        assert_string_equal(type ? type->name : "", rows[i].type ? rows[i].type : "");
        assert_string_equal(codec_find_by_name(rows[i].name, &stem)->name, rows[i].codec);
    }
    assert_ptr_equal(format_find("npy"), &format_npy);
    assert_null(format_find("NPY"));
}

static void test_raw_sizes(void **state)
{
    (void)state;
    unsigned char frame[100], items[80];
    struct error error = {0};
    size_t count;
    struct reader reader = {.layout = {.type = &key_types[KEY_TYPE_f64]}};
    put_file("x.f64", "0123456789", 10);
    assert_true(source_open("x.f64", 1, &reader.source, &error));
    assert_false(format_raw.read_header(&reader, &error));
    assert_string_equal(error.message,
                        "x.f64: 10 bytes is not a multiple of 8, the size of f64: the "
                        "file is cut off or of another type (--type)");
    source_close(reader.source);
    error.is_set = false;
    put_file("x.f64", frame, compress(frame, sizeof frame, "0123456789", 10));
    assert_true(source_open("x.f64", 1, &reader.source, &error));
    assert_false(format_raw.read_header(&reader, &error)); /* the frame states its size */
    source_close(reader.source);
    error.is_set = false;
    append_unsized_frame("x.f64");
    assert_true(source_open("x.f64", 1, &reader.source, &error));
    assert_true(format_raw.read_header(&reader, &error));
    assert_true(format_raw.read_keys(&reader, items, 1, &count, &error));
    assert_int_equal(count, 1);
    assert_false(format_raw.read_keys(&reader, items, 1, &count, &error));
    assert_string_equal(error.message,
                        "x.f64: 10 bytes is not a multiple of 8, the size of f64: the "
                        "file is cut off or of another type (--type)");
    source_close(reader.source);
    unlink("x.f64");
}

static void test_raw_file_that_changes(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *message;
    } changes[] = {
        {(size_t)2 << 20, "x.u32: the file was cut off while it was read, at 2097152 bytes"},
        {(size_t)4 << 20, "x.u32: the file grew while it was read"}};
    const size_t count_announced = (3 << 20) / 4;
    void *items = malloc(4 << 20);
    for (size_t i = 0; i < 2; i++) {
        struct error error = {0};
        size_t count;
        struct reader reader = {.layout = {.type = &key_types[KEY_TYPE_u32]}};
        put_file("x.u32", "", 0);
        assert_int_equal(truncate("x.u32", 3 << 20), 0);
        assert_true(source_open("x.u32", 1, &reader.source, &error));
        assert_true(format_raw.read_header(&reader, &error));
        assert_int_equal(reader.layout.count, count_announced);
        assert_int_equal(truncate("x.u32", (off_t)changes[i].bytes), 0);
        bool ok = true;
        do
            ok = format_raw.read_keys(&reader, items, count_announced, &count, &error);
        while (ok && count > 0);
        assert_false(ok);
        assert_string_equal(error.message, changes[i].message);
        source_close(reader.source);
    }
    free(items);
    unlink("x.u32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_round_trip),
        cmocka_unit_test(test_zstd_sink_is_read_by_libzstd),
        cmocka_unit_test(test_empty_zstd_output_is_a_frame),
        cmocka_unit_test(test_several_frames),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_every_corrupted_byte_is_refused),
        cmocka_unit_test(test_garbage_behind_is_refused),
        cmocka_unit_test(test_large_window_is_refused),
        cmocka_unit_test(test_peek_consumes_nothing),
        cmocka_unit_test(test_standard_input_from_its_offset),
        cmocka_unit_test(test_what_cannot_be_read),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_raw_sizes),
        cmocka_unit_test(test_raw_file_that_changes),
    };
    return cmocka_run_group_tests_name("codecs", tests, enter_scratch, leave_scratch);
}
