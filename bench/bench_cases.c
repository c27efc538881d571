/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cases.c - see bench_cases.h. */
#include "bench/bench_cases.h"

#include "core/backend.h"

const struct bench_type bench_types[] = {
#define X(id, name, key, index_bytes) {BENCH_TYPE_##id, name, KEY_TYPE_##key, index_bytes},
    BENCH_TYPES(X)
#undef X
};

const struct bench_shape bench_shapes[] = {
#define X(id, name, summary) {BENCH_SHAPE_##id, name, summary},
    BENCH_SHAPES(X)
#undef X
};

unsigned bench_item_bytes(const struct bench_type *type)
{
    if (type->index_bytes == 0)
        return key_types[type->key].bytes;
    return bench_peer_item_bytes(type) <= sizeof(uint64_t) ? sizeof(uint64_t)
                                                           : sizeof(struct key_index);
}

bool bench_is_packed(const struct bench_type *type)
{
    return type->index_bytes > 0 && bench_item_bytes(type) == sizeof(uint64_t);
}

unsigned bench_peer_item_bytes(const struct bench_type *type)
{
    return key_types[type->key].bytes + type->index_bytes;
}

bool bench_shape_fits(const struct bench_shape *shape, const struct bench_type *type)
{
    return shape->id < BENCH_SHAPE_HOT_2 || shape->id > BENCH_SHAPE_HOT_7 ||
           (unsigned)(shape->id - BENCH_SHAPE_HOT_1) + 1 < key_types[type->key].bytes;
}
