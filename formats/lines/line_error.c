/* SPDX-License-Identifier: Apache-2.0 */
/* line_error.c - see line_error.h. */
#include "formats/lines/line_error.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum bytes of a line in a message. A byte takes up to 4 characters, "\377". */
#define SHOWN_BYTES ((size_t)40)
#define QUOTE_BYTES (SHOWN_BYTES * 4 + sizeof "...")

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

/* Invisible bytes that some editors put before the first line, and how to remove them. */
static const struct mark {
    const char *bytes;
    size_t length;
    const char *remedy;
} marks[] = {
#define UTF_32 "this is UTF-32, to be converted first (iconv -f UTF-32 -t UTF-8)"
#define UTF_16 "this is UTF-16, to be converted first (iconv -f UTF-16 -t UTF-8)"
    {"\xef\xbb\xbf", 3, "the text begins with a byte order mark (UTF-8): remove it (tail -c +4)"},
    {"\xff\xfe\0\0", 4, UTF_32},
    {"\0\0\xfe\xff", 4, UTF_32},
    {"\xff\xfe", 2, UTF_16},
    {"\xfe\xff", 2, UTF_16},
#undef UTF_32
#undef UTF_16
};

static const struct mark *find_mark(const void *text, size_t bytes)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (bytes >= marks[i].length && memcmp(text, marks[i].bytes, marks[i].length) == 0)
            return &marks[i];
    return NULL;
}

const char *line_error_find_mark(const void *text, size_t bytes)
{
    const struct mark *const mark = find_mark(text, bytes);
    return mark ? mark->remedy : NULL;
}

const char *line_error_find_wide(const void *text, size_t bytes)
{
    const unsigned char *const at = text;
    size_t little = 0, big = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        little += at[i] != 0 && at[i] < 0x7f && at[i + 1] == 0;
        big += at[i + 1] != 0 && at[i + 1] < 0x7f && at[i] == 0;
    }
    const size_t most = little > big ? little : big, least = little + big - most;
    const bool is_wide = most > 0 && 32 * least <= most && 4 * (most + 1) >= 3 * (bytes / 2);
    return !is_wide ? NULL : little > big ? "LE" : "BE";
}

/* Minimum units of text for each invalid one. Of random units of UTF-16, one in 32 is invalid: half
 * of a surrogate pair. */
#define UNITS_MIN ((size_t)64)

/* Up to this many bytes without a line feed may be valid UTF-16 by chance. */
#define SHORT_BYTES ((size_t)32)

/* Returns true if nearly all of the text after a byte order mark is valid in units of `width` bytes
 * in the order of the mark, and some units end lines, or it is UTF-32, or it is long and has no
 * line feed byte. */
static bool is_valid_in_units(const unsigned char *text, size_t bytes, size_t width)
{
    const bool is_big = text[0] != 0xff;
    bool is_low_due = false;
    size_t invalid = 0, ends = 0;
    for (size_t i = width; i + width <= bytes; i += width) {
        uint32_t unit = 0;
        for (size_t j = 0; j < width; j++)
            unit = unit << 8 | text[i + (is_big ? j : width - 1 - j)];
        const bool is_low = unit >= 0xdc00 && unit <= 0xdfff;
        const bool is_none = unit == 0 || unit > 0x10ffff || (unit & 0xfffe) == 0xfffe;
        invalid += is_none || is_low != is_low_due;
        is_low_due = unit >= 0xd800 && unit <= 0xdbff;
        ends += unit == '\n' || unit == '\r' || unit == 0x2028 || unit == 0x2029;
    }
    const bool is_one_line =
        width == 2 ? bytes > SHORT_BYTES && memchr(text, '\n', bytes) == NULL : bytes > width;
    return UNITS_MIN * invalid <= bytes / width && (ends > 0 || is_one_line);
}

size_t line_error_unit_bytes(const void *text, size_t bytes)
{
    const struct mark *const mark = find_mark(text, bytes);
    if (mark && mark->length % 2 == 0 && is_valid_in_units(text, bytes, mark->length))
        return mark->length;
    return line_error_find_wide(text, bytes) ? 2 : 0;
}

static const char other_end[] = "the lines of -z end with NUL, and this has a newline in it";
static const char return_end[] =
    "lines have to end with a newline, not with a carriage return (tr '\\r' '\\n'; those of -z: "
    "tr '\\r' '\\0')";

/* A line that is not a number. */
struct spelling {
    char text[256];      /* as much as fits, without blanks around it */
    size_t number_bytes; /* bytes of the text that strtold(3), and so -g, reads */
    const char *ends;    /* advice about a newline or carriage return inside it, or NULL */
};

/* Returns true if many bytes are control characters other than white space, as in binary data. */
static bool is_binary(const char *text, size_t bytes)
{
    size_t controls = 0;
    for (size_t i = 0; i < bytes; i++)
        controls += iscntrl((unsigned char)text[i]) && !isspace((unsigned char)text[i]);
    return 16 * controls > bytes;
}

static void spell(const char *line, size_t bytes, struct spelling *spelling)
{
    static const char blanks[] = " \t\n\v\f\r";
    char *end;
    for (; bytes > 0 && strchr(blanks, *line); line++)
        bytes--;
    while (bytes > 0 && strchr(blanks, line[bytes - 1]))
        bytes--;
    spelling->ends = is_binary(line, bytes)      ? NULL /* a command would damage it */
                     : memchr(line, '\n', bytes) ? other_end
                     : memchr(line, '\r', bytes) ? return_end
                                                 : NULL;
    snprintf(spelling->text, sizeof spelling->text, "%.*s", (int)(bytes < 256 ? bytes : 256), line);
    strtold(spelling->text, &end);
    spelling->number_bytes = (size_t)(end - spelling->text);
}

/* Words that are no title, as regular expressions. */
#define TRUTH "([Tt]rue|TRUE|[Ff]alse|FALSE)"
#define MISSING                                                                                    \
    "[\"']?(#(N/A|DIV/0!|VALUE!|REF!|NAME[?]|NUM!|NULL!)|[Nn][Uu][Ll][Ll]|[Nn]/"                   \
    "?[Aa]|NaT|[Nn]one|[Nn][Ii][Ll]|[Mm]issing)[\"']?"

#define ONE_IN_A_LINE "each number has to be on a line of its own"
#define IN_COLUMNS "columns are for -t and -k, or " ONE_IN_A_LINE

/* The probable meaning of a line. pattern: an extended regular expression for its text without
 * blanks around it; the first match counts. lines: advice if lines are sorted, in addition to what
 * they all get. numbers: advice if text is read as numbers. NULL: none. Advice must do no harm if
 * the line means something else. */
static const struct meaning {
    const char *pattern, *lines, *numbers;
} meanings[] = {
#define SAME(advice) advice, advice
/* Advice that would damage a table also states what a table needs. */
#define COLUMNS(advice)                                                                            \
    advice "; " IN_COLUMNS, advice "; if commas separate columns, " ONE_IN_A_LINE
#define TO_POINT                                                                                   \
    "(tr , .), after points that group digits in other lines have been removed (tr -d .)"
#define NO_GROUPS                                                                                  \
    "points that group digits have to be removed, and a decimal comma to become a point "          \
    "(tr -d . | tr , .)"
#define BY_PARTS "-nt. -k1,1 -k2,2 -k3,3 -k4,4"
#define ONE_IS_LEFT " (with -u, one of those with the same numbers is left)"
#define NUMBER "([0-9]+[.]?[0-9]*|[.][0-9]+)"
#define EXPONENT "the exponent has to be written with E, if it is one "
#define DATE "^[0-9]{4}(-[0-9]{2}-|/[0-9]{2}/|[.][0-9]{2}[.])[0-9]{2}"
#define MONTH "([0-9]{1,2}|[A-Z][a-z]{2})"
#define NO_DATE "dates are read only as counts of a unit, such as seconds (date +%s)"
#define OCTET "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])" /* of an IPv4 address */
#define CURRENCY "([$]|\xc2[\xa2-\xa5]|\xe2\x82[\xa0-\xbf])"
    {"^[-+]?[1-9][0-9]{0,2},[0-9]{3}$",
     COLUMNS("a comma that groups digits has to be removed (tr -d ,), or, if it is a decimal "
             "comma, replaced by a point " TO_POINT)},
    {"^[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+([.][0-9]*)?$",
     COLUMNS("commas that group digits have to be removed (tr -d ,)")},
    {"^(" OCTET "[.]){3}" OCTET "([:/][0-9]+)?$",
     BY_PARTS " sorts such addresses, but not by a port or length" ONE_IS_LEFT, NULL},
    {"^[1-9][0-9]{0,2}([.][0-9]{3}){2,3}$",
     NO_GROUPS ", but " BY_PARTS " sorts versions" ONE_IS_LEFT, NO_GROUPS},
    {"^[-+]?[1-9][0-9]{0,2}([.][0-9]{3})+(,[0-9]*|[.][0-9]{3})$", COLUMNS(NO_GROUPS)},
    {"^(0|[1-9][0-9]*)([.](0|[1-9][0-9]{0,2})){2,3}$",
     BY_PARTS " sorts such versions by these numbers alone" ONE_IS_LEFT
              ", but no dates that begin with the day",
     NULL},
    {"^([-+][0-9]*|[0-9]+),[0-9]+$", COLUMNS("a decimal comma has to become a point " TO_POINT)},
    {"^[-+]?" NUMBER "[dDqQ][-+]?[0-9]+$", SAME(EXPONENT "(tr DdQq E)")},
    {"^[-+]?([0-9]+[.][0-9]*|[.][0-9]+)[-+][0-9]{3}$", /* as Fortran writes 1.5E-103 */
     SAME(EXPONENT "(sed 's/\\([0-9.]\\)\\([-+]\\)/\\1E\\2/')")},
    {"^[-+]?[1-9][0-9]{0,2}(_[0-9]{3})+([.][0-9_]*)?$",
     SAME("underscores that group digits have to be removed (tr -d _)")},
    {"^[-+]?[1-9][0-9]{0,2}('[0-9]{3})+([.][0-9]*)?$",
     SAME("apostrophes that group digits have to be removed (tr -d \\')")},
    {"^[\"'][-+]?[0-9.][^\"';\t]*[\"']$", SAME("quotes have to be removed (tr -d \\\"\\')")},
    {"^[-+]?" CURRENCY " ?[-+]?[0-9.]|^[-+]?[0-9][^A-Za-z;|\t]*" CURRENCY "$",
     SAME("the currency sign has to be removed (tr -d '$' removes $), if it is the same in all "
          "lines")},
    {"^-?" NUMBER " ?([kKMGTPEZYRQ]i?B?|B)$",
     "-h sorts by the suffix K, M, G and so on, which no blank may precede, then by the number",
     "the suffix has to be written out (numfmt --from=iec, or --from=si, for K, M, G and so on "
     "alone; it rounds to whole numbers)"},
    {DATE "[ T][0-9:.,]+ ?[AaPp][.]?[Mm]", NULL, NO_DATE}, /* 12 hours */
    {DATE "([ T]|$)",
     "-k1 sorts such dates by their bytes, if all have as many digits and the same zone", NO_DATE},
    {"^[0-9]{1,4}(-" MONTH "-|/" MONTH "/|[.]" MONTH "[.])[0-9]{1,4}([ T]|$)",
     "-k1 sorts dates by their bytes only if they are written as 2024-01-31", NO_DATE},
    {"^[0-9]{1,3}:[0-9]{2}(:[0-9]{2}([.][0-9]*)?)?$",
     "-nt: -k1,1 -k2,2 -k3,3 sorts such times, if all have as many parts" ONE_IS_LEFT,
     "times are read only as counts of a unit, such as seconds"},
    {"^[-+]?" NUMBER " ?([^ -~]|[A-Za-z%])+$", NULL,
     "what follows the number has to be removed, if it is the same unit in all lines"},
    {"\xe2\x88\x92", SAME("its minus sign is U+2212, not the - of ASCII")},
    {"\xef\xbc[\x90-\x99]", SAME("its digits are full-width, not those of ASCII")},
    {"\xc2\xa0|\xe2\x80\xaf", SAME("it has a no-break space in it, which is no blank here")},
    {"^([-+]?[0-9.][^,;|\t ]*)?[,;|\t ]+[-+]?[0-9.]", IN_COLUMNS, ONE_IN_A_LINE},
    {"[,;|\t ]", "columns are for -t and -k", NULL},
    {"^" TRUTH "$", NULL, "truth values have to be written as 1 and 0"},
    {"^" MISSING "$", NULL,
     "a missing number has to be removed, or written as nan (floating point) or NaT (times)"},
#undef TO_POINT
#undef NO_GROUPS
#undef BY_PARTS
#undef ONE_IS_LEFT
#undef NUMBER
#undef EXPONENT
#undef DATE
#undef MONTH
#undef NO_DATE
#undef OCTET
#undef CURRENCY
#undef COLUMNS
#undef SAME
};

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    const bool is_match = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_match;
}

static const struct meaning *find_meaning(const char *text)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (matches(text, meanings[i].pattern))
            return &meanings[i];
    return NULL;
}

/* Returns true for a first line that begins with a word, or with an empty column, as pandas writes
 * the titles of an index; unless the line is only a truth value or a name of a missing number. */
static bool may_be_title(const char *text, size_t line_number)
{
    return line_number == 1 &&
           matches(text, "^([\"']?([[:alpha:]_#]|[\xc3-\xe1\xe3-\xee\xf0-\xf4])|[,;|])") &&
           !matches(text, "^(" TRUTH "|" MISSING ")$");
}

/* Advice about a line: ": " and some clauses, or nothing. */
struct remedy {
    char text[640];
    size_t length;
};

static void add_clause(struct remedy *remedy, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_clause(struct remedy *remedy, const char *format, ...)
{
    const size_t room = sizeof remedy->text;
    va_list arguments;
    remedy->length += (size_t)snprintf(remedy->text + remedy->length, room - remedy->length, "%s ",
                                       remedy->length == 0 ? ":" : ";");
    va_start(arguments, format);
    remedy->length +=
        (size_t)vsnprintf(remedy->text + remedy->length, room - remedy->length, format, arguments);
    va_end(arguments);
}

/* Collects the advice. For lines, which have no type, -g is an option, so the advice says what -g
 * would read, which may not be what was meant. */
static void find_remedy(const char *line, size_t bytes, size_t line_number, bool are_lines,
                        struct remedy *remedy)
{
    struct spelling spelling;
    char quote[QUOTE_BYTES];
    spell(line, bytes, &spelling);
    quote_line(spelling.text, spelling.number_bytes, quote);
    const struct meaning *const meaning = find_meaning(spelling.text);
    const char *const advice = spelling.ends ? spelling.ends
                               : !meaning    ? NULL
                               : are_lines   ? meaning->lines
                                             : meaning->numbers;
    if (are_lines && spelling.number_bytes > 0)
        add_clause(remedy, "-g would read only '%s' of it", quote);
    else if (are_lines)
        add_clause(remedy, "-g would read no number in it, and sort it below all numbers");
    if (is_blank_line(line, bytes))
        add_clause(remedy, "sed '/^[[:space:]]*$/d' removes such lines%s",
                   are_lines ? " (sed -z those of -z)" : "");
    if (advice)
        add_clause(remedy, "%s", advice);
    /* Advice that names -k1 replaces this clause, which all other lines get. */
    if (are_lines && spelling.ends != return_end && !(advice && strstr(advice, "-k1 ")))
        add_clause(remedy, "-k1 sorts lines by their bytes");
    if (!spelling.ends && may_be_title(spelling.text, line_number))
        add_clause(remedy, are_lines
                               ? "if this line is a title, --header sets it apart"
                               : "if this line is a title, it has to be removed (tail -n +2)");
}

/* Adds the note to a message whose remedy names a command. Returns false. */
static bool add_note(struct error *error, const struct remedy *remedy, const char *note)
{
    static const char *const commands[] = {"(tail -", "(tr ", "(iconv -", "(numfmt -", "sed '"};
    bool has_command = false;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        has_command = has_command || strstr(remedy->text, commands[i]);
    if (*note && has_command) {
        error_add(error, "; a command is for the text");
        error_add(error, note);
    }
    return false;
}

/* Sets the error of a line with a NUL. In UTF-16 there are NULs between the characters, except in a
 * first line of one character: its bytes may be "1\0" and a newline, which has a NUL after it.
 * Returns false. */
static bool set_nul_error(struct error *error, const char *file, const char *note,
                          size_t line_number, const char *line, size_t bytes, const char *quote,
                          bool are_lines)
{
    const char *const order = line_number > 1 ? NULL : line_error_find_wide(line, bytes);
    size_t text_bytes = bytes;
    while (text_bytes > 0 && line[text_bytes - 1] == 0)
        text_bytes--;
    if (memchr(line, 0, text_bytes) && line_error_unit_bytes(line, bytes) > 0)
        return error_set(error,
                         "%s:%zu: '%s' has NUL bytes beside its characters: UTF-16 has to be "
                         "converted first (iconv -f UTF-16%s -t UTF-8)%s",
                         file, line_number, quote, order ? order : "", note);
    error_set(error, "%s:%zu: '%s' has a NUL byte in it and is not a number%s", file, line_number,
              quote, are_lines ? ": -z takes lines that end with NUL" : "");
    if (order && text_bytes == 1 && bytes == 2) {
        error_add(error,
                  "; if this is UTF-16, it has to be converted first (iconv -f UTF-16LE -t UTF-8)");
        error_add(error, note);
    }
    return false;
}

bool line_error_set(struct error *error, const char *file, const char *note, size_t line_number,
                    const char *line, size_t bytes, enum number_status status,
                    const struct key_type *type)
{
    char quote[QUOTE_BYTES];
    struct remedy remedy = {0};
    const char *const mark = line_number == 1 ? line_error_find_mark(line, bytes) : NULL;
    if (mark)
        return error_set(error, "%s:1: %s%s", file, mark, note);
    quote_line(line, bytes, quote);
    if (memchr(line, 0, bytes) != NULL)
        return set_nul_error(error, file, note, line_number, line, bytes, quote, type == NULL);
    if (status == NUMBER_OUT_OF_RANGE)
        return error_set(error, "%s:%zu: %s is out of the range of %s%s", file, line_number, quote,
                         type->name,
                         type->id == KEY_TYPE_i8   ? ", which is one byte here: NumPy's i8 is i64"
                         : type->id == KEY_TYPE_u8 ? ", which is one byte here: NumPy's u8 is u64"
                                                   : "");
    if (status == NUMBER_FRACTION)
        return error_set(error, "%s:%zu: %s is not a whole number%s, as %s needs", file,
                         line_number, quote, type->kind == KEY_TIME ? " or NaT" : "", type->name);
    if (status == NUMBER_ROUNDED)
        return error_set(error,
                         "%s:%zu: %s is not exact as %s: use --type=i64 or u64, or %s to round it",
                         file, line_number, quote, type->name, type->name);
    find_remedy(line, bytes, line_number, type == NULL, &remedy);
    if (is_blank_line(line, bytes))
        error_set(error, "%s:%zu: empty line, not a number%s", file, line_number, remedy.text);
    else
        error_set(error, "%s:%zu: '%s' is not a number%s", file, line_number, quote, remedy.text);
    return add_note(error, &remedy, note);
}

bool line_error_set_too_long(struct error *error, const char *file, size_t line_number)
{
    return error_set(error, "%s:%zu: lines of 1 MiB and more are not read: %s", file, line_number,
                     ONE_IN_A_LINE);
}

bool line_error_set_no_memory(struct error *error, const char *file, size_t bytes)
{
    return error_set(error, "%s: no memory for a line of more than %zu bytes", file, bytes);
}
