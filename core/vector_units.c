/* vector_units.c - see vector_units.h. */
#include "core/vector_units.h"

#ifdef HAVE_VECTOR_CODE

#    include <sys/platform/x86.h>

/* The C library is asked for what a user may have switched off; not for all, as its macro shifts a
 * 1 into the sign of an int for VL. */
bool has_vector_units(void)
{
    return CPU_FEATURE_ACTIVE(AVX512F) && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_avx2(void)
{
    return CPU_FEATURE_ACTIVE(AVX2);
}

#else

bool has_vector_units(void)
{
    return false;
}

#endif
