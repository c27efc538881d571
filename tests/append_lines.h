/* append_lines.h - a whole source read into lines at once, for tests. */
#ifndef TESTS_APPEND_LINES_H
#define TESTS_APPEND_LINES_H

#include "formats/lines.h"

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

#endif
