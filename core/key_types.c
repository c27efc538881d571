/* SPDX-License-Identifier: Apache-2.0 */
/* key_types.c - see key_types.h. */
#include "core/key_types.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* No sorter has code for another width: such a type would be sorted wrongly. */
#define X(id, bytes, kind, exponent_bits, numpy_name, numpy_letter)                                \
    _Static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, "width of " #id);
KEY_TYPES(X)
#undef X

const struct key_type key_types[] = {
#define X(id, bytes, kind, exponent_bits, numpy_name, numpy_letter)                                \
    {KEY_TYPE_##id, #id, bytes, kind, exponent_bits, numpy_name, numpy_letter},
    KEY_TYPES(X)
#undef X
};

static bool spelled(const char *spelling, size_t length, const char *name)
{
    return length > 0 && strlen(name) == length && memcmp(spelling, name, length) == 0;
}

/* ---- NumPy's dtype strings ---- */

/* The names that numpy.dtype() accepts in addition to a letter and a size, on a system where a C
 * long has 8 bytes. A byte order may precede a name of one letter and the name of a KEY_TIME, but
 * no other name. */
static const struct {
    const char *name, *dtype;
} dtype_names[] = {
    {"?", "b1"},     {"b", "i1"},      {"B", "u1"},     {"h", "i2"},        {"H", "u2"},
    {"i", "i4"},     {"I", "u4"},      {"l", "i8"},     {"L", "u8"},        {"q", "i8"},
    {"Q", "u8"},     {"p", "i8"},      {"P", "u8"},     {"n", "i8"},        {"N", "u8"},
    {"e", "f2"},     {"f", "f4"},      {"d", "f8"},     {"M", "M8"},        {"m", "m8"},
    {"byte", "i1"},  {"ubyte", "u1"},  {"short", "i2"}, {"ushort", "u2"},   {"intc", "i4"},
    {"uintc", "u4"}, {"int", "i8"},    {"uint", "u8"},  {"int_", "i8"},     {"intp", "i8"},
    {"uintp", "u8"}, {"long", "i8"},   {"ulong", "u8"}, {"longlong", "i8"}, {"ulonglong", "u8"},
    {"half", "f2"},  {"single", "f4"}, {"float", "f8"}, {"float_", "f8"},   {"double", "f8"},
    {"bool_", "b1"}, {"bool8", "b1"},
};

/* Returns the type of a dtype string without its byte order and unit. has_order: there was a byte
 * order. */
static const struct key_type *find_base(const char *base, size_t length, bool has_order)
{
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if ((length == 1 || !has_order) && spelled(base, length, dtype_names[i].name)) {
            base = dtype_names[i].dtype;
            length = 2;
            break;
        }
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        const struct key_type *type = &key_types[i];
        if (length == 2 && base[0] == type->numpy_letter && base[1] == (char)('0' + type->bytes))
            return type;
        if ((!has_order || type->kind == KEY_TIME) && spelled(base, length, type->numpy_name))
            return type;
    }
    return NULL;
}

/* Returns true for a unit of time of NumPy, perhaps after a count of units: "ns", "25s". */
static bool is_time_unit(const char *unit, size_t length)
{
    static const char *const units[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                        "ms", "us", "ns", "ps", "fs", "as", "generic"};
    uint64_t multiple = 0;
    size_t digits = 0;
    for (; digits < length && unit[digits] >= '0' && unit[digits] <= '9'; digits++)
        if ((multiple = multiple * 10 + (uint64_t)(unit[digits] - '0')) > INT32_MAX)
            return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (spelled(unit + digits, length - digits, units[i]))
            return true;
    return false;
}

const struct key_type *key_type_find_dtype(const char *dtype, size_t length,
                                           enum key_endian *endian)
{
    const bool has_order = length > 0 && memchr("<>=|", dtype[0], 4);
    const char *const base = dtype + has_order;
    const char *const bracket = memchr(dtype, '[', length);
    const size_t base_length = (size_t)((bracket ? bracket : dtype + length) - base);
    const struct key_type *const type = find_base(base, base_length, has_order);
    if (!type)
        return NULL;
    if (bracket) {
        const size_t unit_length = (size_t)(dtype + length - bracket) - 1;
        if (type->kind != KEY_TIME || base_length == 1 || bracket[unit_length] != ']' ||
            !is_time_unit(bracket + 1, unit_length - 1))
            return NULL;
    }
    if (dtype[0] == '<' || dtype[0] == '>')
        *endian = dtype[0] == '<' ? ENDIAN_LITTLE : ENDIAN_BIG;
    return type;
}

void key_type_numpy_dtype(const struct key_type *type, enum key_endian endian, char text[5])
{
    const char order = type->bytes == 1 ? '|' : endian == ENDIAN_LITTLE ? '<' : '>';
    snprintf(text, 5, "%c%c%u", order, type->numpy_letter, type->bytes % 10);
}

/* ---- Names ---- */

const struct key_type *key_type_find(const char *spelling, size_t length, enum key_endian *endian)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        if (spelled(spelling, length, key_types[i].name) ||
            spelled(spelling, length, key_types[i].numpy_name))
            return &key_types[i];
    return length > 0 && memchr(spelling, '[', length)
               ? NULL
               : key_type_find_dtype(spelling, length, endian);
}

const char *key_type_other_name(const struct key_type *type, size_t n)
{
    enum key_endian unused;
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (dtype_names[i].name[1] &&
            key_type_find_dtype(dtype_names[i].dtype, 2, &unused) == type && n-- == 0)
            return dtype_names[i].name;
    return NULL;
}

/* Each with its names, without a byte order. Digits may follow them in a dtype, but not after a
 * capital letter of complex numbers. */
static const struct {
    struct foreign_type type;
    const char *names[10];
} foreign_types[] = {
    {{"complex numbers", "save its real part, or its numpy.abs"},
     {"c", "complex", "complex_", "csingle", "cdouble", "clongdouble", "F", "D", "G"}},
    {{"strings",
      "numpy.savetxt(NEW, numpy.load(FILE).ravel(), '%s', encoding='utf-8') makes lines of it, for "
      "-k1, if no string has a newline"},
     {"U", "str", "str_"}},
    {{"strings", "numpy.savetxt(NEW, numpy.char.decode(numpy.load(FILE).ravel(), 'latin-1'), '%s', "
                 "encoding='latin-1') makes lines of it, for -k1, if no string has a newline"},
     {"S", "a", "bytes", "bytes_"}},
    {{"objects",
      "if it holds numbers, astype('f8') rounds them to doubles, and astype('i8') is for whole "
      "ones"},
     {"O", "object", "object_"}},
    {{"records", ""}, {"V"}},
    {{"records", "save one field of them"}, {"void"}},
    {{"long doubles", "astype('f8') rounds it to doubles"},
     {"f16", "g", "longdouble", "float128", "f128"}},
};

/* Returns true if the spelling is the name, perhaps with digits after it. */
static bool is_foreign(const char *spelling, size_t length, const char *name)
{
    size_t end = strlen(name);
    if (length < end || memcmp(spelling, name, end) != 0)
        return false;
    while (end < length && spelling[end] >= '0' && spelling[end] <= '9' &&
           !memchr("FDG", *spelling, 3))
        end++;
    return end == length;
}

const struct foreign_type *key_type_find_foreign(const char *spelling, size_t length)
{
    const size_t order = length > 0 && memchr("<>=|", *spelling, 4) ? 1 : 0;
    spelling += order;
    length -= order;
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        for (const char *const *name = foreign_types[i].names; *name; name++)
            if (is_foreign(spelling, length, *name))
                return &foreign_types[i].type;
    return NULL;
}
