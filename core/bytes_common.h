/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_common.h - how many bytes two texts begin with alike, 8 at a time. */
#ifndef CORE_BYTES_COMMON_H
#define CORE_BYTES_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* At most `most`, which both texts have. */
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
