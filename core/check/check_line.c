/* SPDX-License-Identifier: Apache-2.0 */
/* check_line.c - see check_line.h.
 *
 * With AVX2 the bytes of a line are loaded as they were in the words of its old text, whatever
 * their alignment, and bytes before and after the line are masked off.
 */
#include "core/check/check_line.h"

#include "core/vector_code.h"

#ifdef HAVE_VECTOR_CODE

/* Returns ones in `bytes` bytes from byte `skipped` on, and zeros around them. */
AVX2_INLINE __m256i mask_of_bytes(size_t skipped, size_t bytes)
{
    static const unsigned char ones[32 + 32 + 32] = {
        [32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255,        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    const __m256i from = _mm256_loadu_si256((const void *)(ones + 32 - skipped));
    const __m256i up_to = _mm256_loadu_si256((const void *)(ones + 64 - skipped - bytes));
    return _mm256_and_si256(from, up_to);
}

/* Sums each line by 32 bytes from the start of its first word. AVX2 multiplies 32 bits, so products
 * that must be shifted are added separately. The upper half of a factor is that of `x`. */
AVX2_CODE static uint64_t sum_by_avx2(const struct check_lines *lines, const unsigned char *text)
{
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i steps =
        _mm256_set_epi64x((long long)(3 * CHECK_TEXT_STEP), (long long)(2 * CHECK_TEXT_STEP),
                          (long long)CHECK_TEXT_STEP, 0);
    __m256i low = _mm256_setzero_si256(), crossed = low;
    uint64_t lows[4], crosses[4], sum = 0;
    const unsigned char *at = text + lines->bounds[0];
    for (size_t k = 0; k < lines->count; k++) {
        uint64_t position = lines->positions[k];
        for (const unsigned char *const end = text + lines->bounds[k + 1]; at < end;) {
            const size_t skipped = position % 8, left = (size_t)(end - at);
            const size_t bytes = left < sizeof low - skipped ? left : sizeof low - skipped;
            const __m256i words = _mm256_and_si256(_mm256_loadu_si256((const void *)(at - skipped)),
                                                   mask_of_bytes(skipped, bytes));
            const __m256i first = _mm256_set1_epi64x((long long)(position / 8 * CHECK_TEXT_STEP));
            const __m256i x = _mm256_add_epi64(first, steps), high = _mm256_srli_epi64(x, 32);
            const __m256i factors = _mm256_or_si256(_mm256_xor_si256(x, high), one);
            low = _mm256_add_epi64(low, _mm256_mul_epu32(words, factors));
            crossed = _mm256_add_epi64(crossed, _mm256_mul_epu32(words, high));
            crossed =
                _mm256_add_epi64(crossed, _mm256_mul_epu32(_mm256_srli_epi64(words, 32), factors));
            at += bytes;
            position += bytes;
        }
    }
    _mm256_storeu_si256((void *)lows, low);
    _mm256_storeu_si256((void *)crosses, crossed);
    for (size_t i = 0; i < 4; i++)
        sum += lows[i] + (crosses[i] << 32);
    return sum;
}

#endif

static uint64_t sum_one_by_one(const struct check_lines *lines, const unsigned char *text,
                               size_t room)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < lines->count; k++) {
        const size_t begin = lines->bounds[k], end = lines->bounds[k + 1];
        sum += check_sum_line(lines->positions[k], text + begin, end - begin, room - end);
    }
    return sum;
}

struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room)
{
    const size_t bytes = lines->bounds[lines->count] - lines->bounds[0];
#ifdef HAVE_VECTOR_CODE
    if (has_avx2() && lines->bounds[0] >= 8 && room - lines->bounds[lines->count] >= 32)
        return (struct check_sum){bytes, sum_by_avx2(lines, text)};
#endif
    return (struct check_sum){bytes, sum_one_by_one(lines, text, room)};
}

struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key)
{
    struct check_items found = {0, 0, 0};
    for (size_t k = 0; k < lines->count; k++) {
        const struct key_index item = items[k];
        const struct key_index before = k > 0 ? items[k - 1] : line_item_flagged(0);
        const uint64_t before_key = k > 0 ? before.key : previous_key;
        const bool is_tied = item.key == before_key && line_is_exact(item) && line_is_exact(before);
        found.not_above |= (uint64_t)(item.key <= before_key) << k;
        found.tied |= (uint64_t)is_tied << k;
        found.hash += check_bind_pair(item.key, item.index);
        lines->positions[k] = line_offset(item);
    }
    return found;
}

bool check_keys_rise(const struct key_index *items, size_t count)
{
    bool falls = false;
    for (size_t i = 1; i < count; i++)
        falls |= items[i].key < items[i - 1].key;
    return !falls;
}

uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text)
{
    uint64_t open = which & 1;
    for (which &= ~open; which != 0; which &= which - 1) {
        const uint64_t bit = which & -which;
        const size_t *const line = lines->bounds + __builtin_ctzll(which);
        const size_t bytes = line[1] - line[0], bytes_before = line[0] - line[-1];
        const size_t shared = bytes < bytes_before ? bytes : bytes_before;
        const int found = memcmp(text + line[-1], text + line[0], shared - 1);
        const int order = found != 0 ? found : (bytes_before > bytes) - (bytes_before < bytes);
        const bool rises = reversed ? order > 0 : order < 0;
        open |= order == 0 || (rises && (tied & bit) != 0) ? 0 : bit;
    }
    return open;
}
