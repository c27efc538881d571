/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.h - the header of an .npy file: a Python dictionary, and the layout that it says.
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
 *
 * The grammar is parsed, not searched, and every key is there once. The dtype and the shape may be
 * spelled in every way that NumPy reads and programs write. They are written as numpy.save does.
 */
#ifndef FORMATS_NPY_HEADER_H
#define FORMATS_NPY_HEADER_H

#include "formats/format.h"

#define NPY_MAGIC "\x93NUMPY"

/* Parses the dictionary text[0..bytes) into *layout. layout->type comes in as the user's, or NULL:
 * a dtype of bytes without a type needs it. `file` is for messages. */
bool npy_header_parse(const char *file, const char *text, size_t bytes, struct layout *layout,
                      struct error *error);

/* The longest header that npy_header_make makes. */
#define NPY_HEADER_BYTES ((size_t)512)

/* Makes all that precedes the numbers, byte for byte what numpy.save writes. Returns its bytes. */
size_t npy_header_make(const struct layout *layout, char header[NPY_HEADER_BYTES]);

#endif
