/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h - the table of byte codecs, which compress a file's bytes.
 *
 * codecs[0] is "plain" and has no functions: its bytes are copied unchanged.
 */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Borrowed memory. `data` and `bytes` advance as bytes are consumed or written. */
struct byte_reader {
    const unsigned char *data;
    size_t bytes; /* not yet consumed */
};
struct byte_writer {
    unsigned char *data;
    size_t bytes; /* not yet filled */
};

/* The result of scanning the beginning of compressed bytes. */
enum frame_kind {
    FRAME_WHOLE, /* a whole frame */
    FRAME_PART,  /* maybe the beginning of a frame: more bytes are needed */
    FRAME_OTHER, /* not to be decoded whole: content, window or number of blocks above the limits,
                    or invalid data, or its end cannot be found without decoding. Use `decode`,
                    which refuses such a window. */
};

/* Bytes in which the magic of every codec is found. */
#define CODEC_MAGIC_BYTES 4

/* What a message adds if plain data may only begin like compressed data. */
#define CODEC_ADVICE "; if it is not compressed, use --format=FORMAT:plain"

struct frame_extent {
    size_t bytes;       /* compressed */
    size_t content_max; /* maximum decoded size in bytes; 0: a frame to skip */
};

/* A byte of the content of a file, and the frame that holds it. */
struct frame_position {
    uint64_t position; /* of the byte in the content */
    uint64_t offset;   /* of the frame in the file */
    uint64_t before;   /* bytes of content before the frame */
};

/* The functions are NULL for "plain". Other codecs need all of them. But if the end of a frame
 * cannot be found without decoding, `scan` always returns FRAME_OTHER and `find_frames` false. Then
 * one thread decodes, and `decode_frames` is never called. */
struct codec {
    const char *name;          /* "zstd" */
    const char *summary;       /* one line for --list */
    const char *extensions[3]; /* ".zst", ".zstd"; terminated by NULL */
    int level_min, level_max, level_default;
    unsigned window_log_min, window_log_max, window_log_default; /* as for decoder_open */

    /* Returns true if the bytes begin with the codec's magic, or with a skippable frame. Needs at
     * most CODEC_MAGIC_BYTES. */
    bool (*recognises)(const unsigned char *head, size_t bytes);
    /* Returns true if the bytes, of which the codec recognises the magic, begin with a frame
     * without content. */
    bool (*is_skippable)(const unsigned char *head, size_t bytes);

    /* Returns a decoder; NULL if memory runs out. window_log: frames that need a window of more
     * than 1 << window_log bytes are refused; 0: the codec's default. */
    void *(*decoder_open)(unsigned window_log);
    /* Moves bytes from `in` to `out` until either is used up or a frame has ended. The next call
     * begins the next frame. *frame_open: the stream would be truncated if it ended here. On
     * failure `in` begins at the fault, whose position is reported, and the message is only the
     * cause. */
    bool (*decode)(void *decoder, struct byte_reader *in, struct byte_writer *out, bool *frame_open,
                   struct error *error);
    void (*decoder_close)(void *decoder); /* the decoder may be NULL */

    /* Returns the kind of frame that data[0..bytes) begins with. Sets *extent for a whole frame of
     * at most content_limit bytes of content, whose window the decoder does not refuse. Reads only
     * headers. */
    enum frame_kind (*scan)(const void *decoder, const unsigned char *data, size_t bytes,
                            size_t content_limit, struct frame_extent *extent);
    /* Decodes all of `in`, whole frames found by `scan`; faster than `decode`. Advances `out`.
     * Returns false if a frame is invalid or does not fit. Then `decode`, which gets the same
     * bytes, reports the error and its position. */
    bool (*decode_frames)(void *decoder, struct byte_reader in, struct byte_writer *out);

    /* Finds the frames, of a regular file from byte `begin` to `end`, that hold `count` bytes of
     * the content, by their positions, which ascend. Fills in the other fields. If `count` is 0,
     * finds all frames. Adds the content of the frames found to *content, which must be 0, as their
     * headers state it. Reads no more than headers, and only pages in memory, if the file system
     * supports that. Returns false if that is not enough, if a frame does not state its content or
     * is invalid, if there are too many frames or blocks, or if the content ends before. */
    bool (*find_frames)(int file, uint64_t begin, uint64_t end, struct frame_position *positions,
                        size_t count, uint64_t *content);

    /* Returns an encoder; NULL if memory runs out. */
    void *(*encoder_open)(int level);
    /* Returns the memory that an encoder takes, at most, for frames of FRAME_CONTENT_BYTES. */
    size_t (*encoder_bytes)(int level);
    /* Returns the maximum size of a frame of `bytes` bytes of content. */
    size_t (*encoded_bytes_max)(size_t bytes);
    /* Compresses all of `in`, at most FRAME_CONTENT_BYTES, to one frame. It may be empty. Advances
     * `out`, which must have room for encoded_bytes_max() bytes. On failure the message is only the
     * cause. */
    bool (*encode)(void *encoder, struct byte_reader in, struct byte_writer *out,
                   struct error *error);
    void (*encoder_close)(void *encoder); /* the encoder may be NULL */
};

extern const struct codec codec_zstd;
extern const struct codec *const codecs[];
extern const size_t codec_count;

/* Returns the codec of that name, or NULL. */
const struct codec *codec_find(const char *name);

/* Returns the codec whose magic the stream begins with; codecs[0] if there is none. */
const struct codec *codec_find_by_magic(const unsigned char *head, size_t bytes);

/* Returns the codec whose extension ends the name; codecs[0] if there is none. *stem_length: the
 * length of the name without that extension. */
const struct codec *codec_find_by_name(const char *name, size_t *stem_length);

/* Returns true if name[0..length) ends with the extension (".zst"), in any case, and is longer: a
 * file called ".zst" is a hidden file without an extension. */
static inline bool file_name_has_extension(const char *name, size_t length, const char *extension)
{
    const size_t extension_length = strlen(extension);
    if (length <= extension_length)
        return false;
    const char *end_of_stem = name + length - extension_length;
    return end_of_stem[-1] != '/' && strncasecmp(end_of_stem, extension, extension_length) == 0;
}

#endif
