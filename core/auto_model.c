/* SPDX-License-Identifier: Apache-2.0 */
/* auto_model.c - see auto_model.h. The figures were measured, except where a comment says that one
 * was derived or calculated. docs/performance.md has the measurements and how to repeat them.
 */
#include "core/auto_model.h"

#include <math.h>

const char *auto_find_path(const struct device_facts *facts, unsigned item_bytes)
{
    const bool is_gpu = facts->shared_bytes > 0;
    return is_gpu && item_bytes == 16 && facts->shared_bytes < RADIX_ITEM_SHARED_BYTES
               ? "segmented-merge"
               : "radix";
}

/* ---- the CPU or the GPU ---- */

/* Times in ns: the part that is divided by the number of threads, and the part that is not, mostly
 * because threads share memory. */
struct auto_cost {
    double thread, shared;
};

static double cost_of(struct auto_cost cost, unsigned threads)
{
    return cost.thread / threads + cost.shared;
}

/* Returns the cost of sorting an item on the CPU, in new memory. 16 cores of an Intel Xeon,
 * 2026-11-22: 1e8 items in memory with 1, 2, 4, 8 and 16 threads: 8 bytes 1.24, 0.62, 0.34, 0.18
 * and 0.124 s; 4 bytes with 1 and 16 threads 1.0 and 0.10 s. From file to file with 16 threads,
 * of which the files take 0.27 and 0.44 s: 2e9 1-byte keys 0.64 s, 2e8 keys made into items with
 * their index 1.17 s. The rest is derived from 1 and 2 threads of an AMD EPYC (Zen 5) at these
 * widths, which needs 0.42 of the Xeon's time for 8 bytes. */
static struct auto_cost cpu_sort_cost(unsigned item_bytes)
{
    return item_bytes == 1   ? (struct auto_cost){1.35, 0.10}
           : item_bytes == 2 ? (struct auto_cost){1.70, 0.25}
           : item_bytes == 4 ? (struct auto_cost){9.9, 0.40}
           : item_bytes == 8 ? (struct auto_cost){11.9, 0.50}
                             : (struct auto_cost){26.0, 2.00};
}

/* Reading and writing a byte, in the page cache, beside the CPU's sort: f64 from file to file by 16
 * threads of the host of an H100, 2026-11-25, ext4 and tmpfs: 2e8 in 0.62 and 0.56 s, 4e8 in 1.25
 * and 1.23, 7e8 in 2.24 and 2.21, 1e9 in 2.96 and 2.90. Another such host, tmpfs, 2026-11-22: 0.8
 * GB by 2, 4, 8 and 16 threads 0.98, 0.55, 0.29 and 0.24 s, 8 GB by 16 threads 2.26. */
static const struct auto_cost cpu_file_cost = {0.58, 0.135};

/* The same for the GPU, whose transfers overlap with reading and writing: by one thread as cp, 8 GB
 * in 2.8 to 3.6 s; by 16 threads of the host of an H100, start and sort included, 2026-11-26, ext4
 * and tmpfs: 2e8 in 0.44 and 0.45 s, 4e8 in 0.52 and 0.82, 7e8 in 0.84 and 1.24, 1e9 in 1.00 and
 * 1.56. */
static const struct auto_cost gpu_file_cost = {0.27, 0.095};

/* CUDA 13.0, hosts of an H100 and an H200, 2026-11-25: CUDA starts in 0.21 to 0.31 s, pinning takes
 * 0.02, and the process does not wait for the end of CUDA (early_exit.h). radix sorts 1e9 u32 in
 * 16.6 ms, which is 241 GB/s (f64: 30.5 ms, 262 GB/s). */
static const double gpu_start_seconds = 0.26 + 0.02;
static const double gpu_sort_bytes_per_second = 241e9;

struct auto_estimate auto_estimate_make(unsigned item_bytes, uint64_t count, unsigned threads)
{
    const double items = (double)count, bytes = items * item_bytes;
    const double cpu_sort = items * cost_of(cpu_sort_cost(item_bytes), threads) * 1e-9;
    const double gpu_sort = gpu_start_seconds + bytes / gpu_sort_bytes_per_second;
    return (struct auto_estimate){
        .cpu_seconds = bytes * cost_of(cpu_file_cost, threads) * 1e-9 + cpu_sort,
        .gpu_seconds = bytes * cost_of(gpu_file_cost, threads) * 1e-9 + gpu_sort,
        .cpu_sort_seconds = cpu_sort,
        .gpu_sort_seconds = gpu_sort,
    };
}

/* A further GPU takes 0.2 s to start, and two H100 copy 395 GB/s from one to the other (H100 host,
 * 2026-11-25). The merge after that reads and writes memory once; its rate is calculated. Reading
 * and writing the files takes as long as with one GPU. So several GPUs finish sooner only from
 * about 100 GB on, for which one GPU has no room. */
static const double gpu_further_seconds = 0.2;
static const double gpu_peer_bytes_per_second = 395e9, gpu_merge_bytes_per_second = 1000e9;

double auto_estimate_several(const struct auto_estimate *one, unsigned devices, uint64_t bytes)
{
    const double own = (double)bytes / devices, all = (double)bytes;
    return one->gpu_seconds + (devices - 1) * gpu_further_seconds -
           (all - own) / gpu_sort_bytes_per_second +
           own * (devices - 1) / devices / gpu_peer_bytes_per_second +
           own / gpu_merge_bytes_per_second;
}

/* Lines from file to file, `-g` by 16 threads: of 12 bytes, 246 MB in 0.257 s and 6.19 GB in 6.0;
 * of 20 bytes with 17 digits, 103 MB in 0.178 s, 410 MB in 0.667, 1.03 GB in 1.57 (2026-11-25). 123
 * MB in 0.42 by 2 threads of an AMD EPYC (Zen 4). */
static const struct auto_cost lines_cost = {5.5, 0.91};

/* By the GPU, which starts while the text is read: 62 MB of `-g` in 0.26 s, 246 MB in 0.35, 615 MB
 * in 0.35 to 0.45 (H100 host, tmpfs, 2026-11-26); 6.2 GB in 2.04 to 2.92 s (H200 host, tmpfs), when
 * the process still waited 0.1 s for the end of CUDA. */
static const double gpu_lines_start_seconds = 0.25;
static const double gpu_lines_bytes_per_second = 3.6e9;

struct auto_estimate auto_estimate_lines(uint64_t bytes, unsigned threads)
{
    const double text = (double)bytes;
    return (struct auto_estimate){
        .cpu_seconds = text * 1e-9 * cost_of(lines_cost, threads),
        .gpu_seconds = gpu_lines_start_seconds + text / gpu_lines_bytes_per_second,
        .cpu_sort_seconds = NAN,
        .gpu_sort_seconds = NAN,
    };
}
