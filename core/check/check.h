/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - checks that the keys written are the keys read, and in order.
 *
 *   read  -> key_check: count, and sum of hashes ---------------+
 *     -> ... sorting ...                                        +--> must be equal
 *   write -> key_check: count, and sum of hashes; and in order -+
 *
 * Hash: The stored bits of each key are mixed, and the results are added mod 2^64. A sum does not
 * depend on the order of the keys. So any thread can add the pieces that are in its cache, without
 * another pass, and the input can be compared with the output. An xor would allow that too, but it
 * misses pairs: two equal keys that both change into another key, or are lost while others are
 * duplicated, leave it unchanged.
 *
 * The probability that the sum misses changed keys is about 2^-64 for keys of 4, 8 and 16 bytes.
 * For keys of 2 bytes it is 2^-48, and one changed key is always found. For bytes it is 2^-27, and
 * one or two changed keys are always found (check_kernels.h). If 2^k copies of a key change into
 * 2^k copies of another key, it is 2^k times as high. It is little higher if two keys exchange some
 * of their bits, which keeps the sum of the keys: with the same mix of 20 and 24 bits instead of
 * 64, 2^-18 and 2^-20 of the pairs of random keys that exchange a bit were missed; with keys of 2
 * bytes 2^-23.
 *
 * Order: Keys are compared as ordered bits (key_order.h), so the rules for NaNs and descending
 * order are the same as in the sort. The check shares only this map with the sort.
 *
 * Speed: see docs/performance.md, "The proof of output".
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include "core/check/tap.h"
#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tap that computes the checksum of a text: the sum of its 8-byte words, each multiplied by a
 * factor that depends on its position. Bytes that are moved or changed give another sum: always if
 * they are in one word, otherwise except with a probability of about 2^-63. The text may be
 * observed in pieces of any size, in any order and in any thread. If the old position of each byte
 * is known, a text that was gathered can be summed up as it was before. */
struct text_check {
    struct tap tap;
    uintptr_t origin; /* the address of byte 0 of the text, which need not be in memory */
    struct check_sum sum;
};

/* Starts a checksum of no bytes. text_check_begin_chunk() must follow. */
void text_check_start(struct text_check *check);

/* Sets the position of data[0] in the text to `position`. Call it in one thread, before the pieces
 * of the chunk are observed. */
void text_check_begin_chunk(struct text_check *check, const void *data, uint64_t position);

/* Returns the checksum of `bytes` bytes from position `position` on; its count is in bytes. */
struct check_sum text_check_sum(uint64_t position, const void *data, size_t bytes);

/* A tap that counts keys and sums their hashes, and may check their order. */
struct key_check {
    struct tap tap;
    unsigned key_bytes;     /* 1, 2, 4, 8; 16: struct key_index, compared by key and index, but for
                               lines by key */
    struct key_order order; /* the order that is checked, if any */
    struct check_sum sum;

    /* For keys in order: the chunk that is observed. */
    const unsigned char *chunk;
    uint64_t chunk_begin;           /* number of keys before it */
    unsigned char first_key[16];    /* first key of all chunks */
    unsigned char last_key[16];     /* last key of the chunk */
    unsigned char previous_key[16]; /* last key of the chunk before it */
    uint64_t disorder;              /* the first key, from 1, that is out of order; 0: none */
};

/* Starts a check of keys in any order. */
void key_check_start(struct key_check *check, unsigned key_bytes);

/* Starts a check of keys that must be in order. key_check_begin_chunk() must be called for each
 * chunk before its pieces are observed. */
void key_check_start_ordered(struct key_check *check, unsigned key_bytes, struct key_order order);

/* Starts a check of items of lines, whose keys must be in order. Their indices are summed. */
void key_check_start_lines(struct key_check *check);

/* Returns the sum for the indices 0 .. count - 1. Uses at most `threads` threads. */
struct check_sum key_check_indices(uint64_t count, unsigned threads);

/* Announces the next `count` ordered keys, which stay in memory until all have been observed. All
 * earlier keys have been observed. Call it in one thread. */
void key_check_begin_chunk(struct key_check *check, const void *keys, size_t count);

/* Adds what was found about ordered keys that follow those of `check`; not for items of lines.
 * Keeps check->first_key. */
void key_check_append(struct key_check *check, const struct key_check *next);

#endif
