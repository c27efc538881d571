/* SPDX-License-Identifier: Apache-2.0 */
/* digits_cases.h - what the matrices of the sort digit by digit have in common: items whose index
 * is their place, and the memory that such a sort takes beside them.
 */
#ifndef TESTS_DIGITS_CASES_H
#define TESTS_DIGITS_CASES_H

#include "cuda/radix_digits.cuh"
#include "tests/radix_cases.h"

/* Items have their place for an index, from `first_index` on. */
template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count,
                                 uint64_t first_index = 7)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count), first_index + i);
    return items;
}

struct device_memory {
    struct cuda_sort sort;
    struct radix_segments *whole;
    struct radix_totals *totals;
    struct radix_open *open;
};

static constexpr unsigned open_most = 8;

template <typename K>
static bool device_open(struct device_memory *memory, const std::vector<K> &items,
                        struct key_order order, struct error *error, size_t tile_size = 4096)
{
    *memory = {};
    if (!sort_open(&memory->sort, items.size(), sizeof(K), tile_size, 0, error) ||
        !check(cudaMalloc(&memory->whole, sizeof *memory->whole), error) ||
        !check(cudaMalloc(&memory->totals, sizeof *memory->totals), error) ||
        !check(cudaMemset(memory->totals, 0, sizeof *memory->totals), error) ||
        !check(cudaMalloc(&memory->open, open_most * sizeof *memory->open), error))
        return false;
    std::vector<radix_count> whole(sizeof *memory->whole / sizeof(radix_count));
    whole[offsetof(struct radix_segments, keys) / sizeof(radix_count)] = items.size();
    memory->sort.order = order;
    memory->sort.note->count = 0;
    return check(cudaMemcpy(memory->whole, whole.data(), sizeof *memory->whole,
                            cudaMemcpyHostToDevice),
                 error) &&
           send(memory->sort, items, error);
}

static void device_close(struct device_memory *memory)
{
    (void)cudaFree(memory->open);
    (void)cudaFree(memory->totals);
    (void)cudaFree(memory->whole);
    sort_close(&memory->sort);
}

/* ---- digit by digit ---- */

/* How items are sorted: in portions of so many keys, 0: in the greatest ones. */
struct way {
    struct key_order order;
    enum radix_digit_way digits;
    size_t portion;
    bool has_code = false;
    bool has_large_tiles = true;
};

static bool start_digits(const struct device_memory &memory, const struct way &way,
                         struct error *error)
{
    struct radix_digit_task task = {};
    task.way = way.digits;
    task.whole = memory.whole;
    task.memory = memory.sort.workspace;
    task.has_code = way.has_code;
    task.portion = way.portion ? way.portion : RADIX_DIGIT_PORTION;
    task.totals = memory.totals;
    task.open = memory.open;
    task.open_most = open_most;
    task.has_large_tiles = way.has_large_tiles;
    return radix_digit_sort(&memory.sort, &task, error);
}

#endif
