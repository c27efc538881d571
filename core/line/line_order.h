/* SPDX-License-Identifier: Apache-2.0 */
/* line_order.h - the order of lines of text, as given by the options of sort(1).
 *
 * Lines are compared by their keys, one after another. Lines with equal keys are ordered by their
 * bytes, the last resort, or stay in the order of the input. All rules are the same as in GNU
 * sort(1) in the C locale.
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
    LINE_STRICT,  /* as LINE_GENERAL, but a line that is not a number is an error */
    LINE_GENERAL, /* -g: as strtold(3) reads the start of the text; other text comes first */
    LINE_NUMERIC, /* -n: [blanks][-]digits[.digits], exact at any length; anything else is 0 */
    LINE_HUMAN,   /* -h: by sign, then by suffix (none, K or k, M, G, ...), then as -n */
    LINE_BYTES    /* memcmp(3); a prefix comes first */
};

/* Returns true if keys of the kind are numbers, which are read from text. */
HOST_DEVICE static inline bool line_kind_is_number(enum line_kind kind)
{
    switch (kind) {
    case LINE_STRICT:
    case LINE_GENERAL:
    case LINE_NUMERIC:
    case LINE_HUMAN:
        return true;
    case LINE_BYTES:
        break;
    }
    return false;
}

/* A position in a line, counted from 0: `character` bytes after the start of field `field`, or,
 * with skip_blanks (-b), after the blanks at its start. */
struct line_place {
    size_t field;
    size_t character;
    bool skip_blanks;
};

/* The end of a key: none, or a place, or the end of the place's field. */
enum line_end { LINE_END_OF_LINE, LINE_END_OF_FIELD, LINE_END_AT_PLACE };

struct line_key {
    enum line_kind kind;
    bool reverse;
    struct line_place begin;
    enum line_end end_kind;
    struct line_place end; /* the first byte after the key */
};

/* A field begins with its blanks, and ends before the next blank after other bytes. Blanks are
 * space, tab and newline. */
#define LINE_SEPARATOR_BLANKS (-1)

struct line_order {
    struct line_key *keys;
    size_t key_count; /* at least 1 */
    int separator;    /* a byte, 0 to 255, or LINE_SEPARATOR_BLANKS */
    char terminator;  /* ends each line, and is no part of it: '\n', or '\0' for -z */
    bool reverse;     /* reverses the last resort (-r, not of a key) */
    bool stable;      /* there is no last resort (-s) */
    bool unique;      /* as stable, and keeps only the first of lines with equal keys (-u) */
};

/* Returns true if lines with equal keys stay in the order of the input. */
HOST_DEVICE static inline bool line_order_is_stable(const struct line_order *order)
{
    return order->stable || order->unique;
}

/* Returns true if the key is the whole line, so that no fields must be found. */
HOST_DEVICE static inline bool line_key_is_whole(const struct line_key *key)
{
    return key->begin.field == 0 && key->begin.character == 0 && !key->begin.skip_blanks &&
           key->end_kind == LINE_END_OF_LINE;
}

/* Returns true if the first key is the bytes of the whole line: lines that are equal in it are
 * equal. */
HOST_DEVICE static inline bool line_order_is_by_bytes(const struct line_order *order)
{
    return order->keys[0].kind == LINE_BYTES && line_key_is_whole(&order->keys[0]);
}

/* Returns true if lines with equal first keys are equal, because nothing else is compared, or
 * because they have the same bytes. */
HOST_DEVICE static inline bool line_order_has_one_key(const struct line_order *order)
{
    return line_order_is_by_bytes(order) || (order->key_count == 1 && line_order_is_stable(order));
}

#ifdef __cplusplus
}
#endif
#endif
