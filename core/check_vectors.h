/* SPDX-License-Identifier: Apache-2.0 */
/* check_vectors.h - the loops of check_kernels.cc over a block of keys, by vectors.
 */
#ifndef CORE_CHECK_VECTORS_H
#define CORE_CHECK_VECTORS_H

#include "core/vector_units.h"

#include <stddef.h>
#include <stdint.h>

/* What is looked at together: it stays in the first cache. */
#define CHECK_BLOCK_BYTES ((size_t)4096)

#ifdef HAVE_VECTOR_CODE

/* For machines with has_vector_units(). Of a block of keys of 1, 2, 4 or 8 bytes: the sum of their
 * hashes. */
uint64_t check_hash_by_vectors(unsigned width, const void *block);

/* The same, and whether no key, as an unsigned number, is less than the one before it; or, if they
 * are to fall, greater. */
bool check_run_by_vectors(unsigned width, bool falls, const void *block, uint64_t *hash);

/* Whether all words of a block are this one. */
bool check_equal_by_vectors(uint64_t word, const void *block);

/* For machines with AVX2: the first of them, of keys of 4 or 8 bytes. */
uint64_t check_hash_by_avx2(unsigned width, const void *block);

#endif
#endif
