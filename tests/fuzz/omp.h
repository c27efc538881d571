/* SPDX-License-Identifier: Apache-2.0 */
/* omp.h - OpenMP's functions for a program of one thread, instead of the compiler's header. Fuzz
 * targets are built without OpenMP, so that they run without its library.
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
