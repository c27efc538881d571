/* SPDX-License-Identifier: Apache-2.0 */
/* thread_line_image.cuh - reads the key of a line in a thread and makes its image
 * (core/line/line_image.h), or reports that the host must do so.
 *
 * The grammars, and the rules for exact images, are those of formats/number/number_key.cc (with
 * number_scan.cc). The host handles: hexadecimal numbers; magnitudes from 10^307 on, and below
 * 10^-306 except 0, so all doubles that are not normal; numbers whose rounding is not certain;
 * numbers of more than 19 digits, if the others could change the double; lines that LINE_STRICT may
 * refuse; and keys that may not end within the bytes that the thread reads.
 */
#ifndef CUDA_THREAD_LINE_IMAGE_CUH
#define CUDA_THREAD_LINE_IMAGE_CUH

#include "core/line/line_key.h"
#include "cuda/block/thread_key.cuh"
#include "cuda/engine/cuda_lines.h"

#include <float.h>

/* ---- decimal numbers ----
 *
 * A decimal number is converted to a double, rounded twice as on the host.
 *
 *   mantissa * 10^exponent -> 128 bits and more -> 64 bits, a long double's -> 53 bits
 *
 * formats/number/number_key.cc explains why it rounds twice. There, x87 does it; here, integers do:
 *   - exponents from 0 to 27: 5^27 < 2^63, so a product has at most 127 bits, and is exact.
 *   - other exponents: a product with a power of 128 bits. Both ends of the interval that contains
 *     the true value are rounded. If they differ, the result is unknown. That is rare, because no
 *     such value is halfway between two numbers of 64 bits: its odd part is a multiple of 5^28 >
 *     2^65, or below 2^64, or it has an odd divisor. */

constexpr int FINE_POWERS = 28;

struct five_powers {
    uint64_t of[FINE_POWERS];
};

constexpr struct five_powers five_powers_make()
{
    struct five_powers fives = {};
    uint64_t power = 1;
    for (int k = 0; k < FINE_POWERS; k++, power *= 5)
        fives.of[k] = power;
    return fives;
}

__device__ constexpr struct five_powers fives = five_powers_make();

/* 10^(28 i), i from -12 to 10, truncated to 128 bits. The binary exponents follow from i. */
constexpr int COARSE_ZERO = 12;

struct coarse_power {
    uint64_t high, low;
};

__device__ constexpr struct coarse_power coarse_powers[] = {
    {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25}, {0xe61acf033d1a45df, 0x6fb92487298e33bd},
    {0xe858ad248f5c22c9, 0xd1b3400f8f9cff68}, {0xea9c227723ee8bcb, 0x465e15a979c1cadc},
    {0xece53cec4a314ebd, 0xa4f8bf5635246428}, {0xef340a98172aace4, 0x86fb897116c87c34},
    {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1}, {0xf3e2f893dec3f126, 0x5a89dba3c3efccfa},
    {0xf64335bcf065d37d, 0x4d4617b5ff4a16d5}, {0xf8a95fcf88747d94, 0x75a44c6397ce912a},
    {0xfb158592be068d2e, 0xeed6e2f0f0d56712}, {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc},
    {0x8000000000000000, 0x0000000000000000}, {0x813f3978f8940984, 0x4000000000000000},
    {0x82818f1281ed449f, 0xbff8f10e7a8921a4}, {0x83c7088e1aab65db, 0x792667c6da79e0fa},
    {0x850fadc09923329e, 0x03e2cf6bc604ddb0}, {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2},
    {0x87aa9aff79042286, 0x90fb44d2f05d0842}, {0x88fcf317f22241e2, 0x441fece3bdf81f03},
    {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f}, {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e},
    {0x8d07e33455637eb2, 0xdb0b487b6423e1e8},
};

/* Maximum magnitude of the exponent of the first digit: within it doubles are normal, and the
 * coarse powers suffice. */
constexpr int DECIMAL_EXPONENT_MOST = 306;

/* (significand + rest / 2^64) * 2^exponent. The top bit of the significand is set. The lowest bit
 * of the rest is sticky: it also stands for any bits below it. */
struct thread_wide {
    uint64_t significand;
    uint64_t rest;
    int exponent;
};

/* Sets *bits to the double, which must be normal. Returns false if the result is unknown, because
 * the host's long double is wider than x87's. */
__device__ __forceinline__ bool thread_round_twice(const struct thread_wide &wide, uint64_t *bits)
{
    constexpr uint64_t half = (uint64_t)1 << 63;
    constexpr unsigned tail_half = 1u << 10;
    uint64_t significand = wide.significand;
    int exponent = wide.exponent;
    if (wide.rest > half || (wide.rest == half && (significand & 1) != 0)) {
        if (++significand == 0) {
            significand = half;
            exponent++;
        }
    }
    const unsigned tail = static_cast<unsigned>(significand) & (2 * tail_half - 1);
    if (LDBL_MANT_DIG != 64 && tail == tail_half && wide.rest != 0)
        return false;
    significand >>= 11;
    significand += tail > tail_half || (tail == tail_half && (significand & 1) != 0);
    /* The top bit of the significand, or its carry, adds to the exponent. */
    *bits = (static_cast<uint64_t>(exponent + 63 + 1022) << 52) + significand;
    return true;
}

/* Returns the number of leading zero bits of `value`, which is not 0. */
__device__ __forceinline__ int thread_leading_zeros(key_u128 value)
{
    const uint64_t high = static_cast<uint64_t>(value >> 64);
    return high != 0 ? __clzll(static_cast<long long>(high))
                     : 64 + __clzll(static_cast<long long>(value));
}

/* Returns mantissa * 10^exponent, exponent 0 to 27. */
__device__ __forceinline__ struct thread_wide thread_fine_product(uint64_t mantissa, int exponent)
{
    const key_u128 product = static_cast<key_u128>(mantissa) * fives.of[exponent];
    const int shift = thread_leading_zeros(product);
    const key_u128 shifted = product << shift;
    return {static_cast<uint64_t>(shifted >> 64), static_cast<uint64_t>(shifted),
            exponent + 64 - shift};
}

/* Sets *bits to the double of mantissa * 10^exponent, exponent -336 to 307. The product is inexact:
 * returns false if its lower and its upper bound have different or unknown doubles. */
__device__ __forceinline__ bool thread_coarse_product(uint64_t mantissa, int exponent,
                                                      uint64_t *bits)
{
    const int row = (exponent + COARSE_ZERO * FINE_POWERS) / FINE_POWERS;
    const int coarse = (row - COARSE_ZERO) * FINE_POWERS, fine = exponent - coarse;
    const key_u128 product = static_cast<key_u128>(mantissa) * fives.of[fine];
    const int shift = thread_leading_zeros(product);
    const uint64_t high = static_cast<uint64_t>(product << shift >> 64);
    const uint64_t low = static_cast<uint64_t>(product << shift);
    const struct coarse_power power = coarse_powers[row];

    const key_u128 upper = static_cast<key_u128>(high) * power.low + __umul64hi(low, power.low);
    const key_u128 lower = static_cast<key_u128>(low) * power.high + static_cast<uint64_t>(upper);
    key_u128 top = static_cast<key_u128>(high) * power.high + (upper >> 64) + (lower >> 64);
    /* floor(log2(10^coarse)) - 127 is the binary exponent of the power. */
    int binary = 128 - shift + fine + (coarse * 217706 >> 16) - 127;
    if (top >> 127 == 0) {
        top <<= 1;
        binary--;
    }
    /* The truncation of the power and of the product loses less than 2 units, or 4 after the shift.
     */
    key_u128 end = top + 4;
    int end_binary = binary;
    if (end < top) { /* a carry; the end of 0.5 is just above a power of two */
        end = static_cast<key_u128>(1) << 127;
        end_binary++;
    }
    uint64_t end_bits;
    return thread_round_twice(
               {static_cast<uint64_t>(top >> 64), static_cast<uint64_t>(top) | 1, binary + 64},
               bits) &&
           thread_round_twice(
               {static_cast<uint64_t>(end >> 64), static_cast<uint64_t>(end) | 1, end_binary + 64},
               &end_bits) &&
           *bits == end_bits;
}

/* Sets *bits to the double of mantissa * 10^exponent. Returns false if it is unknown. The mantissa
 * must not be 0, and the exponent of its first digit must be within
 * -DECIMAL_EXPONENT_MOST..DECIMAL_EXPONENT_MOST. */
__device__ __forceinline__ bool thread_decimal_bits(uint64_t mantissa, int exponent, uint64_t *bits)
{
    if (exponent < 0 || exponent >= FINE_POWERS)
        return thread_coarse_product(mantissa, exponent, bits);
    return thread_round_twice(thread_fine_product(mantissa, exponent), bits);
}

/* ---- keys ---- */

/* The bytes of a key. is_cut: more bytes may follow. */
struct thread_text {
    const char *begin, *end;
    bool is_cut;
};

struct thread_image {
    uint64_t image;
    bool is_exact;
};

/* Maximum number of bytes after a number that decide where it ends: e+1, infinity. */
constexpr ptrdiff_t LOOK_AHEAD_BYTES = 8;

/* Returns true if the bytes after a cut could change the result of reading up to p. */
__device__ __forceinline__ bool thread_depends_on_cut(const struct thread_text &text, const char *p)
{
    return text.is_cut && text.end - p < LOOK_AHEAD_BYTES;
}

__device__ __forceinline__ unsigned thread_digit(char c)
{
    return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0';
}

/* ---- numbers of -g ---- */

/* mantissa * 10^exponent; if is_cut, up to one unit of the mantissa more, because digits were
 * dropped. */
struct thread_number {
    uint64_t mantissa;
    int kept; /* number of digits of the mantissa */
    int exponent;
    bool is_cut;
};

constexpr int NUMBER_DIGITS_KEPT = 19;

/* Skips white space of the C locale. */
__device__ __forceinline__ const char *thread_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
        p++;
    return p;
}

/* Reads digits and a point. Returns their end, or NULL if there is no digit. */
__device__ __forceinline__ const char *thread_read_digits(const char *p, const char *end,
                                                          struct thread_number *number)
{
    int point = 0; /* 1 after the point */
    bool any = false;
    *number = {};
    for (; p < end; p++) {
        const unsigned digit = thread_digit(*p);
        if (digit > 9) {
            if (*p != '.' || point != 0)
                break;
            point = 1;
            continue;
        }
        any = true;
        if (number->kept < NUMBER_DIGITS_KEPT) {
            number->mantissa = number->mantissa * 10 + digit;
            number->kept += number->mantissa != 0;
            number->exponent -= point;
        } else {
            number->is_cut |= digit != 0;
            number->exponent += 1 - point;
        }
    }
    return any ? p : NULL;
}

/* Reads an optional exponent, e [+-] digits. Returns its end. */
__device__ __forceinline__ const char *thread_read_exponent(const char *begin, const char *end,
                                                            struct thread_number *number)
{
    constexpr int limit = 100000; /* far beyond the exponents of numbers that the device handles */
    if (begin == end || (*begin | 0x20) != 'e')
        return begin;
    const char *p = begin + 1;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || thread_digit(*p) > 9)
        return begin;
    int exponent = 0;
    for (; p < end && thread_digit(*p) <= 9; p++)
        exponent = exponent < limit ? exponent * 10 + static_cast<int>(thread_digit(*p)) : exponent;
    number->exponent += negative ? -exponent : exponent;
    return p;
}

/* Returns true if 0x and a digit, or 0x, a point and a digit, are at p. */
__device__ __forceinline__ bool thread_is_hex(const char *p, const char *end)
{
    if (end - p < 3 || p[0] != '0' || (p[1] | 0x20) != 'x')
        return false;
    p += 2;
    p += *p == '.';
    if (p == end)
        return false;
    const char lower = static_cast<char>(*p | 0x20);
    return thread_digit(*p) <= 9 || (lower >= 'a' && lower <= 'f');
}

/* Returns the end of `word`, which is in lower case, if the text starts with it in any case; else
 * NULL. */
__device__ __forceinline__ const char *thread_read_word(const char *p, const char *end,
                                                        const char *word)
{
    for (; *word != 0; word++, p++)
        if (p == end || (*p | 0x20) != *word)
            return NULL;
    return p;
}

/* Makes the image of the number. Returns false if the host must make it. */
__device__ __forceinline__ bool thread_round_number(const struct thread_number &number,
                                                    bool negative, struct thread_image *image)
{
    uint64_t bits = 0, end_bits = 0;
    if (number.mantissa != 0) {
        const int first = number.exponent + number.kept - 1;
        if (first > DECIMAL_EXPONENT_MOST || first < -DECIMAL_EXPONENT_MOST ||
            !thread_decimal_bits(number.mantissa, number.exponent, &bits))
            return false;
        if (number.is_cut &&
            (!thread_decimal_bits(number.mantissa + 1, number.exponent, &end_bits) ||
             bits != end_bits))
            return false;
    }
    image->image = number_image(bits, negative);
    image->is_exact = !number.is_cut && number_image_is_exact(number.mantissa, bits);
    return true;
}

/* Reads inf, infinity or nan. Returns its end, or NULL if there is none of them. */
__device__ __forceinline__ const char *thread_read_named(const char *p, const char *end,
                                                         bool negative, struct thread_image *image)
{
    image->is_exact = true;
    const char *const inf = thread_read_word(p, end, "inf");
    if (inf != NULL) {
        image->image = number_image(NUMBER_BITS_INFINITY, negative);
        const char *const infinity = thread_read_word(inf, end, "inity");
        return infinity != NULL ? infinity : inf;
    }
    image->image = negative ? NUMBER_IMAGE_NEGATIVE_NAN : NUMBER_IMAGE_POSITIVE_NAN;
    return thread_read_word(p, end, "nan");
}

/* Makes the image of the number at the start of the text. IS_WHOLE: the number must be the whole
 * text, except for space around it. Returns false if the host must make the image: for IS_WHOLE
 * also if the text is no number, or a NaN with a payload. */
template <bool IS_WHOLE>
__device__ __forceinline__ bool thread_number_image(const struct thread_text &text,
                                                    struct thread_image *image)
{
    const char *p = thread_skip_space(text.begin, text.end);
    const bool negative = p < text.end && *p == '-';
    p += p < text.end && (*p == '-' || *p == '+');
    if (thread_is_hex(p, text.end))
        return false;
    struct thread_number number;
    const char *number_end = thread_read_digits(p, text.end, &number);
    if (number_end != NULL) {
        number_end = thread_read_exponent(number_end, text.end, &number);
        if (!thread_round_number(number, negative, image))
            return false;
    } else {
        number_end = thread_read_named(p, text.end, negative, image);
    }
    if (IS_WHOLE)
        return number_end != NULL && !text.is_cut &&
               thread_skip_space(number_end, text.end) == text.end;
    if (number_end == NULL)
        *image = {NUMBER_IMAGE_NONE, true};
    return !thread_depends_on_cut(text, number_end != NULL ? number_end : p);
}

/* ---- decimals of -n and -h ---- */

template <bool HAS_SUFFIX>
__device__ __forceinline__ bool thread_decimal_image(const struct thread_text &text,
                                                     struct thread_image *image)
{
    constexpr unsigned most = HAS_SUFFIX ? DECIMAL_SUFFIX_DIGITS : DECIMAL_DIGITS;
    const char *p = line_skip_blanks(text.begin, text.end);
    const bool negative = p < text.end && *p == '-';
    p += negative;
    while (p < text.end && *p == '0')
        p++;
    uint64_t first_digits = 0, whole = 0;
    unsigned kept = 0;
    bool more = false, is_whole = true;
    for (; p < text.end; p++) {
        const unsigned digit = thread_digit(*p);
        if (digit > 9) {
            if (!is_whole || *p != '.')
                break;
            is_whole = false;
            continue;
        }
        whole += is_whole;
        if (kept < most) {
            first_digits = first_digits * 10 + digit;
            kept++;
        } else {
            more |= digit != 0;
        }
    }
    const bool is_zero = first_digits == 0 && !more;
    const unsigned suffix = HAS_SUFFIX && !is_zero && p < text.end ? decimal_suffix_of(*p) : 0;
    for (; kept < most; kept++)
        first_digits *= 10;
    const unsigned wanted = decimal_first_digits(HAS_SUFFIX, whole);
    if (wanted < most) {
        const uint64_t part = wanted > 0 ? DECIMAL_LONG_PART : UINT64_MAX;
        more |= first_digits % part != 0;
        first_digits /= part;
    }
    image->image =
        decimal_first_word(HAS_SUFFIX, suffix, whole, first_digits, more, negative && !is_zero);
    image->is_exact = decimal_word_is_last(image->image, 0);
    return !thread_depends_on_cut(text, p);
}

/* ---- bytes ---- */

__device__ __forceinline__ bool thread_bytes_image(const struct thread_text &text,
                                                   struct thread_image *image)
{
    const ptrdiff_t length = text.end - text.begin;
    uint64_t word = 0;
#pragma unroll
    for (int i = 0; i < 7; i++)
        word = word << 8 | (i < length ? static_cast<unsigned char>(text.begin[i]) : 0);
    image->image = word << 8 | static_cast<uint64_t>(length <= 7 ? length : 8);
    image->is_exact = length <= 7;
    return !thread_depends_on_cut(text, text.begin);
}

/* ---- any ---- */

template <enum line_kind KIND>
__device__ __forceinline__ bool thread_make_image(const struct thread_text &text,
                                                  struct thread_image *image)
{
    if constexpr (KIND == LINE_STRICT)
        return thread_number_image<true>(text, image);
    else if constexpr (KIND == LINE_GENERAL)
        return thread_number_image<false>(text, image);
    else if constexpr (KIND == LINE_BYTES)
        return thread_bytes_image(text, image);
    else
        return thread_decimal_image<KIND == LINE_HUMAN>(text, image);
}

/* Returns the item of line[0..length), which starts at `offset` of the text. is_cut: the line may
 * be longer. The item is flagged if the host must make the image. */
template <enum line_kind KIND>
__device__ __forceinline__ struct key_index thread_make_item(const struct cuda_line_order &order,
                                                             const char *line, size_t length,
                                                             bool is_cut, size_t offset)
{
    struct thread_text text = {line, line + length, is_cut};
    if (!line_key_is_whole(&order.key)) {
        const struct line_span span = line_key_find(order.separator, &order.key, line, length);
        const char *const end = span.text + span.length;
        text = {span.text, end, is_cut && end == line + length};
    }
    struct thread_image image;
    if (!thread_make_image<KIND>(text, &image))
        return line_item_flagged(offset);
    return {line_index(offset, image.is_exact), order.key.reverse ? ~image.image : image.image};
}

#endif
