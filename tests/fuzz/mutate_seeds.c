/* SPDX-License-Identifier: Apache-2.0 */
/* mutate_seeds.c - runs a fuzz target on its seeds, and on random mutations of them.
 *
 *   mutate_seeds TARGET ROUNDS SEED-FILE...
 *
 * The mutations are the same in every run. A target that finds a difference aborts the process,
 * which then prints the input for printf(1). libFuzzer, which generates better inputs, is not
 * needed (`make fuzz` uses it).
 */
#include "tests/fuzz/fuzz.h"
#include "tests/random_next.h"

#include <signal.h>

#define INPUT_MAX ((size_t)8192)
#define SEEDS_MAX 1000

int fuzz_numbers(const uint8_t *data, size_t bytes);
int fuzz_zstd(const uint8_t *data, size_t bytes);

static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t bytes);
} targets[] = {{"fuzz_numbers", fuzz_numbers}, {"fuzz_zstd", fuzz_zstd}};

struct input {
    uint8_t data[INPUT_MAX];
    size_t bytes;
};

static struct input seeds[SEEDS_MAX], current;
static size_t seed_count;

/* Prints the current input, and ends the process by the signal. */
static void print_input(int signal_number)
{
    char text[4 * INPUT_MAX + 64], *end = stpcpy(text, "the input: printf '");
    for (size_t i = 0; i < current.bytes; i++)
        end += sprintf(end, "\\x%02x", current.data[i]);
    end = stpcpy(end, "'\n");
    (void)!write(STDERR_FILENO, text, (size_t)(end - text));
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void read_seed(const char *name)
{
    FILE *const file = fopen(name, "rb");
    if (!file || seed_count == SEEDS_MAX) {
        fprintf(stderr, "mutate_seeds: %s: not read\n", name);
        exit(2);
    }
    struct input *const seed = &seeds[seed_count++];
    seed->bytes = fread(seed->data, 1, INPUT_MAX, file);
    fclose(file);
}

/* Replaces `out` bytes at `at` by `in` bytes of another input, which may be this one. */
static void replace(size_t at, size_t out, const uint8_t *data, size_t in)
{
    uint8_t copy[INPUT_MAX];
    const size_t after = current.bytes - at - out;
    if (at + in + after > INPUT_MAX)
        return;
    memcpy(copy, data, in);
    memmove(current.data + at + in, current.data + at + out, after);
    memcpy(current.data + at, copy, in);
    current.bytes = at + in + after;
}

/* Changes a bit or a byte, or replaces a few bytes, or none, by some of a seed or of the input. */
static void mutate(uint64_t *random)
{
    const uint64_t draw = random_next(random);
    const size_t at = draw % (current.bytes + 1), most = current.bytes - at;
    const size_t some = (draw >> 24) % (most < 16 ? most + 1 : 16);
    const uint8_t byte = (uint8_t)(draw >> 32);
    const unsigned kind = (unsigned)(draw >> 61);
    const struct input *const other = kind == 7 ? &current : &seeds[(draw >> 40) % seed_count];
    const size_t from = random_next(random) % (other->bytes + 1), left = other->bytes - from;
    const size_t taken = (draw >> 16) % (left < 24 ? left + 1 : 24);
    if (kind == 0 && most > 0)
        current.data[at] ^= (uint8_t)(1 << (byte & 7));
    else if (kind < 3)
        replace(at, kind == 1 && most > 0, &byte, 1);
    else
        replace(at, kind < 6 ? some : 0, other->data + from, kind > 3 ? taken : 0);
}

int main(int argc, char **argv)
{
    uint64_t random = 1;
    int (*run)(const uint8_t *data, size_t bytes) = NULL;
    for (size_t i = 0; argc > 3 && i < sizeof targets / sizeof *targets; i++)
        if (strcmp(argv[1], targets[i].name) == 0)
            run = targets[i].run;
    if (!run) {
        fputs("usage: mutate_seeds TARGET ROUNDS SEED-FILE...\n", stderr);
        return 2;
    }
    signal(SIGABRT, print_input);
    for (int i = 3; i < argc; i++)
        read_seed(argv[i]);
    const size_t rounds = strtoul(argv[2], NULL, 10);
    for (size_t round = 0; round < seed_count + rounds; round++) {
        current = seeds[round < seed_count ? round : random_next(&random) % seed_count];
        if (round >= seed_count)
            for (uint64_t changes = 1 + random_next(&random) % 4; changes > 0; changes--)
                mutate(&random);
        uint8_t *const copy =
            malloc(current.bytes + 1); /* of its size, for the address sanitizer */
        memcpy(copy, current.data, current.bytes);
        run(copy, current.bytes);
        free(copy);
    }
    return 0;
}
