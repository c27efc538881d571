/* SPDX-License-Identifier: Apache-2.0 */
/* line_item.h - how an item of 16 bytes (struct key_index) stands for a line of a text, for host
 * and device.
 *
 * Its index is the place of the line's first byte, and in the lowest bit whether its key is exact:
 * lines whose equal keys are all exact are equal in the first key of the order. Its key is the
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

/* The item of a line that is still to be keyed: no image that is not exact is 0, nor is the
 * complement of one. */
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
