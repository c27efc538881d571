/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - see check.h. */
#include "core/check/check.h"

#include "core/backend.h"
#include "core/check/check_kernels.h"
#include "core/check/tap.h"

#include <string.h>

void tap_observe_all(struct tap *tap, const void *data, size_t bytes, unsigned threads)
{
    if (!tap)
        return;
#pragma omp parallel for schedule(static) num_threads((int)threads) if (bytes > TAP_PIECE_BYTES)
    for (size_t begin = 0; begin < bytes; begin += TAP_PIECE_BYTES) {
        const size_t left = bytes - begin;
        tap_observe(tap, (const unsigned char *)data + begin,
                    left < TAP_PIECE_BYTES ? left : TAP_PIECE_BYTES);
    }
}

static void observe_keys(struct tap *tap, const void *data, size_t bytes)
{
    struct key_check *const check = (struct key_check *)tap;
    const size_t count = bytes / check->key_bytes;
    check_sum_add(&check->sum,
                  (struct check_sum){count, check_hash_keys(check->key_bytes, data, count)});
}

static void observe_ordered_keys(struct tap *tap, const void *data, size_t bytes)
{
    struct key_check *const check = (struct key_check *)tap;
    const unsigned width = check->key_bytes;
    const unsigned char *const keys = data;
    const size_t count = bytes / width, first = (size_t)(keys - check->chunk) / width;
    const uint64_t before = check->chunk_begin + first;
    const void *const previous = first > 0 ? keys - width : before > 0 ? check->previous_key : NULL;
    struct check_sum sum = {count, 0};
    const size_t found = check_find_disorder(width, check->order, previous, keys, count, &sum.hash);
    if (found < count)
        first_position_note(&check->disorder, before + found);
    check_sum_add(&check->sum, sum);
}

void key_check_start(struct key_check *check, unsigned key_bytes)
{
    *check = (struct key_check){.tap = {.observe = observe_keys, .unit_bytes = key_bytes},
                                .key_bytes = key_bytes};
}

void key_check_start_ordered(struct key_check *check, unsigned key_bytes, struct key_order order)
{
    *check = (struct key_check){.tap = {.observe = observe_ordered_keys, .unit_bytes = key_bytes},
                                .key_bytes = key_bytes,
                                .order = order};
}

static void observe_lines(struct tap *tap, const void *data, size_t bytes)
{
    struct key_check *const check = (struct key_check *)tap;
    const struct key_index *const items = data;
    const size_t count = bytes / sizeof *items;
    const size_t first = (size_t)(items - (const struct key_index *)(const void *)check->chunk);
    const uint64_t position = check->chunk_begin + first;
    struct check_sum sum = {count, 0};
    struct key_index previous = {0, 0};
    if (first > 0)
        previous = items[-1];
    else if (position > 0)
        memcpy(&previous, check->previous_key, sizeof previous);
    for (size_t i = 0; i < count; i++) {
        if (items[i].key < previous.key)
            first_position_note(&check->disorder, position + i);
        previous = items[i];
        sum.hash += check_mix(items[i].index);
    }
    check_sum_add(&check->sum, sum);
}

void key_check_start_lines(struct key_check *check)
{
    const unsigned width = sizeof(struct key_index);
    *check = (struct key_check){.tap = {.observe = observe_lines, .unit_bytes = width},
                                .key_bytes = width};
}

struct check_sum key_check_indices(uint64_t count, unsigned threads)
{
    uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : hash) num_threads((int)threads)
    for (uint64_t i = 0; i < count; i++)
        hash += check_mix(i);
    return (struct check_sum){count, hash};
}

void key_check_begin_chunk(struct key_check *check, const void *keys, size_t count)
{
    const unsigned width = check->key_bytes;
    if (count == 0)
        return;
    if (check->sum.count == 0)
        memcpy(check->first_key, keys, width);
    check->chunk = keys;
    check->chunk_begin = check->sum.count;
    memcpy(check->previous_key, check->last_key, width);
    memcpy(check->last_key, check->chunk + (count - 1) * width, width);
}

void key_check_append(struct key_check *check, const struct key_check *next)
{
    const void *const previous = check->sum.count > 0 ? check->last_key : NULL;
    uint64_t ignored_hash = 0;
    if (next->sum.count == 0)
        return;
    if (check_find_disorder(check->key_bytes, check->order, previous, next->first_key, 1,
                            &ignored_hash) == 0)
        first_position_note(&check->disorder, check->sum.count);
    if (next->disorder > 0)
        first_position_note(&check->disorder, check->sum.count + next->disorder - 1);
    check_sum_add(&check->sum, next->sum);
    memcpy(check->last_key, next->last_key, check->key_bytes);
}

struct check_sum text_check_sum(uint64_t position, const void *data, size_t bytes)
{
    return (struct check_sum){bytes, check_sum_text(position, data, bytes)};
}

static void observe_text(struct tap *tap, const void *data, size_t bytes)
{
    struct text_check *const check = (struct text_check *)tap;
    check_sum_add(&check->sum, text_check_sum((uintptr_t)data - check->origin, data, bytes));
}

void text_check_start(struct text_check *check)
{
    *check = (struct text_check){.tap = {.observe = observe_text, .unit_bytes = 1}};
}

void text_check_begin_chunk(struct text_check *check, const void *data, uint64_t position)
{
    check->origin = (uintptr_t)data - (uintptr_t)position;
}
