/* SPDX-License-Identifier: Apache-2.0 */
/* auto_table.h - what "auto" chooses: tables of measurements, and how they are read.
 *
 *   facts of a device --auto_find_class--> class --auto_find_row--> path and tile
 *   items or text, threads --auto_estimate--> seconds on the CPU, seconds on the GPU
 *
 * The second question is answered without a look at the GPU: to look at it is to start it, and that
 * is most of what it costs.
 */
#ifndef CORE_AUTO_TABLE_H
#define CORE_AUTO_TABLE_H

#include "core/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices that the same rows are for, told by what they say of themselves. */
struct device_class {
    const char *name;
    const char *backend;
    unsigned units_least; /* at least so many, and so on */
    size_t l2_bytes_least;
    size_t shared_bytes_least;
};

/* Of the rows of a class that fit the width, the first with up_to >= count is taken. */
struct auto_row {
    const char *device_class;
    unsigned item_bytes; /* 0: all widths */
    size_t up_to;        /* items */
    const char *path;
    size_t tile_size; /* 0: the path has no tiles */
};

/* Of the whole run on either device, and what of that is neither reading nor writing: starting the
 * GPU and sorting. Of lines nobody knows the latter: below 0. */
struct auto_estimate {
    double cpu_seconds, gpu_seconds;
    double cpu_sort_seconds, gpu_sort_seconds;
};

extern const struct device_class device_classes[];
extern const size_t device_class_count;
extern const struct auto_row auto_rows[];
extern const size_t auto_row_count;

/* The first class of the backend whose demands the device meets; its last one has none. */
const struct device_class *auto_find_class(const struct backend *backend,
                                           const struct device_facts *facts);

/* The row for `count` items, which COUNT_UNKNOWN takes for any number. Every class has one. */
const struct auto_row *auto_find_row(const struct device_class *device_class, unsigned item_bytes,
                                     size_t count);

/* The smallest count that the row is found for. */
size_t auto_row_least(const struct auto_row *row);

/* What sorting takes from file to file, in the page cache: from the start of the process to its
 * end. item_bytes: 1, 2, 4, 8 or 16; threads: those that run at a time, at least 1. */
struct auto_estimate auto_estimate_make(unsigned item_bytes, uint64_t count, unsigned threads);

/* The same of lines: `bytes` of text, kept as they are. */
struct auto_estimate auto_estimate_lines(uint64_t bytes, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
