/* SPDX-License-Identifier: Apache-2.0 */
/* shared_copy.c - see shared_copy.h. */
#include "core/shared_copy.h"

#include <string.h>

/* Bytes that a thread copies in one step. */
#define PIECE_BYTES ((size_t)1 << 20)

void shared_copy(void *target, const void *source, size_t bytes, unsigned threads)
{
#pragma omp parallel for schedule(static) num_threads((int)threads) if (bytes > PIECE_BYTES)
    for (size_t begin = 0; begin < bytes; begin += PIECE_BYTES) {
        const size_t left = bytes - begin;
        memcpy((char *)target + begin, (const char *)source + begin,
               left < PIECE_BYTES ? left : PIECE_BYTES);
    }
}
