/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text_file.h - texts that grow, and files with them; for unit tests of lines. */
#ifndef TESTS_UNIT_TEXT_FILE_H
#define TESTS_UNIT_TEXT_FILE_H

#include "tests/unit_files.h"

/* {0} is an empty text. The test frees data. A NUL follows the bytes. */
struct text {
    char *data;
    size_t bytes, capacity;
};

static inline void text_add(struct text *text, const void *data, size_t bytes)
{
    if (bytes >= text->capacity - text->bytes) {
        text->capacity = (text->bytes + bytes) * 2 + 1;
        text->data = realloc(text->data, text->capacity);
        assert_non_null(text->data);
    }
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = '\0';
}

static inline struct text read_text(const char *name)
{
    struct text text = {0};
    text.data = (char *)get_file(name, &text.bytes);
    text.capacity = text.bytes + 1;
    text.data[text.bytes] = '\0';
    return text;
}

/* Group tear-down: removes the remaining files of a test, then the directory. */
static inline int leave_scratch_without(void **state, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        unlink(names[i]);
    return leave_scratch(state);
}

#endif
