/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.h - allocates the memory of one device, or of several for one of them. */
#ifndef CUDA_CUDA_MEMORY_H
#define CUDA_CUDA_MEMORY_H

#include "core/backend.h"
#include "core/error.h"

#include <stddef.h>

/* ---- memory of the current device, whose number `device` is for messages ---- */

/* Sets *bytes to the free memory. */
bool cuda_memory_free_bytes(unsigned device, size_t *bytes, struct error *error);

/* Fails, with the bytes needed and the bytes free, unless `bytes` bytes are free. */
bool cuda_memory_check_room(unsigned device, size_t bytes, struct error *error);

/* Reports to core/trace.h the memory in use on the device, by CUDA and by other processes too. Call
 * it when an engine has allocated all its memory. */
void cuda_memory_note(void);

/* Allocates `bytes` bytes. *memory is NULL for 0 bytes and on failure. The caller frees it by
 * cudaFree. */
bool cuda_memory_allocate(unsigned device, size_t bytes, void **memory, struct error *error);

/* ---- an array that several devices hold, and one of them uses ----
 *
 * If the device has no room for all of it, physical memory of each device is mapped to one range of
 * addresses, which is used like the device's own memory. The device reads and writes the part of
 * another device over the link between them: NVLink of an H200 moves 345 GB/s, and 100 GB/s of
 * single lines, which is more than a file takes. */

/* What an engine took of each of its devices. */
struct cuda_pool {
    const struct sort_spec *spec; /* spec->device uses the arrays; it is the first of the devices */
    size_t taken[BACKEND_DEVICES_MOST]; /* bytes of all arrays */
};

struct cuda_array {
    void *memory;    /* NULL: none */
    size_t reserved; /* bytes of the range of addresses; 0: memory of one device */
    size_t mapped;
};

/* Allocates `bytes` bytes, at least 1. The devices give in their order what is free, up to their
 * limit in the spec and a unit of mapping, 2 MiB, more. A device is used, and so started, only if
 * those before it have too little, and is left out if it fails. If all together have too little, or
 * there is only one, all free memory of the first is used, without its limit. An array that is read
 * seldom, and takes more than a quarter of what the first device can give, is taken from the last
 * device backwards, so that arrays that are read often find room on the first. The caller frees the
 * array, also after a failure. spec->device must be selected, and is so on success. */
bool cuda_array_allocate(struct cuda_pool *pool, size_t bytes, bool is_read_seldom,
                         struct cuda_array *array, struct error *error);

/* No work on the array may be in flight. */
void cuda_array_free(struct cuda_array *array);

#endif
