/* SPDX-License-Identifier: Apache-2.0 */
/* line_item.h - an item of 16 bytes (struct key_index) that represents a line of a text, for host
 * and device.
 *
 * The index is the offset of the line's first byte, above a bit that is 0 if the key is exact:
 * lines with equal keys that are all exact are equal in the first key of the order. The key is the
 * image of that first key (line_image.h), complemented if the key is reversed.
 */
#ifndef CORE_LINE_ITEM_H
#define CORE_LINE_ITEM_H

#include "core/backend.h"
#include "core/host_device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

HOST_DEVICE static inline uint64_t line_index(size_t offset, bool exact)
{
    return (uint64_t)offset << 1 | !exact;
}

HOST_DEVICE static inline size_t line_offset(struct key_index item)
{
    return (size_t)(item.index >> 1);
}

HOST_DEVICE static inline bool line_is_exact(struct key_index item)
{
    return (item.index & 1) == 0;
}

/* Returns an item for a line that has no key yet. No other item equals it: an inexact image is not
 * 0, nor is its complement. */
HOST_DEVICE static inline struct key_index line_item_flagged(size_t offset)
{
    const struct key_index item = {line_index(offset, false), 0};
    return item;
}

HOST_DEVICE static inline bool line_item_is_flagged(struct key_index item)
{
    return !line_is_exact(item) && item.key == 0;
}

#endif
