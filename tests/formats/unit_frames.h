/* SPDX-License-Identifier: Apache-2.0 */
/* unit_frames.h - makes compressed files of many frames with libzstd, and reads them. */
#ifndef TESTS_UNIT_FRAMES_H
#define TESTS_UNIT_FRAMES_H

#include "formats/io/source.h"
#include "tests/unit_files.h"

#include <zstd.h>

#define MIB ((size_t)1 << 20)

static const unsigned thread_counts[] = {1, 2, 7};
#define THREAD_COUNTS (sizeof thread_counts / sizeof thread_counts[0])

/* A file of frames, and the content of all frames. */
struct frames {
    unsigned char *packed, *content;
    size_t packed_bytes, content_bytes;
    size_t packed_room, content_room;
};

/* Makes room for `more` bytes after the existing ones, and doubles it, as the realloc of sanitizers
 * copies each time. */
static inline void make_room(unsigned char **data, size_t bytes, size_t more, size_t *room)
{
    if (bytes + more <= *room)
        return;
    *room = 2 * (bytes + more);
    *data = realloc(*data, *room);
    assert_non_null(*data);
}

/* How a frame is made. */
enum make { SIZED, UNSIZED, FLUSHED };

/* Adds a frame of the next `bytes` bytes of content; FLUSHED has blocks of 1000 bytes. */
static inline void add_frame(struct frames *frames, size_t bytes, enum make make)
{
    static unsigned char source[40 << 20];
    static uint64_t random = 1;
    if (source[0] == 0)
        for (size_t i = 0; i < sizeof source; i++)
            source[i] = (unsigned char)(1 + (random_next(&random) & 0x3f));
    ZSTD_CCtx *context = ZSTD_createCCtx();
    const size_t room = ZSTD_compressBound(bytes) + bytes / 100 + 100;
    make_room(&frames->packed, frames->packed_bytes, room, &frames->packed_room);
    make_room(&frames->content, frames->content_bytes, bytes + 1, &frames->content_room);
    const unsigned char *data = source + random_next(&random) % (sizeof source - bytes + 1);
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
static inline void add_skippable(struct frames *frames, size_t bytes)
{
    const unsigned char header[8] = {0x50,
                                     0x2a,
                                     0x4d,
                                     0x18,
                                     (unsigned char)bytes,
                                     (unsigned char)(bytes >> 8),
                                     (unsigned char)(bytes >> 16),
                                     (unsigned char)(bytes >> 24)};
    make_room(&frames->packed, frames->packed_bytes, 8 + bytes, &frames->packed_room);
    memcpy(frames->packed + frames->packed_bytes, header, 8);
    memset(frames->packed + frames->packed_bytes + 8, 'x', bytes);
    frames->packed_bytes += 8 + bytes;
}

static inline void free_frames(struct frames *frames)
{
    free(frames->packed);
    free(frames->content);
    *frames = (struct frames){0};
}

/* Peeks, as the program does, and reads to the end in pieces of `piece` bytes. Returns the number
 * of bytes, or SIZE_MAX. */
static inline size_t read_all(const char *name, unsigned threads, void *data, size_t capacity,
                              size_t piece, struct error *error)
{
    struct source *source;
    const unsigned char *peeked;
    size_t done = 0, got = 1;
    if (!source_open(name, threads, &source, error))
        return SIZE_MAX;
    bool ok = source_peek(source, SOURCE_PEEK_MAX, &peeked, &got, error);
    while (ok && got > 0 && done < capacity) {
        const size_t left = capacity - done;
        ok = source_read(source, (char *)data + done, left < piece ? left : piece, &got, error);
        done += got;
    }
    source_close(source);
    return ok ? done : SIZE_MAX;
}

/* Makes a pipe the standard input, and *saved a duplicate of the old one. Returns the write end. */
static inline int redirect_input(int *saved)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *saved = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    return ends[1];
}

/* Makes the descriptor what it was before, and closes `saved`. */
static inline void restore(int file, int saved)
{
    dup2(saved, file);
    close(saved);
}

#endif
