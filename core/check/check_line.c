/* SPDX-License-Identifier: Apache-2.0 */
/* check_line.c - see check_line.h.
 *
 * With AVX-512 the bytes of a line are loaded as they were in the words of its old text, whatever
 * their alignment, and bytes before and after the line are masked off. Lines of at most PAIR_WORDS
 * words are summed in pairs. Their parameters are computed for eight lines at once, and are loaded
 * in steps within one earlier store: a load that spans two stores waits until both are in the
 * cache. With AVX2 lines are summed one by one, in the same way.
 */
#include "core/check/check_line.h"

#include "core/vector_units.h"

#ifdef HAVE_VECTOR_CODE

/* Lines processed together, and the words of each of two lines in a vector. */
#    define LANES ((size_t)8)
#    define PAIR_WORDS 4

/* Adds the products of words and the factors of the words i + steps. first is i *
 * CHECK_TEXT_STEP. */
VECTOR_INLINE __m512i add_words(__m512i sum, __m512i words, __m512i first, __m512i steps)
{
    const __m512i x = _mm512_add_epi64(first, steps);
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i factors = _mm512_ternarylogic_epi64(_mm512_srli_epi64(x, 32), x, one, 0xbe);
    return _mm512_add_epi64(sum, _mm512_mullo_epi64(words, factors));
}

VECTOR_INLINE __m512i steps_of(__m512i words)
{
    return _mm512_mullo_epi64(words, _mm512_set1_epi64((long long)CHECK_TEXT_STEP));
}

/* Adds the sums of lines [k, end), of any length. */
VECTOR_INLINE __m512i add_lines(__m512i sum, const struct check_lines *lines, size_t k, size_t end,
                                const unsigned char *text, __m512i steps)
{
    const unsigned char *at = text + lines->bounds[k];
    for (; k < end; k++) {
        uint64_t place = lines->places[k];
        for (const unsigned char *const line_end = text + lines->bounds[k + 1]; at < line_end;) {
            const size_t skipped = place % 8, left = (size_t)(line_end - at);
            const size_t bytes = left < sizeof sum - skipped ? left : sizeof sum - skipped;
            const __mmask64 mask = _bzhi_u64(UINT64_MAX, (unsigned)bytes) << skipped;
            const __m512i words = _mm512_maskz_loadu_epi8(mask, at - skipped);
            const __m512i first = _mm512_set1_epi64((long long)(place / 8 * CHECK_TEXT_STEP));
            sum = add_words(sum, words, first, steps);
            at += bytes;
            place += bytes;
        }
    }
    return sum;
}

/* Parameters of lines of few words: where the first word of each begins, the mask of its own bytes
 * from there on, and the factor of its first word. All other lines have empty masks. */
struct short_lines {
    uint64_t begins[CHECK_LINES_MAX];
    uint32_t masks[CHECK_LINES_MAX];
    uint64_t firsts[CHECK_LINES_MAX];
};

/* Fills *found for the LANES lines from k on. Returns false if one of them has more words. */
VECTOR_INLINE bool measure_lines(const struct check_lines *lines, size_t k,
                                 struct short_lines *found)
{
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i begins = _mm512_loadu_si512(lines->bounds + k);
    const __m512i bytes = _mm512_sub_epi64(_mm512_loadu_si512(lines->bounds + k + 1), begins);
    const __m512i places = _mm512_loadu_si512(lines->places + k);
    const __m512i skipped = _mm512_and_si512(places, _mm512_set1_epi64(7));
    const __m512i all = _mm512_sub_epi64(_mm512_sllv_epi64(one, bytes), one);
    const bool is_short =
        _mm512_cmpgt_epu64_mask(bytes, _mm512_set1_epi64(8 * PAIR_WORDS - 7)) == 0;
    const __m256i masks = _mm512_cvtepi64_epi32(_mm512_sllv_epi64(all, skipped));
    _mm512_storeu_si512(found->begins + k, _mm512_sub_epi64(begins, skipped));
    _mm256_storeu_si256((void *)(found->masks + k), is_short ? masks : _mm256_setzero_si256());
    _mm512_storeu_si512(found->firsts + k, steps_of(_mm512_srli_epi64(places, 3)));
    return is_short;
}

/* Adds the sums of those of the first `count` lines that have at most PAIR_WORDS words. From the
 * beginning of each line, PAIR_WORDS words are readable. */
VECTOR_INLINE __m512i add_short_lines(__m512i sum, const struct short_lines *lines, size_t count,
                                      const unsigned char *text)
{
    const __m512i steps = steps_of(_mm512_set_epi64(3, 2, 1, 0, 3, 2, 1, 0));
    for (size_t k = 0; k < count; k += 2) {
        uint64_t mask; /* for both lines */
        memcpy(&mask, lines->masks + k, sizeof mask);
        const __m256i a = _mm256_loadu_si256((const void *)(text + lines->begins[k]));
        const __m256i b = _mm256_loadu_si256((const void *)(text + lines->begins[k + 1]));
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
        const __m128i pair = _mm_loadu_si128((const void *)(lines->firsts + k));
        const __m512d firsts = _mm512_castsi512_pd(_mm512_broadcast_i64x2(pair));
        sum = add_words(sum, _mm512_maskz_mov_epi8(mask, both),
                        _mm512_castpd_si512(_mm512_permute_pd(firsts, 0xf0)), steps);
    }
    return sum;
}

VECTOR_CODE static uint64_t sum_by_vectors(const struct check_lines *lines,
                                           const unsigned char *text, size_t room)
{
    const __m512i steps = steps_of(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    /* True if the first words of all lines can be loaded together with the bytes around them. */
    const bool has_room = lines->bounds[0] >= sizeof(uint64_t) &&
                          room - lines->bounds[lines->count] >= PAIR_WORDS * sizeof(uint64_t);
    const size_t whole = has_room ? lines->count - lines->count % LANES : 0;
    struct short_lines found;
    __m512i sum = _mm512_setzero_si512();
    for (size_t k = 0; k < whole; k += LANES)
        if (!measure_lines(lines, k, &found))
            sum = add_lines(sum, lines, k, k + LANES, text, steps);
    sum = add_short_lines(sum, &found, whole, text);
    return vector_sum_lanes(add_lines(sum, lines, whole, lines->count, text, steps));
}

/* The indices and the keys of LANES items, in separate vectors. */
struct item_lanes {
    __m512i indices, keys;
};

VECTOR_INLINE struct item_lanes load_items(const struct key_index *items)
{
    const __m512i a = _mm512_loadu_si512(items), b = _mm512_loadu_si512(items + LANES / 2);
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    return (struct item_lanes){_mm512_permutex2var_epi64(a, even, b),
                               _mm512_permutex2var_epi64(a, odd, b)};
}

/* Computes check_bind_pair() of each item. */
VECTOR_INLINE __m512i bind_items(struct item_lanes items)
{
    const __m512i twice = _mm512_add_epi64(items.indices, items.indices);
    return _mm512_mullo_epi64(items.keys, _mm512_or_si512(twice, _mm512_set1_epi64(1)));
}

/* Computes the results of check_line_items() for groups of LANES items. Returns how many items it
 * has processed. */
VECTOR_CODE static size_t look_by_vectors(struct check_lines *lines, const struct key_index *items,
                                          uint64_t previous_key, struct check_items *found)
{
    const __m512i one = _mm512_set1_epi64(1);
    struct item_lanes last = {one, _mm512_set1_epi64((long long)previous_key)};
    __m512i sum = _mm512_setzero_si512();
    uint64_t all_not_above = 0, all_tied = 0; /* in registers: `places` may alias *found */
    size_t k = 0;
    for (; lines->count - k >= LANES; k += LANES) {
        const struct item_lanes lanes = load_items(items + k);
        const __m512i keys = _mm512_alignr_epi64(lanes.keys, last.keys, LANES - 1);
        const __m512i indices = _mm512_alignr_epi64(lanes.indices, last.indices, LANES - 1);
        const __mmask8 not_above = _mm512_cmple_epu64_mask(lanes.keys, keys);
        const __mmask8 inexact =
            _mm512_test_epi64_mask(_mm512_or_si512(lanes.indices, indices), one);
        const __mmask8 equal = _mm512_cmpeq_epu64_mask(lanes.keys, keys);
        all_not_above |= (uint64_t)not_above << k;
        all_tied |= (uint64_t)(__mmask8)(equal & ~inexact) << k;
        _mm512_storeu_si512(lines->places + k, _mm512_srli_epi64(lanes.indices, 1));
        sum = _mm512_add_epi64(sum, bind_items(lanes));
        last = lanes;
    }
    *found = (struct check_items){vector_sum_lanes(sum), all_not_above, all_tied};
    return k;
}

/* The first 8 bytes of LANES lines, and the lengths. */
struct line_heads {
    __m512i words;   /* the first byte highest; zeros after the end of the line */
    __m512i lengths; /* without terminators */
};

/* Loads lines from k on. The head of a line that is not readable has no meaning. */
VECTOR_INLINE struct line_heads load_heads(const struct check_lines *lines, size_t k,
                                           __mmask8 readable, const unsigned char *text)
{
    const __m512i one = _mm512_set1_epi64(1), zero = _mm512_setzero_si512();
    const __m512i first_highest = _mm512_set4_epi64(0x08090a0b0c0d0e0f, 0x0001020304050607,
                                                    0x08090a0b0c0d0e0f, 0x0001020304050607);
    const __m512i begins = _mm512_loadu_si512(lines->bounds + k);
    const __m512i ends = _mm512_loadu_si512(lines->bounds + k + 1);
    const __m512i lengths = _mm512_sub_epi64(_mm512_sub_epi64(ends, begins), one);
    const __m512i bits = _mm512_slli_epi64(lengths, 3); /* 8 bytes and more: the whole word */
    const __m512i masks = _mm512_sub_epi64(_mm512_sllv_epi64(one, bits), one);
    const __m512i words = _mm512_mask_i64gather_epi64(zero, readable, begins, text, 1);
    return (struct line_heads){_mm512_shuffle_epi8(_mm512_and_si512(words, masks), first_highest),
                               lengths};
}

/* Compares the first 8 bytes of the lines of `which` with those of the line before, in groups of
 * LANES. Returns the lines that are still open. Different heads decide the order of the lines. */
VECTOR_CODE static uint64_t open_by_heads(const struct check_lines *lines, uint64_t which,
                                          uint64_t tied, bool reversed, const unsigned char *text,
                                          size_t room)
{
    const __m512i whole = _mm512_set1_epi64(sizeof(uint64_t));
    const __m512i end = _mm512_set1_epi64((long long)room);
    struct line_heads last = {whole, whole};
    bool is_last_known = false;
    uint64_t open = which;
    for (size_t k = 0; k + LANES <= lines->count; k += LANES) {
        if ((uint8_t)(which >> k) == 0) {
            is_last_known = false;
            continue;
        }
        const __m512i begins = _mm512_loadu_si512(lines->bounds + k);
        const __mmask8 readable = _mm512_cmple_epu64_mask(_mm512_add_epi64(begins, whole), end);
        const struct line_heads heads = load_heads(lines, k, readable, text);
        const __m512i words = _mm512_alignr_epi64(heads.words, last.words, LANES - 1);
        const __m512i lengths = _mm512_alignr_epi64(heads.lengths, last.lengths, LANES - 1);
        const unsigned rises = reversed ? _mm512_cmpgt_epu64_mask(words, heads.words)
                                        : _mm512_cmplt_epu64_mask(words, heads.words);
        const unsigned same = _mm512_cmpeq_epu64_mask(words, heads.words) &
                              _mm512_cmpeq_epu64_mask(lengths, heads.lengths) &
                              _mm512_cmple_epu64_mask(lengths, whole);
        const unsigned known = readable & (readable << 1 | is_last_known);
        open &= ~((uint64_t)((same | (rises & (unsigned)(tied >> k))) & known & 0xff) << k);
        is_last_known = readable >> (LANES - 1);
        last = heads;
    }
    return open;
}

/* Returns the lines of `which` that are still open after up to a vector of bytes was compared. It
 * has no branch on the contents, because equal lines are unpredictable. Bytes after the end of a
 * line are zeros, so a line comes before a longer one with the same beginning, unless that
 * continues with zeros: then the length decides. */
VECTOR_CODE static uint64_t open_by_vectors(const struct check_lines *lines, uint64_t which,
                                            uint64_t tied, bool reversed, const unsigned char *text)
{
    uint64_t open = 0;
    for (; which != 0; which = _blsr_u64(which)) {
        const uint64_t bit = _blsi_u64(which);
        const size_t *const second = lines->bounds + _tzcnt_u64(which) - reversed;
        const size_t *const first = second - 1 + 2 * reversed;
        const size_t first_bytes = first[1] - first[0] - 1;
        const size_t second_bytes = second[1] - second[0] - 1;
        const __mmask64 first_mask = _bzhi_u64(UINT64_MAX, (unsigned)first_bytes);
        const __mmask64 second_mask = _bzhi_u64(UINT64_MAX, (unsigned)second_bytes);
        const __m512i a = _mm512_maskz_loadu_epi8(first_mask, text + first[0]);
        const __m512i b = _mm512_maskz_loadu_epi8(second_mask, text + second[0]);
        const uint64_t less = _mm512_cmplt_epu8_mask(a, b), more = _mm512_cmplt_epu8_mask(b, a);
        const bool is_like = less == more; /* both are 0 */
        const bool is_same = is_like & (first_bytes == second_bytes);
        const bool rises =
            (_blsi_u64(less) - 1 < _blsi_u64(more) - 1) | (is_like & (first_bytes < second_bytes));
        const bool fits = (first_bytes <= sizeof a) & (second_bytes <= sizeof b);
        const bool is_proved = fits & (is_same | (rises & ((tied & bit) != 0)));
        open |= is_proved ? 0 : bit;
    }
    return open;
}

/* ---- AVX2 ---- */

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
        uint64_t place = lines->places[k];
        for (const unsigned char *const end = text + lines->bounds[k + 1]; at < end;) {
            const size_t skipped = place % 8, left = (size_t)(end - at);
            const size_t bytes = left < sizeof low - skipped ? left : sizeof low - skipped;
            const __m256i words = _mm256_and_si256(_mm256_loadu_si256((const void *)(at - skipped)),
                                                   mask_of_bytes(skipped, bytes));
            const __m256i first = _mm256_set1_epi64x((long long)(place / 8 * CHECK_TEXT_STEP));
            const __m256i x = _mm256_add_epi64(first, steps), high = _mm256_srli_epi64(x, 32);
            const __m256i factors = _mm256_or_si256(_mm256_xor_si256(x, high), one);
            low = _mm256_add_epi64(low, _mm256_mul_epu32(words, factors));
            crossed = _mm256_add_epi64(crossed, _mm256_mul_epu32(words, high));
            crossed =
                _mm256_add_epi64(crossed, _mm256_mul_epu32(_mm256_srli_epi64(words, 32), factors));
            at += bytes;
            place += bytes;
        }
    }
    _mm256_storeu_si256((void *)lows, low);
    _mm256_storeu_si256((void *)crosses, crossed);
    for (size_t i = 0; i < 4; i++)
        sum += lows[i] + (crosses[i] << 32);
    return sum;
}

/* As open_by_vectors(), for lines of up to 31 bytes. */
AVX2_CODE static uint64_t open_by_avx2(const struct check_lines *lines, uint64_t which,
                                       uint64_t tied, bool reversed, const unsigned char *text,
                                       size_t room)
{
    uint64_t open = 0;
    for (; which != 0; which &= which - 1) {
        const uint64_t bit = which & -which;
        const size_t *const line = lines->bounds + __builtin_ctzll(which);
        const size_t *const second = line - reversed, *const first = line - !reversed;
        const size_t first_bytes = first[1] - first[0] - 1;
        const size_t second_bytes = second[1] - second[0] - 1;
        const size_t shared = first_bytes < second_bytes ? first_bytes : second_bytes;
        if (room - line[0] < sizeof(__m256i) || (first_bytes | second_bytes) >= sizeof(__m256i)) {
            open |= bit;
            continue;
        }
        const __m256i a = _mm256_loadu_si256((const void *)(text + first[0]));
        const __m256i b = _mm256_loadu_si256((const void *)(text + second[0]));
        const __m256i greater = _mm256_max_epu8(a, b);
        const uint32_t mask = ((uint32_t)1 << shared) - 1;
        const uint32_t less = mask & ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(greater, a));
        const uint32_t more = mask & ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(greater, b));
        const bool is_like = (less | more) == 0;
        const bool is_same = is_like & (first_bytes == second_bytes);
        const bool rises =
            ((less & -less) - 1 < (more & -more) - 1) | (is_like & (first_bytes < second_bytes));
        open |= is_same | (rises & ((tied & bit) != 0)) ? 0 : bit;
    }
    return open;
}

#endif

static uint64_t sum_one_by_one(const struct check_lines *lines, const unsigned char *text,
                               size_t room)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < lines->count; k++) {
        const size_t begin = lines->bounds[k], end = lines->bounds[k + 1];
        sum += check_sum_line(lines->places[k], text + begin, end - begin, room - end);
    }
    return sum;
}

struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room)
{
    const size_t bytes = lines->bounds[lines->count] - lines->bounds[0];
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        return (struct check_sum){bytes, sum_by_vectors(lines, text, room)};
    if (has_avx2() && lines->bounds[0] >= 8 && room - lines->bounds[lines->count] >= 32)
        return (struct check_sum){bytes, sum_by_avx2(lines, text)};
#endif
    return (struct check_sum){bytes, sum_one_by_one(lines, text, room)};
}

struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key)
{
    struct check_items found = {0, 0, 0};
    size_t k = 0;
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        k = look_by_vectors(lines, items, previous_key, &found);
#endif
    for (; k < lines->count; k++) {
        const struct key_index item = items[k];
        const struct key_index before = k > 0 ? items[k - 1] : line_item_flagged(0);
        const uint64_t before_key = k > 0 ? before.key : previous_key;
        const bool is_tied = item.key == before_key && line_is_exact(item) && line_is_exact(before);
        found.not_above |= (uint64_t)(item.key <= before_key) << k;
        found.tied |= (uint64_t)is_tied << k;
        found.hash += check_bind_pair(item.key, item.index);
        lines->places[k] = line_offset(item);
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

static bool are_same(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    const ptrdiff_t left = (ptrdiff_t)bytes;
    uint64_t difference = 0;
    for (ptrdiff_t at = 0; at < left; at += 8)
        difference |= check_first_bytes(a + at, left - at) ^ check_first_bytes(b + at, left - at);
    return difference == 0;
}

uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text, size_t room)
{
    uint64_t open = which & 1;
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units()) {
        which = open_by_heads(lines, which & ~open, tied, reversed, text, room);
        return open | open_by_vectors(lines, which, tied, reversed, text);
    }
    if (has_avx2())
        which = open_by_avx2(lines, which & ~open, tied, reversed, text, room);
#else
    (void)tied, (void)reversed; /* only the vector code uses them */
#endif
    for (which &= ~open; which != 0; which &= which - 1) {
        const size_t *const bounds = lines->bounds + __builtin_ctzll(which);
        const size_t bytes = bounds[1] - bounds[0];
        const bool is_short = bytes <= CHECK_LINE_BYTES && room - bounds[1] >= CHECK_LINE_SLACK;
        if (bounds[0] - bounds[-1] != bytes || !is_short ||
            !are_same(text + bounds[-1], text + bounds[0], bytes))
            open |= which & -which;
    }
    return open;
}
