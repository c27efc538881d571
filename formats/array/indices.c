/* SPDX-License-Identifier: Apache-2.0 */
/* indices.c - the indices of sorted items, in any format; see format.h.
 *
 *   items --all threads, one piece each--> buffers of the sink, in order
 *
 * Binary and text indices are written directly to the sink's buffers, so no array of indices is
 * ever in memory.
 */
#include "core/argsort.h"
#include "formats/array/format.h"
#include "formats/io/piece_writer.h"
#include "formats/number/number_text.h"

#include <omp.h>

/* Items of a step: the tap observes them, and then their indices are written while they are in the
 * cache. */
#define STEP_COUNT ((size_t)1 << 10)

/* Items whose indices are written. A piece has as many items as have indices that certainly fit a
 * buffer. */
struct indices {
    const struct argsort *argsort;
    const void *items;
    size_t count;
    size_t piece_items;
    struct tap *tap; /* observes the items; may be NULL */
    /* Stores the indices of items [first, end) at `out`. Returns the end of the output. */
    unsigned char *(*store)(const struct indices *indices, size_t first, size_t end,
                            unsigned char *out);
};

static size_t piece_end(const struct indices *indices, size_t first)
{
    const size_t left = indices->count - first;
    return first + (left < indices->piece_items ? left : indices->piece_items);
}

/* Stores binary indices. Prefetches the items of the next step. */
static unsigned char *store_binary(const struct indices *indices, size_t first, size_t end,
                                   unsigned char *out)
{
    const struct argsort argsort = *indices->argsort;
    const unsigned width = argsort.index_type->bytes;
    for (size_t i = first; i < end; i++, out += width) {
        __builtin_prefetch((const char *)indices->items + (i + STEP_COUNT) * argsort.item_bytes);
        uint64_t index = argsort_index(&argsort, indices->items, i);
        if (argsort.index_endian == ENDIAN_BIG)
            index = key_bits_swap_bytes(8 * width, index);
        if (width == 4)
            memcpy(out, &index, 4);
        else
            memcpy(out, &index, 8);
    }
    return out;
}

static unsigned char *store_text(const struct indices *indices, size_t first, size_t end,
                                 unsigned char *out)
{
    const struct argsort *const argsort = indices->argsort;
    for (size_t i = first; i < end; i++) {
        const uint64_t index = argsort_index(argsort, indices->items, i);
        out += number_format(argsort->index_type, index, (char *)out);
        *out++ = '\n';
    }
    return out;
}

/* Makes a piece in steps, so that items are still in the cache when they are read again. */
static bool make_piece(const void *context, size_t piece, size_t *position, unsigned char *buffer,
                       size_t *bytes)
{
    (void)position;
    const struct indices *const indices = context;
    const unsigned item_bytes = indices->argsort->item_bytes;
    const size_t begin = piece * indices->piece_items, end = piece_end(indices, begin);
    unsigned char *out = buffer;
    for (size_t first = begin, next; first < end; first = next) {
        next = end - first < STEP_COUNT ? end : first + STEP_COUNT;
        tap_observe(indices->tap, (const unsigned char *)indices->items + first * item_bytes,
                    (next - first) * item_bytes);
        out = indices->store(indices, first, next, out);
    }
    *bytes = (size_t)(out - buffer);
    return true;
}

bool indices_write(const struct argsort *argsort, const struct format *format,
                   const struct chunk *chunk, struct sink *sink, struct tap *tap,
                   struct error *error)
{
    const bool is_text = format == &format_text;
    const size_t index_bytes = is_text ? NUMBER_TEXT_MAX + 1 : argsort->index_type->bytes;
    struct indices indices = {
        .argsort = argsort,
        .items = chunk->items,
        .count = chunk->count,
        .piece_items = SINK_BUFFER_BYTES / index_bytes,
        .tap = tap,
        .store = is_text ? store_text : store_binary,
    };
    const struct piece_maker maker = {
        .context = &indices,
        .pieces = chunk->count / indices.piece_items + (chunk->count % indices.piece_items != 0),
        .threads = (unsigned)omp_get_max_threads(),
        .make = make_piece,
    };
    if (maker.pieces < maker.threads) { /* few make pieces, so all threads feed the tap first */
        tap_observe_all(tap, chunk->items, chunk->count * argsort->item_bytes, maker.threads);
        indices.tap = NULL;
    }
    return piece_writer_run(&maker, sink, error);
}
