/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - observes bytes on their way, while they are in the cache of the thread that moves them.
 *
 * Code that moves bytes (source.h, sink.h, the formats) takes a tap and passes it every piece that
 * it moves, once, in whole units, in any order and from any thread. Bytes read are observed as soon
 * as they are in memory. Bytes to write are observed just before they are written, or meanwhile in
 * threads that have nothing else to do.
 */
#ifndef CORE_TAP_H
#define CORE_TAP_H

#include <stddef.h>

/* Maximum bytes of a piece of a large transfer, so that they are in the L2 cache of a core when
 * they are observed. A multiple of every unit. */
#define TAP_PIECE_BYTES ((size_t)256 << 10)

struct tap {
    void (*see)(struct tap *tap, const void *data, size_t bytes);
    size_t unit_bytes; /* pieces begin and end at multiples of it, counted from the begin of the
                          data */
    struct tap *taker; /* NULL, or a direct consumer: takes each piece after this tap has observed
                          it, so that the bytes need not stay where they were read to */
};

/* Passes a piece to the tap, which may be NULL. */
static inline void tap_see(struct tap *tap, const void *data, size_t bytes)
{
    if (!tap || bytes == 0)
        return;
    tap->see(tap, data, bytes);
    if (tap->taker)
        tap->taker->see(tap->taker, data, bytes);
}

/* Passes the whole units of the data to the tap, and returns their bytes. */
static inline size_t tap_see_units(struct tap *tap, const void *data, size_t bytes)
{
    const size_t whole = tap ? bytes - bytes % tap->unit_bytes : bytes;
    tap_see(tap, data, whole);
    return whole;
}

/* Data that some threads pass to a tap, while other threads do something else with it. */
struct tap_watch {
    struct tap *tap;
    const unsigned char *data;
    size_t bytes;
    size_t next; /* begin of the next piece */
};

/* Passes pieces to the tap until none is left. Every thread that has time calls it. */
static inline void tap_watch_pieces(struct tap_watch *watch)
{
    size_t begin;
    while ((begin = __atomic_fetch_add(&watch->next, TAP_PIECE_BYTES, __ATOMIC_RELAXED)) <
           watch->bytes) {
        const size_t left = watch->bytes - begin;
        tap_see(watch->tap, watch->data + begin, left < TAP_PIECE_BYTES ? left : TAP_PIECE_BYTES);
    }
}

/* Passes an array in memory to the tap, in pieces, with at most `threads` threads. `tap` may be
 * NULL. */
void tap_see_all(struct tap *tap, const void *data, size_t bytes, unsigned threads);

#endif
