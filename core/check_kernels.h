/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.h - the loops of check.h over keys of each width.
 */
#ifndef CORE_CHECK_KERNELS_H
#define CORE_CHECK_KERNELS_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sum of the hashes of keys of so many bytes: 1, 2, 4, 8; 16: struct key_index. */
uint64_t check_hash_keys(unsigned key_bytes, const void *keys, size_t count);

/* The first of keys[0..count) that belongs before the one before it, where `previous` is the one
 * before the first, or NULL: there is none; count if there is no such key. Pairs go by key and
 * index. Adds the sum of the hashes of all of them. */
size_t check_find_disorder(unsigned key_bytes, struct key_order order, const void *previous,
                           const void *keys, size_t count, uint64_t *hash);

/* The sum of data[0..bytes), which stands from byte `place` of a text on; see struct text_check in
 * check.h. */
uint64_t check_sum_text(uint64_t place, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
