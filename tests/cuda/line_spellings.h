/* SPDX-License-Identifier: Apache-2.0 */
/* line_spellings.h - lines for lines_matrix.cu: ordinary numbers, and numbers of many digits, which
 * a reader may round wrongly. Shell tests have lines with other text in them.
 */
#ifndef TESTS_LINE_SPELLINGS_H
#define TESTS_LINE_SPELLINGS_H

#include "tests/random_next.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <string>

/* Random numbers, one after the other; starts as {}. */
struct spelling_source {
    size_t next;
};

static inline uint64_t draw_bits(struct spelling_source *source)
{
    return random_bits(source->next++);
}

/* Returns a number from 0 to count - 1. */
static inline size_t draw(struct spelling_source *source, size_t count)
{
    return (size_t)(draw_bits(source) >> 11) % count;
}

static inline int draw_between(struct spelling_source *source, int least, int most)
{
    return least + (int)draw(source, (size_t)(most - least) + 1);
}

__attribute__((format(printf, 2, 3))) static inline void append(std::string *line,
                                                                const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    line->append(text);
}

/* One of `words`, which have '|' between them. */
static inline std::string draw_one(struct spelling_source *source, const char *words)
{
    size_t count = 1;
    for (const char *at = words; *at; at++)
        count += *at == '|';
    for (size_t left = draw(source, count); left > 0; left--)
        words = strchr(words, '|') + 1;
    return std::string(words, strcspn(words, "|"));
}

static inline void append_digits(std::string *line, struct spelling_source *source, size_t count)
{
    while (count-- > 0)
        line->push_back((char)('0' + draw(source, 10)));
}

static inline std::string draw_sign(struct spelling_source *source)
{
    return draw_one(source, "|||-|-|+");
}

/* ---- ordinary lines ---- */

/* Numbers from 0 to 1e6 with 2 decimal places. */
static void spell_money(struct spelling_source *source, std::string *line)
{
    append(line, "%.2f", (double)draw(source, 100000000) / 100);
}

static void spell_integer(struct spelling_source *source, std::string *line)
{
    append(line, "%lld", (long long)((int64_t)draw_bits(source) >> draw(source, 64)));
}

/* Doubles as programs write them: with 17 digits, or with the few digits of %g. */
static void spell_double(struct spelling_source *source, std::string *line)
{
    const double part = (double)(draw_bits(source) >> 11) * 0x1p-53;
    const double number = ldexp(part - 0.5, draw_between(source, -80, 80));
    append(line, draw(source, 2) == 0 ? "%.17g" : "%g", number);
}

/* ---- lines for -g ---- */

/* Up to 19 digits, and up to 11 after a point, anywhere in the range of a double and outside it. */
static void spell_exponents(struct spelling_source *source, std::string *line)
{
    line->append(draw_sign(source));
    append_digits(line, source, draw(source, 20));
    if (draw(source, 2) == 0) {
        line->push_back('.');
        append_digits(line, source, draw(source, 12));
    }
    append(line, "%c%d", draw(source, 2) == 0 ? 'e' : 'E', draw_between(source, -345, 325));
}

/* The middle between two doubles, 54 bits with the last one 1, rounded to 16 to 19 digits. */
static void spell_double_tie(struct spelling_source *source, std::string *line)
{
    const uint64_t significand = (uint64_t)1 << 53 | draw_bits(source) >> 11 | 1;
    const long double number = ldexpl((long double)significand, draw_between(source, -900, 900));
    append(line, "%.*Le", draw_between(source, 15, 18), number);
}

/* The middle between two doubles, exactly or rounded to a few decimals. */
static void spell_exact_tie(struct spelling_source *source, std::string *line)
{
    const uint64_t significand = (uint64_t)1 << 53 | draw_bits(source) >> 11 | 1;
    append(line, "%.*Lf", draw_between(source, 0, 5),
           ldexpl((long double)significand, draw_between(source, -4, 9)));
}

/* In the middle between two numbers of 64 bits, or next to it: 65 bits, the last one 1. */
static void spell_wide_tie(struct spelling_source *source, std::string *line)
{
    const int exponent = draw_between(source, 1, 27);
    const long double power = powl(5, exponent), unit = 0x1p64L / power;
    const uint64_t mantissa = (uint64_t)(unit + unit * (long double)draw(source, 1000) / 1000);
    append(line, "%llue%d", (unsigned long long)(mantissa | 1), exponent);
}

/* Often more digits than are kept, and zeros at either end. */
static void spell_many_digits(struct spelling_source *source, std::string *line)
{
    line->append(draw_sign(source));
    line->append(draw(source, 3) == 0 ? draw(source, 30) : 0, '0');
    append_digits(line, source, draw(source, 30));
    line->append(draw(source, 3) == 0 ? draw(source, 30) : 0, '0');
    if (draw(source, 2) == 0) {
        line->push_back('.');
        line->append(draw(source, 3) == 0 ? draw(source, 30) : 0, '0');
        append_digits(line, source, draw(source, 30));
        line->append(draw(source, 3) == 0 ? draw(source, 30) : 0, '0');
    }
    line->append(draw_one(source, "||e5|e-7|e+20|e-40|x| "));
}

/* ---- lines for -n and -h ---- */

static void spell_decimal(struct spelling_source *source, std::string *line)
{
    line->append(draw_one(source, "||| |\t |\n|\r|+"));
    line->append(draw_one(source, "||-|-|--|- "));
    line->append(draw(source, 4), '0');
    append_digits(line, source, draw(source, draw(source, 4) == 0 ? 45 : 18));
    line->append(draw(source, 6) == 0 ? draw(source, 25) : 0, '0');
    if (draw(source, 20) == 0)
        line->push_back('\x80');
    if (draw(source, 2) == 0) {
        line->push_back('.');
        line->append(draw(source, 3) == 0 ? draw(source, 25) : 0, '0');
        append_digits(line, source, draw(source, 20));
        line->append(draw(source, 3) == 0 ? draw(source, 25) : 0, '0');
    }
    line->append(draw_one(source, "||k|K|M|G|T|P|E|Z|Y|R|Q|m|Ki| K|.|.5|\x80|\x80K"));
}

/* As many digits as begin a new step in the layout of the image, most of them 0. */
static void spell_long_decimal(struct spelling_source *source, std::string *line)
{
    static const size_t lengths[] = {29, 30, 31, 32, 1029, 1030, 1031, 1032, 1500};
    line->append(draw(source, 2) == 0 ? "" : "-");
    append_digits(line, source, draw(source, 22));
    const size_t length = lengths[draw(source, sizeof lengths / sizeof *lengths)];
    line->append(length - std::min(length, line->size()), '0');
    line->append(draw(source, 2) == 0 ? "" : ".25M");
}

/* ---- texts ---- */

struct spelling {
    const char *name;
    void (*spell)(struct spelling_source *source, std::string *line);
    size_t rarity;    /* divides the number of lines */
    bool is_ordinary; /* no line may be left to the host */
};

static const struct spelling spellings[] = {
    {"numbers with 2 places", spell_money, 1, true},
    {"integers of any size", spell_integer, 1, true},
    {"doubles", spell_double, 1, true},
    {"any exponents", spell_exponents, 1, false},
    {"about the middle of doubles", spell_double_tie, 1, false},
    {"the middle of doubles", spell_exact_tie, 1, false},
    {"the middle of long doubles", spell_wide_tie, 1, false},
    {"many digits", spell_many_digits, 1, false},
    {"decimals and suffixes", spell_decimal, 1, false},
    {"long decimals", spell_long_decimal, 50, false},
};

/* Returns a text of `lines` / rarity lines, or more if a spelling contains terminators. */
static inline std::string spellings_make(const struct spelling &spelling, char terminator,
                                         size_t lines, struct spelling_source *source)
{
    std::string text;
    for (size_t i = 0; i < lines; i += spelling.rarity) {
        spelling.spell(source, &text);
        text.push_back(terminator);
    }
    return text;
}

#endif
