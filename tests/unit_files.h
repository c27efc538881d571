/* SPDX-License-Identifier: Apache-2.0 */
/* unit_files.h - a working directory for a unit test, and files in it. */
#ifndef TESTS_UNIT_FILES_H
#define TESTS_UNIT_FILES_H

#include "tests/random_next.h"
#include "tests/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Group set-up: makes a working directory; *state is its name. */
static int enter_scratch(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *directory;
    if (asprintf(&directory, "%s/gpusort-unit-XXXXXX", parent ? parent : "/tmp") < 0)
        return -1;
    *state = directory;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

/* Group tear-down: the directory must be empty, so no test may leave a file. */
static int leave_scratch(void **state)
{
    const bool is_gone = chdir("/") == 0 && rmdir(*state) == 0;
    if (!is_gone)
        print_error("%s is not empty\n", (char *)*state);
    free(*state);
    return is_gone ? 0 : -1;
}

/* Makes a new file. Filling a file again that was truncated to 0 would wait for the disk on
 * ext4. */
static inline void put_file(const char *name, const void *data, size_t bytes)
{
    unlink(name);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void assert_file_holds(const char *name, const void *data, size_t bytes)
{
    char found[64];
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof found, file), bytes);
    assert_memory_equal(found, data, bytes);
    fclose(file);
}

/* Returns bytes that compress only partly and are the same in every run. */
static inline unsigned char *make_bytes(size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    assert_non_null(data);
    uint64_t state = 1;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(random_next(&state) & 0x3f);
    return data;
}

#endif
