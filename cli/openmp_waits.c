/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_waits.c - limits the time that OpenMP's threads spin.
 *
 * At the end of a loop, libgomp's threads spin for milliseconds before they sleep. On busy
 * processors that takes time from other threads: 1e6 lines with two threads on two busy cores took
 * 137 ms, and 64 ms if threads sleep at once (an AMD EPYC (Zen 5), 2026-11). libgomp reads its
 * environment when it is loaded. Linked statically, as the Makefile does if it can, that is after
 * this constructor. Settings of the user are kept.
 */
#include <stdlib.h>

__attribute__((constructor(101))) static void limit_spinning(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        (void)setenv("GOMP_SPINCOUNT", "1000", 0); /* some microseconds */
}
