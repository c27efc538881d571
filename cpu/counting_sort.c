/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.c - see counting_sort.h.
 *
 *   keys --each thread counts its range--> counts[thread][value] --prefix sum--> ends[value]
 *        --one piece of the output per call, divided among the threads--> keys
 *
 * Stored values are counted; the key order matters in the prefix sum only.
 */
#include "cpu/counting_sort.h"

#include "cpu/team.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Number of counter tables that consecutive keys of few values alternate between, so that ties do
 * not wait for the counter just stored. */
#define TURNS 4

/* Bytes of a piece per thread: it is still in a cache when the proof and the writer read it. */
#define PIECE_THREAD_BYTES ((size_t)1 << 20)

/* Keys stored per step even if fewer are needed, to avoid a mispredicted loop exit. */
#define STEP_WORDS ((size_t)16)

static size_t value_count(unsigned key_bytes)
{
    return (size_t)1 << 8 * key_bytes;
}

size_t counting_sort_workspace_bytes(unsigned key_bytes, unsigned threads)
{
    return (threads + (size_t)1) * value_count(key_bytes) * sizeof(size_t);
}

static void count_bytes(const uint8_t *keys, size_t count, size_t *counts)
{
    size_t tables[TURNS][1 << 8] = {{0}};
    size_t i = 0;
    for (; i + TURNS <= count; i += TURNS)
        for (size_t turn = 0; turn < TURNS; turn++)
            tables[turn][keys[i + turn]]++;
    for (; i < count; i++)
        tables[0][keys[i]]++;
    for (size_t value = 0; value < 1 << 8; value++)
        for (size_t turn = 0; turn < TURNS; turn++)
            counts[value] += tables[turn][value];
}

static void count_words(const uint16_t *keys, size_t count, size_t *counts)
{
    for (size_t i = 0; i < count; i++)
        counts[keys[i]]++;
}

/* Sets ends[o] to the number of keys whose ordered bits are at most o. */
static void sum_counts(const size_t *counts, size_t *ends, unsigned key_bytes,
                       struct key_order order, unsigned parts)
{
    const size_t values = value_count(key_bytes);
    size_t sum = 0;
    for (size_t ordered = 0; ordered < values; ordered++) {
        const size_t value = (size_t)key_order_decode(order, 8 * key_bytes, ordered);
        for (unsigned part = 0; part < parts; part++)
            sum += counts[part * values + value];
        ends[ordered] = sum;
    }
}

/* Returns the first value whose end is after `place`. */
static size_t find_value(const size_t *ends, size_t values, size_t place)
{
    size_t low = 0, high = values - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ends[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Sets words[begin..stop) to `word`; may also write up to STEP_WORDS more, but not past `end`. */
static void fill_words(uint16_t *words, size_t begin, size_t stop, size_t end, uint16_t word)
{
    if (end - stop < STEP_WORDS) {
        for (; begin < stop; begin++)
            words[begin] = word;
        return;
    }
    do {
        for (size_t i = 0; i < STEP_WORDS; i++)
            words[begin + i] = word;
        begin += STEP_WORDS;
    } while (begin < stop);
}

static void write_values(void *keys, size_t begin, size_t end, const size_t *ends,
                         unsigned key_bytes, struct key_order order)
{
    if (begin == end)
        return;
    size_t ordered = find_value(ends, value_count(key_bytes), begin);
    for (size_t place = begin; place < end; ordered++) {
        const size_t stop = ends[ordered] < end ? ends[ordered] : end;
        const uint64_t value = key_order_decode(order, 8 * key_bytes, ordered);
        if (key_bytes == 1)
            memset((uint8_t *)keys + place, (int)value, stop - place);
        else
            fill_words(keys, place, stop, end, (uint16_t)value);
        place = stop;
    }
}

static size_t *ends_of(const struct counting_task *task)
{
    return (size_t *)task->workspace + task->threads * value_count(task->key_bytes);
}

static void count_share(const struct member *member, void *context)
{
    const struct counting_task *const task = *(const struct counting_task *const *)context;
    const size_t values = value_count(task->key_bytes);
    const size_t begin = team_range_begin(task->count, member->number, member->count);
    const size_t end = team_range_begin(task->count, member->number + 1, member->count);
    size_t *const counts = task->workspace, *const own = counts + member->number * values;
    memset(own, 0, values * sizeof *own);
    if (task->key_bytes == 1)
        count_bytes((const uint8_t *)task->keys + begin, end - begin, own);
    else
        count_words((const uint16_t *)task->keys + begin, end - begin, own);
    team_barrier(member);
    if (member->number == 0)
        sum_counts(counts, ends_of(task), task->key_bytes, task->order, member->count);
}

void counting_sort_count(const struct counting_task *task)
{
    team_run(task->threads, count_share, &task);
}

size_t counting_sort_write(const struct counting_task *task, size_t begin)
{
    const unsigned parts = task->threads;
    const size_t piece = PIECE_THREAD_BYTES * parts / task->key_bytes;
    const size_t left = task->count - begin, count = left < piece ? left : piece;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++)
        write_values(task->keys, begin + team_range_begin(count, i, parts),
                     begin + team_range_begin(count, i + 1, parts), ends_of(task), task->key_bytes,
                     task->order);
    return begin + count;
}

/* ---- Keys of a dense range ---- */

#define INLINE static inline __attribute__((always_inline))

/* Bytes of a value stored per step even if fewer are needed, to avoid a mispredicted loop exit. */
#define STEP_BYTES ((size_t)32)

/* With few values a key often equals its predecessor and would wait for the counter just stored.
 * So up to TURNS_VALUES_MAX values have TURNS tables, used in rotation. */
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
