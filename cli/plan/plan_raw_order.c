/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw_order.c - see plan.h.
 *
 * Java, network protocols and some instruments write numbers in big-endian order. A name such as
 * x.f64, or --type=f64, does not say the order. Floating point numbers show it: in the wrong order
 * the last bits of their significands, which are random or zero, are their exponents. Integers do
 * not: samples of 16 bits at the top of 32 bits, or hashes above a tag in 64, are usual in
 * little-endian order too.
 */
#include "cli/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* Maximum of the bytes that are examined, and minimum of the numbers in them that are counted. */
#define ORDER_BYTES ((size_t)32 << 10)
#define ORDER_NUMBERS_MIN ((size_t)16)

/* counted: numbers that are neither 0 nor infinite nor the usual NaN nor equal to the one before.
 * usual: those of them from 1e-90 to 1e90, or with 4 bytes from 1e-12 to 1e12. */
struct magnitudes {
    size_t counted, usual;
};

static struct magnitudes count_magnitudes(const unsigned char *numbers, size_t bytes,
                                          size_t number_bytes, bool is_swapped)
{
    struct magnitudes magnitudes = {0};
    uint64_t last = 0;
    for (size_t i = 0; i + number_bytes <= bytes; i += number_bytes) {
        uint64_t bits = 0; /* as f64, and for f32 in the upper half */
        memcpy((unsigned char *)&bits + (sizeof bits - number_bytes), numbers + i, number_bytes);
        if (is_swapped)
            bits = __builtin_bswap64(bits) << (64 - 8 * number_bytes);
        const bool is_double = number_bytes == 8;
        const int exponent = (int)(bits << 1 >> (is_double ? 53 : 56));
        const int distance = abs(exponent - (is_double ? 1023 : 127));
        if (bits << 1 == 0 || bits == last ||
            (exponent == (is_double ? 2047 : 255) && bits << 16 == 0))
            continue;
        last = bits;
        magnitudes.counted++;
        magnitudes.usual += distance <= (is_double ? FAR_EXPONENT : FAR_EXPONENT_F32);
    }
    return magnitudes;
}

bool plan_look_for_swapped(struct source *source, const struct key_type *type,
                           enum key_endian endian, bool *are_swapped, struct error *error)
{
    const bool is_big = endian == ENDIAN_BIG;
    const unsigned char *head;
    size_t bytes;
    *are_swapped = false;
    if (type->id != KEY_TYPE_f64 && type->id != KEY_TYPE_f32)
        return true;
    if (!source_peek(source, 1, &head, &bytes, error))
        return false;
    bytes = bytes < ORDER_BYTES ? bytes : ORDER_BYTES;
    const struct magnitudes own = count_magnitudes(head, bytes, type->bytes, is_big);
    const struct magnitudes other = count_magnitudes(head, bytes, type->bytes, !is_big);
    *are_swapped = own.counted >= ORDER_NUMBERS_MIN && other.counted >= ORDER_NUMBERS_MIN &&
                   2 * own.usual < own.counted && 20 * other.usual >= 19 * other.counted;
    return true;
}

bool plan_check_byte_order(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error)
{
    bool are_swapped;
    if (!plan_look_for_swapped(source, type, endian, &are_swapped, error))
        return false;
    if (!are_swapped)
        return true;
    if (endian == ENDIAN_BIG)
        return error_set(
            error,
            "%s: these look like little-endian %s: leave --endian=big out, in a job of "
            "their own if other files need it, or use --type='>f%u' if they are not",
            source_name(source), type->name, type->bytes);
    return error_set(error,
                     "%s: these look like big-endian %s: use --endian=big, or --endian=little if "
                     "they are not",
                     source_name(source), type->name);
}
