/* SPDX-License-Identifier: Apache-2.0 */
/* key_order.c - see key_order.h. */
#include "core/key_order.h"

#include "core/item_width.h"

#include <string.h>

_Static_assert(sizeof(size_t) == 8, "counts and offsets have 64 bits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "gpusort needs a little-endian machine: keys are loaded as such words");

/* All exponent bits are 1; sign and significand are 0. */
uint64_t key_type_infinity(const struct key_type *type)
{
    const unsigned significand_bits = 8 * type->bytes - 1 - type->exponent_bits;
    return ((1ull << type->exponent_bits) - 1) << significand_bits;
}

struct key_order key_order_make(const struct key_type *type, enum key_endian endian,
                                enum nan_rule nan, bool descending)
{
    const unsigned bits = 8 * type->bytes;
    const uint64_t mask = key_bits_mask(bits), sign = 1ull << (bits - 1);
    const bool nan_lowest = nan == NAN_FIRST ? !descending : nan == NAN_LAST && descending;
    struct key_order order = {.kind = type->kind == KEY_TIME ? KEY_SIGNED : type->kind,
                              .swap_bytes = type->bytes > 1 && endian == ENDIAN_BIG,
                              .complement = descending ? mask : 0};
    if (type->kind == KEY_FLOAT) {
        const uint64_t ordered_minus_infinity = mask ^ (key_type_infinity(type) | sign);
        const uint64_t after_plus_infinity = (key_type_infinity(type) ^ sign) + 1;
        order.bias = nan_lowest ? after_plus_infinity : ordered_minus_infinity;
    } else if (type->kind == KEY_TIME) {
        order.bias = nan_lowest ? 0 : 1;
    }
    return order;
}

static uint64_t load_bits(const void *items, size_t index, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, (const unsigned char *)items + index * bytes, bytes);
    return x;
}

INLINE void unify(bool swap, uint64_t infinity, unsigned char *items, size_t count,
                  unsigned threads, unsigned width)
{
#pragma omp parallel for num_threads((int)threads) schedule(static)
    for (size_t i = 0; i < count; i++) {
        uint64_t x = load_bits(items, i, width);
        x = key_bits_unify(swap ? key_bits_swap_bytes(8 * width, x) : x, 8 * width, infinity);
        if (swap)
            x = key_bits_swap_bytes(8 * width, x);
        memcpy(items + i * width, &x, width);
    }
}

void key_order_unify(const struct key_type *type, enum key_endian endian, void *items, size_t count,
                     unsigned threads)
{
    BY_KEY_WIDTH(type->bytes, unify, endian == ENDIAN_BIG, key_type_infinity(type), items, count,
                 threads);
}

size_t key_order_find_nan(const struct key_type *type, enum key_endian endian, const void *items,
                          size_t count)
{
    if (type->kind != KEY_FLOAT && type->kind != KEY_TIME)
        return count;
    const unsigned bits = 8 * type->bytes;
    const bool swap = endian == ENDIAN_BIG;
    const uint64_t magnitude = key_bits_mask(bits) >> 1, nat = magnitude + 1;
    const uint64_t infinity = type->kind == KEY_FLOAT ? key_type_infinity(type) : magnitude;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = load_bits(items, i, type->bytes);
        if (swap)
            x = key_bits_swap_bytes(bits, x);
        if ((x & magnitude) > infinity || (type->kind == KEY_TIME && x == nat))
            return i;
    }
    return count;
}
