/* cuda_engine.h - the engine of the backend "gpu": the functions of struct backend, whose contracts
 * core/backend.h states.
 */
#ifndef CUDA_CUDA_ENGINE_H
#define CUDA_CUDA_ENGINE_H

#include "core/backend.h"

bool cuda_engine_open(const struct sort_spec *spec, struct engine **engine, struct error *error);
bool cuda_engine_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error);
bool cuda_engine_take(struct engine *engine, struct chunk chunk, struct error *error);
bool cuda_engine_sort(struct engine *engine, struct error *error);
bool cuda_engine_give(struct engine *engine, struct chunk *chunk, struct error *error);
bool cuda_engine_take_back(struct engine *engine, struct chunk chunk, struct error *error);
void cuda_engine_times(const struct engine *engine, struct engine_times *times);
void cuda_engine_close(struct engine *engine);

#endif
