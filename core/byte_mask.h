/* SPDX-License-Identifier: Apache-2.0 */
/* byte_mask.h - finding a byte in words of 8, in any compiler's plain code, for host and device. */
#ifndef CORE_BYTE_MASK_H
#define CORE_BYTE_MASK_H

#include "core/host_device.h"

#include <stdint.h>

/* The byte in each byte of a word. */
HOST_DEVICE static inline uint64_t byte_in_all(char byte)
{
    return (unsigned char)byte * (uint64_t)0x0101010101010101u;
}

/* 0x80 in each byte of the word that is the byte of `all`, 0 in the others. */
HOST_DEVICE static inline uint64_t byte_mask(uint64_t word, uint64_t all)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t difference = word ^ all;
    return ~(((difference & low) + low) | difference | low);
}

/* The top bits of the bytes, side by side in the lowest 8; all other bits of the word are 0. */
HOST_DEVICE static inline uint64_t byte_mask_bits(uint64_t tops)
{
    return (tops >> 7) * 0x0102040810204080u >> 56;
}

#endif
