/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_engine.h - the engine for items of the backend "gpu". core/backend.h has the contract. */
#ifndef CUDA_CUDA_ENGINE_H
#define CUDA_CUDA_ENGINE_H

#include "core/backend.h"

extern const struct engine_functions cuda_keys;

#endif
