/* indices.c - see indices.h. */
#include "formats/indices.h"

#include "formats/number_text.h"
#include "formats/piece_writer.h"

#include <omp.h>

/* Items whose indices are to be written; a piece is as many of them as surely fit a buffer. */
struct indices {
    const struct argsort *argsort;
    const void *items;
    size_t count;
    size_t piece_items;
};

static size_t piece_end(const struct indices *indices, size_t first)
{
    const size_t left = indices->count - first;
    return first + (left < indices->piece_items ? left : indices->piece_items);
}

static inline __attribute__((always_inline)) void store_indices(const struct indices *indices,
                                                                size_t first, size_t end,
                                                                unsigned char *out, unsigned width)
{
    const bool swap_bytes = indices->argsort->index_endian == ENDIAN_BIG;
    for (size_t i = first; i < end; i++, out += width) {
        uint64_t index = argsort_index(indices->argsort, indices->items, i);
        if (swap_bytes)
            index = key_bits_swap_bytes(8 * width, index);
        memcpy(out, &index, width);
    }
}

static size_t make_binary_piece(const void *context, size_t piece, unsigned char *buffer,
                                size_t *bytes)
{
    const struct indices *const indices = context;
    const unsigned width = indices->argsort->index_type->bytes;
    const size_t first = piece * indices->piece_items, end = piece_end(indices, first);
    if (width == 4)
        store_indices(indices, first, end, buffer, 4);
    else
        store_indices(indices, first, end, buffer, 8);
    *bytes = (end - first) * width;
    return end;
}

static size_t make_text_piece(const void *context, size_t piece, unsigned char *buffer,
                              size_t *bytes)
{
    const struct indices *const indices = context;
    const struct argsort *const argsort = indices->argsort;
    const size_t first = piece * indices->piece_items, end = piece_end(indices, first);
    char *out = (char *)buffer;
    for (size_t i = first; i < end; i++) {
        out += number_format(argsort->index_type, argsort_index(argsort, indices->items, i), out);
        *out++ = '\n';
    }
    *bytes = (size_t)((unsigned char *)out - buffer);
    return end;
}

bool indices_write(const struct argsort *argsort, const struct format *format,
                   const struct chunk *chunk, struct sink *sink, struct tap *tap,
                   struct error *error)
{
    const bool is_text = format == &format_text;
    const size_t index_bytes = is_text ? NUMBER_TEXT_MAX + 1 : argsort->index_type->bytes;
    const struct indices indices = {argsort, chunk->items, chunk->count,
                                    SINK_BUFFER_BYTES / index_bytes};
    const struct piece_maker maker = {
        .context = &indices,
        .pieces = chunk->count / indices.piece_items + (chunk->count % indices.piece_items != 0),
        .threads = (unsigned)omp_get_max_threads(),
        .make = is_text ? make_text_piece : make_binary_piece,
    };
    tap_see_all(tap, chunk->items, chunk->count * argsort->item_bytes, maker.threads);
    return piece_writer_run(&maker, sink, error);
}
