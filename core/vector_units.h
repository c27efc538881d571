/* SPDX-License-Identifier: Apache-2.0 */
/* vector_units.h - whether this machine has AVX-512, and what the code for it shares.
 *
 * Code for these instructions stands in functions marked VECTOR_CODE, which the compiler makes for
 * such a machine whatever it makes the rest for; has_vector_units() is asked before any is called.
 * Without them everything is done by the portable code beside it. From version 2.33 on, glibc is
 * asked rather than the processor, so that GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F switches to the
 * portable code.
 */
#ifndef CORE_VECTOR_UNITS_H
#define CORE_VECTOR_UNITS_H

#include <stdbool.h>

#ifdef __x86_64__
#    define HAVE_VECTOR_CODE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* True if the processor has AVX-512 (F, BW, DQ and VL) and BMI1 and 2, and the code here too. */
bool has_vector_units(void);

#ifdef HAVE_VECTOR_CODE
/* True if it has AVX2, and that is not switched off in the same way. */
bool has_avx2(void);
#endif

#ifdef __cplusplus
}
#endif

#ifdef HAVE_VECTOR_CODE
/* GCC 12 takes the undefined lanes that its own header passes for a mistake (its bug 105593). */
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

#endif
#endif
