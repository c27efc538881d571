/* SPDX-License-Identifier: Apache-2.0 */
/* vector_code.h - declares what the code for AVX-512 and AVX2 has in common.
 *
 * Code for AVX-512 is in functions marked VECTOR_CODE, which are compiled for such a machine
 * whatever the rest is compiled for. <immintrin.h> takes GCC 0.4 s, so only sources with such code
 * include this header.
 */
#ifndef CORE_VECTOR_CODE_H
#define CORE_VECTOR_CODE_H

#include "core/vector_units.h"

#include <stdint.h>

#ifdef HAVE_VECTOR_CODE
/* GCC 12 warns about undefined lanes in its own header (its bug 105593). */
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wuninitialized"
#    ifndef __clang__
#        pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#    endif
#    include <immintrin.h>
#    pragma GCC diagnostic pop

#    define VECTOR_TARGET target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2")
#    define VECTOR_CODE __attribute__((VECTOR_TARGET))
#    define VECTOR_MEMBER inline __attribute__((always_inline, VECTOR_TARGET))
#    define VECTOR_INLINE static inline __attribute__((always_inline, VECTOR_TARGET))
#    define AVX2_CODE __attribute__((target("avx2")))
#    define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

/* Adds the lanes of 64 bits. _mm512_reduce_add_epi64() adds signed numbers, which must not
 * overflow. */
VECTOR_INLINE uint64_t vector_sum_lanes(__m512i sum)
{
    const __m256i half =
        _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
    const __m128i pair =
        _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint64_t)_mm_cvtsi128_si64(pair) + (uint64_t)_mm_extract_epi64(pair, 1);
}

#endif
#endif
