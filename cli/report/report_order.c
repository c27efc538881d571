/* SPDX-License-Identifier: Apache-2.0 */
/* report_order.c - see report_order.h. */
#include "cli/report/report_order.h"

#include <ctype.h>

static const char *kind_name(enum line_kind kind)
{
    switch (kind) {
    case LINE_STRICT:
        return "one number (as -g, but all else is an error)";
    case LINE_GENERAL:
        return "general number (-g)";
    case LINE_NUMERIC:
        return "number (-n)";
    case LINE_HUMAN:
        return "number with suffix (-h)";
    case LINE_BYTES:
        break;
    }
    return "bytes";
}

/* Positions are printed counted from 1, as in options. */
static void print_begin(FILE *stream, const struct line_place *begin)
{
    if (begin->character > 0)
        fprintf(stream, "character %zu of ", begin->character + 1);
    fprintf(stream, "field %zu", begin->field + 1);
    if (begin->skip_blanks)
        fprintf(stream, " behind its blanks");
}

/* The end of a field is printed only if it is not the default. */
static void print_end(FILE *stream, const struct line_key *key)
{
    const struct line_place *const end = &key->end;
    if (key->end_kind == LINE_END_OF_LINE) {
        fprintf(stream, " to the end of the line");
    } else if (key->end_kind == LINE_END_AT_PLACE) {
        fprintf(stream, " to character %zu of field %zu", end->character, end->field + 1);
        if (end->skip_blanks)
            fprintf(stream, " behind its blanks");
    } else if (end->field != key->begin.field) {
        fprintf(stream, " to field %zu", end->field + 1);
    } else if (key->begin.character > 0) {
        fprintf(stream, " to its end");
    }
}

static void print_key(FILE *stream, const struct line_key *key)
{
    if (line_key_is_whole(key)) {
        fprintf(stream, "the line");
    } else {
        print_begin(stream, &key->begin);
        print_end(stream, key);
    }
    fprintf(stream, " as %s%s; ", kind_name(key->kind), key->reverse ? ", descending" : "");
}

static void print_byte(FILE *stream, int byte)
{
    if (isprint(byte) && byte != '\'')
        fprintf(stream, "'%c'", byte);
    else
        fprintf(stream, "byte %d", byte);
}

static bool order_has_fields(const struct line_order *order)
{
    for (size_t i = 0; i < order->key_count; i++)
        if (!line_key_is_whole(&order->keys[i]))
            return true;
    return false;
}

void report_line_order(FILE *stream, const char *prefix, const struct job *job)
{
    const struct line_order *const order = &job->line_order;
    fprintf(stream, "%sorder      ", prefix);
    for (size_t i = 0; i < order->key_count; i++)
        print_key(stream, &order->keys[i]);
    fprintf(stream, "%s%s\n",
            order->unique   ? "of equal lines only the first is kept"
            : order->stable ? "equal lines as in the input"
                            : "equal lines by their bytes",
            !line_order_is_stable(order) && order->reverse ? ", descending" : "");
    if (order->separator != LINE_SEPARATOR_BLANKS && order_has_fields(order)) {
        fprintf(stream, "%sfields     end at ", prefix);
        print_byte(stream, order->separator);
        fprintf(stream, "\n");
    }
    if (order->terminator == '\0')
        fprintf(stream, "%slines      end with NUL\n", prefix);
    if (job->header_lines > 0)
        fprintf(stream, "%sheader     %zu line%s of each input, written once\n", prefix,
                job->header_lines, job->header_lines == 1 ? "" : "s");
}
