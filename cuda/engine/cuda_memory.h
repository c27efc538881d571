/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.h - allocates device memory, and reports a lack of it. */
#ifndef CUDA_CUDA_MEMORY_H
#define CUDA_CUDA_MEMORY_H

#include "core/error.h"

#include <stddef.h>

/* Sets *bytes to the free memory of the current device. */
bool cuda_memory_free_bytes(unsigned device, size_t *bytes, struct error *error);

/* Fails, with the bytes needed and the bytes free, unless `bytes` bytes are free. */
bool cuda_memory_check_room(unsigned device, size_t bytes, struct error *error);

/* Reports to core/trace.h the memory in use on the current device, including CUDA's own. Call it
 * when an engine has allocated all its memory. */
void cuda_memory_note(void);

/* Allocates `bytes` bytes. *memory is NULL for 0 bytes and on failure. The caller frees it by
 * cudaFree. */
bool cuda_memory_allocate(unsigned device, size_t bytes, void **memory, struct error *error);

#endif
