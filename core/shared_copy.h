/* SPDX-License-Identifier: Apache-2.0 */
/* shared_copy.h - a large copy, shared out to several threads. */
#ifndef CORE_SHARED_COPY_H
#define CORE_SHARED_COPY_H

#include <stddef.h>

/* As memcpy(3). Where the target is new memory, its pages come to the threads that copy. At most
 * `threads` of them, at least 1. */
void shared_copy(void *target, const void *source, size_t bytes, unsigned threads);

#endif
