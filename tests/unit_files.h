/* SPDX-License-Identifier: Apache-2.0 */
/* unit_files.h - a working directory for a unit test, and files in it. */
#ifndef TESTS_UNIT_FILES_H
#define TESTS_UNIT_FILES_H

#include "tests/random_next.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
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

/* Appends an empty frame that does not state its size to a file of zstd frames (RFC 8878: a window
 * of 1 KiB, and an empty raw block, the last). So the total size of the frames is unknown. */
static inline void append_unsized_frame(const char *name)
{
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0};
    FILE *file = fopen(name, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(frame, 1, sizeof frame, file), sizeof frame);
    assert_int_equal(fclose(file), 0);
}

/* Returns the bytes of the file, malloc'd. */
static inline unsigned char *get_file(const char *name, size_t *bytes)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static inline void assert_file_holds(const char *name, const void *data, size_t bytes)
{
    size_t found_bytes;
    unsigned char *found = get_file(name, &found_bytes);
    assert_int_equal(found_bytes, bytes);
    assert_memory_equal(found, data, bytes);
    free(found);
}

/* Returns the resident memory of this process. */
static inline size_t resident_bytes(void)
{
    size_t total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &total, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
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
