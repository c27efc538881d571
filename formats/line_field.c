/* line_field.c - see line_field.h. */
#include "formats/line_field.h"

#include <stdint.h>
#include <string.h>

static inline bool is_blank(char c)
{
    const uint64_t blanks = (uint64_t)1 << ' ' | (uint64_t)1 << '\t' | (uint64_t)1 << '\n';
    const unsigned char byte = (unsigned char)c;
    return byte <= ' ' && (blanks >> byte & 1) != 0;
}

static inline const char *skip_blanks(const char *p, const char *line_end)
{
    while (p < line_end && is_blank(*p))
        p++;
    return p;
}

/* Where the field that starts at p ends: at the separator, or before the next field's blanks. */
static inline const char *field_end(int separator, const char *p, const char *line_end)
{
    if (separator != LINE_SEPARATOR_BLANKS) {
        const char *const found = memchr(p, separator, (size_t)(line_end - p));
        return found != NULL ? found : line_end;
    }
    p = skip_blanks(p, line_end);
    while (p < line_end && !is_blank(*p))
        p++;
    return p;
}

/* Where the field starts that is `count` fields behind the one that starts at p. */
static inline const char *skip_fields(int separator, const char *p, const char *line_end,
                                      size_t count)
{
    for (; count > 0 && p < line_end; count--) {
        p = field_end(separator, p, line_end);
        if (separator != LINE_SEPARATOR_BLANKS && p < line_end)
            p++;
    }
    return p;
}

/* The place in the field that starts at p. */
static inline const char *place_in_field(const struct line_place *place, const char *p,
                                         const char *line_end)
{
    if (place->skip_blanks)
        p = skip_blanks(p, line_end);
    return place->character < (size_t)(line_end - p) ? p + place->character : line_end;
}

struct line_span line_key_find(const struct line_order *order, const struct line_key *key,
                               const char *line, size_t length)
{
    const int separator = order->separator;
    const char *const line_end = line + length;
    const char *field = skip_fields(separator, line, line_end, key->begin.field);
    const char *const begin = place_in_field(&key->begin, field, line_end);
    if (key->end_kind == LINE_END_OF_LINE)
        return (struct line_span){begin, (size_t)(line_end - begin)};
    if (key->end.field >= key->begin.field)
        field = skip_fields(separator, field, line_end, key->end.field - key->begin.field);
    else
        field = skip_fields(separator, line, line_end, key->end.field);
    const char *const end = key->end_kind == LINE_END_OF_FIELD
                                ? field_end(separator, field, line_end)
                                : place_in_field(&key->end, field, line_end);
    return (struct line_span){begin, end > begin ? (size_t)(end - begin) : 0};
}
