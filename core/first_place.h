/* SPDX-License-Identifier: Apache-2.0 */
/* first_place.h - the first of places that any number of threads find.
 */
#ifndef CORE_FIRST_PLACE_H
#define CORE_FIRST_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Notes a place, counted from 0, in *first, which is the first one noted, counted from 1; 0: none.
 */
static inline void first_place_note(uint64_t *first, uint64_t place)
{
    uint64_t found = __atomic_load_n(first, __ATOMIC_RELAXED);
    while ((found == 0 || place + 1 < found) &&
           !__atomic_compare_exchange_n(first, &found, place + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

#endif
