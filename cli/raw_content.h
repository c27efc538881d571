/* SPDX-License-Identifier: Apache-2.0 */
/* raw_content.h - whether raw numbers can be of the type that they would be read as.
 *
 * Raw data do not tell their type. What is assumed without a word of the user's, and what a name
 * says that NumPy gives to another type, is held against a sample of some thousand words from all
 * over the input. Data are refused on strong evidence only; they are read as asked otherwise.
 */
#ifndef CLI_RAW_CONTENT_H
#define CLI_RAW_CONTENT_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/source.h"

/* Refuses data that hardly are doubles of that byte order, and names the types that would fit.
 * Consumes nothing. */
bool raw_content_check_doubles(struct source *source, enum key_endian endian, struct error *error);

/* Refuses data under the names i8, u8 and f16, which have 1 and 2 bytes here, if they look like the
 * 8 and 16 bytes of NumPy's types of these names. Passes data of any other type. Consumes nothing.
 */
bool raw_content_check_name(struct source *source, const struct key_type *type,
                            enum key_endian endian, struct error *error);

#endif
