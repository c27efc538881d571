/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the table of file formats: how numbers stand in a stream of bytes.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/sink.h"
#include "formats/source.h"

/* The longest dtype string that a header keeps, "<M8[2147483647as]", and its NUL. */
#define LAYOUT_DESCR_BYTES 24

/* What the numbers of a file are. */
struct layout {
    const struct key_type *type; /* NULL: not told by the format, nor by the user */
    enum key_endian endian;      /* of the stored numbers; little in text */
    size_t count;                /* COUNT_UNKNOWN if the format cannot tell before the end */

    /* What an .npy header says besides, which one that is made of it keeps. */
    char descr[LAYOUT_DESCR_BYTES];   /* the dtype with its unit, "<M8[ns]"; "" if there is none */
    unsigned ones_before, ones_after; /* dimensions of 1 on either side of the count */
    bool is_scalar;                   /* one number, of no dimension */
};

/* Numbers on their way in. */
struct reader {
    struct source *source;
    struct layout layout;
    bool is_type_assumed; /* f64, of numbers in text or raw data whose type nobody said */
    size_t keys_read;
    struct tap *tap; /* sees the numbers that read_keys reads; NULL: nobody does */
};

struct format {
    const char *name;              /* as --format takes it */
    const char *summary;           /* one line for --list */
    const char *const *extensions; /* that say the format: ".npy"; ended by NULL */

    /* True when the first bytes of a stream are this format's. `whole`: there are no more. */
    bool (*recognises)(const unsigned char *head, size_t bytes, bool whole);

    /* Reads what stands before the numbers and completes reader->layout: layout.type comes in as
     * the user's (or NULL), and a header that says otherwise is an error; layout.count goes out. */
    bool (*read_header)(struct reader *reader, struct error *error);

    /* Reads the next 1..capacity numbers into items as layout.type in layout.endian; *count 0 at
     * the end, where everything that must be there has been checked. */
    bool (*read_keys)(struct reader *reader, void *items, size_t capacity, size_t *count,
                      struct error *error);

    /* The bytes of a file of layout->count numbers; SIZE_UNKNOWN where that goes by the numbers. */
    uint64_t (*file_bytes)(const struct layout *layout);

    /* Writes what stands before the numbers; layout->count is exact. */
    bool (*write_header)(struct sink *sink, const struct layout *layout, struct error *error);

    /* tap: NULL, or it sees the numbers as they go out. */
    bool (*write_keys)(struct sink *sink, const struct layout *layout, const void *items,
                       size_t count, struct tap *tap, struct error *error);
};

/* Makes the layout that of an array of one dimension. */
static inline void layout_flatten(struct layout *layout)
{
    layout->ones_before = layout->ones_after = 0;
    layout->is_scalar = false;
}

/* The bytes of layout->count numbers in binary, SIZE_UNKNOWN if that is more than there can be. */
static inline uint64_t layout_bytes(const struct layout *layout)
{
    uint64_t bytes;
    return __builtin_mul_overflow(layout->count, layout->type->bytes, &bytes) ? SIZE_UNKNOWN
                                                                              : bytes;
}

extern const struct format format_raw, format_npy, format_text;
extern const struct format *const formats[];
extern const size_t format_count;

/* NULL if there is no such format. */
const struct format *format_find(const char *name);

/* The format that a file's name says (codec extensions are skipped), with the key type where the
 * name says one ("x.u32", "x.f64.zst") else *type NULL. NULL when it says nothing. */
const struct format *format_find_by_name(const char *name, const struct key_type **type);

#endif
