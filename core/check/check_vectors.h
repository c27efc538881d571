/* SPDX-License-Identifier: Apache-2.0 */
/* check_vectors.h - the loops of check_kernels.cc over a block of keys, with vectors. */
#ifndef CORE_CHECK_VECTORS_H
#define CORE_CHECK_VECTORS_H

#include "core/vector_units.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of a block, which stays in the L1 cache. */
#define CHECK_BLOCK_BYTES ((size_t)4096)

#ifdef HAVE_VECTOR_CODE

/* Requires has_vector_units(). Returns the sum of the hashes of a block of keys of 1, 2, 4 or 8
 * bytes. */
uint64_t check_hash_by_vectors(unsigned width, const void *block);

/* Requires has_vector_units(). Adds the sum of the hashes to *hash. Returns true if no key, as an
 * unsigned number, is less than the key before it; with `falls`, greater. */
bool check_run_by_vectors(unsigned width, bool falls, const void *block, uint64_t *hash);

/* Requires has_vector_units(). Returns true if all words of the block equal `word`. */
bool check_equal_by_vectors(uint64_t word, const void *block);

/* Requires AVX2. As check_hash_by_vectors(), for keys of 4 or 8 bytes. */
uint64_t check_hash_by_avx2(unsigned width, const void *block);

#endif
#endif
