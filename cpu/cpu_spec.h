/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spec.h - what a spec (core/backend.h) means for the CPU.
 */
#ifndef CPU_CPU_SPEC_H
#define CPU_CPU_SPEC_H

#include "core/backend.h"

/* The largest chunk lent where the count is unknown, whatever is wanted. */
#define CPU_LEND_BYTES_MAX ((size_t)64 << 20)

/* Refuses what cannot be sorted, whatever the algorithm. */
bool cpu_spec_check(const struct sort_spec *spec, struct error *error);

/* How many threads sort. */
unsigned cpu_spec_threads(const struct sort_spec *spec);

/* Whether what comes may be partitioned as it comes: items that are nothing but keys, and more than
 * a few chunks of them. spec->threads: those that sort. */
bool cpu_spec_can_stream(const struct sort_spec *spec);

/* The most items that are lent of an array that they are selected in: they are read into a cache,
 * by several threads if there are. */
size_t cpu_spec_selection_chunk(const struct sort_spec *spec);

/* The bytes of at most so many items; SIZE_MAX if that is 0, not said, or has no limit. */
size_t cpu_spec_bytes(const struct sort_spec *spec, size_t most);

/* A copy of the sample, which the caller frees; NULL if there is no memory: it is only a help. */
void *cpu_spec_copy_sample(const struct sort_spec *spec);

#endif
