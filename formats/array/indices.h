/* SPDX-License-Identifier: Apache-2.0 */
/* indices.h - writes a permutation: the indices of sorted items, in any format.
 *
 *   items --all threads, one piece each--> buffers of the sink, in order
 *
 * Binary and text indices are written directly to the sink's buffers, so no array of indices is
 * ever in memory.
 */
#ifndef FORMATS_INDICES_H
#define FORMATS_INDICES_H

#include "core/argsort.h"
#include "formats/array/format.h"

/* Writes the indices of the chunk's items as argsort->index_type, in the format. The tap observes
 * the items; it may be NULL. */
bool indices_write(const struct argsort *argsort, const struct format *format,
                   const struct chunk *chunk, struct sink *sink, struct tap *tap,
                   struct error *error);

#endif
