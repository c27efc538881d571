/* SPDX-License-Identifier: Apache-2.0 */
/* item_width.h - inner loops that are compiled for each width of items.
 *
 * Write the loop as an INLINE function with the width in bytes as its last parameter. The macros
 * call it with a constant, so the compiler removes its branches on the width.
 */
#ifndef CORE_ITEM_WIDTH_H
#define CORE_ITEM_WIDTH_H

/* A function that is inlined into each caller, and compiled for the vectors of that caller. */
#define INLINE static inline __attribute__((always_inline))

/* Calls function(arguments..., width) for a width of 1, 2, 4 or 8 bytes. */
#define BY_KEY_WIDTH(width, function, ...)                                                         \
    ((width) == 1   ? function(__VA_ARGS__, 1)                                                     \
     : (width) == 2 ? function(__VA_ARGS__, 2)                                                     \
     : (width) == 4 ? function(__VA_ARGS__, 4)                                                     \
                    : function(__VA_ARGS__, 8))

/* Calls it for a width of 1, 2, 4, 8 or 16 bytes, the last one of struct key_index. */
#define BY_WIDTH(width, function, ...)                                                             \
    ((width) == 16 ? function(__VA_ARGS__, 16) : BY_KEY_WIDTH(width, function, __VA_ARGS__))

/* Calls it for a width of 4, 8 or 16 bytes. */
#define BY_WIDTH_FROM_4(width, function, ...)                                                      \
    ((width) == 4   ? function(__VA_ARGS__, 4)                                                     \
     : (width) == 8 ? function(__VA_ARGS__, 8)                                                     \
                    : function(__VA_ARGS__, 16))

#endif
