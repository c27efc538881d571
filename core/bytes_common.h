/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_common.h - the length of the common prefix of two texts, 8 bytes per step. */
#ifndef CORE_BYTES_COMMON_H
#define CORE_BYTES_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the length of the common prefix, at most `most`. Both texts have `most` bytes. */
static inline size_t bytes_common(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    for (; most - i >= 8; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (i < most && a[i] == b[i])
        ++i;
    return i;
}

#endif
