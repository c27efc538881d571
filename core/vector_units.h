/* SPDX-License-Identifier: Apache-2.0 */
/* vector_units.h - detects AVX-512 and AVX2.
 *
 * has_vector_units() must be checked before a function of code for these instructions is called
 * (core/vector_code.h). On other machines portable code does everything. From glibc 2.33 on, the
 * answer is that of glibc, so that GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F switches to the
 * portable code. Functions marked FOR_ALL_VECTORS depend on the processor alone.
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

/* Returns true if the processor has AVX-512 (F, BW, DQ and VL), BMI1 and BMI2, and this build has
 * code for them. */
bool has_vector_units(void);

#ifdef HAVE_VECTOR_CODE
/* Returns true if the processor has AVX2, and GLIBC_TUNABLES does not disable it. */
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

#endif
