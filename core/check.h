/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the proof that the keys written are those read, and in order.
 *
 *   read  -> key_check: how many, and the sum of their hashes --+
 *     -> ... whatever is done with them ...                     +--> must be equal
 *   write -> key_check: the same, and that each is in order ----+
 *
 * Hash. Every key's bits, as they are stored, are mixed, and the results added up mod 2^64. A sum
 * does not go by the order, so that any thread can add the pieces that it has in its cache, with no
 * pass of its own; and what was read in one order is compared with what is written in another. An
 * xor would do that too, but is blind to pairs: two equal keys that both turn into another one, or
 * get lost while others come twice, leave it as it was. The chance that the sum stays where keys
 * change is about 2^-64 for keys of 4, 8 and 16 bytes, 2^-48 for those of 2, of which one that
 * changes always shows, and 2^-27 for bytes, of which one or two that change do (check_hash.h); if
 * 2^k copies of a key turn into 2^k of another one, it is 2^k times as great. It is hardly greater
 * where two keys exchange some of their bits, and so keep the sum of the two: of the same mix
 * with 20 and 24 bits for 64, 2^-18 and 2^-20 of random keys that exchange a bit are missed, as
 * tried; of keys of 2 bytes 2^-23.
 *
 * Order. Keys are compared as ordered bits (key_order.h), so the rules for NaNs and descending
 * order are those of the sort; the map is all that the two have in common.
 *
 * Speed: see docs/performance.md, "The proof of output".
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include "core/check_sum.h"
#include "core/key_order.h"
#include "core/tap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that passes a point, as a tap sees it: the sum of its words of 8 bytes, each times a
 * number that goes by its place. So bytes that are elsewhere, or others, make another sum: for
 * certain if they are of one word, else but for a chance of about 2^-63. It may be taken in pieces
 * of any size, in any order and by any thread: with the place of each byte known, a text that was
 * gathered anew can be summed up as it stood before. */
struct text_check {
    struct tap tap;
    uintptr_t origin; /* the address that byte 0 of the text has, or would have */
    struct check_sum sum;
};

/* Nothing has passed yet; where the text is, text_check_begin_chunk tells. */
void text_check_start(struct text_check *check);

/* Tells where byte `place` is. One thread, before the pieces around it are seen. */
void text_check_begin_chunk(struct text_check *check, const void *data, uint64_t place);

/* The sum of so many bytes from `place` on; count is of bytes. */
struct check_sum text_check_sum(uint64_t place, const void *data, size_t bytes);

/* The keys that pass a point, as a tap sees them. */
struct key_check {
    struct tap tap;
    unsigned key_bytes;     /* 1, 2, 4, 8; 16: struct key_index, by key and index */
    struct key_order order; /* that they are to be in, if they are to be in one */
    struct check_sum sum;

    /* Of keys in order: the chunk that they are in. */
    const unsigned char *chunk;
    uint64_t chunk_begin;           /* keys before it */
    unsigned char last_key[16];     /* of the chunk */
    unsigned char previous_key[16]; /* of the one before it */
    uint64_t disorder; /* the first key, counted from 1, that should be before the one before it;
                          0: none */
};

/* Keys that come in any order. */
void key_check_start(struct key_check *check, unsigned key_bytes);

/* Keys that must be in order; each chunk is begun before its pieces are seen. */
void key_check_start_ordered(struct key_check *check, unsigned key_bytes, struct key_order order);

/* Items of lines, whose keys must be in order; what is summed up are their indices. */
void key_check_start_lines(struct key_check *check);

/* The sum of the indices 0 .. count - 1, by at most so many threads. */
struct check_sum key_check_indices(uint64_t count, unsigned threads);

/* Tells where the next `count` of ordered keys are, which stay until they have been seen. One
 * thread. */
void key_check_begin_chunk(struct key_check *check, const void *keys, size_t count);

#endif
