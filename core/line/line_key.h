/* SPDX-License-Identifier: Apache-2.0 */
/* line_key.h - a key of a line, for host and device: its bytes in the line.
 *
 *   line --line_key_find()--> bytes of the key --host or GPU--> image --with the offset--> item
 *                                                 (line_image.h)
 *
 * The bytes of a key such as `-k 2.3b,4`: the rules are the same as in GNU sort(1) in the C locale
 * (coreutils, "sort invocation"):
 *   - With a separator, a field is the text between separators; each separator ends one field
 *     and starts the next. Without one, a field is a run of blanks, maybe empty, and the run of
 *     other bytes after it; blanks are space, tab and newline.
 *   - A field or a byte that the line does not have is at the end of the line. Bytes are counted
 *     from the start of the field, and continue into the fields after it.
 *   - A key that ends before it begins is empty.
 */
#ifndef CORE_LINE_KEY_H
#define CORE_LINE_KEY_H

#include "core/byte_words.h"
#include "core/host_device.h"
#include "core/line/line_image.h"
#include "core/line/line_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Some bytes of a line, borrowed. */
struct line_span {
    const char *text;
    size_t length;
};

HOST_DEVICE static inline bool line_is_blank(char c)
{
    const uint64_t blanks = (uint64_t)1 << ' ' | (uint64_t)1 << '\t' | (uint64_t)1 << '\n';
    const unsigned char byte = (unsigned char)c;
    return byte <= ' ' && (blanks >> byte & 1) != 0;
}

/* Returns 0x80 in each byte of the word that is a blank, and 0 in the others. Short fields seldom
 * need it: inline, it makes -k5,5 of numbers take 17% more user time (2026-11). */
__attribute__((noinline, unused)) HOST_DEVICE static uint64_t line_blank_mask(uint64_t word)
{
    return byte_mask(word, byte_in_all(' ')) | byte_mask(word, byte_in_all('\t')) |
           byte_mask(word, byte_in_all('\n'));
}

/* Returns the first byte that is no blank, or the end. On the host, skips 8 blanks per step: a word
 * that equals the last one skipped takes one comparison. No blank has a bit of 0xd4. */
HOST_DEVICE static inline const char *line_skip_blanks(const char *p, const char *line_end)
{
#ifndef __CUDA_ARCH__
    uint64_t word, blanks = byte_in_all(' ');
    for (; line_end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if (word == blanks)
            continue;
        if ((word & byte_in_all((char)0xd4)) != 0 ||
            line_blank_mask(word) != byte_in_all((char)0x80))
            break;
        blanks = word;
    }
#endif
    while (p < line_end && line_is_blank(*p))
        p++;
    return p;
}

/* Returns the first byte that equals `byte`, or the end. */
HOST_DEVICE static inline const char *line_find_byte(int byte, const char *p, const char *line_end)
{
#ifdef __CUDA_ARCH__
    while (p < line_end && (unsigned char)*p != byte)
        p++;
    return p;
#else
    const char *const found = (const char *)memchr(p, byte, (size_t)(line_end - p));
    return found != NULL ? found : line_end;
#endif
}

/* Returns the first blank, or the end. Reads 8 bytes per step on the host. */
HOST_DEVICE static inline const char *line_find_blank(const char *p, const char *line_end)
{
#ifndef __CUDA_ARCH__
    for (; line_end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        /* The lowest top bit that is set is that of the first byte up to ' '. Above it, a borrow
         * may set others. */
        const uint64_t found = (word - byte_in_all('!')) & ~word & byte_in_all((char)0x80);
        if (found == 0)
            continue;
        const char *const first = p + __builtin_ctzll(found) / 8;
        if (line_is_blank(*first))
            return first;
        const uint64_t blanks = line_blank_mask(word);
        if (blanks != 0)
            return p + __builtin_ctzll(blanks) / 8;
    }
#endif
    while (p < line_end && !line_is_blank(*p))
        p++;
    return p;
}

/* Returns the end of the field that starts at p: its separator, the next field's blanks, or the end
 * of the line. */
HOST_DEVICE static inline const char *line_field_end(int separator, const char *p,
                                                     const char *line_end)
{
    if (separator != LINE_SEPARATOR_BLANKS)
        return line_find_byte(separator, p, line_end);
    return line_find_blank(line_skip_blanks(p, line_end), line_end);
}

/* Returns the start of the field that is `count` fields after the one that starts at p. */
HOST_DEVICE static inline const char *line_skip_fields(int separator, const char *p,
                                                       const char *line_end, size_t count)
{
    if (separator == LINE_SEPARATOR_BLANKS) {
        for (; count > 0 && p < line_end; count--)
            p = line_find_blank(line_skip_blanks(p, line_end), line_end);
        return p;
    }
    for (; count > 0 && p < line_end; count--) {
        p = line_find_byte(separator, p, line_end);
        p += p < line_end;
    }
    return p;
}

/* Returns the position of the place in the field that starts at p. */
HOST_DEVICE static inline const char *line_place_find(const struct line_place *place, const char *p,
                                                      const char *line_end)
{
    if (place->skip_blanks)
        p = line_skip_blanks(p, line_end);
    return place->character < (size_t)(line_end - p) ? p + place->character : line_end;
}

/* As line_key_find(), in the rest of a line, without its first `skipped` fields, which must not be
 * those of the key. */
HOST_DEVICE static inline struct line_span line_key_find_after(int separator,
                                                               const struct line_key *key,
                                                               size_t skipped, const char *line,
                                                               size_t length)
{
    const char *const line_end = line + length;
    const size_t begin_field = key->begin.field;
    const size_t end_field = key->end_kind == LINE_END_OF_LINE ? begin_field : key->end.field;
    /* As in -k 3,2.50: byte 50 of field 2 may be after the start of field 3. */
    const bool is_turned = end_field < begin_field;
    const char *const first = line_skip_fields(separator, line, line_end,
                                               (is_turned ? end_field : begin_field) - skipped);
    const char *const last = line_skip_fields(
        separator, first, line_end, is_turned ? begin_field - end_field : end_field - begin_field);
    const char *const begin = line_place_find(&key->begin, is_turned ? last : first, line_end);
    const char *const field = is_turned ? first : last;
    const char *end = line_end;
    if (key->end_kind == LINE_END_OF_FIELD)
        end = line_field_end(separator, field, line_end);
    else if (key->end_kind != LINE_END_OF_LINE)
        end = line_place_find(&key->end, field, line_end);
    const struct line_span span = {begin, end > begin ? (size_t)(end - begin) : 0};
    return span;
}

/* Returns the key's bytes in line[0..length), which has no terminator. `separator` is the order's.
 * An empty key is also within the line, or at its end. Reads no byte outside the line. */
HOST_DEVICE static inline struct line_span line_key_find(int separator, const struct line_key *key,
                                                         const char *line, size_t length)
{
    return line_key_find_after(separator, key, 0, line, length);
}

#endif
