/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - shared by the fuzz targets: how they read libFuzzer's input, and how they fail.
 *
 * A target compares the code under test with a reference in the same process. On a difference it
 * aborts, and libFuzzer keeps the input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Prints the difference and aborts. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void fuzz_fail(const char *format,
                                                                             ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("differs: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    abort();
}

/* The part of the input that is not yet used. */
struct fuzz_input {
    const uint8_t *data;
    size_t bytes;
};

/* Takes a byte that selects an option; 0 at the end of the input. */
static inline unsigned fuzz_take(struct fuzz_input *input)
{
    if (input->bytes == 0)
        return 0;
    input->bytes--;
    return *input->data++;
}

/* A part of a text or of a file. */
struct fuzz_span {
    const char *text;
    size_t length;
};

/* Bytes from FUZZ_REPEAT on repeat the byte before them 1, 2, 4, ... times, so that a short input
 * makes a long text. */
#define FUZZ_REPEAT 0xf4
#define FUZZ_TEXT_MAX ((size_t)16384)

/* Takes a text of at most `most` bytes from the rest of the input. It is on the heap, of exactly
 * its length and without a NUL at its end, so that the address sanitizer finds a read past it. The
 * caller frees the text. */
static inline struct fuzz_span fuzz_take_text(struct fuzz_input *input, size_t most)
{
    static char made[FUZZ_TEXT_MAX];
    size_t length = 0;
    while (input->bytes > 0) {
        const unsigned byte = fuzz_take(input);
        const bool repeats = byte >= FUZZ_REPEAT && length > 0;
        const size_t count = repeats ? (size_t)1 << (byte - FUZZ_REPEAT) : 1;
        const int value = repeats ? made[length - 1] : (int)byte;
        if (count <= most - length)
            memset(made + length, value, count), length += count;
    }
    char *const text = malloc(length > 0 ? length : 1);
    memcpy(text, made, length);
    return (struct fuzz_span){text, length};
}

/* Opens a file in memory that holds the bytes; the caller closes it. */
static inline int fuzz_open_file(const void *data, size_t bytes)
{
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes)
        abort();
    return file;
}

#endif
