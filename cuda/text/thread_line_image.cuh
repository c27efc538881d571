/* SPDX-License-Identifier: Apache-2.0 */
/* thread_line_image.cuh - reads the key of a line in a thread and makes its image
 * (core/line/line_key.h), or reports that the host must do so.
 *
 * The grammars, and the rules for exact images, are those of formats/number/number_key.cc (with
 * number_scan.cc) and decimal_key.cc. The host handles: hexadecimal numbers; doubles that are not
 * normal; numbers of more than 19 digits, if the others could change the double; digits with the
 * thousands separator of GNU sort(1); and keys that do not end within the bytes that the thread
 * reads.
 */
#ifndef CUDA_THREAD_LINE_IMAGE_CUH
#define CUDA_THREAD_LINE_IMAGE_CUH

#include "core/line/line_key.h"
#include "cuda/engine/cuda_lines.h"
#include "cuda/text/thread_decimal.cuh"

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
    constexpr int limit = 100000; /* far beyond all numbers that the host does not handle */
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
            if (is_whole && *p == DECIMAL_SEPARATOR)
                return false;
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
