/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.h - sorts keys digit by digit (radix_digits.cuh), where radix finds its models
 * to be of little use.
 */
#ifndef CUDA_RADIX_DIGIT_SORT_H
#define CUDA_RADIX_DIGIT_SORT_H

#include "cuda/cuda_sort.h"

#include <stdbool.h>

struct radix_segments;
struct radix_totals;
struct radix_open;

/* Which digits are done. */
enum radix_digit_way {
    /* Of keys of 8 bytes and of items, where these are few, the first ones that tell nearly all
     * keys apart: runs that these leave are mended, and those that are too long listed as open. */
    RADIX_DIGITS_OF_CODE,
    RADIX_DIGITS_AGAIN, /* all that are not the same in all keys, after RADIX_DIGITS_OF_CODE; items
                           do not lie in their places then */
    /* Of items, by a code of shares (radix_shares.cuh), which is mended as that of a prefix is. */
    RADIX_DIGITS_OF_SHARES,
    RADIX_DIGITS_ABOVE_INDEX, /* of keys of 8 bytes the upper half: the lower one does not fall from
                                 one key to the next, in the identical order */
};

/* What is beside the items. */
struct radix_digit_task {
    enum radix_digit_way way;
    const struct radix_segments *whole; /* on the device; empty: there is nothing to do */
    void *memory;                       /* on the device, aligned to 256 bytes */
    bool has_code;  /* found already (radix_code.cuh), in the first bytes of that memory */
    size_t portion; /* keys a launch takes: RADIX_DIGIT_PORTION at the most, the larger tile at the
                        least */
    bool has_large_tiles;        /* for tests: however few keys there are */
    struct radix_totals *totals; /* on the device; open: runs listed */
    struct radix_open *open;     /* the list, with room for open_most */
    unsigned open_most;
};

/* Starts to sort items of 4, 8 or 16 bytes; `scratch` is used. The index of items of 16 is their
 * place, but for a constant. If indices are not what they are taken for, all is left as it is, and
 * the kernels write RADIX_NOTE_REFUSED to the note. With a prefix, they write there how many runs
 * are open, which is all that is not in order then; or RADIX_NOTE_AGAIN if these are too many. So
 * too with a code of shares; if the sample has none that parts its keys, the note is
 * RADIX_NOTE_DIGITS, and all is left as it is. */
bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_digit_task *task,
                      struct error *error);

/* So many of that memory's first bytes nobody else uses: the code is there, with its shares, and
 * the first index. */
constexpr size_t RADIX_DIGIT_KEPT_BYTES = 256 + 8192;

/* Bytes of that memory, for any portion. */
size_t radix_digit_bytes(size_t count, unsigned item_bytes);

#endif
