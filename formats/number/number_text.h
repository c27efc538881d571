/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.h - numbers as text: reads them exactly, and writes the shortest text that reads back
 * as the same number. Based on <charconv> of the C++ library, which is correctly rounded,
 * independent of the locale, and fast.
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

/* The result of reading a number. */
enum number_status {
    NUMBER_OK,
    NUMBER_MALFORMED,    /* not a number */
    NUMBER_OUT_OF_RANGE, /* outside the range of the type */
    NUMBER_FRACTION,     /* not a whole number, for an integer type */
    NUMBER_ROUNDED       /* not exact as the assumed type; not returned by number_parse */
};

/* Reads text[0..length), a number in the syntax of strtold(3) with optional blanks around it, as a
 * number of the type, rounded to nearest even, and stores its bits in the low bytes of *bits,
 * unless it fails. A finite number that rounds to infinity is NUMBER_OUT_OF_RANGE. An integer type
 * accepts every spelling of a whole value ("1e3", "12.0", "0x10"), exactly; bool accepts only 0 and
 * 1. A time is a whole number, or "NaT". */
enum number_status number_parse(const struct key_type *type, const char *text, size_t length,
                                uint64_t *bits);

/* Maximum length of a text from number_format(). */
#define NUMBER_TEXT_MAX 32

/* Writes the shortest decimal that reads back as the same number. Integers and times are digits,
 * after a "-" if they are negative; a time may be "NaT". Floats: "0.1", "100000", "1e+22", "1e-05",
 * "-0", "inf", "nan", "-nan" (exponents below 1e-4 and from 1e16 on, as in Python). Returns the
 * length; there is no terminating NUL. */
size_t number_format(const struct key_type *type, uint64_t bits, char text[NUMBER_TEXT_MAX]);

#ifdef __cplusplus
}
#endif
#endif
