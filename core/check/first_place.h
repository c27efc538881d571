/* SPDX-License-Identifier: Apache-2.0 */
/* first_place.h - the lowest of the positions that several threads find. */
#ifndef CORE_FIRST_PLACE_H
#define CORE_FIRST_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Records a position. *first is 1 + the lowest position recorded; 0: none. Thread-safe. */
static inline void first_place_note(uint64_t *first, uint64_t place)
{
    uint64_t found = __atomic_load_n(first, __ATOMIC_RELAXED);
    while ((found == 0 || place + 1 < found) &&
           !__atomic_compare_exchange_n(first, &found, place + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

#endif
