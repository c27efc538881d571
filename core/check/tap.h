/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - observes bytes on their way, while they are in the cache of the thread that moves them,
 * and adds up what the threads find.
 *
 * Code that moves bytes (source.h, sink.h, the formats) takes a tap and passes it every piece that
 * it moves, once, in whole units, in any order and from any thread. Bytes read are observed as soon
 * as they are in memory. Bytes to write are observed just before they are written, or meanwhile in
 * threads that have nothing else to do.
 */
#ifndef CORE_TAP_H
#define CORE_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum bytes of a piece of a large transfer, so that they are in the L2 cache of a core when
 * they are observed. A multiple of every unit. */
#define TAP_PIECE_BYTES ((size_t)256 << 10)

struct tap {
    void (*observe)(struct tap *tap, const void *data, size_t bytes);
    size_t unit_bytes;    /* pieces begin and end at multiples of it, counted from the beginning
                             of the data */
    struct tap *consumer; /* NULL, or a direct consumer: takes each piece after this tap has
                          observed it, so that the bytes need not stay where they were read to */
};

/* Passes a piece to the tap, which may be NULL. */
static inline void tap_observe(struct tap *tap, const void *data, size_t bytes)
{
    if (!tap || bytes == 0)
        return;
    tap->observe(tap, data, bytes);
    if (tap->consumer)
        tap->consumer->observe(tap->consumer, data, bytes);
}

/* Passes the whole units of the data to the tap, and returns their bytes; without a tap, `bytes`.
 */
static inline size_t tap_observe_units(struct tap *tap, const void *data, size_t bytes)
{
    const size_t whole = tap ? bytes - bytes % tap->unit_bytes : bytes;
    tap_observe(tap, data, whole);
    return whole;
}

/* Data that some threads pass to a tap, while other threads do something else with it. */
struct tap_watch {
    struct tap *tap;
    const unsigned char *data;
    size_t bytes;
    size_t next; /* offset of the next piece */
};

/* Passes pieces to the tap until none is left. Every thread that has time calls it. */
static inline void tap_watch_pieces(struct tap_watch *watch)
{
    size_t begin;
    while ((begin = __atomic_fetch_add(&watch->next, TAP_PIECE_BYTES, __ATOMIC_RELAXED)) <
           watch->bytes) {
        const size_t left = watch->bytes - begin;
        tap_observe(watch->tap, watch->data + begin,
                    left < TAP_PIECE_BYTES ? left : TAP_PIECE_BYTES);
    }
}

/* Passes an array in memory to the tap, in pieces, with at most `threads` threads. `tap` may be
 * NULL. Defined in check.c. */
void tap_observe_all(struct tap *tap, const void *data, size_t bytes, unsigned threads);

/* ---- What several threads find ---- */

/* A checksum that does not depend on the order of the units (check.h): their number, and the sum of
 * their hashes. */
struct check_sum {
    uint64_t count, hash;
};

static inline bool check_sum_equal(struct check_sum a, struct check_sum b)
{
    return a.count == b.count && a.hash == b.hash;
}

/* Adds `more` to *sum. Thread-safe. */
static inline void check_sum_add(struct check_sum *sum, struct check_sum more)
{
    __atomic_fetch_add(&sum->count, more.count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->hash, more.hash, __ATOMIC_RELAXED);
}

/* Subtracts a part that was added. Not thread-safe. */
static inline void check_sum_subtract(struct check_sum *sum, struct check_sum part)
{
    sum->count -= part.count;
    sum->hash -= part.hash;
}

/* Records a position if it is the lowest so far. *first is 1 + the lowest position recorded; 0:
 * none. Thread-safe. */
static inline void first_position_note(uint64_t *first, uint64_t position)
{
    uint64_t found = __atomic_load_n(first, __ATOMIC_RELAXED);
    while ((found == 0 || position + 1 < found) &&
           !__atomic_compare_exchange_n(first, &found, position + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

#endif
