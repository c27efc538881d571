/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_model.c - see bucket_model.h. */
#include "cpu/partition/bucket_model.h"

#include "core/backend.h"
#include "cpu/items/item_access.h"
#include "cpu/items/vector_order.h"

#include <stdbool.h>
#include <string.h>

/* Maximum number of additional halvings of a cell whose sample is uneven. */
#define EVEN_HALVINGS 3

/* Number of times to halve a cell so that each of its buckets has a weight of about 1 /
 * buckets_wanted of the sample: log2(weight * buckets_wanted / count), rounded to the nearest
 * (2/3 approximates the square root of 1/2). */
static unsigned cell_halvings(size_t weight, size_t count, unsigned buckets_wanted)
{
    const uint64_t parts = (uint64_t)weight * buckets_wanted * 2 / (3 * (uint64_t)count);
    return bit_length(parts);
}

/* The largest number of keys of sample[0..weight), the sample of one cell, in one bucket. */
static size_t heaviest_bucket(const struct bucket_model *model, const uint64_t *sample,
                              size_t weight, unsigned shift)
{
    size_t heaviest = 0, begin = 0;
    for (size_t i = 1; i <= weight; i++) {
        if (i < weight && ((sample[i] - model->lowest) & model->cell_mask) >> shift ==
                              ((sample[begin] - model->lowest) & model->cell_mask) >> shift)
            continue;
        heaviest = i - begin > heaviest ? i - begin : heaviest;
        begin = i;
    }
    return heaviest;
}

/* Number of times to halve a cell so that none of its buckets has more than 2.5 times the mean
 * weight; at most EVEN_HALVINGS more than `halvings`. */
static unsigned even_halvings(const struct bucket_model *model, const struct model_input *input,
                              const uint64_t *sample, size_t weight, unsigned buckets_wanted,
                              unsigned halvings)
{
    const size_t mean = input->count / buckets_wanted;
    const unsigned most = halvings + EVEN_HALVINGS;
    while (halvings < most && halvings < model->cell_shift &&
           heaviest_bucket(model, sample, weight, model->cell_shift - halvings) > 5 * mean / 2)
        halvings++;
    return halvings;
}

/* Numbers the buckets of all cells. Returns false if there would be too many. */
static bool number_buckets(struct bucket_model *model, const struct model_input *input,
                           const size_t *weights, unsigned buckets_wanted)
{
    size_t next = 0, shared_weight = 0, first = 0;
    bool sharing = false; /* the last bucket can take further thin cells */
    for (size_t cell = 0; cell < BUCKET_MODEL_CELLS + 2; cell++) {
        const bool outside = cell == 0 || cell == BUCKET_MODEL_CELLS + 1;
        const size_t weight = weights[cell];
        unsigned halvings = outside ? 0 : cell_halvings(weight, input->count, buckets_wanted);
        if (halvings > model->cell_shift)
            halvings = model->cell_shift;
        if (input->are_even && halvings > 0)
            halvings = even_halvings(model, input, input->sample + first, weight, buckets_wanted,
                                     halvings);
        first += weight;
        const bool alone = outside || input->cells_apart || halvings > 0;
        const bool fits = (shared_weight + weight) * buckets_wanted <= input->count;
        if (!alone && sharing && fits) {
            shared_weight += weight;
        } else {
            sharing = !alone;
            shared_weight = weight;
            next += (size_t)1 << halvings;
        }
        if (next > input->buckets_max)
            return false;
        model->cells[cell].base = (uint32_t)(next - ((size_t)1 << halvings));
        model->cells[cell].shift = model->cell_shift - halvings;
    }
    model->buckets = (unsigned)next;
    return true;
}

void bucket_model_learn(struct bucket_model *model, const struct model_input *input)
{
    const uint64_t lowest = input->lowest, highest = input->highest;
    const unsigned range_bits = bit_length(highest - lowest);
    const unsigned cell_bits = bit_length(BUCKET_MODEL_CELLS - 1);
    model->lowest = lowest;
    model->highest = highest;
    model->cell_shift = range_bits > cell_bits ? range_bits - cell_bits : 0;
    model->cell_mask = ((uint64_t)1 << model->cell_shift) - 1;

    size_t weights[BUCKET_MODEL_CELLS + 2] = {0};
    for (size_t i = 0; i < input->count; i++) {
        const uint64_t key = input->sample[i];
        size_t cell = (size_t)((key - lowest) >> model->cell_shift) + 1;
        if (key < lowest)
            cell = 0;
        else if (key > highest)
            cell = BUCKET_MODEL_CELLS + 1;
        weights[cell]++;
    }
    unsigned buckets_wanted = input->buckets_wanted;
    while (!number_buckets(model, input, weights, buckets_wanted))
        buckets_wanted /= 2;
}

_Static_assert(BUCKET_MODEL_BUCKETS_MAX <= UINT16_MAX, "the number of a bucket");

bool fine_table_build(struct fine_table *fine, const struct bucket_model *model)
{
    unsigned halvings = 0;
    for (size_t cell = 1; cell <= BUCKET_MODEL_CELLS; cell++) {
        const unsigned own = model->cell_shift - model->cells[cell].shift;
        halvings = own > halvings ? own : halvings;
    }
    if (halvings > FINE_TABLE_HALVINGS_MAX)
        return false;
    fine->lowest = model->lowest;
    fine->highest = model->highest;
    fine->shift = model->cell_shift - halvings;
    fine->last = ((size_t)BUCKET_MODEL_CELLS << halvings) + 1;
    fine->buckets[0] = (uint16_t)model->cells[0].base;
    for (size_t cell = 1; cell < fine->last; cell++) {
        const struct model_cell whole = model->cells[((cell - 1) >> halvings) + 1];
        const size_t part = (cell - 1) & (((size_t)1 << halvings) - 1);
        fine->buckets[cell] = (uint16_t)(whole.base + (part << fine->shift >> whole.shift));
    }
    fine->buckets[fine->last] = (uint16_t)model->cells[BUCKET_MODEL_CELLS + 1].base;
    return true;
}

void bucket_model_range(const struct bucket_model *model, size_t bucket, uint64_t *lowest,
                        uint64_t *highest)
{
    size_t last = 0, limit = BUCKET_MODEL_CELLS + 2; /* the last cell whose base is at most
                                                      * `bucket`, by binary search */
    while (limit - last > 1) {
        const size_t middle = last + (limit - last) / 2;
        if (model->cells[middle].base <= bucket)
            last = middle;
        else
            limit = middle;
    }
    size_t cell = last;
    while (cell > 0 && model->cells[cell - 1].base == model->cells[last].base)
        cell--;
    *lowest = cell == 0 ? 0 : model->highest + 1;
    *highest = last == 0 ? model->lowest - 1 : UINT64_MAX;
    if (cell == 0 || cell > BUCKET_MODEL_CELLS)
        return;
    /* Offsets from the lowest key of the cells. An end of 2^64 wraps to 0. */
    const unsigned shift = model->cells[cell].shift;
    const uint64_t begin = ((uint64_t)(cell - 1) << model->cell_shift) +
                           ((uint64_t)(bucket - model->cells[cell].base) << shift);
    const uint64_t end = cell < last ? ((uint64_t)last << model->cell_shift) - 1
                                     : begin + (((uint64_t)1 << shift) - 1);
    const uint64_t most = model->highest - model->lowest;
    *lowest = model->lowest + begin;
    *highest = model->lowest + (end < most ? end : most);
}

/* ---- A block of items, key by key ---- */

/* One of `model` and `fine` is NULL, a constant in every caller. */
INLINE void map_keys(const void *items, size_t begin, size_t end, struct key_order order,
                     const struct bucket_model *model, const struct fine_table *fine,
                     struct bucket_block *block, unsigned width)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t key = 0;
        if (width == 16) {
            key = ((const struct key_index *)items)[i].key;
        } else {
            const size_t bytes = width < sizeof key ? width : sizeof key; /* for GCC's warnings */
            memcpy(&key, (const unsigned char *)items + i * width, bytes);
            key = key_order_encode(order, 8 * width, key);
            memcpy(block->keys + i * width, &key, bytes);
        }
        block->buckets[i] =
            (uint32_t)(fine ? fine_table_cell(fine, key) : bucket_model_find(model, key));
    }
}

/* ---- Vectors of eight keys ---- */

#ifdef HAVE_VECTOR_CODE

#    define LANES ((size_t)8)

/* bucket_model_find for eight keys. */
VECTOR_INLINE __m256i vector_buckets(const struct bucket_model *model, __m512i keys)
{
    const __m512i lowest = _mm512_set1_epi64((long long)model->lowest);
    const __m512i highest = _mm512_set1_epi64((long long)model->highest);
    const __m512i offset = _mm512_sub_epi64(keys, lowest);
    __m512i cell = _mm512_srl_epi64(offset, _mm_cvtsi32_si128((int)model->cell_shift));
    cell = _mm512_add_epi64(cell, _mm512_set1_epi64(1));
    cell = _mm512_maskz_mov_epi64(_mm512_cmpge_epu64_mask(keys, lowest), cell);
    cell = _mm512_mask_mov_epi64(cell, _mm512_cmpgt_epu64_mask(keys, highest),
                                 _mm512_set1_epi64(BUCKET_MODEL_CELLS + 1));
    _Static_assert(sizeof(struct model_cell) == 8, "a cell is a lane: its base below its shift");
    const __m512i found = _mm512_i64gather_epi64(cell, model->cells, 8);
    const __m512i rest = _mm512_and_si512(offset, _mm512_set1_epi64((long long)model->cell_mask));
    const __m512i step = _mm512_srlv_epi64(rest, _mm512_srli_epi64(found, 32));
    return _mm512_cvtepi64_epi32(_mm512_add_epi64(found, step));
}

/* Loads the keys of eight items. Keys of 4 and 8 bytes are encoded and stored to `encoded`. */
VECTOR_INLINE __m512i vector_load_keys(unsigned width, const unsigned char *items,
                                       const struct vector_order *order, unsigned char *encoded)
{
    if (width == 16) {
        const __m512i low = _mm512_loadu_si512(items), high = _mm512_loadu_si512(items + 64);
        return _mm512_permutex2var_epi64(low, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), high);
    }
    if (width == 8) {
        const __m512i keys = vector_encode(64, order, _mm512_loadu_si512(items));
        _mm512_store_si512(encoded, keys);
        return keys;
    }
    const __m256i stored = _mm256_loadu_si256((const __m256i *)(const void *)items);
    const __m256i keys =
        _mm512_castsi512_si256(vector_encode(32, order, _mm512_castsi256_si512(stored)));
    _mm256_store_si256((__m256i *)(void *)encoded, keys);
    return _mm512_cvtepu32_epi64(keys);
}

/* Returns the number of items mapped; fewer than LANES remain. */
VECTOR_INLINE size_t vector_map(const void *items, size_t count, struct key_order order,
                                const struct bucket_model *model, struct bucket_block *block,
                                unsigned width)
{
    const struct vector_order vectors = vector_order_make(order, width == 4 ? 32 : 64);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        unsigned char *encoded = block->keys + (width == 16 ? 0 : i * width);
        const __m512i keys =
            vector_load_keys(width, (const unsigned char *)items + i * width, &vectors, encoded);
        _mm256_store_si256((__m256i *)(void *)(block->buckets + i), vector_buckets(model, keys));
    }
    return i;
}

VECTOR_CODE static size_t vector_map_width(unsigned width, const void *items, size_t count,
                                           struct key_order order, const struct bucket_model *model,
                                           struct bucket_block *block)
{
    return BY_WIDTH_FROM_4(width, vector_map, items, count, order, model, block);
}

/* fine_table_cell for eight keys. */
VECTOR_INLINE void vector_fine_64(const struct fine_table *fine, const unsigned char *items,
                                  const struct vector_order *order, unsigned char *encoded,
                                  uint32_t *cells)
{
    const __m512i lowest = _mm512_set1_epi64((long long)fine->lowest);
    const __m512i highest = _mm512_set1_epi64((long long)fine->highest);
    const __m512i last = _mm512_set1_epi64((long long)fine->last);
    const __m512i keys = vector_encode(64, order, _mm512_loadu_si512(items));
    const __m512i offset = _mm512_sub_epi64(keys, lowest);
    __m512i cell = _mm512_srl_epi64(offset, _mm_cvtsi32_si128((int)fine->shift));
    cell =
        _mm512_maskz_add_epi64(_mm512_cmpge_epu64_mask(keys, lowest), cell, _mm512_set1_epi64(1));
    cell = _mm512_mask_mov_epi64(cell, _mm512_cmpgt_epu64_mask(keys, highest), last);
    _mm512_store_si512(encoded, keys);
    _mm256_store_si256((__m256i *)(void *)cells, _mm512_cvtepi64_epi32(cell));
}

/* fine_table_cell for sixteen keys. */
VECTOR_INLINE void vector_fine_32(const struct fine_table *fine, const unsigned char *items,
                                  const struct vector_order *order, unsigned char *encoded,
                                  uint32_t *cells)
{
    const __m512i lowest = _mm512_set1_epi32((int)fine->lowest);
    const __m512i highest = _mm512_set1_epi32((int)fine->highest);
    const __m512i last = _mm512_set1_epi32((int)fine->last);
    const __m512i keys = vector_encode(32, order, _mm512_loadu_si512(items));
    const __m512i offset = _mm512_sub_epi32(keys, lowest);
    __m512i cell = _mm512_srl_epi32(offset, _mm_cvtsi32_si128((int)fine->shift));
    cell =
        _mm512_maskz_add_epi32(_mm512_cmpge_epu32_mask(keys, lowest), cell, _mm512_set1_epi32(1));
    cell = _mm512_mask_mov_epi32(cell, _mm512_cmpgt_epu32_mask(keys, highest), last);
    _mm512_store_si512(encoded, keys);
    _mm512_store_si512(cells, cell);
}

/* Returns the number of items mapped; fewer than a vector remain. */
VECTOR_CODE static size_t vector_map_fine(unsigned width, const unsigned char *items, size_t count,
                                          struct key_order order, const struct fine_table *fine,
                                          struct bucket_block *block)
{
    const struct vector_order vectors = vector_order_make(order, 8 * width);
    size_t i = 0;
    if (width == 4)
        for (; i + 16 <= count; i += 16)
            vector_fine_32(fine, items + i * 4, &vectors, block->keys + i * 4, block->buckets + i);
    else
        for (; i + 8 <= count; i += 8)
            vector_fine_64(fine, items + i * 8, &vectors, block->keys + i * 8, block->buckets + i);
    return i;
}

#endif

/* Prefetches the next block, which is mapped after the buckets of this one are counted or
 * filled: the hardware prefetcher restarts with each block. */
static void fetch_next_block(unsigned width, const void *items, size_t count)
{
    const unsigned char *next = (const unsigned char *)items + count * width;
    for (size_t byte = 0; byte < count * width; byte += CACHE_LINE_BYTES)
        __builtin_prefetch(next + byte);
}

void bucket_map(unsigned width, const void *items, size_t count, struct key_order order,
                const struct bucket_model *model, const struct fine_table *fine,
                struct bucket_block *block)
{
    size_t done = 0;
    fetch_next_block(width, items, count);
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        done = fine ? vector_map_fine(width, items, count, order, fine, block)
                    : vector_map_width(width, items, count, order, model, block);
#endif
    if (fine)
        BY_WIDTH_FROM_4(width, map_keys, items, done, count, order, NULL, fine, block);
    else
        BY_WIDTH_FROM_4(width, map_keys, items, done, count, order, model, NULL, block);
}
