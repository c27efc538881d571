/* number_prefix.h - the part of a text that strtold(3) would read, for sort -g.
 */
#ifndef FORMATS_NUMBER_PREFIX_H
#define FORMATS_NUMBER_PREFIX_H

#include "formats/line_field.h"

/* The longest number, in the grammar of strtold(3) in the C locale, that text[0..length) starts
 * with, white space before it left out; of length 0 if there is none. */
struct line_span number_prefix_find(const char *text, size_t length);

#endif
