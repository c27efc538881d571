/* SPDX-License-Identifier: Apache-2.0 */
/* codec_choice.c - see codec_choice.h. */
#include "formats/io/codec_choice.h"

#include "formats/codec/codec.h"

#include <stdlib.h>

/* Bytes in which the magic of every codec is found. */
#define MAGIC_BYTES 4

/* Bytes read when a source is opened. Few, because all inputs are open before the first is read. */
#define HEAD_BYTES ((size_t)16 << 10)

/* Bytes that show whether data that begins like compressed data is compressed: more than a block of
 * any codec (128 KiB for zstd), because a whole one is decoded. */
#define LOOK_BYTES ((size_t)256 << 10)
_Static_assert(LOOK_BYTES <= SOURCE_PEEK_MAX, "room at the head");

/* The first bytes of the file, already read. */
struct head {
    unsigned char *data;
    size_t room, bytes;
};

/* Some bytes of the file. */
struct look {
    unsigned char *scratch; /* LOOK_BYTES; NULL if the file can be read only once */
    const unsigned char *data;
    size_t bytes;     /* at least LOOK_BYTES, or up to the end of the file */
    bool is_in_reach; /* false: the position is out of reach, or after the end */
};

/* Reads until the head has `want` bytes, or the file has ended. */
static bool read_head(struct input_file *input, struct head *head, size_t want, struct error *error)
{
    while (head->bytes < want && !input->has_ended) {
        const size_t most = want > HEAD_BYTES ? want : HEAD_BYTES;
        const size_t end = most < head->room ? most : head->room;
        size_t got;
        if (!input_file_read_once(input, head->data + head->bytes, end - head->bytes, &got, error))
            return false;
        head->bytes += got;
    }
    return true;
}

/* Gets the bytes from `position` on: of a regular file anywhere, otherwise only within the head. */
static bool look_at(struct input_file *input, struct head *head, uint64_t position,
                    struct look *look, struct error *error)
{
    look->data = head->data;
    look->bytes = 0;
    if (look->scratch) {
        const uint64_t begin = input->offset - head->bytes;
        look->data = look->scratch;
        look->is_in_reach = begin + position <= input->bytes;
        return !look->is_in_reach || input_file_read_at(input, begin + position, look->scratch,
                                                        LOOK_BYTES, &look->bytes, error);
    }
    const bool has_room = position <= SOURCE_PEEK_MAX - LOOK_BYTES;
    if (!read_head(input, head, has_room ? (size_t)position + LOOK_BYTES : SOURCE_PEEK_MAX, error))
        return false;
    look->is_in_reach = (has_room || input->has_ended) && position <= head->bytes;
    if (look->is_in_reach) {
        look->data = head->data + position;
        look->bytes = head->bytes - (size_t)position;
    }
    return true;
}

/* Gets the bytes after the skippable frames at the beginning of the file. */
static bool look_past_skippable(struct input_file *input, const struct codec *codec,
                                struct head *head, struct look *look, struct error *error)
{
    uint64_t position = 0, skipped;
    do {
        if (!look_at(input, head, position, look, error))
            return false;
        skipped = codec->skippable_bytes(look->data, look->bytes);
        position += skipped;
    } while (skipped > 0);
    return true;
}

/* Returns true if there are control characters that text hardly has. NUL may end its lines. */
static bool has_controls(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] > 0 && data[i] < ' ' && !memchr("\a\b\t\n\v\f\r\33", data[i], 8))
            return true;
    return false;
}

/* Chooses between plain bytes and the codec whose magic the file begins with. Lines may begin with
 * the magic by chance. If their frame is not sound and they have bytes that text hardly has, they
 * are compressed data that is damaged or cut off. */
static bool judge_content(struct input_file *input, const struct codec *codec, struct head *head,
                          bool is_text, struct codec_choice *choice, struct error *error)
{
    struct look look = {.scratch = input->is_sized ? malloc(LOOK_BYTES) : NULL};
    if (input->is_sized && !look.scratch)
        return error_set(error, "%s: no memory to read it", input->name);
    const bool ok = look_past_skippable(input, codec, head, &look, error);
    const bool has_frame = ok && codec->recognises(look.data, look.bytes);
    const bool has_ended = ok && look.is_in_reach && look.bytes == 0;
    const bool is_compressed = is_text ? has_frame && (codec->is_sound(look.data, look.bytes) ||
                                                       has_controls(look.data, look.bytes))
                                       : !has_ended;
    free(look.scratch);
    choice->codec = is_compressed ? codec : codecs[0];
    choice->is_unproven = is_compressed && !has_frame;
    return ok;
}

size_t codec_choice_room(const struct input_file *input)
{
    return input->is_sized ? HEAD_BYTES
                           : SOURCE_PEEK_MAX; /* a look at a regular file has its own memory */
}

bool codec_choose(struct input_file *input, const struct source_spec *spec, unsigned char *data,
                  size_t room, struct codec_choice *choice, struct error *error)
{
    struct head head = {data, room, 0};
    size_t stem_length;
    bool ok = read_head(input, &head, MAGIC_BYTES, error);
    const struct codec *const found = codec_find_by_magic(head.data, head.bytes);
    *choice = (struct codec_choice){spec->codec ? spec->codec : found, false, 0};
    if (ok && choice->codec->decode && choice->codec != found)
        ok = error_set(error, "%s: this is no %s data", input->name, choice->codec->name);
    const bool is_named = codec_find_by_name(spec->path, &stem_length) == found;
    if (ok && found->decode && !spec->codec && !is_named &&
        (spec->is_text || found->skippable_bytes(head.data, head.bytes) > 0))
        ok = judge_content(input, found, &head, spec->is_text, choice, error);
    choice->bytes = head.bytes;
    return ok;
}
