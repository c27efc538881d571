/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c - the table of backends; the only source that depends on whether CUDA was built in. */
#include "core/backend.h"

#include <string.h>

extern const struct backend cpu_backend;
#ifdef HAVE_CUDA
extern const struct backend cuda_backend;
#endif

const struct backend *const backends[] = {
    &cpu_backend,
#ifdef HAVE_CUDA
    &cuda_backend,
#endif
};
const size_t backend_count = sizeof backends / sizeof *backends;

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; i < backend_count; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

const struct algorithm *backend_find_algorithm(const struct backend *backend, const char *name)
{
    for (size_t i = 0; i < backend->algorithm_count; i++)
        if (strcmp(backend->algorithms[i].name, name) == 0)
            return &backend->algorithms[i];
    return NULL;
}

size_t algorithm_largest_tile(const struct algorithm *algorithm)
{
    size_t largest = 0;
    for (const size_t *size = algorithm->tile_sizes; size && *size; size++)
        largest = *size;
    return largest;
}

bool algorithm_has_tile(const struct algorithm *algorithm, size_t tile_size)
{
    const size_t *size = algorithm->tile_sizes;
    while (size && *size && *size != tile_size)
        size++;
    return size && *size;
}
