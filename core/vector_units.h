/* SPDX-License-Identifier: Apache-2.0 */
/* vector_units.h - detects AVX-512, and declares what the code for it has in common.
 *
 * Code for these instructions is in functions marked VECTOR_CODE, which are compiled for such a
 * machine whatever the rest is compiled for. has_vector_units() must be checked before any of them
 * is called. On other machines portable code does everything. From glibc 2.33 on, the answer is
 * that of glibc, so that GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F switches to the portable code.
 * Functions marked FOR_ALL_VECTORS depend on the processor alone.
 */
#ifndef CORE_VECTOR_UNITS_H
#define CORE_VECTOR_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#    define HAVE_VECTOR_CODE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if the processor has AVX-512 (F, BW, DQ and VL), BMI1 and BMI2, and this build has
 * code for them. */
bool has_vector_units(void);

#ifdef HAVE_VECTOR_CODE
/* Returns true if the processor has AVX2 and it is not disabled in the same way. */
bool has_avx2(void);
#endif

#ifdef __cplusplus
}
#endif

/* Compiles a function once for each kind of vectors of x86; the best one that the machine has is
 * chosen when the program starts. GCC has known the names since version 12. */
#if defined(HAVE_VECTOR_CODE) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#    define FOR_ALL_VECTORS                                                                        \
        __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#    define FOR_ALL_VECTORS
#endif

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
