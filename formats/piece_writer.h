/* SPDX-License-Identifier: Apache-2.0 */
/* piece_writer.h - output made by several threads at once, written in order; for text.c,
 * indices.c and lines_write.c.
 *
 *   each thread: the next piece and a buffer of the sink's -> make it -> wait for its turn -> put
 * it
 *
 * Buffers are lent in the order of the pieces, so that the earliest piece under way always has one
 * and the later ones, which may hold all others, only wait for it: there is no deadlock, however
 * few buffers the sink has.
 */
#ifndef FORMATS_PIECE_WRITER_H
#define FORMATS_PIECE_WRITER_H

#include "core/error.h"
#include "formats/sink.h"

#include <stddef.h>

/* What the pieces are made of. */
struct piece_maker {
    const void *context;
    size_t pieces;
    unsigned threads; /* at most so many make pieces, at least 1 */

    /* Fills the buffer, of SINK_BUFFER_BYTES, with the piece or as much as fits; *bytes says how
     * much. Returns where to go on, for `rest`. */
    size_t (*make)(const void *context, size_t piece, unsigned char *buffer, size_t *bytes);

    /* Writes what did not fit, from `position` on, by sink_write; called in the piece's turn. NULL
     * if every piece fits. */
    bool (*rest)(const void *context, size_t piece, size_t position, struct sink *sink,
                 struct error *error);
};

/* Writes all pieces in order. */
bool piece_writer_run(const struct piece_maker *maker, struct sink *sink, struct error *error);

#endif
