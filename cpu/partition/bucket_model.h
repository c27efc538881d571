/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_model.h - a monotone map from keys to buckets, learned from a sample of the keys.
 *
 * A plain radix digit splits the range of the keys into equal widths; real keys (doubles above all)
 * crowd into few of them. Here the range is cut into equal cells, and a sample tells how many keys
 * a cell holds: a crowded cell is cut further, by a power of two, and thin neighbours share a
 * bucket. So a lookup is a subtraction, two shifts and one load, and the buckets come out even
 * wherever the keys are smooth at the scale of a cell:
 *
 *   key - lowest --> cell (its top bits) --> bucket = base[cell] + (rest of the bits >>
 * shift[cell])
 *
 * Keys below `lowest` or above `highest`, the few that the sample counts as outliers, go to a first
 * and a last bucket of their own. Any such map is monotone, so a bad sample can make buckets
 * uneven, but never wrong.
 *
 * The idea of a learned, monotone first cut is that of Kristo et al., "The Case for a Learned
 * Sorting Algorithm" (SIGMOD 2020); this two-level table takes the place of their linear models.
 */
#ifndef CPU_BUCKET_MODEL_H
#define CPU_BUCKET_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cells of the range; one more at each end for the keys outside. */
#define BUCKET_MODEL_CELLS 1024
#define BUCKET_MODEL_BUCKETS_MIN (BUCKET_MODEL_CELLS + 2) /* a limit that every model can keep */
#define BUCKET_MODEL_BUCKETS_MAX 8192

struct model_cell {
    uint32_t base;  /* the first of its buckets */
    uint32_t shift; /* of the bits below the cell number, to find the bucket among them */
};

struct bucket_model {
    uint64_t lowest, highest; /* the range that the cells cover */
    uint64_t cell_mask;       /* the bits below the cell number */
    unsigned cell_shift;
    unsigned buckets;
    struct model_cell cells[BUCKET_MODEL_CELLS + 2];
};

/* What a model is learned from. */
struct model_sample {
    const uint64_t *sample; /* ascending, not empty */
    size_t count;
    unsigned buckets_wanted;  /* a power of two */
    unsigned buckets_max;     /* twice as many or more, at least BUCKET_MODEL_BUCKETS_MIN */
    uint64_t lowest, highest; /* what the cells cover; keys of the sample may lie outside */
    bool are_even; /* buckets are wanted that are even within a cell too, if they are more then */
    bool cells_apart; /* no two cells share a bucket, so that none is wider than a cell, which is at
                       * most 1/512 of the range, however wrong the sample may be */
};

/* The model has about as many buckets as are wanted, or cells that are to be apart; never more than
 * evidence->buckets_max. */
void bucket_model_learn(struct bucket_model *model, const struct model_sample *evidence);

/* The bucket of a key, below model->buckets. */
static inline __attribute__((always_inline)) size_t
bucket_model_find(const struct bucket_model *model, uint64_t key)
{
    const uint64_t offset = key - model->lowest;
    size_t cell = (size_t)(offset >> model->cell_shift) + 1;
    cell = key < model->lowest ? 0 : cell;
    cell = key > model->highest ? BUCKET_MODEL_CELLS + 1 : cell;
    const struct model_cell found = model->cells[cell];
    return found.base + (size_t)((offset & model->cell_mask) >> found.shift);
}

/* The same map in one step, where no cell is halved often: all cells are cut as often as the one
 * that is cut most. */
#define FINE_TABLE_HALVINGS_MAX 6
#define FINE_TABLE_CELLS_MAX (((size_t)BUCKET_MODEL_CELLS << FINE_TABLE_HALVINGS_MAX) + 2)
struct fine_table {
    uint64_t lowest, highest; /* as the model's */
    unsigned shift;           /* of the bits below the number of a fine cell */
    size_t last;              /* the cell of the keys above `highest` */
    uint16_t *buckets;        /* by fine cell, up to FINE_TABLE_CELLS_MAX */
};

/* False: a cell is halved too often. The caller has set fine->buckets. */
bool fine_table_build(struct fine_table *fine, const struct bucket_model *model);

/* The fine cell of a key, whose bucket is fine->buckets[cell]. */
static inline __attribute__((always_inline)) size_t fine_table_cell(const struct fine_table *fine,
                                                                    uint64_t key)
{
    const size_t cell = (size_t)((key - fine->lowest) >> fine->shift) + 1;
    return key < fine->lowest ? 0 : key > fine->highest ? fine->last : cell;
}

/* The least and the greatest key that can be in the bucket. */
void bucket_model_range(const struct bucket_model *model, size_t bucket, uint64_t *lowest,
                        uint64_t *highest);

#endif
