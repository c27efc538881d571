/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spec.c - see cpu_spec.h. */
#include "cpu/cpu_spec.h"

#include "cpu/stream/stream_sort.h"

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Minimum chunks and maximum threads for partitioning while reading. With more threads, reading
 * and writing in parallel is faster than one thread that hands on sorted keys. 1e8 f64, file to
 * file in tmpfs, 16 cores of an Intel Xeon, 2026-11, by 2, 4, 8 and 16 threads: 0.98, 0.55, 0.36
 * and 0.29 s, and in an array, with twice the memory, 1.01, 0.54, 0.29 and 0.24; by two cores of
 * an AMD EPYC 0.36 and 0.39. */
#define STREAM_CHUNKS_MIN 2
#define STREAM_THREADS_MAX 4

/* Minimum memory per thread to stream an unknown number of keys: its buckets need more than a
 * scratch would. */
#define STREAM_THREAD_BYTES ((size_t)32 << 20)

/* Bytes of a chunk of --top per thread, and the minimum: parallel reading starts at that size. */
#define SELECTION_THREAD_BYTES ((size_t)4 << 20)
#define SELECTION_BYTES_MIN ((size_t)16 << 20)

/* More threads than processors are slower: 1e8 f64, two cores of an AMD EPYC (Zen 5), 2026-11,
 * by 2, 4, 16 and 128 threads: 0.27, 0.29, 0.31 and 0.77 s. */
unsigned cpu_spec_threads(const struct sort_spec *spec)
{
    const unsigned processors = (unsigned)omp_get_num_procs();
    return spec->threads < processors ? spec->threads : processors;
}

bool cpu_spec_check(const struct sort_spec *spec, struct error *error)
{
    const unsigned width = spec->item_bytes;
    if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
        return error_set(error, "cpu: items of %u bytes cannot be sorted", width);
    if (width == 16 && !key_order_is_identity(spec->order))
        return error_set(error, "cpu: keys with an index must come as ordered bits");
    if (spec->device != 0 || spec->threads == 0)
        return error_set(error, "cpu:%u: cannot be used with %u threads", spec->device,
                         spec->threads);
    if (spec->count != COUNT_UNKNOWN && spec->count > SIZE_MAX / width)
        return error_set(error, "out of memory: %zu items of %u bytes exceed any memory",
                         spec->count, width);
    return true;
}

bool cpu_spec_can_stream(const struct sort_spec *spec)
{
    const size_t chunks = STREAM_CHUNKS_MIN * stream_sort_chunk(spec->threads);
    return (!spec->is_given_twice || spec->count != COUNT_UNKNOWN) &&
           spec->threads <= STREAM_THREADS_MAX &&
           (spec->item_bytes == 4 || spec->item_bytes == 8) && !sort_spec_selects(spec) &&
           spec->count >= chunks / spec->item_bytes &&
           (spec->count != COUNT_UNKNOWN ||
            spec->most / spec->threads >= STREAM_THREAD_BYTES / spec->item_bytes);
}

size_t cpu_spec_selection_chunk(const struct sort_spec *spec)
{
    const size_t bytes = spec->threads * SELECTION_THREAD_BYTES;
    const size_t least = bytes > SELECTION_BYTES_MIN ? bytes : SELECTION_BYTES_MIN;
    return (least < CPU_LEND_BYTES_MAX ? least : CPU_LEND_BYTES_MAX) / spec->item_bytes;
}

size_t cpu_spec_bytes(const struct sort_spec *spec, size_t most)
{
    size_t bytes;
    const bool is_known = most > 0 && !__builtin_mul_overflow(most, spec->item_bytes, &bytes);
    return is_known ? bytes : SIZE_MAX;
}

void *cpu_spec_copy_sample(const struct sort_spec *spec)
{
    const size_t bytes = spec->sample_count * spec->item_bytes;
    void *const copy = malloc(bytes);
    if (copy)
        memcpy(copy, spec->sample, bytes);
    return copy;
}
