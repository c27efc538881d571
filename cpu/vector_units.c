/* vector_units.c - see vector_units.h. */
#include "cpu/vector_units.h"

#ifdef HAVE_VECTOR_CODE

#    include <sys/platform/x86.h>

bool has_vector_units(void)
{
    return CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
           CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512VL) && CPU_FEATURE_ACTIVE(BMI2);
}

#else

bool has_vector_units(void)
{
    return false;
}

#endif
