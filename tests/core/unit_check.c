/* SPDX-License-Identifier: Apache-2.0 */
/* unit_check.c - the sums and the order checks of the proof of output, against loops over single
 * keys and lines. The sums of text are not tested here: different functions add them up for the
 * input and for the output, so a wrong function makes every sort of lines fail.
 */
#include "core/check/check.h"
#include "core/check/check_kernels.h"
#include "core/check/check_line.h"
#include "tests/random_next.h"
#include "tests/unit_test.h"

#include <stdlib.h>
#include <string.h>

/* BLOCK_BYTES: keys that are checked together. KEYS_BYTES: some blocks and a part of one. */
#define BLOCK_BYTES ((size_t)4096)
#define KEYS_BYTES (3 * BLOCK_BYTES + 1000)

static uint64_t random_state;

static uint64_t draw(void)
{
    return random_next(&random_state);
}

static uint64_t load(const unsigned char *keys, size_t i, unsigned width)
{
    uint64_t key = 0;
    memcpy(&key, keys + i * width, width);
    return key;
}

/* The sum of the kernels' hashes, key by key. */
static uint64_t sum_of(const unsigned char *keys, size_t count, unsigned width)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += width == 1   ? check_mix_byte(keys[i])
               : width == 2 ? check_mix_word((uint16_t)load(keys, i, width))
                            : check_mix(load(keys, i, width));
    return sum;
}

/* Also checks that the sum covers all keys, wherever disorder is found. */
static size_t find_disorder(unsigned width, struct key_order order, const void *previous,
                            const void *keys, size_t count)
{
    uint64_t hash = 1;
    const size_t found = check_find_disorder(width, order, previous, keys, count, &hash);
    assert_int_equal(hash - 1, check_hash_keys(width, keys, count));
    return found;
}

static void test_hash(void **state)
{
    unsigned char *const keys = malloc(KEYS_BYTES);
    for (size_t i = 0; i < KEYS_BYTES; i++)
        keys[i] = (unsigned char)draw();
    for (unsigned width = 1; width <= 8; width *= 2)
        for (size_t count = 0; count <= KEYS_BYTES / width; count += 1 + count / 3)
            assert_int_equal(check_hash_keys(width, keys, count), sum_of(keys, count, width));
    free(keys);
}

static int compare_sums(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Checks that the upper halves of the numbers are all different. */
static void assert_apart(uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] >>= 32;
    qsort(numbers, count, sizeof *numbers, compare_sums);
    for (size_t i = 1; i < count; i++)
        assert_int_not_equal(numbers[i - 1], numbers[i]);
}

/* Changing one or two bytes, or a key of two bytes, changes any sum: no two pairs of bytes have the
 * same sum, and no two keys of two bytes the same hash. */
static void test_short_keys(void **state)
{
    enum { PAIRS = 256 * 257 / 2, WORDS = 1 << 16 };
    static uint64_t sums[PAIRS], hashes[WORDS];
    size_t count = 0;
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = a; b < 256; b++)
            sums[count++] = check_mix_byte((uint8_t)a) + check_mix_byte((uint8_t)b);
    for (unsigned word = 0; word < WORDS; word++)
        hashes[word] = check_mix_word((uint16_t)word);
    assert_apart(sums, PAIRS);
    assert_apart(hashes, WORDS);
}

static uint64_t mix(uint64_t key, unsigned width)
{
    return width == 2 ? check_mix_word((uint16_t)key) : check_mix(key);
}

/* Two keys exchange one bit or several, which does not change the sum of the keys. One or two bits
 * of a key are flipped. */
static void test_exchanged_bits(void **state)
{
    for (unsigned width = 2; width <= 8; width *= 2) {
        const uint64_t all = UINT64_MAX >> (64 - 8 * width);
        for (size_t round = 0; round < 100000; round++) {
            const uint64_t a = draw() & all, b = draw() & all, some = draw() & draw() & all;
            const uint64_t high = 1ull << (8 * width - 1 - round % (8 * width));
            const uint64_t masks[] = {high, some, all >> 4 * width};
            for (size_t i = 0; i < 3; i++) {
                const uint64_t moved = (a ^ b) & masks[i];
                if (moved != 0 && moved != (a ^ b))
                    assert_int_not_equal(mix(a, width) + mix(b, width),
                                         mix(a ^ moved, width) + mix(b ^ moved, width));
            }
            assert_int_not_equal(mix(a, width), mix(a ^ high, width));
            if ((high >> 7) != 0)
                assert_int_not_equal(mix(a, width), mix(a ^ high ^ high >> 7, width));
        }
    }
}

/* Pairs: their sum, and their order by key, then by index. */
static void test_pairs(void **state)
{
    enum { COUNT = 1000 };
    struct key_index pairs[COUNT];
    const struct key_order order = key_order_identity();
    uint64_t sum = 0;
    /* An exclusive or would not detect these changes. */
    const uint64_t equal[] = {7, 7, 9}, lost[] = {8, 8, 9}, twice[] = {9, 9, 9};
    assert_int_not_equal(check_hash_keys(8, equal, 3), check_hash_keys(8, lost, 3));
    assert_int_not_equal(check_hash_keys(8, equal, 3), check_hash_keys(8, twice, 3));
    for (size_t i = 0; i < COUNT; i++) {
        pairs[i] =
            (struct key_index){.index = i * 3 + 1, .key = i / 7 + 1 + (i > 600 ? 1ull << 63 : 0)};
        sum += check_mix_pair(pairs[i].key, pairs[i].index);
        assert_int_equal(check_hash_keys(sizeof pairs[0], pairs, i + 1), sum);
    }
    assert_int_equal(find_disorder(sizeof pairs[0], order, NULL, pairs, COUNT), COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        const struct key_index kept = pairs[i], before = pairs[i - 1];
        const struct key_index *const here = &pairs[i];
        pairs[i].index = before.index - 1; /* out of order, unless the keys differ */
        assert_int_equal(find_disorder(sizeof kept, order, NULL, pairs, COUNT),
                         before.key < kept.key ? COUNT : i);
        assert_int_not_equal(check_hash_keys(sizeof kept, pairs, COUNT), sum);
        pairs[i] = (struct key_index){kept.index, before.key - 1};
        assert_int_equal(find_disorder(sizeof kept, order, NULL, pairs, COUNT), i);
        pairs[i] = kept;
        assert_int_equal(find_disorder(sizeof kept, order, here - 1, here, COUNT - i), COUNT - i);
        assert_int_equal(find_disorder(sizeof kept, order, here, here - 1, COUNT - i), 0);
    }
}

/* Fills an array with rising keys, or with copies of the middle one of them. Blocks of equal keys
 * are not checked key by key. */
static void fill(unsigned char *keys, size_t count, unsigned width, struct key_order order,
                 bool are_equal)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t all = key_bits_mask(8 * width), rank = are_equal ? count / 2 : i;
        const uint64_t step = (all / count + 1) * rank;
        const uint64_t stored = key_order_decode(order, 8 * width, step < all ? step : all);
        memcpy(keys + i * width, &stored, width);
    }
}

/* Sorted keys have no disorder. If one is replaced by the least or the greatest key, or exchanged
 * with the key before it, disorder is found at its position, or at the next one. */
static void check_order(unsigned width, struct key_order order, size_t count, bool are_equal)
{
    unsigned char *const keys = calloc(count, width);
    const uint64_t least = key_order_decode(order, 8 * width, 0);
    const uint64_t greatest = key_order_decode(order, 8 * width, key_bits_mask(8 * width));
    fill(keys, count, width, order, are_equal);
    assert_int_equal(find_disorder(width, order, NULL, keys, count), count);
    for (size_t i = 1; i < count; i += 1 + i / 5) {
        unsigned char *const key = keys + i * width, *const before = key - width;
        const uint64_t kept = load(keys, i, width), previous = load(keys, i - 1, width);
        const bool falls = previous != least;
        const bool rises = i + 1 < count && load(keys, i + 1, width) != greatest;
        memcpy(key, &least, width);
        assert_int_equal(find_disorder(width, order, NULL, keys, count), falls ? i : count);
        assert_int_equal(find_disorder(width, order, before, key, count - i),
                         falls ? 0 : count - i);
        assert_int_equal(check_hash_keys(width, keys, count), sum_of(keys, count, width));
        memcpy(key, &greatest, width);
        assert_int_equal(find_disorder(width, order, NULL, keys, count), rises ? i + 1 : count);
        memcpy(key, &previous, width);
        memcpy(before, &kept, width);
        assert_int_equal(find_disorder(width, order, NULL, keys, count),
                         previous == kept ? count : i);
        memcpy(before, &previous, width);
        memcpy(key, &kept, width);
    }
    free(keys);
}

static void test_order(void **state)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        for (unsigned way = 0; way < 8; way++) {
            const struct key_type *const type = &key_types[i];
            const enum nan_rule nan = way & 1 ? NAN_FIRST : NAN_GREATEST;
            const enum key_endian endian = way & 2 ? ENDIAN_BIG : ENDIAN_LITTLE;
            const struct key_order order = key_order_make(type, endian, nan, way & 4);
            check_order(type->bytes, order, KEYS_BYTES / type->bytes, false);
            check_order(type->bytes, order, KEYS_BYTES / type->bytes, true);
            check_order(type->bytes, order, (BLOCK_BYTES + 64) / type->bytes, false);
        }
}

/* A block of keys of one sign that rise or fall as stored. NaNs among them, or a NaT, may belong
 * at the other end of the order. */
static void check_stored_order(const struct key_type *type, struct key_order order, bool negative,
                               bool falls)
{
    const unsigned width = type->bytes, bits = 8 * width;
    const size_t count = BLOCK_BYTES / width;
    const uint64_t half = key_bits_mask(bits) >> 1, sign = negative ? half + 1 : 0;
    unsigned char *const keys = calloc(count, width);
    uint64_t before = 0;
    size_t expected = count;
    for (size_t i = 0; i < count; i++) {
        const size_t rank = falls ? count - 1 - i : i;
        const uint64_t stored = sign | (half / count * rank + half % count * rank / count);
        const uint64_t ordered = key_order_encode(order, bits, stored);
        memcpy(keys + i * width, &stored, width);
        if (expected == count && ordered < before)
            expected = i;
        before = ordered;
    }
    assert_int_equal(find_disorder(width, order, NULL, keys, count), expected);
    free(keys);
}

static void test_stored_order(void **state)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        for (unsigned way = 0; way < 16; way++) {
            const enum nan_rule nan = way & 1 ? NAN_FIRST : NAN_GREATEST;
            const struct key_order order =
                key_order_make(&key_types[i], ENDIAN_LITTLE, nan, way & 2);
            check_stored_order(&key_types[i], order, way & 4, way & 8);
        }
}

enum { PIECE = 1024 };

/* Lets a check observe a chunk of keys, its last piece of PIECE keys first. */
static void observe_backwards(struct key_check *check, const uint64_t *keys, size_t count)
{
    key_check_begin_chunk(check, keys, count);
    for (size_t begin = (count + PIECE - 1) / PIECE * PIECE; begin > 0; count = begin) {
        begin -= PIECE;
        tap_observe(&check->tap, keys + begin, (count - begin) * sizeof *keys);
    }
}

/* Checks of parts, of which one is empty, are appended. Each part is two chunks. A key is misplaced
 * at the first or the second place of a part, a chunk or a piece, or at any other place. */
static void test_pieces(void **state)
{
    enum { COUNT = 10000 };
    static const size_t begins[] = {0, 1, 4096, 4096, COUNT};
    uint64_t keys[COUNT];
    static const size_t chunk_begins[] = {0, 1, 2048, 4096, 7048};
    for (size_t misplaced = 0; misplaced < COUNT; misplaced++) {
        bool is_chosen = misplaced % 31 == 0;
        for (size_t i = 0; i < LENGTH(chunk_begins); i++)
            is_chosen |= misplaced >= chunk_begins[i] && (misplaced - chunk_begins[i]) % PIECE < 2;
        if (!is_chosen)
            continue;
        struct key_check all, part;
        key_check_start_ordered(&all, 8, key_order_identity());
        for (size_t i = 0; i < COUNT; i++)
            keys[i] = i == misplaced && i > 0 ? 0 : i + 1;
        for (size_t i = 0; i + 1 < LENGTH(begins); i++) {
            const size_t count = begins[i + 1] - begins[i];
            const uint64_t *const first = keys + begins[i];
            key_check_start_ordered(&part, 8, key_order_identity());
            observe_backwards(&part, first, count / 2);
            observe_backwards(&part, first + count / 2, count - count / 2);
            key_check_append(&all, &part);
        }
        assert_int_equal(all.sum.count, COUNT);
        assert_int_equal(all.sum.hash, check_hash_keys(8, keys, COUNT));
        assert_int_equal(all.disorder, misplaced > 0 ? misplaced + 1 : 0);
    }
}

/* Rising keys. Then one of them is less than the key before it, by one. */
static void test_keys_that_rise(void **state)
{
    for (size_t count = 0; count < 40; count++) {
        struct key_index *const items = calloc(count + 1, sizeof *items); /* and one after it */
        for (size_t i = 0; i < count; i++)
            items[i] = (struct key_index){draw(), (1ull << 63) - 10 + i / 2};
        assert_true(check_keys_rise(items, count));
        for (size_t i = 1; i < count; i++) {
            const uint64_t key = items[i].key;
            items[i].key = items[i - 1].key - 1;
            assert_false(check_keys_rise(items, count));
            items[i].key = key;
        }
        free(items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),           cmocka_unit_test(test_short_keys),
        cmocka_unit_test(test_exchanged_bits), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_order),          cmocka_unit_test(test_stored_order),
        cmocka_unit_test(test_pieces),         cmocka_unit_test(test_keys_that_rise),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
