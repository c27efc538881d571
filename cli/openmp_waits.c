/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_waits.c - keeps OpenMP's threads from spinning for long.
 *
 * At the end of a loop libgomp's threads spin for milliseconds before they sleep. Where other
 * processes want the processors, that is taken from whoever has work to do: 1e6 lines by two
 * threads on two busy cores 137 ms, and 64 ms if they sleep at once (an AMD EPYC (Zen 5), 2026-11).
 * libgomp reads its environment when it is loaded; linked statically, as the Makefile does where it
 * can, that is after this constructor. A user's own words about it stay.
 */
#include <stdlib.h>

__attribute__((constructor(101))) static void limit_spinning(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        (void)setenv("GOMP_SPINCOUNT", "1000", 0); /* some microseconds */
}
