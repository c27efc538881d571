/* SPDX-License-Identifier: Apache-2.0 */
/* few_values.c - see few_values.h. */
#include "cpu/counting/few_values.h"

#include "core/vector_units.h"
#include "cpu/items/item_access.h"

#include <string.h>

/* Keys sampled. Random ones exceed FEW_VALUES_MAX values soon. */
#define SAMPLES 256

/* Keys that are compared with each value while they are in L1. */
#define BLOCK_COUNT ((size_t)1024)

/* Returns false if the table is full. */
static bool add_value(struct few_values *values, unsigned width, uint64_t stored,
                      struct key_order order)
{
    const uint64_t key = key_order_encode(order, 8 * width, stored);
    unsigned place = values->count;
    for (unsigned v = 0; v < values->count; v++)
        if (values->stored[v] == stored)
            return true;
    if (values->count == FEW_VALUES_MAX)
        return false;
    for (; place > 0; place--) {
        const uint64_t before = values->stored[place - 1];
        if (key_order_encode(order, 8 * width, before) < key)
            break;
        values->stored[place] = before;
    }
    values->stored[place] = stored;
    values->count++;
    return true;
}

bool few_values_find(struct few_values *values, unsigned width, const void *keys, size_t count,
                     struct key_order order)
{
    values->count = 0;
    const size_t stretch = count / SAMPLES;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t place = stretch * i + i * 61 % stretch;
        if (!add_value(values, width, load_item(keys, place, width).key, order))
            return false;
    }
    return true;
}

/* The compiler vectorises this for the target of the calling function. */
static inline __attribute__((always_inline)) bool count_values(const struct few_values *values,
                                                               unsigned width, const void *keys,
                                                               size_t begin, size_t end,
                                                               size_t *counts)
{
    memset(counts, 0, values->count * sizeof *counts);
    for (size_t stop; begin < end; begin = stop) {
        size_t seen = 0;
        stop = end - begin > BLOCK_COUNT ? begin + BLOCK_COUNT : end;
        for (unsigned v = 0; v < values->count; v++) {
            const uint64_t stored = values->stored[v];
            uint64_t found = 0;
            if (width == 8) {
#pragma omp simd reduction(+ : found)
                for (size_t i = begin; i < stop; i++)
                    found += ((const uint64_t *)keys)[i] == stored;
            } else {
                uint32_t found_32 = 0;
#pragma omp simd reduction(+ : found_32)
                for (size_t i = begin; i < stop; i++)
                    found_32 += ((const uint32_t *)keys)[i] == (uint32_t)stored;
                found = found_32;
            }
            counts[v] += found;
            seen += found;
        }
        if (seen < stop - begin)
            return false;
    }
    return true;
}

#ifdef HAVE_VECTOR_CODE
VECTOR_CODE static bool vector_count_values(const struct few_values *values, unsigned width,
                                            const void *keys, size_t begin, size_t end,
                                            size_t *counts)
{
    return width == 8 ? count_values(values, 8, keys, begin, end, counts)
                      : count_values(values, 4, keys, begin, end, counts);
}
#endif

bool few_values_count(const struct few_values *values, unsigned width, const void *keys,
                      size_t begin, size_t end, size_t *counts)
{
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        return vector_count_values(values, width, keys, begin, end, counts);
#endif
    return width == 8 ? count_values(values, 8, keys, begin, end, counts)
                      : count_values(values, 4, keys, begin, end, counts);
}

static inline __attribute__((always_inline)) void write_values(const struct few_values *values,
                                                               unsigned width, void *keys,
                                                               size_t begin, size_t end,
                                                               const size_t *ends)
{
    for (unsigned v = 0; v < values->count && begin < end; v++) {
        const size_t stop = ends[v] < end ? ends[v] : end;
        fill_keys(keys, begin, stop, values->stored[v], width);
        begin = stop > begin ? stop : begin;
    }
}

#ifdef HAVE_VECTOR_CODE
VECTOR_CODE static void vector_write_values(const struct few_values *values, unsigned width,
                                            void *keys, size_t begin, size_t end,
                                            const size_t *ends)
{
    write_values(values, width, keys, begin, end, ends);
}
#endif

void few_values_write(const struct few_values *values, unsigned width, void *keys, size_t begin,
                      size_t end, const size_t *ends)
{
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units()) {
        vector_write_values(values, width, keys, begin, end, ends);
        return;
    }
#endif
    write_values(values, width, keys, begin, end, ends);
}
