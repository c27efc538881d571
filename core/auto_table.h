/* SPDX-License-Identifier: Apache-2.0 */
/* auto_table.h - the choices of "auto": tables of measurements, and their lookup.
 *
 *   facts of a device --auto_find_class--> class --auto_find_row--> path and tile
 *   items or text, threads --auto_estimate--> seconds on the CPU, seconds on the GPU
 *
 * The estimate does not examine the GPU: that would start it, which is most of its cost.
 */
#ifndef CORE_AUTO_TABLE_H
#define CORE_AUTO_TABLE_H

#include "core/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices that share their rows, recognised by their facts. */
struct device_class {
    const char *name;
    const char *backend;
    unsigned units_least; /* a minimum, as are the next two fields */
    size_t l2_bytes_least;
    size_t shared_bytes_least;
};

/* The lookup takes the first row of the class that fits the width and has up_to >= count. */
struct auto_row {
    const char *device_class;
    unsigned item_bytes; /* 0: all widths */
    size_t up_to;        /* items */
    const char *path;
    size_t tile_size; /* 0: the path has no tiles */
};

/* Estimates of the whole job on either device, and of its part that is neither reading nor writing:
 * starting the GPU and sorting. That part is unknown for lines, and below 0. */
struct auto_estimate {
    double cpu_seconds, gpu_seconds;
    double cpu_sort_seconds, gpu_sort_seconds;
};

extern const struct device_class device_classes[];
extern const size_t device_class_count;
extern const struct auto_row auto_rows[];
extern const size_t auto_row_count;

/* Returns the first class of the backend whose minima the device reaches. The last class of each
 * backend has no minima. */
const struct device_class *auto_find_class(const struct backend *backend,
                                           const struct device_facts *facts);

/* Returns the row for `count` items; COUNT_UNKNOWN means any number. Every class has one. */
const struct auto_row *auto_find_row(const struct device_class *device_class, unsigned item_bytes,
                                     size_t count);

/* Returns the smallest count for which the row is found. */
size_t auto_row_least(const struct auto_row *row);

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
