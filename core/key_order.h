/* SPDX-License-Identifier: Apache-2.0 */
/* key_order.h - the map between a stored number and its ordered bits, for host and device.
 *
 *   stored bits --key_order_encode--> an unsigned integer of the same width whose order is the
 *   wanted order --key_order_decode--> the same stored bits
 *
 * So every sorter handles unsigned keys of four widths, instead of all types, two byte orders and
 * two directions. The map is a bijection: no bit of a number is lost, not even of a NaN's payload.
 *
 * Floats: Flipping the sign bit of the positive numbers and every bit of the negative ones puts the
 * patterns in this order (Terdiman, "Radix Sort Revisited", 2000):
 *
 *     -NaN ... | -inf ... -0 +0 ... +inf | +NaN ...
 *
 * All NaNs must be together at one end. Unsigned integers wrap around, so one subtraction rotates
 * the order: subtracting the ordered bits of -inf moves the -NaNs to the top (NaN last).
 * Subtracting the ordered bits of the pattern after +inf moves the +NaNs to the bottom (NaN first).
 *
 * Times are signed integers whose least number is NaT, which is ordered like a NaN: subtracting 1
 * from their ordered bits moves it from the bottom to the top.
 *
 * Descending order is the complement of ascending order.
 */
#ifndef CORE_KEY_ORDER_H
#define CORE_KEY_ORDER_H

#include "core/host_device.h"
#include "core/key_types.h"

#include <stdint.h>

/* The position of NaNs and NaTs. */
enum nan_rule {
    NAN_GREATEST, /* as if greater than +inf: last, and first when descending (the default) */
    NAN_FIRST,    /* first in the output, in either direction */
    NAN_LAST,     /* last in the output, in either direction */
    NAN_ERROR     /* refused by the reader; ordered as NAN_GREATEST */
};

struct key_order {
    enum key_kind kind;  /* KEY_SIGNED also for a KEY_TIME */
    bool swap_bytes;     /* stored in the other byte order than this machine's */
    uint64_t bias;       /* subtracted, to move the NaNs to their end; 0 for KEY_UNSIGNED */
    uint64_t complement; /* XORed last: all ones when descending */
};

/* Returns the order of ordered bits: encode and decode change nothing. */
HOST_DEVICE static inline struct key_order key_order_identity(void)
{
    const struct key_order identity = {KEY_UNSIGNED, false, 0, 0};
    return identity;
}

/* Returns a mask of the lowest `bits` bits, 1 to 64. */
HOST_DEVICE static inline uint64_t key_bits_mask(unsigned bits)
{
    return UINT64_MAX >> (64 - bits);
}

/* Reverses the bytes of the lowest `bits` bits, 8, 16, 32 or 64. */
HOST_DEVICE static inline uint64_t key_bits_swap_bytes(unsigned bits, uint64_t x)
{
    x = (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
    x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
    x = x << 32 | x >> 32;
    return x >> (64 - bits);
}

/* Maps floating point numbers that compare equal to the same bits: -0 to 0, and all NaNs to one.
 * infinity: as by key_type_infinity(). */
HOST_DEVICE static inline uint64_t key_bits_unify(uint64_t x, unsigned bits, uint64_t infinity)
{
    const uint64_t magnitude = x & (key_bits_mask(bits) >> 1);
    return magnitude > infinity ? infinity + 1 : magnitude == 0 ? 0 : x;
}

/* Returns the ordered bits of a number. bits: the width of the key, 8, 16, 32 or 64. Pass a
 * constant where speed matters, so that the compiler narrows the arithmetic to the width. Bits of
 * `stored` above the width must be 0. */
HOST_DEVICE static inline uint64_t key_order_encode(struct key_order order, unsigned bits,
                                                    uint64_t stored)
{
    const uint64_t mask = key_bits_mask(bits), sign = 1ull << (bits - 1);
    uint64_t x = order.swap_bytes ? key_bits_swap_bytes(bits, stored) : stored;
    if (order.kind == KEY_SIGNED)
        x = (x ^ sign) - order.bias;
    else if (order.kind == KEY_FLOAT)
        x = (x ^ (x & sign ? mask : sign)) - order.bias;
    return (x ^ order.complement) & mask;
}

/* The inverse of key_order_encode(). */
HOST_DEVICE static inline uint64_t key_order_decode(struct key_order order, unsigned bits,
                                                    uint64_t ordered)
{
    const uint64_t mask = key_bits_mask(bits), sign = 1ull << (bits - 1);
    uint64_t x = (ordered ^ order.complement) & mask;
    if (order.kind == KEY_SIGNED) {
        x = ((x + order.bias) & mask) ^ sign;
    } else if (order.kind == KEY_FLOAT) {
        x = (x + order.bias) & mask;
        x ^= x & sign ? sign : mask;
    }
    return order.swap_bytes ? key_bits_swap_bytes(bits, x) : x;
}

/* Returns true if encode and decode change nothing, so that a pass that only maps is
 * unnecessary. */
HOST_DEVICE static inline bool key_order_is_identity(struct key_order order)
{
    return order.kind == KEY_UNSIGNED && !order.swap_bytes && order.complement == 0;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the order of numbers of the type, stored in the byte order `endian`. */
struct key_order key_order_make(const struct key_type *type, enum key_endian endian,
                                enum nan_rule nan, bool descending);

/* Returns the bits of +inf of a KEY_FLOAT. Every greater magnitude is a NaN. */
uint64_t key_type_infinity(const struct key_type *type);

/* Replaces -0 by 0, and each NaN by one (key_bits_unify()), of a KEY_FLOAT. */
void key_order_unify(const struct key_type *type, enum key_endian endian, void *items, size_t count,
                     unsigned threads);

/* Returns the index of the first NaN or NaT among items[0..count), or count if there is none. */
size_t key_order_find_nan(const struct key_type *type, enum key_endian endian, const void *items,
                          size_t count);

#ifdef __cplusplus
}
#endif
#endif
