/* SPDX-License-Identifier: Apache-2.0 */
/* random_next.h - random numbers that are the same in every run. */
#ifndef TESTS_RANDOM_NEXT_H
#define TESTS_RANDOM_NEXT_H

#include <stdint.h>

/* Returns the next random number, from any state (splitmix64: Steele, Lea and Flood, OOPSLA
 * 2014). */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns the random number after `index` others. */
static inline uint64_t random_bits(uint64_t index)
{
    uint64_t state = index * 0x9e3779b97f4a7c15u;
    return random_next(&state);
}

#endif
