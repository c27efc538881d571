/* quote.c - see quote.h. */
#include "cli/quote.h"

#include <stdio.h>
#include <string.h>

/* The longest that a byte becomes: "\377". */
#define ESCAPE_BYTES 4

/* Writes one byte of a word; returns the end of what it wrote. */
static char *quote_byte(unsigned char byte, char *out)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\'", letters[] = "abfnrtv\\'";
    const char *const found = byte ? strchr(plain, byte) : NULL;
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
