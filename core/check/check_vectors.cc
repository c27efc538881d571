/* SPDX-License-Identifier: Apache-2.0 */
/* check_vectors.cc - see check_vectors.h.
 *
 *   block -> a vector of keys -> compared with the vector one key further on -> wrong
 *                             -> their hashes (check_hash.h) -----------------> sums
 *
 * Both are in one loop, which prefetches the next block: hardware prefetches only within 4 KiB.
 * Measured with 4e8 bytes of sorted f64 on one core of an AMD EPYC (Zen 5), 2026-11, in cycles for
 * 64 bytes: from memory 6.3, and 15 with separate loops for hash and order that do not prefetch;
 * from the second-level cache 2.9, and 4.6. C++, for templates with the width as a parameter.
 */
#include "core/check/check_vectors.h"

#include "core/check/check_hash.h"

#ifdef HAVE_VECTOR_CODE

static constexpr size_t vector_bytes = 64;
static constexpr size_t vectors = CHECK_BLOCK_BYTES / vector_bytes;

/* Added by hand: the header's sums are of signed numbers, which must not overflow. */
VECTOR_INLINE uint64_t sum_lanes_64(__m512i sum)
{
    const __m256i half =
        _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
    const __m128i pair =
        _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(pair)) +
           static_cast<uint64_t>(_mm_extract_epi64(pair, 1));
}

/* Each lane of 32 bits is a signed number. */
VECTOR_INLINE uint64_t sum_lanes_32(__m512i sum)
{
    const __m512i odd = _mm512_srai_epi64(sum, 32);
    const __m512i even = _mm512_srai_epi64(_mm512_slli_epi64(sum, 32), 32);
    return sum_lanes_64(_mm512_add_epi64(odd, even));
}

/* ---- Hash ---- */

/* The hashes of keys of each width are added up in two vectors. */
struct hash_sums {
    __m512i first, second;
};

template <typename Key>
struct key_lanes;

/* Like check_mix: adds the spread keys, and their products. */
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
        return sum_lanes_64(_mm512_add_epi64(sums.first, sums.second));
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

VECTOR_CODE uint64_t check_hash_by_vectors(unsigned width, const void *block)
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

/* ---- Order ---- */

/* The key after the last key of the block is replaced by one that is always in order. */
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
        __builtin_prefetch(at + CHECK_BLOCK_BYTES);
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

VECTOR_CODE bool check_run_by_vectors(unsigned width, bool falls, const void *block, uint64_t *hash)
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

VECTOR_CODE bool check_equal_by_vectors(uint64_t word, const void *block)
{
    const unsigned char *const at = static_cast<const unsigned char *>(block);
    const __m512i words = _mm512_set1_epi64(static_cast<long long>(word));
    __m512i wrong = _mm512_setzero_si512();
    for (size_t i = 0; i < CHECK_BLOCK_BYTES; i += vector_bytes) {
        __builtin_prefetch(at + i + CHECK_BLOCK_BYTES);
        const __m512i found = _mm512_loadu_si512(at + i);
        wrong = _mm512_ternarylogic_epi64(wrong, found, words, 0xf6); /* wrong | (found ^ words) */
    }
    return _mm512_test_epi64_mask(wrong, wrong) == 0;
}

/* ---- AVX2 ---- */

AVX2_INLINE __m256i multiply(__m256i a, uint64_t factor)
{
    const __m256i low = _mm256_set1_epi64x(static_cast<long long>(factor));
    const __m256i high = _mm256_set1_epi64x(static_cast<long long>(factor >> 32));
    const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(a, high),
                                             _mm256_mul_epu32(_mm256_srli_epi64(a, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64(crossed, 32));
}

AVX2_INLINE __m256i mix(__m256i keys)
{
    const __m256i folded = _mm256_xor_si256(keys, _mm256_srli_epi64(keys, 32));
    const __m256i spread = multiply(folded, CHECK_MIX_FACTOR);
    return _mm256_add_epi64(spread, _mm256_mul_epu32(spread, _mm256_srli_epi64(spread, 32)));
}

AVX2_CODE uint64_t check_hash_by_avx2(unsigned width, const void *block)
{
    const __m256i *const keys = static_cast<const __m256i *>(block);
    const __m256i low = _mm256_set1_epi64x(UINT32_MAX);
    __m256i sum = _mm256_setzero_si256();
    uint64_t sums[4], total = 0;
    for (size_t i = 0; i < CHECK_BLOCK_BYTES / sizeof *keys; i++) {
        const __m256i found = _mm256_loadu_si256(keys + i);
        if (width == sizeof(uint64_t)) {
            sum = _mm256_add_epi64(sum, mix(found));
        } else {
            sum = _mm256_add_epi64(sum, mix(_mm256_and_si256(found, low)));
            sum = _mm256_add_epi64(sum, mix(_mm256_srli_epi64(found, 32)));
        }
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(sums), sum);
    for (const uint64_t part : sums)
        total += part;
    return total;
}

#endif
