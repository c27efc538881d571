/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_model.c - see bucket_model.h. */
#include "cpu/partition/bucket_model.h"

#include <stdbool.h>

/* Maximum number of additional halvings of a cell whose sample is uneven. */
#define EVEN_HALVINGS 3

/* The number of bits of x; 0 for 0. */
static unsigned bit_length(uint64_t x)
{
    return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

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

/* Number of times to halve a cell so that none of its buckets has more than 2.5 times its
 * weight. */
static unsigned even_halvings(const struct bucket_model *model, const struct model_input *input,
                              const uint64_t *sample, size_t weight, unsigned buckets_wanted,
                              unsigned halvings)
{
    const size_t share = input->count / buckets_wanted;
    const unsigned most = halvings + EVEN_HALVINGS;
    while (halvings < most && halvings < model->cell_shift &&
           heaviest_bucket(model, sample, weight, model->cell_shift - halvings) > 5 * share / 2)
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
    size_t last = 0, behind = BUCKET_MODEL_CELLS + 2; /* the last cell whose base is at most
                                                       * `bucket`, by binary search */
    while (behind - last > 1) {
        const size_t middle = last + (behind - last) / 2;
        if (model->cells[middle].base <= bucket)
            last = middle;
        else
            behind = middle;
    }
    size_t cell = last;
    while (cell > 0 && model->cells[cell - 1].base == model->cells[last].base)
        cell--;
    *lowest = cell == 0 ? 0 : model->highest + 1;
    *highest = last == 0 ? model->lowest - 1 : UINT64_MAX;
    if (cell == 0 || cell > BUCKET_MODEL_CELLS)
        return;
    /* Relative to the lowest key of the cells. 2^64 wraps to 0. */
    const unsigned shift = model->cells[cell].shift;
    const uint64_t begin = ((uint64_t)(cell - 1) << model->cell_shift) +
                           ((uint64_t)(bucket - model->cells[cell].base) << shift);
    const uint64_t end = cell < last ? ((uint64_t)last << model->cell_shift) - 1
                                     : begin + (((uint64_t)1 << shift) - 1);
    const uint64_t most = model->highest - model->lowest;
    *lowest = model->lowest + begin;
    *highest = model->lowest + (end < most ? end : most);
}
