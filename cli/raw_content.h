/* SPDX-License-Identifier: Apache-2.0 */
/* raw_content.h - checks that raw numbers can be of the type that they would be read as.
 *
 * Raw data carry no type. Two types are checked against a sample of some thousand words from all
 * over the input: f64 where the user names no type, and a type whose name means another one to
 * NumPy. Only strong evidence leads to an error.
 */
#ifndef CLI_RAW_CONTENT_H
#define CLI_RAW_CONTENT_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/source.h"

/* Refuses data that hardly are doubles of that byte order. The error names another type only where
 * no other one fits as well. Consumes nothing. */
bool raw_content_check_doubles(struct source *source, enum key_endian endian, struct error *error);

/* Refuses data under the names i8, u8 and f16, which have 1 and 2 bytes here, if they look like the
 * 8 and 16 bytes of NumPy's types of these names. Passes data of any other type. Consumes nothing.
 */
bool raw_content_check_name(struct source *source, const struct key_type *type,
                            enum key_endian endian, struct error *error);

#endif
