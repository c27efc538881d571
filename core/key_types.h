/* key_types.h - THE list of key types: names, sizes, NumPy's spelling. Parsing, --list, --help and
 * the tests walk it; nothing else in the program names a type.
 */
#ifndef CORE_KEY_TYPES_H
#define CORE_KEY_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the bits of a number are laid out. */
enum key_kind {
    KEY_UNSIGNED, /* binary */
    KEY_SIGNED,   /* two's complement */
    KEY_FLOAT     /* sign, biased exponent, significand: IEEE 754 and bfloat16 */
};

enum key_endian { ENDIAN_LITTLE, ENDIAN_BIG };

/*      id    bytes  kind          exponent bits, NumPy's name ("" where NumPy has none) */
#define KEY_TYPES(X)                                                                               \
    X(i8, 1, KEY_SIGNED, 0, "int8")                                                                \
    X(i16, 2, KEY_SIGNED, 0, "int16")                                                              \
    X(i32, 4, KEY_SIGNED, 0, "int32")                                                              \
    X(i64, 8, KEY_SIGNED, 0, "int64")                                                              \
    X(u8, 1, KEY_UNSIGNED, 0, "uint8")                                                             \
    X(u16, 2, KEY_UNSIGNED, 0, "uint16")                                                           \
    X(u32, 4, KEY_UNSIGNED, 0, "uint32")                                                           \
    X(u64, 8, KEY_UNSIGNED, 0, "uint64")                                                           \
    X(f16, 2, KEY_FLOAT, 5, "float16")                                                             \
    X(bf16, 2, KEY_FLOAT, 8, "")                                                                   \
    X(f32, 4, KEY_FLOAT, 8, "float32")                                                             \
    X(f64, 8, KEY_FLOAT, 11, "float64")

enum key_type_id {
#define X(id, bytes, kind, exponent_bits, numpy_name) KEY_TYPE_##id,
    KEY_TYPES(X)
#undef X
        KEY_TYPE_COUNT
};

struct key_type {
    enum key_type_id id;
    const char *name; /* as --type takes it and a file's name may end: "f64" */
    unsigned bytes;   /* 1, 2, 4 or 8 */
    enum key_kind kind;
    unsigned exponent_bits; /* of a KEY_FLOAT; else 0 */
    const char *numpy_name; /* "float64"; "" where NumPy has no such type */
    char numpy_letter;      /* of a dtype as "<f8": 'i', 'u' or 'f' ; 0 where NumPy has none */
};

/* KEY_TYPE_COUNT rows, row i has id i. */
extern const struct key_type key_types[];

/* Finds the type that spelling[0..length) names: our name ("f64"), NumPy's ("float64"), or a dtype
 * string ("<f8", ">i4", "|u1", "=f4"). Sets *endian only when the spelling says it ('<', '>').
 * Returns NULL when no type is so named. */
const struct key_type *key_type_find(const char *spelling, size_t length, enum key_endian *endian);

/* Writes the dtype string NumPy uses for the type, "<f8" or "|u1", into text[0..4]. False where
 * NumPy has none. */
bool key_type_numpy_dtype(const struct key_type *type, enum key_endian endian, char text[5]);

#ifdef __cplusplus
}
#endif
#endif
