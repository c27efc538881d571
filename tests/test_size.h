/* SPDX-License-Identifier: Apache-2.0 */
/* test_size.h - TEST_SIZE=small, for builds that are many times slower (tests/run.sh). */
#ifndef TESTS_TEST_SIZE_H
#define TESTS_TEST_SIZE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number for the size of this run. */
static inline size_t full_or_small(size_t full, size_t small)
{
    const char *const size = getenv("TEST_SIZE");
    return size && strcmp(size, "small") == 0 ? small : full;
}

#endif
