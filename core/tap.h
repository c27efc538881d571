/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - sees bytes on their way, while they are in a cache of the thread that has them.
 *
 * What moves bytes (source.h, sink.h, the formats) is lent a tap and hands it every piece that it
 * moves, once, in whole units, in any order and by any thread. Bytes that were read are seen as
 * soon as they are in memory, bytes that are written right before they are handed over, or
 * meanwhile by threads that have nothing else to do.
 */
#ifndef CORE_TAP_H
#define CORE_TAP_H

#include <stddef.h>

/* What moves much at a time shows it in pieces of so many bytes, so that they are in a core's
 * second cache when they are seen. A multiple of every unit. */
#define TAP_PIECE_BYTES ((size_t)256 << 10)

struct tap {
    void (*see)(struct tap *tap, const void *data, size_t bytes);
    size_t unit_bytes; /* pieces begin and end at multiples of it, from where the data begins */
    struct tap *taker; /* NULL, or it takes each piece that this one has seen: what is read need not
                          stay where it was read to */
};

/* tap may be NULL: nobody looks. */
static inline void tap_see(struct tap *tap, const void *data, size_t bytes)
{
    if (!tap || bytes == 0)
        return;
    tap->see(tap, data, bytes);
    if (tap->taker)
        tap->taker->see(tap->taker, data, bytes);
}

/* Shows the whole units of data; returns how many bytes they are. */
static inline size_t tap_see_units(struct tap *tap, const void *data, size_t bytes)
{
    const size_t whole = tap ? bytes - bytes % tap->unit_bytes : bytes;
    tap_see(tap, data, whole);
    return whole;
}

/* Data that is seen, by some threads, while others do something else with it. */
struct tap_watch {
    struct tap *tap;
    const unsigned char *data;
    size_t bytes;
    size_t next; /* where the piece begins that nobody has taken yet */
};

/* Shows pieces to the tap until all are taken. All threads that have the time call it. */
static inline void tap_watch_pieces(struct tap_watch *watch)
{
    size_t begin;
    while ((begin = __atomic_fetch_add(&watch->next, TAP_PIECE_BYTES, __ATOMIC_RELAXED)) <
           watch->bytes) {
        const size_t left = watch->bytes - begin;
        tap_see(watch->tap, watch->data + begin, left < TAP_PIECE_BYTES ? left : TAP_PIECE_BYTES);
    }
}

/* Shows an array that is in memory already to all of at most so many threads. */
void tap_see_all(struct tap *tap, const void *data, size_t bytes, unsigned threads);

#endif
