/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_cuts.h - where the sorted parts of several GPUs are cut, so that each GPU gets its range.
 *
 *   part of GPU 0 | part of GPU 1 | ...    sorted, in ordered bits
 *   cut c: a position in each part; the items before them are the first targets[c] of all items
 *
 * The positions are exact for every distribution. The item at a target is found digit by digit:
 * each GPU counts, by binary search, its items that are less than each of the 255 values that the
 * next 8 bits can begin with, and the host adds up the counts. Items equal to it go before the cut
 * in the order of the GPUs. This is the search of job/external_cuts.h, with 8 bits at a time,
 * because a step costs a launch.
 */
#ifndef CUDA_GROUP_GPUS_CUTS_H
#define CUDA_GROUP_GPUS_CUTS_H

#include "cuda/group/gpus_part.h"

/* Fills positions[c * count + i], the items of part i before cut c. targets[c] is at most the
 * number of all items. Waits for the GPUs. */
bool gpus_cuts_find(const struct gpu_part *parts, size_t count, const size_t *targets,
                    size_t cut_count, size_t *positions, struct error *error);

#endif
