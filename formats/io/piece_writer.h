/* SPDX-License-Identifier: Apache-2.0 */
/* piece_writer.h - output made by several threads at once and written in order; for text.c,
 * indices.c, lines_write.c and merge_round.c.
 *
 *   each thread: the next piece and a buffer of the sink -> make the piece -> wait for its turn
 *     -> put it
 *
 * Buffers are lent in the order of the pieces. So the earliest unfinished piece always has one, and
 * the threads of later pieces, which may have all others, only wait for it. Thus there is no
 * deadlock, however few buffers the sink has.
 */
#ifndef FORMATS_PIECE_WRITER_H
#define FORMATS_PIECE_WRITER_H

#include "core/error.h"
#include "formats/io/sink.h"

#include <stddef.h>

/* Makes the pieces. */
struct piece_maker {
    const void *context;
    size_t pieces;
    unsigned threads; /* maximum number of threads that make pieces, at least 1 */

    /* Fills the buffer, of SINK_BUFFER_BYTES, with the piece or as much as fits, and sets *bytes.
     * Returns the position for `rest`. */
    size_t (*make)(const void *context, size_t piece, unsigned char *buffer, size_t *bytes);

    /* Writes the part that did not fit, from `position` on, by sink_write(). Called in the piece's
     * turn. NULL if every piece fits. */
    bool (*rest)(const void *context, size_t piece, size_t position, struct sink *sink,
                 struct error *error);
};

/* Writes all pieces in order. Stops at the first error. */
bool piece_writer_run(const struct piece_maker *maker, struct sink *sink, struct error *error);

#endif
