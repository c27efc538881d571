/* radix_model.c - see radix_model.h. */
#include "cpu/radix_model.h"

#include <stdbool.h>

/* So many times more a cell is halved at most where its keys lie uneven. */
#define EVEN_HALVINGS 3

/* The number of bits of x; 0 for 0. */
static unsigned bit_length(uint64_t x)
{
    return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

/* How many times a cell is to be halved for its buckets to weigh about 1 / buckets_wanted of the
 * sample: log2(weight * buckets_wanted / count), rounded to the nearest (2/3 is near enough to the
 * square root of 1/2). */
static unsigned cell_halvings(size_t weight, size_t count, unsigned buckets_wanted)
{
    const uint64_t parts = (uint64_t)weight * buckets_wanted * 2 / (3 * (uint64_t)count);
    return bit_length(parts);
}

/* The most keys of a cell's sample, sample[0..weight), that are in one of its buckets. */
static size_t heaviest_bucket(const struct radix_model *model, const uint64_t *sample,
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

/* How many times a cell is to be halved so that no bucket of it has much more than its share. */
static unsigned even_halvings(const struct radix_model *model,
                              const struct radix_evidence *evidence, const uint64_t *sample,
                              size_t weight, unsigned buckets_wanted, unsigned halvings)
{
    const size_t share = evidence->count / buckets_wanted;
    const unsigned most = halvings + EVEN_HALVINGS;
    while (halvings < most && halvings < model->cell_shift &&
           heaviest_bucket(model, sample, weight, model->cell_shift - halvings) > 5 * share / 2)
        halvings++;
    return halvings;
}

/* Numbers the buckets of all cells. False when there would be too many. */
static bool number_buckets(struct radix_model *model, const struct radix_evidence *evidence,
                           const size_t *weights, unsigned buckets_wanted)
{
    size_t next = 0, shared_weight = 0, first = 0;
    bool sharing = false; /* the last bucket numbered takes further thin cells */
    for (size_t cell = 0; cell < RADIX_MODEL_CELLS + 2; cell++) {
        const bool outside = cell == 0 || cell == RADIX_MODEL_CELLS + 1;
        const size_t weight = weights[cell];
        unsigned halvings = outside ? 0 : cell_halvings(weight, evidence->count, buckets_wanted);
        if (halvings > model->cell_shift)
            halvings = model->cell_shift;
        if (evidence->are_even && halvings > 0)
            halvings = even_halvings(model, evidence, evidence->sample + first, weight,
                                     buckets_wanted, halvings);
        first += weight;
        const bool alone = outside || evidence->cells_apart || halvings > 0;
        const bool fits = (shared_weight + weight) * buckets_wanted <= evidence->count;
        if (!alone && sharing && fits) {
            shared_weight += weight;
        } else {
            sharing = !alone;
            shared_weight = weight;
            next += (size_t)1 << halvings;
        }
        if (next > evidence->buckets_max)
            return false;
        model->cells[cell].base = (uint32_t)(next - ((size_t)1 << halvings));
        model->cells[cell].shift = model->cell_shift - halvings;
    }
    model->buckets = (unsigned)next;
    return true;
}

void radix_model_learn(struct radix_model *model, const struct radix_evidence *evidence)
{
    const uint64_t lowest = evidence->lowest, highest = evidence->highest;
    const unsigned range_bits = bit_length(highest - lowest);
    const unsigned cell_bits = bit_length(RADIX_MODEL_CELLS - 1);
    model->lowest = lowest;
    model->highest = highest;
    model->cell_shift = range_bits > cell_bits ? range_bits - cell_bits : 0;
    model->cell_mask = ((uint64_t)1 << model->cell_shift) - 1;

    size_t weights[RADIX_MODEL_CELLS + 2] = {0};
    for (size_t i = 0; i < evidence->count; i++) {
        const uint64_t key = evidence->sample[i];
        size_t cell = (size_t)((key - lowest) >> model->cell_shift) + 1;
        if (key < lowest)
            cell = 0;
        else if (key > highest)
            cell = RADIX_MODEL_CELLS + 1;
        weights[cell]++;
    }
    unsigned buckets_wanted = evidence->buckets_wanted;
    while (!number_buckets(model, evidence, weights, buckets_wanted))
        buckets_wanted /= 2;
}
