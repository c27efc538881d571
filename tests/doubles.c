/* SPDX-License-Identifier: Apache-2.0 */
/* doubles.c - makes random doubles, and checks that a file holds the same doubles in order. It
 * shares no code with gpusort, so that the check is independent.
 *
 *   doubles make COUNT SEED >FILE
 *   doubles prove UNSORTED SORTED
 *
 * Two files hold the same numbers, each as often, if their counts agree, and the sum and the
 * exclusive or of a hash of every number's bits. Two different files agree by chance with odds of
 * one in 2^128.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that do not depend on the order of the numbers. */
struct digest {
    uint64_t count, sum, exclusive_or;
};

/* The finalizer of splitmix64 (Steele, Lea and Flood, 2014): a bijection that spreads every bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int fail(const char *what)
{
    perror(what);
    return EXIT_FAILURE;
}

/* Writes numbers that are uniform in [-1, 1), scaled by 2^-32 ... 2^31: both signs and many
 * exponents. */
static int make(uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bits = mix(seed + (i + 1) * 0x9e3779b97f4a7c15u);
        const double fraction = (double)(int64_t)bits * 0x1p-63;
        const double number = ldexp(fraction, (int)(mix(bits) & 63) - 32);
        if (fwrite(&number, sizeof number, 1, stdout) != 1)
            return fail("standard output");
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : fail("standard output");
}

static int read_digest(const char *path, int must_be_sorted, struct digest *digest)
{
    double number, previous = -INFINITY;
    FILE *file = fopen(path, "rb");
    *digest = (struct digest){0, 0, 0};
    if (!file)
        return fail(path);
    while (fread(&number, sizeof number, 1, file) == 1) {
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        digest->count++;
        digest->sum += mix(bits);
        digest->exclusive_or ^= mix(~bits);
        if (must_be_sorted && !(previous <= number)) {
            printf("%s: number %" PRIu64 " is less than the one before it\n", path, digest->count);
            fclose(file);
            return EXIT_FAILURE;
        }
        previous = number;
    }
    const int failed = ferror(file);
    fclose(file);
    return failed ? fail(path) : EXIT_SUCCESS;
}

static int prove(const char *unsorted, const char *sorted)
{
    struct digest before, after;
    if (read_digest(unsorted, 0, &before) != 0 || read_digest(sorted, 1, &after) != 0)
        return EXIT_FAILURE;
    if (memcmp(&before, &after, sizeof before) != 0) {
        printf("%s does not hold the numbers of %s\n", sorted, unsorted);
        return EXIT_FAILURE;
    }
    printf("proved: %" PRIu64 " numbers in order, the same as before\n", after.count);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "prove") == 0)
        return prove(argv[2], argv[3]);
    fprintf(stderr, "usage: doubles make COUNT SEED | doubles prove UNSORTED SORTED\n");
    return EXIT_FAILURE;
}
