/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.h - the header of an .npy file: a Python dictionary with the layout.
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
 *
 * The grammar is parsed, not searched, and every key must occur once. The dtype and the shape may
 * have every notation that NumPy reads and programs write. They are written as numpy.save does.
 */
#ifndef FORMATS_NPY_HEADER_H
#define FORMATS_NPY_HEADER_H

#include "formats/array/format.h"

#define NPY_MAGIC "\x93NUMPY"

/* Parses the dictionary text[0..bytes) into *layout. On entry layout->type is the user's type or
 * NULL: a dtype of raw bytes needs it. `file` is for messages. */
bool npy_header_parse(const char *file, const char *text, size_t bytes, struct layout *layout,
                      struct error *error);

/* Maximum bytes of a header by npy_header_make(). */
#define NPY_HEADER_BYTES ((size_t)512)

/* Makes everything before the numbers, with the same bytes as numpy.save. Returns its length. */
size_t npy_header_make(const struct layout *layout, char header[NPY_HEADER_BYTES]);

#endif
