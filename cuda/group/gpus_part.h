/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_part.h - the part of the items that one of several GPUs has. */
#ifndef CUDA_GROUP_GPUS_PART_H
#define CUDA_GROUP_GPUS_PART_H

#include "cuda/engine/cuda_worker.h"

struct gpu_part {
    struct cuda_worker *worker; /* of the sort's device and stream */
    struct cuda_sort sort;      /* its memory; all parts have the same item_bytes and order */
    size_t range;               /* items of its range of the output */
};

#endif
