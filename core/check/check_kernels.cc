/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.cc - see check_kernels.h.
 *
 * The loops take keys in blocks of a constant size, so that compilers vectorize them: once for each
 * width and, on x86, for each kind of vectors. The best kind that the machine has is chosen when
 * the program starts. A block stays in the first-level cache, so hash and order have separate
 * loops, except with AVX-512. C++, for templates with the width as a parameter.
 */
#include "core/check/check_kernels.h"

#include "core/backend.h"
#include "core/item_width.h"
#include "core/key_map.h"
#include "core/vector_code.h"

#include <string.h>

/* Bytes of a block, which stays in the L1 cache. */
static constexpr size_t block_bytes = 4096;

/* Keys in memory, which may have been stored as any type. */
typedef uint8_t __attribute__((may_alias)) key_8;
typedef uint16_t __attribute__((may_alias)) key_16;
typedef uint32_t __attribute__((may_alias)) key_32;
typedef uint64_t __attribute__((may_alias)) key_64;

/* ---- Blocks of keys, with vectors ----
 *
 *   block -> a vector of keys -> compared with the vector one key further on -> wrong
 *                             -> their hashes (check_kernels.h) --------------> sums
 *
 * Both are in one loop, which prefetches the next block: hardware prefetches only within 4 KiB.
 * Measured with 4e8 bytes of sorted f64 on one core of an AMD EPYC (Zen 5), 2026-11, in cycles for
 * 64 bytes: from memory 6.3, and 15 with separate loops for hash and order that do not prefetch;
 * from the second-level cache 2.9, and 4.6.
 */

#ifdef HAVE_VECTOR_CODE

static constexpr size_t vector_bytes = 64;
static constexpr size_t vectors = block_bytes / vector_bytes;

/* Each lane of 32 bits is a signed number. */
VECTOR_INLINE uint64_t sum_lanes_32(__m512i sum)
{
    const __m512i odd = _mm512_srai_epi64(sum, 32);
    const __m512i even = _mm512_srai_epi64(_mm512_slli_epi64(sum, 32), 32);
    return vector_sum_lanes(_mm512_add_epi64(odd, even));
}

/* The hashes of keys of each width are added up in two vectors. */
struct hash_sums {
    __m512i first, second;
};

template <typename Key>
struct key_lanes;

/* As check_mix(): adds each spread key, and the product of its two halves. */
VECTOR_INLINE void add_spread(struct hash_sums &sums, __m512i spread)
{
    const __m512i high = _mm512_srli_epi64(spread, 32);
    sums.first = _mm512_add_epi64(sums.first, spread);
    sums.second = _mm512_add_epi64(sums.second, _mm512_mul_epu32(spread, high));
}

template <>
struct key_lanes<uint64_t> {
    static VECTOR_MEMBER void add(struct hash_sums &sums, __m512i keys)
    {
        const __m512i factor = _mm512_set1_epi64(static_cast<long long>(CHECK_MIX_FACTOR));
        const __m512i folded = _mm512_xor_si512(keys, _mm512_srli_epi64(keys, 32));
        add_spread(sums, _mm512_mullo_epi64(folded, factor));
    }
    static VECTOR_MEMBER uint64_t total(struct hash_sums sums)
    {
        return vector_sum_lanes(_mm512_add_epi64(sums.first, sums.second));
    }
    static VECTOR_MEMBER uint64_t below(__m512i a, __m512i b)
    {
        return _mm512_cmplt_epu64_mask(a, b);
    }
};

template <>
struct key_lanes<uint32_t> {
    static VECTOR_MEMBER void add(struct hash_sums &sums, __m512i keys)
    {
        const __m512i factor = _mm512_set1_epi64(static_cast<long long>(CHECK_MIX_FACTOR));
        const __m512i even = _mm512_maskz_mov_epi32(0x5555, keys);
        add_spread(sums, _mm512_mullo_epi64(even, factor));
        add_spread(sums, _mm512_mullo_epi64(_mm512_srli_epi64(keys, 32), factor));
    }
    static VECTOR_MEMBER uint64_t total(struct hash_sums sums)
    {
        return key_lanes<uint64_t>::total(sums);
    }
    static VECTOR_MEMBER uint64_t below(__m512i a, __m512i b)
    {
        return _mm512_cmplt_epu32_mask(a, b);
    }
};

template <>
struct key_lanes<uint16_t> {
    static VECTOR_MEMBER void add(struct hash_sums &sums, __m512i keys)
    {
        const __m512i a = _mm512_mullo_epi16(keys, _mm512_set1_epi16(CHECK_WORD_FACTOR));
        const __m512i b =
            _mm512_add_epi16(_mm512_mullo_epi16(keys, _mm512_set1_epi16(CHECK_WORD_OTHER_FACTOR)),
                             _mm512_set1_epi16(CHECK_WORD_OTHER_START));
        const __m512i c = _mm512_mullo_epi16(keys, _mm512_set1_epi16(CHECK_WORD_THIRD_FACTOR));
        const __m512i low = _mm512_madd_epi16(_mm512_mulhi_epi16(a, c), _mm512_set1_epi16(1));
        sums.first = _mm512_add_epi32(sums.first, _mm512_madd_epi16(a, b));
        sums.second = _mm512_add_epi32(sums.second, low);
    }
    static VECTOR_MEMBER uint64_t total(struct hash_sums sums)
    {
        return (sum_lanes_32(sums.first) << 32) + sum_lanes_32(sums.second);
    }
    static VECTOR_MEMBER uint64_t below(__m512i a, __m512i b)
    {
        return _mm512_cmplt_epu16_mask(a, b);
    }
};

template <>
struct key_lanes<uint8_t> {
    static VECTOR_MEMBER __m512i products(__m512i bytes)
    {
        const __m512i a = _mm512_mullo_epi16(bytes, _mm512_set1_epi16(CHECK_BYTE_FACTOR));
        const __m512i b =
            _mm512_add_epi16(_mm512_mullo_epi16(bytes, _mm512_set1_epi16(CHECK_BYTE_OTHER_FACTOR)),
                             _mm512_set1_epi16(CHECK_BYTE_OTHER_START));
        return _mm512_madd_epi16(a, b);
    }
    static VECTOR_MEMBER void add(struct hash_sums &sums, __m512i keys)
    {
        const __m512i even = _mm512_and_si512(keys, _mm512_set1_epi16(0xff));
        sums.first = _mm512_add_epi32(sums.first, products(even));
        sums.second = _mm512_add_epi32(sums.second, products(_mm512_srli_epi16(keys, 8)));
    }
    static VECTOR_MEMBER uint64_t total(struct hash_sums sums)
    {
        return (sum_lanes_32(sums.first) + sum_lanes_32(sums.second)) << 32;
    }
    static VECTOR_MEMBER uint64_t below(__m512i a, __m512i b)
    {
        return _mm512_cmplt_epu8_mask(a, b);
    }
};

template <typename Key>
VECTOR_INLINE uint64_t hash_keys(const unsigned char *block)
{
    struct hash_sums sums = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t i = 0; i < vectors; i++)
        key_lanes<Key>::add(sums, _mm512_loadu_si512(block + i * vector_bytes));
    return key_lanes<Key>::total(sums);
}

/* Requires has_vector_units(). Returns the sum of the hashes of a block of keys of 1, 2, 4 or 8
 * bytes. */
VECTOR_CODE static uint64_t hash_by_vectors(unsigned width, const void *block)
{
    const unsigned char *const keys = static_cast<const unsigned char *>(block);
    switch (width) {
    case 1:
        return hash_keys<uint8_t>(keys);
    case 2:
        return hash_keys<uint16_t>(keys);
    case 4:
        return hash_keys<uint32_t>(keys);
    default:
        return hash_keys<uint64_t>(keys);
    }
}

/* Compares each key of the block with the next one. The last key is compared with the greatest
 * value (FALLS: the least), which is always in order. */
template <typename Key, bool FALLS>
VECTOR_INLINE bool look(const unsigned char *block, uint64_t *hash)
{
    const __m512i end = _mm512_set1_epi8(FALLS ? 0 : -1);
    const __mmask64 all_but_last = ~0ull >> sizeof(Key);
    struct hash_sums sums = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    uint64_t wrong = 0;
    for (size_t i = 0; i < vectors; i++) {
        const unsigned char *const at = block + i * vector_bytes;
        const __mmask64 mask = i + 1 < vectors ? ~0ull : all_but_last;
        const __m512i keys = _mm512_loadu_si512(at);
        const __m512i next = _mm512_mask_loadu_epi8(end, mask, at + sizeof(Key));
        __builtin_prefetch(at + block_bytes);
        wrong |= FALLS ? key_lanes<Key>::below(keys, next) : key_lanes<Key>::below(next, keys);
        key_lanes<Key>::add(sums, keys);
    }
    *hash += key_lanes<Key>::total(sums);
    return wrong == 0;
}

template <typename Key>
VECTOR_INLINE bool look_at_run(bool falls, const unsigned char *block, uint64_t *hash)
{
    return falls ? look<Key, true>(block, hash) : look<Key, false>(block, hash);
}

/* Requires has_vector_units(). Adds the sum of the hashes to *hash. Returns true if no key, as an
 * unsigned number, is less than the key before it; with `falls`, greater. */
VECTOR_CODE static bool run_by_vectors(unsigned width, bool falls, const void *block,
                                       uint64_t *hash)
{
    const unsigned char *const keys = static_cast<const unsigned char *>(block);
    switch (width) {
    case 1:
        return look_at_run<uint8_t>(falls, keys, hash);
    case 2:
        return look_at_run<uint16_t>(falls, keys, hash);
    case 4:
        return look_at_run<uint32_t>(falls, keys, hash);
    default:
        return look_at_run<uint64_t>(falls, keys, hash);
    }
}

#endif

/* ---- Hash ---- */

template <typename Key>
INLINE uint64_t hash_wide(const void *memory, size_t count)
{
    const Key *const keys = static_cast<const Key *>(memory);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += check_mix(keys[i]);
    return sum;
}

/* Takes at most a block of keys, so that the sum of their lower halves fits. */
INLINE uint64_t hash_words(const void *memory, size_t count)
{
    const key_16 *const keys = static_cast<const key_16 *>(memory);
    uint32_t products = 0;
    int32_t below = 0;
    for (size_t i = 0; i < count; i++) {
        products += static_cast<uint32_t>(check_word_product(keys[i]));
        below += check_word_below(keys[i]);
    }
    return (static_cast<uint64_t>(products) << 32) + static_cast<uint64_t>(below);
}

INLINE uint64_t hash_bytes(const void *memory, size_t count)
{
    const key_8 *const keys = static_cast<const key_8 *>(memory);
    uint32_t products = 0;
    for (size_t i = 0; i < count; i++)
        products += static_cast<uint32_t>(check_byte_product(keys[i]));
    return static_cast<uint64_t>(products) << 32;
}

INLINE uint64_t hash_pairs(const void *memory, size_t count)
{
    const struct key_index *const pairs = static_cast<const struct key_index *>(memory);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += check_mix_pair(pairs[i].key, pairs[i].index);
    return sum;
}

/* Takes at most a block. */
INLINE uint64_t hash_width(unsigned width, const void *keys, size_t bytes)
{
    switch (width) {
    case 1:
        return hash_bytes(keys, bytes);
    case 2:
        return hash_words(keys, bytes / 2);
    case 4:
        return hash_wide<key_32>(keys, bytes / 4);
    case 8:
        return hash_wide<key_64>(keys, bytes / 8);
    default:
        return hash_pairs(keys, bytes / sizeof(struct key_index));
    }
}

FOR_ALL_VECTORS static uint64_t hash_block_portably(unsigned width, const void *keys)
{
    return hash_width(width, keys, block_bytes);
}

static uint64_t hash_block(unsigned width, const void *keys)
{
#ifdef HAVE_VECTOR_CODE
    if (width <= sizeof(uint64_t) && has_vector_units())
        return hash_by_vectors(width, keys);
#endif
    return hash_block_portably(width, keys);
}

uint64_t check_hash_keys(unsigned key_bytes, const void *keys, size_t count)
{
    const unsigned char *const memory = static_cast<const unsigned char *>(keys);
    const size_t bytes = count * key_bytes;
    uint64_t sum = 0;
    size_t at = 0;
    for (; bytes - at >= block_bytes; at += block_bytes)
        sum += hash_block(key_bytes, memory + at);
    return sum + hash_width(key_bytes, memory + at, bytes - at);
}

/* ---- Order ---- */

/* Checks `pairs` pairs of neighbours, of which keys[0] and keys[1] are the first. */
template <typename Key, bool FALLS>
INLINE bool are_ordered(const Key *keys, size_t pairs)
{
    Key wrong = 0;
    for (size_t i = 0; i < pairs; i++) {
        const Key a = keys[i], b = keys[i + 1];
        const bool is_wrong = FALLS ? b > a : b < a;
        wrong = static_cast<Key>(wrong | ((is_wrong ? b : a) ^ a));
    }
    return wrong == 0;
}

/* A block has one pair fewer than keys. It is checked in two ranges that have one pair in common,
 * as compilers vectorize loops of a whole number of vectors. */
static constexpr size_t last_pairs = 64;

template <typename Key, bool FALLS>
INLINE bool is_ordered(const Key *keys)
{
    constexpr size_t count = block_bytes / sizeof(Key);
    return are_ordered<Key, FALLS>(keys, count - last_pairs) &&
           are_ordered<Key, FALLS>(keys + count - 1 - last_pairs, last_pairs);
}

template <typename Key>
INLINE bool is_run(bool falls, const void *memory)
{
    const Key *const keys = static_cast<const Key *>(memory);
    return falls ? is_ordered<Key, true>(keys) : is_ordered<Key, false>(keys);
}

/* Returns whether the bits of a block of keys never fall or, with `falls`, never rise. */
FOR_ALL_VECTORS static bool block_is_run(unsigned width, bool falls, const void *keys)
{
    switch (width) {
    case 1:
        return is_run<key_8>(falls, keys);
    case 2:
        return is_run<key_16>(falls, keys);
    case 4:
        return is_run<key_32>(falls, keys);
    default:
        return is_run<key_64>(falls, keys);
    }
}

static bool block_is_in_order(unsigned width, struct key_order order, const void *keys)
{
    alignas(sizeof(uint64_t)) unsigned char ordered[block_bytes];
    key_map_encode(width, order, keys, block_bytes / width, ordered);
    return block_is_run(width, false, ordered);
}

/* Returns a key as it is stored. */
static uint64_t load_key(unsigned width, const unsigned char *key)
{
    uint64_t bits = 0;
    memcpy(&bits, key, width);
    return bits;
}

/* Returns whether `b` comes before `a`. */
INLINE bool is_before(struct key_index b, struct key_index a)
{
    return (b.key < a.key) | ((b.key == a.key) & (b.index < a.index));
}

/* Returns whether a block of pairs is in order. The first pair is not compared with the one before
 * the block. */
FOR_ALL_VECTORS static bool pairs_are_in_order(const void *memory)
{
    const struct key_index *const pairs = static_cast<const struct key_index *>(memory);
    constexpr size_t count = block_bytes / sizeof *pairs;
    uint64_t keys[count + 1], indices[count + 1];
    for (size_t i = 0; i < count; i++) {
        keys[i] = pairs[i].key;
        indices[i] = pairs[i].index;
    }
    keys[count] = indices[count] = UINT64_MAX;
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= is_before({indices[i + 1], keys[i + 1]}, {indices[i], keys[i]}) ? 1 : 0;
    return wrong == 0;
}

/* Returns the key as keys are compared: a pair as it is stored, or ordered bits with index 0. */
static struct key_index comparable(unsigned width, struct key_order order, const unsigned char *key)
{
    struct key_index pair = {0, 0};
    if (width == sizeof pair)
        memcpy(&pair, key, sizeof pair);
    else
        pair.key = key_order_encode(order, 8 * width, load_key(width, key));
    return pair;
}

/* Compares keys one by one. Returns the position of the first key out of order, or `count`. */
static size_t find_in_keys(unsigned width, struct key_order order, struct key_index before,
                           const unsigned char *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct key_index key = comparable(width, order, keys + i * width);
        if (is_before(key, before))
            return i;
        before = key;
    }
    return count;
}

/* Adds the hash of a block, and returns whether its bits never fall or, with `falls`, never
 * rise. */
static bool look_at_run(unsigned width, bool falls, const unsigned char *block, uint64_t *hash)
{
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        return run_by_vectors(width, falls, block, hash);
#endif
    *hash += hash_block(width, block);
    return block_is_run(width, falls, block);
}

/* Adds the hash of a block of keys of at most 8 bytes, and returns whether it is in order.
 * `before`: the ordered bits of the key before the block. */
static bool look_at_keys(unsigned width, struct key_order order, uint64_t before,
                         const unsigned char *block, uint64_t *hash)
{
    const unsigned bits = 8 * width;
    const uint64_t first = load_key(width, block);
    const uint64_t last = load_key(width, block + block_bytes - width);
    const uint64_t first_ordered = key_order_encode(order, bits, first);
    const bool may_be_in_order =
        first_ordered >= before && key_order_encode(order, bits, last) >= first_ordered;
    const bool is_mirrored = order.kind == KEY_FLOAT && first >> (bits - 1) != 0;
    const bool falls = is_mirrored != (order.complement != 0);
    const bool is_of_one_sign = !order.swap_bytes && (first ^ last) >> (bits - 1) == 0;
    /* Ordered bits of one sign are the stored bits, or a constant minus these, with a wrap-around
     * at one value. That value is not between these two keys. So keys that are between them in the
     * order are between them as stored, in the same direction or the other. */
    if (may_be_in_order && is_of_one_sign && (falls ? first >= last : first <= last))
        return look_at_run(width, falls, block, hash);
    *hash += hash_block(width, block);
    return may_be_in_order && block_is_in_order(width, order, block);
}

/* Checks a block while it is in the first-level cache: adds its hash, and returns whether it is in
 * order. */
static bool look_at_block(unsigned width, struct key_order order, struct key_index before,
                          const unsigned char *block, uint64_t *hash)
{
    if (width == sizeof before) {
        *hash += hash_block(width, block);
        return !is_before(comparable(width, order, block), before) && pairs_are_in_order(block);
    }
    return look_at_keys(width, order, before.key, block, hash);
}

size_t check_find_disorder(unsigned key_bytes, struct key_order order, const void *previous,
                           const void *keys, size_t count, uint64_t *hash)
{
    const unsigned char *const memory = static_cast<const unsigned char *>(keys);
    const size_t block = block_bytes / key_bytes;
    struct key_index before = {0, 0};
    if (previous)
        before = comparable(key_bytes, order, static_cast<const unsigned char *>(previous));
    size_t found = count, i = 0;
    for (; count - i >= block; i += block) {
        const unsigned char *const first = memory + i * key_bytes;
        if (!look_at_block(key_bytes, order, before, first, hash) && found == count)
            found = i + find_in_keys(key_bytes, order, before, first, block);
        before = comparable(key_bytes, order, first + (block - 1) * key_bytes);
    }
    const unsigned char *const rest = memory + i * key_bytes;
    *hash += hash_width(key_bytes, rest, (count - i) * key_bytes);
    return found < count ? found : i + find_in_keys(key_bytes, order, before, rest, count - i);
}

/* ---- Text ---- */

INLINE uint64_t sum_words(uint64_t first, const unsigned char *data, size_t count)
{
    uint64_t sum = 0, steps = first * CHECK_TEXT_STEP;
    for (size_t i = 0; i < count; i++, steps += CHECK_TEXT_STEP) {
        uint64_t word;
        memcpy(&word, data + i * sizeof word, sizeof word);
        sum += word * check_text_factor_of(steps);
    }
    return sum;
}

FOR_ALL_VECTORS static uint64_t sum_block(uint64_t first, const unsigned char *data)
{
    return sum_words(first, data, block_bytes / sizeof(uint64_t));
}

/* Sums bytes of one word, which are at position `position` of the text. */
static uint64_t sum_part(uint64_t position, const unsigned char *data, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, data, bytes);
    return (word << 8 * (position % sizeof word)) * check_text_factor(position / sizeof word);
}

uint64_t check_sum_text(uint64_t position, const void *data, size_t bytes)
{
    constexpr size_t word_bytes = sizeof(uint64_t);
    const unsigned char *at = static_cast<const unsigned char *>(data);
    const size_t to_word = (word_bytes - position % word_bytes) % word_bytes;
    const size_t head = to_word < bytes ? to_word : bytes;
    uint64_t sum = head > 0 ? sum_part(position, at, head) : 0;
    uint64_t word = (position + head) / word_bytes;
    size_t left = bytes - head;
    at += head;
    for (; left >= block_bytes; left -= block_bytes, at += block_bytes) {
        sum += sum_block(word, at);
        word += block_bytes / word_bytes;
    }
    sum += sum_words(word, at, left / word_bytes);
    const size_t rest = left % word_bytes;
    if (rest > 0)
        sum += sum_part((word + left / word_bytes) * word_bytes, at + left - rest, rest);
    return sum;
}
