/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.h - memory of a device, and what is said when there is not enough. */
#ifndef CUDA_CUDA_MEMORY_H
#define CUDA_CUDA_MEMORY_H

#include "core/error.h"

#include <stddef.h>

/* Bytes that are free now. */
bool cuda_memory_free_bytes(unsigned device, size_t *bytes, struct error *error);

/* Fails, saying how much is needed and how much is free, unless the device has room for `bytes`. */
bool cuda_memory_check_room(unsigned device, size_t bytes, struct error *error);

/* Tells core/trace.h what is in use on the current device, CUDA's own included. To be called when
 * an engine has all that it will have. */
void cuda_memory_note(void);

/* Allocates; *memory is NULL for 0 bytes, and on failure. The caller frees it by cudaFree. */
bool cuda_memory_allocate(unsigned device, size_t bytes, void **memory, struct error *error);

#endif
