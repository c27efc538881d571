/* radix_digit_sort.h - sorts keys digit by digit (radix_digits.cuh), where radix finds its models
 * to be of little use.
 */
#ifndef CUDA_RADIX_DIGIT_SORT_H
#define CUDA_RADIX_DIGIT_SORT_H

#include "cuda/cuda_sort.h"

#include <stdbool.h>

struct radix_segments;

/* Starts to sort items of 4, 8 or 16 bytes; `scratch` is used. An empty segment `whole`, which is
 * on the device, says that there is nothing to do. has_indices: the low half of keys of 8 bytes
 * does not fall from one to the next, in the identical order, so that only the high half has to be
 * sorted; of 16 bytes it is the place, but for a constant. If that is not so, all is left as it is,
 * and the kernels write RADIX_NOTE_REFUSED to the note. `memory` is on the device, and aligned to
 * 256 bytes. A launch takes up to `portion` keys, RADIX_DIGIT_PORTION at the most and a tile at the
 * least. */
bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_segments *whole,
                      bool has_indices, void *memory, size_t portion, struct error *error);

/* Bytes of that memory, for any portion. */
size_t radix_digit_bytes(size_t count, unsigned item_bytes);

#endif
