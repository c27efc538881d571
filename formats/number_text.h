/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.h - a number as text: exact in, shortest that reads back the same out.
 *
 * Over <charconv> of the C++ library, which is correctly rounded, locale-free and fast.
 */
#ifndef FORMATS_NUMBER_TEXT_H
#define FORMATS_NUMBER_TEXT_H

#include "core/error.h"
#include "core/key_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a number that was to be read. */
enum number_status {
    NUMBER_OK,
    NUMBER_MALFORMED,    /* not one number */
    NUMBER_OUT_OF_RANGE, /* greater than the type holds */
    NUMBER_FRACTION,     /* not a whole number, and the type is an integer */
    NUMBER_ROUNDED       /* none of the type, which nobody said; not from number_parse */
};

/* Reads text[0..length), one number as strtold(3) takes it with blanks around it at most, as a
 * number of the type, rounded to nearest even; stores its little-endian bits in *bits. An integer
 * type takes every spelling whose value is whole ("1e3", "12.0", "0x10"), exactly; bool those of 0
 * and 1. A time is a whole number, or "NaT". */
enum number_status number_parse(const struct key_type *type, const char *text, size_t length,
                                uint64_t *bits);

/* "is not a number", "is out of the range of u8", ...: the end of a message about a line. */
const char *number_status_text(enum number_status status);

/* The longest text that number_format writes. */
#define NUMBER_TEXT_MAX 32

/* Writes the shortest decimal that reads back as the same number: digits alone for integers and
 * times, of which one may be "NaT";
 * "0.1", "100000", "1e+22", "1e-05", "-0", "inf", "nan", "-nan" for floats (the exponent form below
 * 1e-4 and from 1e16 on, as Python). Returns the length; no terminating NUL. */
size_t number_format(const struct key_type *type, uint64_t bits, char text[NUMBER_TEXT_MAX]);

#ifdef __cplusplus
}
#endif
#endif
