/* number_value.h - the value that a line is ordered by, where its key does not tell.
 */
#ifndef FORMATS_NUMBER_VALUE_H
#define FORMATS_NUMBER_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What strtold(3) makes of the start of text[0..length); false if that is no number. */
bool number_prefix_value(const char *text, size_t length, long double *value);

#ifdef __cplusplus
}
#endif
#endif
