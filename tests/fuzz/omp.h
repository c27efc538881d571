/* SPDX-License-Identifier: Apache-2.0 */
/* omp.h - OpenMP's functions for a program of one thread, in place of the compiler's header: fuzz
 * targets are built without OpenMP, so that they run where its library is not installed.
 */
#ifndef TESTS_FUZZ_OMP_H
#define TESTS_FUZZ_OMP_H

static inline int omp_get_thread_num(void)
{
    return 0;
}

static inline int omp_get_num_threads(void)
{
    return 1;
}

static inline int omp_get_max_threads(void)
{
    return 1;
}

#endif
