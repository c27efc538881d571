/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_engine.h - the engine of the backend "gpu" for items, whose contract core/backend.h states.
 */
#ifndef CUDA_CUDA_ENGINE_H
#define CUDA_CUDA_ENGINE_H

#include "core/backend.h"

extern const struct engine_functions cuda_keys;

#endif
