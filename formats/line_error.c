/* line_error.c - see line_error.h. */
#include "formats/line_error.h"

#include <stdio.h>
#include <string.h>

/* As much of a line as a message shows; a byte takes up to 4 characters, "\377". */
#define SHOWN_BYTES ((size_t)40)
#define QUOTE_BYTES (SHOWN_BYTES * 4 + sizeof "...")

/* Writes the first bytes of the line so that they can be shown on a terminal. */
static void quote_line(const char *line, size_t bytes, char quote[QUOTE_BYTES])
{
    const size_t shown = bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES;
    char *out = quote;
    for (size_t i = 0; i < shown; ++i) {
        const unsigned char c = (unsigned char)line[i];
        if (c >= ' ' && c <= '~' && c != '\\')
            *out++ = (char)c;
        else
            out += sprintf(out, "\\%03o", c);
    }
    strcpy(out, shown < bytes ? "..." : "");
}

static bool is_blank_line(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        if (memchr(" \t\n\r\v\f", line[i], 6) == NULL)
            return false;
    return true;
}

/* What some editors put before the first line, which does not show; and what takes it away. */
static const struct mark {
    const char *bytes, *remedy;
} marks[] = {
    {"\xef\xbb\xbf", "a byte order mark (UTF-8) stands before the text: take it away (tail -c +4)"},
    {"\xff\xfe", "this is UTF-16, to be converted first (iconv -f UTF-16 -t UTF-8)"},
    {"\xfe\xff", "this is UTF-16, to be converted first (iconv -f UTF-16 -t UTF-8)"},
};

/* NULL if there is none. */
static const struct mark *find_mark(const char *line, size_t bytes)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const size_t length = strlen(marks[i].bytes);
        if (bytes >= length && memcmp(line, marks[i].bytes, length) == 0)
            return &marks[i];
    }
    return NULL;
}

bool line_error_finds_mark(const void *text, size_t bytes)
{
    return find_mark(text, bytes) != NULL;
}

bool line_error_set(struct error *error, const char *file, size_t line_number, const char *line,
                    size_t bytes, enum number_status status, const struct key_type *type)
{
    char quote[QUOTE_BYTES];
    const char *const remedy = type == NULL ? ": -g, -n, -h and -k take any line" : "";
    const struct mark *const mark = line_number == 1 ? find_mark(line, bytes) : NULL;
    if (mark)
        return error_set(error, "%s:1: %s", file, mark->remedy);
    if (is_blank_line(line, bytes))
        return error_set(error, "%s:%zu: empty line, not a number%s", file, line_number, remedy);
    quote_line(line, bytes, quote);
    if (memchr(line, 0, bytes) != NULL)
        return error_set(error, "%s:%zu: '%s' has a NUL byte in it and is not a number%s", file,
                         line_number, quote, remedy);
    if (status == NUMBER_OUT_OF_RANGE && type != NULL)
        return error_set(error, "%s:%zu: %s is out of the range of %s", file, line_number, quote,
                         type->name);
    if (status == NUMBER_FRACTION && type != NULL)
        return error_set(error, "%s:%zu: %s is not a whole number, as %s needs", file, line_number,
                         quote, type->name);
    if (status == NUMBER_ROUNDED)
        return error_set(error,
                         "%s:%zu: %s is not exact as %s: say --type=i64 or u64, or %s to round it",
                         file, line_number, quote, type->name, type->name);
    return error_set(error, "%s:%zu: '%s' %s%s", file, line_number, quote,
                     number_status_text(status), remedy);
}
