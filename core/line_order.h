/* SPDX-License-Identifier: Apache-2.0 */
/* line_order.h - the order that lines of text are wanted in, as sort(1)'s options say it.
 *
 * A line is compared by its keys, one after the other; lines that are equal in all of them go by
 * their bytes, the last resort, or stay in the order of the input. Everything is as GNU sort(1) has
 * it in the C locale.
 */
#ifndef CORE_LINE_ORDER_H
#define CORE_LINE_ORDER_H

#include "core/host_device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum line_kind {
    LINE_STRICT,  /* as LINE_GENERAL, but a line that is not one number is an error */
    LINE_GENERAL, /* -g: as strtold(3) reads the start of the text; what is no number goes first */
    LINE_NUMERIC, /* -n: [blanks][-]digits[.digits], exact at any length; anything else is 0 */
    LINE_HUMAN,   /* -h: by sign, then by the suffix (none, K or k, M, G, ...), then as -n */
    LINE_BYTES    /* memcmp(3), a prefix first */
};

/* A place in a line, counted from 0: `character` bytes behind the start of field `field`; behind
 * the blanks that the field starts with, if they are skipped (-b). */
struct line_place {
    size_t field;
    size_t character;
    bool skip_blanks;
};

/* The end of a key: none, or a place, or the end of the field that the place names. */
enum line_end { LINE_END_OF_LINE, LINE_END_OF_FIELD, LINE_END_AT_PLACE };

struct line_key {
    enum line_kind kind;
    bool reverse;
    struct line_place begin;
    enum line_end end_kind;
    struct line_place end; /* the first byte that is not in the key */
};

/* Fields are parted by the empty place between a byte that is not blank and one that is, and begin
 * with their blanks. Blank are space, tab and newline. */
#define LINE_SEPARATOR_BLANKS (-1)

struct line_order {
    struct line_key *keys;
    size_t key_count; /* at least 1 */
    int separator;    /* a byte, 0 to 255, or LINE_SEPARATOR_BLANKS */
    char terminator;  /* of a line, which it is no part of: '\n' or, for -z, '\0' */
    bool reverse;     /* the last resort is reversed (-r, not of a key) */
    bool stable;      /* there is no last resort (-s) */
    bool unique;      /* as stable, and only the first of lines with equal keys is kept (-u) */
};

/* Whether lines with equal keys stay in the order of the input. */
HOST_DEVICE static inline bool line_order_is_stable(const struct line_order *order)
{
    return order->stable || order->unique;
}

/* Whether lines that are equal in the first key are equal: there is nothing else to go by. */
HOST_DEVICE static inline bool line_order_has_one_key(const struct line_order *order)
{
    return order->key_count == 1 && line_order_is_stable(order);
}

/* Whether the key is the whole line, so that there are no fields to be found. */
HOST_DEVICE static inline bool line_key_is_whole(const struct line_key *key)
{
    return key->begin.field == 0 && key->begin.character == 0 && !key->begin.skip_blanks &&
           key->end_kind == LINE_END_OF_LINE;
}

#ifdef __cplusplus
}
#endif
#endif
