/* SPDX-License-Identifier: Apache-2.0 */
/* item_width.h - inner loops that are compiled for each width of items.
 *
 * Such a loop is an INLINE function whose last parameter is the width in bytes. The macros call it
 * with a constant, so that the branches on the width fold away.
 */
#ifndef CORE_ITEM_WIDTH_H
#define CORE_ITEM_WIDTH_H

#define INLINE static inline __attribute__((always_inline))

/* Calls function(..., width) for keys, of 1, 2, 4 or 8 bytes. */
#define BY_KEY_WIDTH(width, function, ...)                                                         \
    ((width) == 1   ? function(__VA_ARGS__, 1)                                                     \
     : (width) == 2 ? function(__VA_ARGS__, 2)                                                     \
     : (width) == 4 ? function(__VA_ARGS__, 4)                                                     \
                    : function(__VA_ARGS__, 8))

/* The same for keys, or struct key_index of 16 bytes. */
#define BY_WIDTH(width, function, ...)                                                             \
    ((width) == 16 ? function(__VA_ARGS__, 16) : BY_KEY_WIDTH(width, function, __VA_ARGS__))

/* The same without keys of 1 and 2 bytes. */
#define BY_WIDTH_FROM_4(width, function, ...)                                                      \
    ((width) == 4   ? function(__VA_ARGS__, 4)                                                     \
     : (width) == 8 ? function(__VA_ARGS__, 8)                                                     \
                    : function(__VA_ARGS__, 16))

#endif
