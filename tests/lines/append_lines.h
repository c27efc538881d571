/* SPDX-License-Identifier: Apache-2.0 */
/* append_lines.h - reads a whole source into lines at once, and compares items; for tests. */
#ifndef TESTS_APPEND_LINES_H
#define TESTS_APPEND_LINES_H

#include "formats/lines/lines.h"

static inline bool append_lines(struct lines *lines, struct source *source, struct error *error)
{
    bool ended = false;
    if (!lines_begin_input(lines, source, 0, error))
        return false;
    while (!ended)
        if (!lines_read_input(lines, source, SIZE_MAX, SIZE_MAX, &ended, error))
            return false;
    return true;
}

/* Compares for qsort(3): by key, then by index. */
static inline int compare_items(const void *a, const void *b)
{
    const struct key_index *const x = (const struct key_index *)a;
    const struct key_index *const y = (const struct key_index *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

#endif
