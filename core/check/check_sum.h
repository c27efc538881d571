/* SPDX-License-Identifier: Apache-2.0 */
/* check_sum.h - a checksum that does not depend on the order of the units; see check.h. */
#ifndef CORE_CHECK_SUM_H
#define CORE_CHECK_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* The number of units, and the sum of their hashes. */
struct check_sum {
    uint64_t count, hash;
};

static inline bool check_sum_equal(struct check_sum a, struct check_sum b)
{
    return a.count == b.count && a.hash == b.hash;
}

/* Adds `more` to *sum. Thread-safe. */
static inline void check_sum_add(struct check_sum *sum, struct check_sum more)
{
    __atomic_fetch_add(&sum->count, more.count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->hash, more.hash, __ATOMIC_RELAXED);
}

/* Subtracts a part that was added. Not thread-safe. */
static inline void check_sum_subtract(struct check_sum *sum, struct check_sum part)
{
    sum->count -= part.count;
    sum->hash -= part.hash;
}

#endif
