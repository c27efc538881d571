/* SPDX-License-Identifier: Apache-2.0 */
/* raw_content.h - checks that raw numbers may have the type that they would be read as.
 *
 * Raw data has no type. Two types are checked against a sample of some thousand words from all over
 * the input: f64 if the user gives no type, and a type whose name means another type in NumPy. Only
 * strong evidence leads to an error.
 */
#ifndef CLI_RAW_CONTENT_H
#define CLI_RAW_CONTENT_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/io/source.h"

/* Fails for data that is hardly doubles in this byte order. The error names another type only if no
 * third type fits as well. Consumes nothing. */
bool raw_content_check_doubles(struct source *source, enum key_endian endian, struct error *error);

/* Fails for data with the type i8, u8 or f16, which have 1 and 2 bytes here, if it looks like
 * NumPy's types of these names, which have 8 and 16 bytes. Accepts data of any other type. Consumes
 * nothing. */
bool raw_content_check_name(struct source *source, const struct key_type *type,
                            enum key_endian endian, struct error *error);

#endif
