/* SPDX-License-Identifier: Apache-2.0 */
/* shared_copy.h - a large copy, divided among threads. */
#ifndef CORE_SHARED_COPY_H
#define CORE_SHARED_COPY_H

#include <stddef.h>
#include <string.h>

/* As memcpy(3), with at most `threads` threads, at least 1. Each thread also takes the page faults
 * of its part of a new target. */
static inline void shared_copy(void *target, const void *source, size_t bytes, unsigned threads)
{
    const size_t piece = (size_t)1 << 20; /* that a thread copies in one step */
#pragma omp parallel for schedule(static) num_threads((int)threads) if (bytes > piece)
    for (size_t begin = 0; begin < bytes; begin += piece) {
        const size_t left = bytes - begin;
        memcpy((char *)target + begin, (const char *)source + begin, left < piece ? left : piece);
    }
}

#endif
