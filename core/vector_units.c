/* SPDX-License-Identifier: Apache-2.0 */
/* vector_units.c - see vector_units.h. */
#include "core/vector_units.h"

#ifdef HAVE_VECTOR_CODE

/* glibc knows which units a user has disabled, and reports it since version 2.33. Its macro is used
 * for F and AVX2 only: for VL it shifts a 1 into the sign of an int, which is undefined. */
#    if __has_include(<sys/platform/x86.h>)
#        include <sys/platform/x86.h>
#        define HAS_AVX512F CPU_FEATURE_ACTIVE(AVX512F)
#        define HAS_AVX2 CPU_FEATURE_ACTIVE(AVX2)
#    else
#        define HAS_AVX512F __builtin_cpu_supports("avx512f")
#        define HAS_AVX2 __builtin_cpu_supports("avx2")
#    endif

bool has_vector_units(void)
{
    return HAS_AVX512F && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_avx2(void)
{
    return HAS_AVX2;
}

#else

bool has_vector_units(void)
{
    return false;
}

#endif
