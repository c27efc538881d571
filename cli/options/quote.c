/* SPDX-License-Identifier: Apache-2.0 */
/* quote.c - see quote.h. */
#include "cli/options/quote.h"

#include <stdlib.h>
#include <string.h>

/* Longest form of a byte: "\377". */
#define ESCAPE_BYTES 4

/* Writes one byte of a word, not NUL. Returns the end of the output. */
static char *quote_byte(unsigned char byte, char *out)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\'", letters[] = "abfnrtv\\'";
    const char *const found = strchr(plain, byte);
    if (found) {
        *out++ = '\\';
        *out++ = letters[found - plain];
    } else if (byte >= ' ' && byte <= '~') {
        *out++ = (char)byte;
    } else {
        out += sprintf(out, "\\%03o", byte);
    }
    return out;
}

const char *quote_word(const char *word, struct quoted *quoted)
{
    char *out = quoted->text;
    const char *const end = out + sizeof quoted->text - ESCAPE_BYTES - sizeof "...'";
    *out++ = '\'';
    for (; *word && out < end; word++)
        out = quote_byte((unsigned char)*word, out);
    strcpy(out, *word ? "...'" : "'");
    return quoted->text;
}

/* The least code of a character, by the number of its bytes. */
static const uint32_t least_codes[] = {0, 0, 0x80, 0x800, 0x10000};

size_t quote_decode(const char *text, size_t bytes, uint32_t *code)
{
    const unsigned char first = (unsigned char)*text;
    const size_t length = first < 0x80   ? 1
                          : first < 0xc0 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                                         : 4;
    uint32_t value = first < 0x80 ? first : first & (0x7f >> length);
    bool is_sound = length > 0 && length <= bytes && first < 0xf8;
    for (size_t i = 1; is_sound && i < length; i++) {
        const unsigned char next = (unsigned char)text[i];
        value = value << 6 | (next & 0x3f);
        is_sound = (next & 0xc0) == 0x80;
    }
    is_sound = is_sound && value >= least_codes[length] && value <= 0x10ffff &&
               (value < 0xd800 || value > 0xdfff); /* surrogates of UTF-16 */
    *code = is_sound ? value : QUOTE_NO_CODE;
    return is_sound ? length : 1;
}

bool quote_is_shown(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0, 0x1f},          /* C0 */
        {0x7f, 0x9f},       /* DEL, C1 */
        {0x61c, 0x61c},     /* a direction mark */
        {0x180e, 0x180e},   /* a separator of zero width */
        {0x200b, 0x200b},   /* a space of zero width */
        {0x200e, 0x200f},   /* direction marks, but not the joiners that words and emoji have */
        {0x2028, 0x202e},   /* line ends, direction overrides */
        {0x2060, 0x206f},   /* zero-width characters, direction isolates */
        {0xfeff, 0xfeff},   /* the byte order mark */
        {0xfff9, 0xfffb},   /* annotations */
        {0xe0000, 0xe007f}, /* tags */
        {QUOTE_NO_CODE, QUOTE_NO_CODE},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

size_t quote_filter(const char *text, size_t bytes, char *shown)
{
    size_t out = 0;
    for (size_t i = 0; i < bytes;) {
        if (text[i] >= ' ' && text[i] <= '~') { /* a shortcut: -c may print a line of any length */
            shown[out++] = text[i++];
            continue;
        }
        uint32_t code;
        const size_t length = quote_decode(text + i, bytes - i, &code);
        if (quote_is_shown(code)) {
            memmove(shown + out, text + i, length);
            out += length;
        } else {
            shown[out++] = '?';
        }
        i += length;
    }
    return out;
}

void quote_print(FILE *stream, const char *text)
{
    char shown[4]; /* a character */
    uint32_t code;
    for (size_t left = strlen(text), length; left > 0; left -= length, text += length) {
        length = quote_decode(text, left, &code);
        fwrite(shown, 1, quote_filter(text, length, shown), stream);
    }
}

/* Captured stderr. Static, as stderr is, and for an exit handler. */
static struct {
    FILE *stderr_before; /* NULL: stderr is not captured */
    char *text;
    size_t bytes;
} held;

/* Returns the newline that ends the message at `line`; NULL: none. A message of getopt(3) may have
 * newlines in it, as it repeats the option. So if the last line is that of argp, everything before
 * it is one message. */
static char *find_message_end(char *line, const char *end)
{
    static const char last[] = "Try `";
    char *const before_last = memrchr(line, '\n', (size_t)(end - line) - 1);
    return before_last && strncmp(before_last + 1, last, strlen(last)) == 0
               ? before_last
               : memchr(line, '\n', (size_t)(end - line));
}

void quote_release_stderr(void)
{
    FILE *const before = held.stderr_before;
    if (!before)
        return;
    const bool is_whole = fclose(stderr) == 0;
    held.stderr_before = NULL;
    stderr = before;
    const char *const end = is_whole ? held.text + held.bytes : held.text;
    for (char *line = held.text; line < end;) {
        char *const newline = find_message_end(line, end);
        const size_t length = (size_t)((newline ? newline : end) - line);
        const size_t shown = quote_filter(line, length, line);
        line[shown] = '\n';
        fwrite(line, 1, shown + (newline != NULL), stderr);
        line += length + 1;
    }
    free(held.text);
}

bool quote_holds_text(void)
{
    return held.stderr_before && fflush(stderr) == 0 && held.bytes > 0;
}

void quote_hold_stderr(void)
{
    FILE *const stream = open_memstream(&held.text, &held.bytes);
    if (!stream)
        return;
    held.stderr_before = stderr;
    stderr = stream;
}
