/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_each.h - does the same work for each GPU, with a host thread for each. */
#ifndef CUDA_GROUP_GPUS_EACH_H
#define CUDA_GROUP_GPUS_EACH_H

#include "core/error.h"

#include <stddef.h>

/* Calls run(context, i, error) for each i below `count`, all at the same time,
 * and waits for all. The caller's thread does the first. A GPU for which no thread can be started
 * is served by the caller. Of several errors, *error becomes that of the lowest GPU. */
bool gpus_each(size_t count, bool (*run)(void *context, size_t i, struct error *error),
               void *context, struct error *error);

#endif
