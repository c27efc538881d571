/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_engine.h - the engines of the backend "gpu". core/backend.h has the contract. */
#ifndef CUDA_CUDA_ENGINE_H
#define CUDA_CUDA_ENGINE_H

#include "core/backend.h"
#include "cuda/engine/cuda_worker.h"

extern const struct engine_functions cuda_keys;

/* For several GPUs that sort together (cuda/group): returns the memory of an engine of cuda_keys
 * that has sorted and given nothing yet, and sets *worker to its worker. Both stay the engine's. If
 * the caller changes the items, the engine gives the changed ones. */
struct cuda_sort cuda_engine_memory(struct engine *engine, struct cuda_worker **worker);

/* Returns the number of items that each array has room for; 0 if the engine cannot give items of
 * other ranks. */
size_t cuda_engine_room(const struct engine *engine);

/* Sets which of the engine's two arrays has the items to give, and their number, after an exchange
 * that took `busy_ns` nanoseconds. */
void cuda_engine_set_items(struct engine *engine, void *items, void *scratch, size_t count,
                           uint64_t busy_ns);

extern const struct engine_functions cuda_lines;

#endif
