/* SPDX-License-Identifier: Apache-2.0 */
/* shared_copy.h - a large copy, divided among threads. */
#ifndef CORE_SHARED_COPY_H
#define CORE_SHARED_COPY_H

#include <stddef.h>

/* As memcpy(3), with at most `threads` threads, at least 1. Each thread also takes the page faults
 * of its part of a new target. */
void shared_copy(void *target, const void *source, size_t bytes, unsigned threads);

#endif
