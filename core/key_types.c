/* key_types.c - see key_types.h. */
#include "core/key_types.h"

#include <stdio.h>
#include <string.h>

#define LETTER(kind) ((kind) == KEY_SIGNED ? 'i' : (kind) == KEY_UNSIGNED ? 'u' : 'f')
const struct key_type key_types[] = {
#define X(id, bytes, kind, exponent_bits, numpy_name)                                              \
    {KEY_TYPE_##id,                                                                                \
     #id,                                                                                          \
     bytes,                                                                                        \
     kind,                                                                                         \
     exponent_bits,                                                                                \
     numpy_name,                                                                                   \
     sizeof(numpy_name) > 1 ? LETTER(kind) : 0},
    KEY_TYPES(X)
#undef X
};
#undef LETTER

static bool spelled(const char *spelling, size_t length, const char *name)
{
    return length > 0 && strlen(name) == length && memcmp(spelling, name, length) == 0;
}

/* A dtype string: '<', '>', '=' or '|', then the letter, then the size in bytes. */
static const struct key_type *find_dtype(const char *dtype, size_t length, enum key_endian *endian)
{
    if (length != 3 || !strchr("<>=|", dtype[0]))
        return NULL;
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        const struct key_type *type = &key_types[i];
        if (type->numpy_letter != dtype[1] || type->bytes != (unsigned)(dtype[2] - '0'))
            continue;
        if (dtype[0] == '|' && type->bytes > 1) /* '|' says: byte order does not apply */
            return NULL;
        if (dtype[0] == '<' || dtype[0] == '>')
            *endian = dtype[0] == '<' ? ENDIAN_LITTLE : ENDIAN_BIG;
        return type;
    }
    return NULL;
}

const struct key_type *key_type_find(const char *spelling, size_t length, enum key_endian *endian)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        if (spelled(spelling, length, key_types[i].name) ||
            spelled(spelling, length, key_types[i].numpy_name))
            return &key_types[i];
    return find_dtype(spelling, length, endian);
}

bool key_type_numpy_dtype(const struct key_type *type, enum key_endian endian, char text[5])
{
    if (!type->numpy_letter)
        return false;
    const char order = type->bytes == 1 ? '|' : endian == ENDIAN_LITTLE ? '<' : '>';
    snprintf(text, 5, "%c%c%u", order, type->numpy_letter, type->bytes % 10);
    return true;
}
