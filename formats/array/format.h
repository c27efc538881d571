/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the table of file formats, which encode numbers in a stream of bytes. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"

struct argsort;
struct chunk;

/* Room for the longest dtype string that a header keeps, "<M8[2147483647as]", and a NUL. */
#define LAYOUT_DESCR_BYTES 24

/* The type, byte order, count and shape of the numbers of a file. */
struct layout {
    const struct key_type *type; /* NULL: neither the format nor the user specifies it */
    enum key_endian endian;      /* of the numbers in memory and in binary files; text is read as
                                    little */
    size_t count;                /* COUNT_UNKNOWN if the format does not know it before the end */

    /* The rest of an .npy header, kept so that an .npy output can repeat it. */
    char descr[LAYOUT_DESCR_BYTES];   /* the dtype, if the type alone does not determine it:
                                         "<M8[ns]", "|V2"; else "" */
    unsigned ones_before, ones_after; /* dimensions of 1 on either side of the count */
    bool is_scalar;                   /* a single number without dimensions */
    size_t header_bytes; /* size of the header, which stays if the file is sorted in place */
};

/* State of reading the numbers of one input. */
struct reader {
    struct source *source;
    struct layout layout;
    bool is_type_assumed;  /* f64 is assumed: text or raw data of unspecified type */
    bool begins_with_mark; /* of lines: the first one begins with a byte order mark of UTF-8 */
    size_t keys_read;
    size_t keys_before; /* numbers or lines of the input before those that are read; 0 unless the
                           source is narrowed */
    struct tap *tap;    /* observes the numbers that read_keys reads; or NULL */
};

struct format {
    const char *name;              /* argument of --format */
    const char *summary;           /* one line for --list */
    const char *const *extensions; /* of file names, such as ".npy"; NULL-terminated */
    bool is_array; /* perhaps a header, then the numbers with the bytes that they have in memory */

    /* Returns true if a stream that starts with head[0..bytes) looks like this format. NULL: any
     * bytes may have it. */
    bool (*recognises)(const unsigned char *head, size_t bytes);

    /* Reads the header and completes reader->layout, including layout.count. On entry layout.type
     * is the user's type or NULL, which raw numbers must not have; a header with another type is an
     * error. */
    bool (*read_header)(struct reader *reader, struct error *error);

    /* Reads the next 1..capacity numbers into `items`, as layout.type in layout.endian. Sets *count
     * to 0 at the end of the stream, after checking that the stream is complete. If it fails, items
     * has the *count numbers before the error, where that is known; else *count is 0. */
    bool (*read_keys)(struct reader *reader, void *items, size_t capacity, size_t *count,
                      struct error *error);

    /* Returns the size in bytes of a file of layout->count numbers, or SIZE_UNKNOWN if it depends
     * on their values, or the count is unknown or too large. */
    uint64_t (*file_bytes)(const struct layout *layout);

    /* Writes the header, or in place skips the one of the file; layout->count must be exact. */
    bool (*write_header)(struct sink *sink, const struct layout *layout, struct error *error);

    /* Writes `count` numbers. `tap` observes them as they are written; it may be NULL. */
    bool (*write_keys)(struct sink *sink, const struct layout *layout, const void *items,
                       size_t count, struct tap *tap, struct error *error);
};

/* Changes the layout to that of a one-dimensional array. */
static inline void layout_flatten(struct layout *layout)
{
    layout->ones_before = layout->ones_after = 0;
    layout->is_scalar = false;
}

/* Returns the bytes of layout->count binary numbers, or SIZE_UNKNOWN if that overflows. */
static inline uint64_t layout_bytes(const struct layout *layout)
{
    uint64_t bytes;
    return __builtin_mul_overflow(layout->count, layout->type->bytes, &bytes) ? SIZE_UNKNOWN
                                                                              : bytes;
}

/* A write_header for formats without a header. */
static inline bool format_write_no_header(struct sink *sink, const struct layout *layout,
                                          struct error *error)
{
    (void)sink, (void)layout, (void)error;
    return true;
}

/* A write_keys for formats that store numbers as in memory. */
static inline bool format_write_binary_keys(struct sink *sink, const struct layout *layout,
                                            const void *items, size_t count, struct tap *tap,
                                            struct error *error)
{
    return sink_write_observed(sink, items, count * layout->type->bytes, tap, error);
}

extern const struct format format_raw, format_npy, format_text;
extern const struct format *const formats[];
extern const size_t format_count;

/* Returns the format of that name, or NULL if there is none. */
const struct format *format_find(const char *name);

/* Returns the format that a file name's extension implies, or NULL if it implies none. Codec
 * extensions are skipped. *type is the key type that the name implies ("x.u32", "x.f64.zst"), or
 * NULL. */
const struct format *format_find_by_name(const char *name, const struct key_type **type);

/* Writes a permutation: the indices of the chunk's items as argsort->index_type, in the format. The
 * tap observes the items; it may be NULL. */
bool indices_write(const struct argsort *argsort, const struct format *format,
                   const struct chunk *chunk, struct sink *sink, struct tap *tap,
                   struct error *error);

/* ---- Foreign files ---- */

enum foreign_kind {
    FOREIGN_BINARY,
    FOREIGN_TEXT,       /* lines of text may be such a file, numbers are not */
    FOREIGN_COMPRESSED, /* data of any kind: its extension follows another one, as .zst does */
};

/* A format of other programs, which gpusort neither reads nor writes. */
struct foreign {
    const char *name;          /* "gzip", as in "gzip data" */
    const char *extensions[5]; /* ".gz", in lower case; terminated by NULL; there may be none */
    const char *magic; /* the bytes at magic_offset, '?' for any, '~' for NUL; NULL: unknown */
    size_t magic_offset;
    const char *unpack; /* the command that unpacks it; NULL: it must be converted */
    enum foreign_kind kind;
};

/* Returns the row whose magic is in head[0..bytes), or NULL. */
const struct foreign *foreign_find_by_magic(const unsigned char *head, size_t bytes);

/* Returns the row with an extension that name[0..length) ends with, or NULL. */
const struct foreign *foreign_find_by_name(const char *name, size_t length);

/* Returns true if the row has a magic and head[0..bytes) has it. */
bool foreign_begins_so(const struct foreign *foreign, const unsigned char *head, size_t bytes);

#endif
