/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.h - the inner loops of check.h for each width of keys. */
#ifndef CORE_CHECK_KERNELS_H
#define CORE_CHECK_KERNELS_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the sum of the hashes of keys of `key_bytes` bytes: 1, 2, 4, 8; 16: struct key_index. */
uint64_t check_hash_keys(unsigned key_bytes, const void *keys, size_t count);

/* Returns the index of the first of keys[0..count) that belongs before its predecessor; count if
 * there is none. `previous` is the predecessor of the first key, or NULL. struct key_index is
 * compared by key and index. Adds the hashes of all keys to *hash. */
size_t check_find_disorder(unsigned key_bytes, struct key_order order, const void *previous,
                           const void *keys, size_t count, uint64_t *hash);

/* Returns the sum of data[0..bytes), which is at position `place` of a text; see struct text_check
 * in check.h. */
uint64_t check_sum_text(uint64_t place, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
