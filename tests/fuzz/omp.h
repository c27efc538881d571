/* SPDX-License-Identifier: Apache-2.0 */
/* omp.h - the function of OpenMP that fuzz targets call, for a program of one thread. They are
 * built without OpenMP, so that they run without its library.
 */
#ifndef TESTS_FUZZ_OMP_H
#define TESTS_FUZZ_OMP_H

static inline int omp_get_thread_num(void)
{
    return 0;
}

#endif
