/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spec.h - checks a sort_spec (core/backend.h) for the CPU and derives sizes from it. */
#ifndef CPU_CPU_SPEC_H
#define CPU_CPU_SPEC_H

#include "core/backend.h"

/* Maximum bytes of a chunk if the count is unknown. */
#define CPU_LEND_BYTES_MAX ((size_t)64 << 20)

/* Fails if the CPU cannot sort this spec with any algorithm. */
bool cpu_spec_check(const struct sort_spec *spec, struct error *error);

/* Returns the number of threads that sort: at most the processors. */
unsigned cpu_spec_threads(const struct sort_spec *spec);

/* True if items may be partitioned while read: keys without an index, at least two chunks of
 * them, few threads. spec->threads: from cpu_spec_threads. */
bool cpu_spec_can_stream(const struct sort_spec *spec);

/* Maximum items of a chunk for --top: small enough for the cache, large enough for parallel
 * reading. */
size_t cpu_spec_selection_chunk(const struct sort_spec *spec);

/* Returns the bytes of `most` items; SIZE_MAX if `most` is 0 (unknown) or the product overflows. */
size_t cpu_spec_bytes(const struct sort_spec *spec, size_t most);

/* Returns a copy of the sample, which the caller frees; NULL without memory, as the sample is
 * optional. */
void *cpu_spec_copy_sample(const struct sort_spec *spec);

#endif
