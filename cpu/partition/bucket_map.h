/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_map.h - finds the buckets of a block of items at a time, by a model of the keys.
 *
 * Both passes of a partition, the one that counts and the one that scatters, go through their items
 * in blocks that stay in the first cache: what is alike for all keys of a block, the map to ordered
 * bits and the lookup in the model, is done by vectors where the machine has them; what is not, the
 * counting and the moving, key by key. f64, a core of an AMD EPYC (Zen 5), 2026-11: 1.2 ns a key to
 * count and 3.5 to scatter key by key, 0.75 and 2.1 in blocks.
 */
#ifndef CPU_BUCKET_MAP_H
#define CPU_BUCKET_MAP_H

#include "core/key_order.h"
#include "cpu/partition/bucket_model.h"

#include <stddef.h>

#define BUCKET_BLOCK_COUNT ((size_t)256)

struct bucket_block {
    _Alignas(64) unsigned char keys[BUCKET_BLOCK_COUNT * sizeof(uint64_t)]; /* ordered bits */
    _Alignas(64) uint32_t buckets[BUCKET_BLOCK_COUNT];
};

/* block->buckets[i] = the bucket of items[i], for i below count, at most BUCKET_BLOCK_COUNT; for
 * widths 4 and 8 block->keys has the ordered bits of the items, for width 16, whose keys are
 * ordered bits already, nothing. width: of an item in bytes, 4, 8 or 16 (struct key_index). */
void bucket_map(unsigned width, const void *items, size_t count, struct key_order order,
                const struct bucket_model *model, struct bucket_block *block);

/* As bucket_map, for widths 4 and 8, but that block->buckets[i] = the fine cell of items[i], whose
 * bucket the caller looks up. No vector gathers cells then, and 16 keys of 4 bytes go at once. File
 * to file, two cores of an AMD EPYC (Zen 5), 2026-11: 1e8 f64 0.439 to 0.413 s, 4e8 f32 0.89 to
 * 0.82. */
void bucket_map_fine(unsigned width, const void *items, size_t count, struct key_order order,
                     const struct fine_table *fine, struct bucket_block *block);

#endif
