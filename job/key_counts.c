/* SPDX-License-Identifier: Apache-2.0 */
/* key_counts.c - see key_counts.h. */
#include "job/key_counts.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)2 << 20)

static uint16_t load(const unsigned char *items, size_t position, unsigned item_bytes)
{
    uint16_t key = 0;
    memcpy(&key, items + position * item_bytes, item_bytes);
    return key;
}

/* Returns the end of the keys that equal the key at `first`. The search doubles its steps, and then
 * bisects the last step. */
static size_t end_of_equal(const unsigned char *items, size_t first, size_t count,
                           unsigned item_bytes)
{
    const uint16_t key = load(items, first, item_bytes);
    size_t step = 1, low = first; /* items[low] is equal, items[high] is not */
    while (low + step < count && load(items, low + step, item_bytes) == key) {
        low += step;
        step *= 2;
    }
    size_t high = step < count - low ? low + step : count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (load(items, middle, item_bytes) == key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void key_counts_add(uint64_t *counts, const void *items, size_t count, unsigned item_bytes)
{
    for (size_t first = 0, end; first < count; first = end) {
        end = end_of_equal(items, first, count, item_bytes);
        counts[load(items, first, item_bytes)] += end - first;
    }
}

static void fill(unsigned char *buffer, uint16_t key, size_t count, unsigned item_bytes)
{
    if (item_bytes == 1) {
        memset(buffer, key, count);
        return;
    }
    uint16_t *const keys = (uint16_t *)buffer;
    for (size_t i = 0; i < count; i++)
        keys[i] = key;
}

bool key_counts_write(const uint64_t *counts, unsigned item_bytes, struct key_order order,
                      uint64_t skipped, uint64_t wanted, struct job_state *state,
                      struct error *error)
{
    const size_t room = BUFFER_BYTES / item_bytes;
    unsigned char *const buffer = malloc(BUFFER_BYTES);
    size_t filled = 0;
    bool ok = buffer || error_set(error, "out of memory: no room to write numbers from");
    for (size_t rank = 0; ok && wanted > 0 && rank < KEY_COUNTS(item_bytes); rank++) {
        const uint16_t key = (uint16_t)key_order_decode(order, 8 * item_bytes, rank);
        const uint64_t has = counts[key], out = has < skipped ? has : skipped;
        uint64_t left = has - out < wanted ? has - out : wanted;
        skipped -= out;
        wanted -= left;
        while (ok && left > 0) {
            const size_t count = left < room - filled ? (size_t)left : room - filled;
            fill(buffer + filled * item_bytes, key, count, item_bytes);
            filled += count;
            left -= count;
            if (filled == room) {
                ok = job_write_items(state, buffer, filled, error);
                filled = 0;
            }
        }
    }
    ok = ok && (filled == 0 || job_write_items(state, buffer, filled, error));
    free(buffer);
    return ok;
}
