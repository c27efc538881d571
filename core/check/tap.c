/* SPDX-License-Identifier: Apache-2.0 */
/* tap.c - see tap.h. */
#include "core/check/tap.h"

void tap_see_all(struct tap *tap, const void *data, size_t bytes, unsigned threads)
{
    if (!tap)
        return;
#pragma omp parallel for schedule(static) num_threads((int)threads) if (bytes > TAP_PIECE_BYTES)
    for (size_t begin = 0; begin < bytes; begin += TAP_PIECE_BYTES) {
        const size_t left = bytes - begin;
        tap_see(tap, (const unsigned char *)data + begin,
                left < TAP_PIECE_BYTES ? left : TAP_PIECE_BYTES);
    }
}
