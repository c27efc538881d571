/* line_hash.h - the hash of a line, whose sum over all lines tells whether they are the same ones
 * in another order; see core/check.h.
 */
#ifndef FORMATS_LINE_HASH_H
#define FORMATS_LINE_HASH_H

#include "core/check_kernels.h"
#include "core/check_line.h"
#include "core/check_sum.h"

/* Of a line of so many bytes, its terminator among them. What is before `end` can be read, though
 * it may mean nothing. */
static inline uint64_t line_hash(const char *line, size_t bytes, const char *end)
{
    const unsigned char *const text = (const unsigned char *)line;
    const bool is_short =
        bytes <= CHECK_LINE_BYTES && end - line >= (ptrdiff_t)(bytes + CHECK_LINE_SLACK);
    const uint64_t sum = is_short ? check_sum_line(0, text, bytes) : check_sum_text(0, text, bytes);
    return check_mix(sum + bytes);
}

#endif
