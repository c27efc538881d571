/* SPDX-License-Identifier: Apache-2.0 */
/* indices.h - a permutation on its way out: the indices of sorted items, in any format.
 *
 *   items --all threads, a piece each--> buffers of the sink, in order
 *
 * Indices, binary or text, are written straight into the sink's buffers, so no array of indices is
 * ever in memory.
 */
#ifndef FORMATS_INDICES_H
#define FORMATS_INDICES_H

#include "core/argsort.h"
#include "formats/format.h"

/* Writes the indices of the chunk's items as argsort->index_type, where format->write_keys would
 * write numbers. The tap sees the items. */
bool indices_write(const struct argsort *argsort, const struct format *format,
                   const struct chunk *chunk, struct sink *sink, struct tap *tap,
                   struct error *error);

#endif
