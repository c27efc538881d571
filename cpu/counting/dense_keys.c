/* SPDX-License-Identifier: Apache-2.0 */
/* dense_keys.c - see dense_keys.h. */
#include "cpu/counting/dense_keys.h"

#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Bytes of a value stored per step even if fewer are needed, to avoid a mispredicted loop exit. */
#define STEP_BYTES ((size_t)32)

/* With few values a key often equals its predecessor and would wait for the counter just stored.
 * So up to TURNS_VALUES_MAX values have TURNS tables, used in rotation. */
#define TURNS 4
#define TURNS_VALUES_MAX ((size_t)1024)

size_t dense_keys_counts(size_t values)
{
    return values <= TURNS_VALUES_MAX ? TURNS * values : values;
}

/* table_values: distance of the tables; 0: there is one table. */
INLINE void count_keys(unsigned width, uint32_t *counts, size_t table_values, uint64_t lowest,
                       const unsigned char *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t key = 0;
        memcpy(&key, keys + i * width, width);
        counts[key - lowest + i % TURNS * table_values]++;
    }
}

void dense_keys_count(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      const void *keys, size_t count)
{
    const bool takes_turns = values <= TURNS_VALUES_MAX;
    if (width == 4 && takes_turns)
        count_keys(4, counts, values, lowest, keys, count);
    else if (width == 4)
        count_keys(4, counts, 0, lowest, keys, count);
    else if (takes_turns)
        count_keys(8, counts, values, lowest, keys, count);
    else
        count_keys(8, counts, 0, lowest, keys, count);
}

INLINE void fill(unsigned width, unsigned char *to, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * width, &key, width);
}

INLINE void write_keys(unsigned width, const uint32_t *counts, uint64_t lowest,
                       struct key_order order, unsigned char *keys, size_t count)
{
    const size_t step = STEP_BYTES / width;
    for (size_t begin = 0, value = 0; begin < count; value++) {
        const size_t repeats = counts[value];
        const uint64_t key = key_order_decode(order, 8 * width, lowest + value);
        unsigned char *const to = keys + begin * width;
        if (repeats + step > count - begin) {
            fill(width, to, repeats, key);
        } else {
            fill(width, to, step, key);
            for (size_t done = step; done < repeats; done += step)
                fill(width, to + done * width, step, key);
        }
        begin += repeats;
    }
}

void dense_keys_write(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      struct key_order order, void *keys, size_t count)
{
    for (size_t i = values; i < dense_keys_counts(values); i++)
        counts[i % values] += counts[i];
    if (width == 4)
        write_keys(4, counts, lowest, order, keys, count);
    else
        write_keys(8, counts, lowest, order, keys, count);
}
