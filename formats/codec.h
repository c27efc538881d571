/* codec.h - the table of byte codecs: how a file's bytes are compressed.
 *
 * codecs[0] is "plain" and has no functions: its bytes are moved as they are.
 */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes, moved along as they are consumed or filled. */
struct byte_reader {
    const unsigned char *data;
    size_t bytes; /* not yet consumed */
};
struct byte_writer {
    unsigned char *data;
    size_t bytes; /* not yet filled */
};

struct codec {
    const char *name;          /* "zstd" */
    const char *summary;       /* one line for --list */
    const char *extensions[3]; /* ".zst", ".zstd"; ended by NULL */
    int level_min, level_max, level_default;

    /* True when a stream starts so; skippable frames count. */
    bool (*recognises)(const unsigned char *head, size_t bytes);

    /* NULL when memory runs out. */
    void *(*decoder_open)(void);
    /* Moves bytes from in to out until either is used up. *frame_open says whether the stream would
     * be truncated if it ended here. On failure the message is the cause alone. */
    bool (*decode)(void *decoder, struct byte_reader *in, struct byte_writer *out, bool *frame_open,
                   struct error *error);
    void (*decoder_close)(void *decoder); /* may be NULL */

    /* threads: at most so many compress. NULL when memory runs out. */
    void *(*encoder_open)(int level, unsigned threads);
    /* Moves bytes from in to out. With `finish`, ends the stream; *finished says that all is out.
     */
    bool (*encode)(void *encoder, struct byte_reader *in, struct byte_writer *out, bool finish,
                   bool *finished, struct error *error);
    void (*encoder_close)(void *encoder); /* may be NULL */
};

extern const struct codec codecs[];
extern const size_t codec_count;

/* NULL if there is no such codec. */
const struct codec *codec_find(const char *name);

/* The codec whose magic the stream starts with; codecs[0] when none. */
const struct codec *codec_find_by_magic(const unsigned char *head, size_t bytes);

/* The codec whose extension ends the name; codecs[0] when none. *stem_length: the length of the
 * name without that extension. */
const struct codec *codec_find_by_name(const char *name, size_t *stem_length);

#endif
