/* SPDX-License-Identifier: Apache-2.0 */
/* streaming_store.h - stores that bypass the caches, for data that is not read again soon. */
#ifndef CPU_STREAMING_STORE_H
#define CPU_STREAMING_STORE_H

#include <stddef.h>
#include <string.h>
#ifdef __SSE2__
#    include <emmintrin.h>
#endif

#define CACHE_LINE_BYTES 64

/* Size of the software write-combining buffer of a bucket: longer writes come closer to
 * sequential memory bandwidth. 1e8 f64, two cores of an AMD EPYC (Zen 5), 2026-11, minimum of a
 * few runs: 294 ms with 128 bytes, 277 with 256, 267 with 512 and half as many buckets; 4e8 f64:
 * 1.08 s with 256, 1.04 with 512; 1e8 key_index: 0.46 and 0.44 s. */
#define WRITE_BUFFER_BYTES 512

/* Writes `bytes` from `line` to `to`, both aligned to 16 bytes, with streaming stores: the old
 * contents need not be read. 5e7 f64, a core of an AMD EPYC (Zen 4), 2026-11: 0.71 s, and 0.73
 * with ordinary stores. */
static inline __attribute__((always_inline)) void
streaming_store(unsigned char *to, const unsigned char *line, size_t bytes)
{
#ifdef __SSE2__
    for (size_t i = 0; i < bytes; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_load_si128((const __m128i *)(const void *)(line + i)));
#else
    memcpy(to, line, bytes);
#endif
}

/* Makes streaming stores visible to other threads before any later store. */
static inline void streaming_fence(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
