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

    /* Fills the buffer, of SINK_BUFFER_BYTES, with the piece from *position on, which is 0 at
     * first, or as much as fits. Sets *bytes. Returns true at the end of the piece; otherwise it is
     * called again in the piece's turn, with the position that it has set. */
    bool (*make)(const void *context, size_t piece, size_t *position, unsigned char *buffer,
                 size_t *bytes);

    /* Writes by sink_write() what does not fit an empty buffer, and advances *position. NULL if
     * every piece fits. */
    bool (*write_long)(const void *context, size_t piece, size_t *position, struct sink *sink,
                       struct error *error);
};

/* Writes all pieces in order. Stops at the first error. */
bool piece_writer_run(const struct piece_maker *maker, struct sink *sink, struct error *error);

#endif
