/* SPDX-License-Identifier: Apache-2.0 */
/* argsort.c - see argsort.h.
 *
 * All threads make items, a part at a time, in one pass over the keys.
 */
#include "core/argsort.h"

#include "core/item_width.h"

#include <inttypes.h>

/* One more thread is used for each COUNT_PER_THREAD keys, which take about 0.1 ms. */
#define COUNT_PER_THREAD ((size_t)1 << 16)

/* Keys of a part, so that keys and items are in a cache when the taps observe them. */
#define PART_COUNT ((size_t)1 << 10)

/* Minimum bits of an index in 8 bytes with its key, if the count is unknown. Reading more numbers
 * than these count, at some GB/s, would take days; they are refused. */
#define INDEX_BITS_UNKNOWN 48

void argsort_set_keys(struct argsort *argsort, const struct key_type *type, struct key_order order,
                      size_t count)
{
    const unsigned spare_bits = 64 - 8 * type->bytes;
    const bool fits = count == COUNT_UNKNOWN || spare_bits == 0
                          ? spare_bits >= INDEX_BITS_UNKNOWN
                          : count == 0 || (uint64_t)(count - 1) >> spare_bits == 0;
    argsort->key_bytes = type->bytes;
    argsort->order = order;
    argsort->infinity = type->kind == KEY_FLOAT ? key_type_infinity(type) : 0;
    argsort->item_bytes = fits ? sizeof(uint64_t) : sizeof(struct key_index);
    argsort->index_bits = fits ? spare_bits : 64;
}

void argsort_set_key_index(struct argsort *argsort)
{
    argsort->item_bytes = sizeof(struct key_index);
    argsort->index_bits = 64;
}

bool argsort_check_count(const struct argsort *argsort, size_t count, struct error *error)
{
    const struct key_type *const type = argsort->index_type;
    const bool is_signed = type->kind == KEY_SIGNED;
    if (type->bytes == sizeof(uint32_t) && count > (is_signed ? INT32_MAX : UINT32_MAX))
        return error_set(error,
                         "--argsort=%s counts up to %" PRIu32 " numbers, and there are more: use "
                         "--argsort=%s",
                         type->name, is_signed ? (uint32_t)INT32_MAX : UINT32_MAX,
                         is_signed ? "i64" : "u64");
    if (count > 0 && (uint64_t)(count - 1) > key_bits_mask(argsort->index_bits))
        return error_set(error, "--argsort counts up to 2^%u of these numbers, and there are more",
                         argsort->index_bits);
    return true;
}

/* Consecutive keys, and the items made of them. The first key has the index `first`. */
struct part {
    const struct argsort *argsort;
    const unsigned char *keys;
    unsigned char *items;
    uint64_t first;
    size_t count;
};

INLINE void make_items(const struct part *part, unsigned width)
{
    const bool is_packed = part->argsort->item_bytes == sizeof(uint64_t);
    const bool is_float = part->argsort->order.kind == KEY_FLOAT;
    struct key_order order = part->argsort->order;
    const uint64_t infinity = part->argsort->infinity;
    const unsigned index_bits = part->argsort->index_bits, bits = 8 * width;
    const bool swap_bytes = order.swap_bytes;
    order.swap_bytes = false;
    for (size_t i = 0; i < part->count; i++) {
        uint64_t x = 0;
        memcpy(&x, part->keys + i * width, width);
        if (swap_bytes)
            x = key_bits_swap_bytes(bits, x);
        if (is_float)
            x = key_bits_unify(x, bits, infinity);
        const struct key_index pair = {part->first + i, key_order_encode(order, bits, x)};
        const uint64_t packed = is_packed ? pair.key << index_bits | pair.index : 0;
        if (is_packed)
            memcpy(part->items + i * sizeof packed, &packed, sizeof packed);
        else
            memcpy(part->items + i * sizeof pair, &pair, sizeof pair);
    }
}

void argsort_fill(const struct argsort *argsort, const void *keys, uint64_t first,
                  const struct chunk *chunk, unsigned threads, const struct argsort_taps *taps)
{
    const unsigned key_bytes = argsort->key_bytes, item_bytes = argsort->item_bytes;
    const size_t useful = chunk->count / COUNT_PER_THREAD + 1;
#pragma omp parallel for schedule(static) num_threads((int)(useful < threads ? useful : threads))
    for (size_t begin = 0; begin < chunk->count; begin += PART_COUNT) {
        const size_t left = chunk->count - begin;
        const struct part part = {.argsort = argsort,
                                  .keys = (const unsigned char *)keys + begin * key_bytes,
                                  .items = (unsigned char *)chunk->items + begin * item_bytes,
                                  .first = argsort->first + first + begin,
                                  .count = left < PART_COUNT ? left : PART_COUNT};
        BY_KEY_WIDTH(key_bytes, make_items, &part);
        tap_observe(taps->keys, part.keys, part.count * key_bytes);
        tap_observe(taps->items, part.items, part.count * item_bytes);
    }
}
