/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.c - see counting_sort.h.
 *
 *   keys --each thread counts its range--> counts[thread][value] --prefix sum--> ends[value]
 *        --one piece of the output per call, divided among the threads--> keys
 *
 * Stored values are counted; only the prefix sum and the writing use the key order.
 */
#include "cpu/counting_sort.h"

#include "core/vector_code.h"
#include "cpu/items/item_access.h"
#include "cpu/items/item_kernels.h"
#include "cpu/team.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Number of counter tables for 1-byte keys: neighbours are counted in different tables, so that
 * equal keys do not wait for the counter just stored. */
#define TURNS 4

/* Bytes of a piece per thread: it is still in a cache when the proof and the writer read it. */
#define PIECE_THREAD_BYTES ((size_t)1 << 20)

/* Keys stored per step even if fewer are needed, to avoid a mispredicted loop exit. */
#define STEP_WORDS ((size_t)16)

/* ---- Keys of 8 and 16 bits ---- */

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

void counting_sort_count(const struct counting_task *task)
{
    const unsigned parts = task->threads;
    const size_t values = value_count(task->key_bytes);
    size_t *const counts = task->workspace;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        const size_t begin = team_range_begin(task->count, i, parts);
        const size_t count = team_range_begin(task->count, i + 1, parts) - begin;
        size_t *const own = counts + i * values;
        memset(own, 0, values * sizeof *own);
        if (task->key_bytes == 1)
            count_bytes((const uint8_t *)task->keys + begin, count, own);
        else
            count_words((const uint16_t *)task->keys + begin, count, own);
    }
    sum_counts(counts, ends_of(task), task->key_bytes, task->order, parts);
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

/* Bytes of equal keys stored per step, even if fewer are needed, as STEP_WORDS. */
#define STEP_BYTES ((size_t)32)

INLINE void count_keys(unsigned width, uint32_t *counts, uint64_t lowest, const unsigned char *keys,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t key = 0;
        memcpy(&key, keys + i * width, width);
        counts[key - lowest]++;
    }
}

void dense_keys_count(unsigned width, uint32_t *counts, uint64_t lowest, const void *keys,
                      size_t count)
{
    if (width == 4)
        count_keys(4, counts, lowest, keys, count);
    else
        count_keys(8, counts, lowest, keys, count);
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

void dense_keys_write(unsigned width, const uint32_t *counts, uint64_t lowest,
                      struct key_order order, void *keys, size_t count)
{
    if (width == 4)
        write_keys(4, counts, lowest, order, keys, count);
    else
        write_keys(8, counts, lowest, order, keys, count);
}

/* ---- Up to 8 values ---- */

/* Keys sampled. Random ones exceed FEW_VALUES_MAX values soon. */
#define FEW_SAMPLES 256

/* Keys that are compared with each value while they are in L1. */
#define FEW_BLOCK_COUNT ((size_t)1024)

/* Inserts a new value, in key order. Returns false if the table is full. */
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
    const size_t stretch = count / FEW_SAMPLES;
    for (size_t i = 0; i < FEW_SAMPLES; i++) {
        const size_t place = stretch * i + i * 61 % stretch;
        if (!add_value(values, width, load_item(keys, place, width).key, order))
            return false;
    }
    return true;
}

/* The compiler vectorises this for the target of the calling function. */
INLINE bool count_few_values(const struct few_values *values, unsigned width, const void *keys,
                             size_t begin, size_t end, size_t *counts)
{
    memset(counts, 0, values->count * sizeof *counts);
    for (size_t stop; begin < end; begin = stop) {
        size_t seen = 0;
        stop = end - begin > FEW_BLOCK_COUNT ? begin + FEW_BLOCK_COUNT : end;
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

FOR_ALL_VECTORS bool few_values_count(const struct few_values *values, unsigned width,
                                      const void *keys, size_t begin, size_t end, size_t *counts)
{
    return width == 8 ? count_few_values(values, 8, keys, begin, end, counts)
                      : count_few_values(values, 4, keys, begin, end, counts);
}

FOR_ALL_VECTORS void few_values_write(const struct few_values *values, unsigned width, void *keys,
                                      size_t begin, size_t end, const size_t *ends)
{
    for (unsigned v = 0; v < values->count && begin < end; v++) {
        const size_t stop = ends[v] < end ? ends[v] : end;
        fill_keys(keys, begin, stop, values->stored[v], width);
        begin = stop > begin ? stop : begin;
    }
}

/* ---- Up to 2048 values ---- */

/* Keys sampled, and how many must repeat: of 128 keys with 1000 values, eight repeat an earlier
 * one. */
#define TABLE_SAMPLES ((size_t)128)
#define REPEATS_MIN 3
#define SAMPLE_BITS 16

/* Keys of a block, and the maximum of new values in a block after the first: counting stops if it
 * is exceeded. In the second 512 keys, 230 are new with 1000 values, 290 with 1500, and 350 with a
 * million values of decreasing frequency. */
#define TABLE_BLOCK_COUNT ((size_t)512)
#define NEW_MAX (TABLE_BLOCK_COUNT * 5 / 8)

/* Maximum keys of a block after the first that are outside of their home line, as these are
 * searched one by one. Counting stops if it is exceeded. */
#define DISPLACED_MAX (TABLE_BLOCK_COUNT / 8)

/* Lines that may hold a value. A limit, because an input could be made so that all its values
 * share a line. */
#define PROBES_MAX 4

#define LINES ((size_t)1 << VALUE_TABLE_BITS)
#define LINE_VALUES ((size_t)4)

/* Multiplicative hash (Knuth): the upper bits depend on all bits of the key. */
INLINE size_t hash_value(uint64_t stored, unsigned bits)
{
    return (size_t)(stored * 0x9e3779b97f4a7c15u >> (64 - bits));
}

bool value_table_suits(unsigned width, const void *keys, size_t count)
{
    uint64_t hashes[(1 << SAMPLE_BITS) / 64] = {0};
    const size_t stretch = count / TABLE_SAMPLES;
    unsigned repeats = 0;
    for (size_t sample = 0; sample < TABLE_SAMPLES; sample++) {
        const size_t place = stretch * sample + sample * 61 % stretch;
        const size_t bit = hash_value(load_item(keys, place, width).key, SAMPLE_BITS);
        repeats += hashes[bit / 64] >> bit % 64 & 1;
        hashes[bit / 64] |= (uint64_t)1 << bit % 64;
    }
    return repeats >= REPEATS_MIN;
}

/* Clears the table. An empty slot holds a value of another line, so that one comparison decides. */
void value_table_clear(struct value_table *table)
{
    struct value_line *const home_of_0 = &table->lines[hash_value(0, VALUE_TABLE_BITS)];
    memset(table->lines, 0, sizeof table->lines);
    for (size_t i = 0; i < LINE_VALUES; i++)
        home_of_0->stored[i] = 1;
    table->values = table->displaced = 0;
}

/* Adds `count` keys of a value; false if there is no slot for it, or there are too many values. */
static bool add(struct value_table *table, uint64_t stored, uint64_t count)
{
    const size_t home = hash_value(stored, VALUE_TABLE_BITS);
    for (size_t place = 0; place < PROBES_MAX * LINE_VALUES; place++) {
        struct value_line *const line = &table->lines[(home + place / LINE_VALUES) % LINES];
        const size_t i = place % LINE_VALUES;
        if (line->counts[i] == 0) {
            if (table->values++ == VALUE_TABLE_VALUES_MAX)
                return false;
            line->stored[i] = stored;
        }
        if (line->stored[i] == stored) {
            table->displaced += place >= LINE_VALUES ? count : 0;
            line->counts[i] += count;
            return true;
        }
    }
    return false;
}

/* Compares all slots of a line, without a branch on which of them matches. */
INLINE bool add_keys(struct value_table *table, unsigned width, const void *keys, size_t begin,
                     size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const uint64_t stored = load_item(keys, i, width).key;
        struct value_line *const line = &table->lines[hash_value(stored, VALUE_TABLE_BITS)];
        unsigned equal = 0;
        for (unsigned slot = 0; slot < LINE_VALUES; slot++)
            equal |= (unsigned)(line->stored[slot] == stored) << slot;
        if (equal != 0)
            line->counts[__builtin_ctz(equal)]++;
        else if (!add(table, stored, 1))
            return false;
    }
    return true;
}

/* Adds keys[begin..end) of one block; false if add() fails. */
FOR_ALL_VECTORS static bool add_block(struct value_table *table, unsigned width, const void *keys,
                                      size_t begin, size_t end)
{
    return width == 8 ? add_keys(table, 8, keys, begin, end) : add_keys(table, 4, keys, begin, end);
}

bool value_table_count(struct value_table *table, unsigned width, const void *keys, size_t begin,
                       size_t end)
{
    const size_t first = begin;
    for (size_t stop; begin < end; begin = stop) {
        const size_t values = table->values, displaced = table->displaced;
        stop = end - begin > TABLE_BLOCK_COUNT ? begin + TABLE_BLOCK_COUNT : end;
        if (!add_block(table, width, keys, begin, stop) ||
            (begin > first &&
             (table->values - values > NEW_MAX || table->displaced - displaced > DISPLACED_MAX)))
            return false;
    }
    return true;
}

bool value_table_merge(struct value_table *table, const struct value_table *other)
{
    for (size_t i = 0; i < LINES * LINE_VALUES; i++) {
        const struct value_line *const line = &other->lines[i / LINE_VALUES];
        const uint64_t count = line->counts[i % LINE_VALUES];
        if (count > 0 && !add(table, line->stored[i % LINE_VALUES], count))
            return false;
    }
    return true;
}

void value_table_sort(struct value_table *table, unsigned width, struct key_order order)
{
    size_t found = 0, sum = 0;
    for (size_t i = 0; i < LINES * LINE_VALUES; i++) {
        const struct value_line *const line = &table->lines[i / LINE_VALUES];
        if (line->counts[i % LINE_VALUES] > 0)
            table->room[0][found++] = (struct key_index){
                .key = key_order_encode(order, 8 * width, line->stored[i % LINE_VALUES]),
                .index = line->counts[i % LINE_VALUES]};
    }
    struct key_index *const sorted =
        lsd_radix_sort(sizeof(struct key_index), table->room[0], table->room[1], found);
    for (size_t i = 0; i < found; i++)
        sorted[i].index = sum += sorted[i].index;
    table->ends = sorted;
}

FOR_ALL_VECTORS void value_table_write(const struct value_table *table, unsigned width,
                                       struct key_order order, void *keys, size_t begin, size_t end)
{
    const struct key_index *ends = table->ends;
    while (begin < end && ends->index <= begin)
        ends++;
    for (; begin < end; ends++) {
        const size_t stop = ends->index < end ? ends->index : end;
        fill_keys(keys, begin, stop, key_order_decode(order, 8 * width, ends->key), width);
        begin = stop;
    }
}
