/* SPDX-License-Identifier: Apache-2.0 */
/* auto_model.h - the rules by which "auto" chooses: a model of the time of a job on the CPU and on
 * the GPU, and the path for a device.
 *
 * The model does not examine the GPU: that would start it, which is most of its cost.
 */
#ifndef CORE_AUTO_MODEL_H
#define CORE_AUTO_MODEL_H

#include "core/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Estimates of the whole job on either device, and of its part that is neither reading nor writing:
 * starting the GPU and sorting. That part is unknown for lines: NAN. */
struct auto_estimate {
    double cpu_seconds, gpu_seconds;
    double cpu_sort_seconds, gpu_sort_seconds;
};

/* The shared memory that a block of radix needs for items of 16 bytes, rounded up: 149.4 KiB, of
 * struct radix_tile_shared. Many GPUs have 99 KiB, enough for keys, for which radix_few.cuh takes
 * 96. */
#define RADIX_ITEM_SHARED_BYTES ((size_t)150 << 10)

/* Returns the name of the path for items of this width, whatever their number: radix, the fastest
 * on the CPU, an H100 and an H200, or segmented-merge on a GPU that has too little shared memory
 * for it. facts->shared_bytes is 0 for the CPU. */
const char *auto_find_path(const struct device_facts *facts, unsigned item_bytes);

/* Estimates sorting numbers from file to file in the page cache, from the start of the process to
 * its end. item_bytes: 1, 2, 4, 8 or 16. threads: threads that run at the same time, at least 1. */
struct auto_estimate auto_estimate_make(unsigned item_bytes, uint64_t count, unsigned threads);

/* Returns the seconds of `devices` GPUs that sort `bytes` bytes of items together. `one` has the
 * estimate for one of them. */
double auto_estimate_several(const struct auto_estimate *one, unsigned devices, uint64_t bytes);

/* Estimates sorting lines: `bytes` bytes of text. */
struct auto_estimate auto_estimate_lines(uint64_t bytes, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
