/* SPDX-License-Identifier: Apache-2.0 */
/* key_types.h - the list of key types: names, sizes, NumPy's names. Parsing, --list, --help and the
 * tests use this list. docs/extending.md lists what else a new type needs.
 */
#ifndef CORE_KEY_TYPES_H
#define CORE_KEY_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of a number's bits. */
enum key_kind {
    KEY_UNSIGNED, /* binary */
    KEY_SIGNED,   /* two's complement */
    KEY_FLOAT,    /* sign, biased exponent, significand: IEEE 754 and bfloat16 */
    KEY_TIME      /* two's complement, where the least number is NaT, "not a time" */
};

enum key_endian { ENDIAN_LITTLE, ENDIAN_BIG };

/*      id    bytes  kind          exponent bits, NumPy's name, the letter of its dtype strings.
 * NumPy has bf16 from the package ml_dtypes, whose arrays numpy.save writes as 'V2'. */
#define KEY_TYPES(X)                                                                               \
    X(i8, 1, KEY_SIGNED, 0, "int8", 'i')                                                           \
    X(i16, 2, KEY_SIGNED, 0, "int16", 'i')                                                         \
    X(i32, 4, KEY_SIGNED, 0, "int32", 'i')                                                         \
    X(i64, 8, KEY_SIGNED, 0, "int64", 'i')                                                         \
    X(u8, 1, KEY_UNSIGNED, 0, "uint8", 'u')                                                        \
    X(u16, 2, KEY_UNSIGNED, 0, "uint16", 'u')                                                      \
    X(u32, 4, KEY_UNSIGNED, 0, "uint32", 'u')                                                      \
    X(u64, 8, KEY_UNSIGNED, 0, "uint64", 'u')                                                      \
    X(f16, 2, KEY_FLOAT, 5, "float16", 'f')                                                        \
    X(bf16, 2, KEY_FLOAT, 8, "bfloat16", 'V')                                                      \
    X(f32, 4, KEY_FLOAT, 8, "float32", 'f')                                                        \
    X(f64, 8, KEY_FLOAT, 11, "float64", 'f')                                                       \
    X(bool, 1, KEY_UNSIGNED, 0, "bool", 'b')                                                       \
    X(datetime64, 8, KEY_TIME, 0, "datetime64", 'M')                                               \
    X(timedelta64, 8, KEY_TIME, 0, "timedelta64", 'm')

enum key_type_id {
#define X(id, bytes, kind, exponent_bits, numpy_name, numpy_letter) KEY_TYPE_##id,
    KEY_TYPES(X)
#undef X
        KEY_TYPE_COUNT
};

struct key_type {
    enum key_type_id id;
    const char *name; /* as in --type and in extensions of files: "f64" */
    unsigned bytes;   /* 1, 2, 4 or 8 */
    enum key_kind kind;
    unsigned exponent_bits; /* for a KEY_FLOAT; else 0 */
    const char *numpy_name; /* "float64" */
    char numpy_letter;      /* in a dtype such as "<f8" */
};

/* KEY_TYPE_COUNT rows; row i has id i. */
extern const struct key_type key_types[];

/* Finds the type named spelling[0..length): by our name ("f64"), else as key_type_find_dtype(), but
 * without a unit. The names i8, u8 and f16 are ours, for 1 and 2 bytes: NumPy's types of these
 * names are "<i8", "<u8" and "<f16". Sets *endian only if the name has a byte order. Returns NULL
 * if there is no such type. */
const struct key_type *key_type_find(const char *spelling, size_t length, enum key_endian *endian);

/* Finds the type that numpy.dtype() returns for dtype[0..length): "<f8", "f8", "|f8", "d",
 * "double". "i8" has 8 bytes. A KEY_TIME may end with a unit: "M8[ns]", "datetime64[25s]". Sets
 * *endian only if the string has a byte order ('<', '>'). Returns NULL for every other string. */
const struct key_type *key_type_find_dtype(const char *dtype, size_t length,
                                           enum key_endian *endian);

/* Returns the n-th name, from 0, that NumPy has for the type in addition to numpy_name: "double".
 * NULL: there are no more. */
const char *key_type_other_name(const struct key_type *type, size_t n);

/* A type that NumPy has and key_types has not. */
struct foreign_type {
    const char *kind;   /* "complex numbers" */
    const char *remedy; /* what makes numbers or lines of an array of this type; "": unknown */
};

/* Finds the type of spelling[0..length), as in "<c8" or "complex128". NULL: it is not known. */
const struct foreign_type *key_type_find_foreign(const char *spelling, size_t length);

/* Writes the dtype string of the type as numpy.save does, "<f8" or "|u1", without a unit. */
void key_type_numpy_dtype(const struct key_type *type, enum key_endian endian, char text[5]);

#ifdef __cplusplus
}
#endif
#endif
