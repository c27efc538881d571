/* line_field.h - where a key stands in its line: from `-k 2.3b,4` to a span of bytes.
 *
 * The rules are those of GNU sort(1) in the C locale (coreutils, "sort invocation"):
 *   - With a separator, fields are what stands between separators; each separator ends one field
 *     and starts the next. Without one, a field is a run of blanks, maybe empty, and the run of
 *     other bytes behind it; blanks are space, tab and newline.
 *   - A field, or a byte of it, that the line does not have is the end of the line. Bytes are
 *     counted on from the start of the field into those that follow it.
 *   - A key that ends before it begins is empty.
 */
#ifndef FORMATS_LINE_FIELD_H
#define FORMATS_LINE_FIELD_H

#include "core/line_order.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed bytes of a line. */
struct line_span {
    const char *text;
    size_t length;
};

/* The key's bytes of line[0..length), which has no terminator. An empty key, too, stands in the
 * line or at its end. Reads no byte outside the line. */
struct line_span line_key_find(const struct line_order *order, const struct line_key *key,
                               const char *line, size_t length);

#ifdef __cplusplus
}
#endif
#endif
