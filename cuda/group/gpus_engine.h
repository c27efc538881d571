/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_engine.h - the engine for items of several GPUs of one host. core/backend.h has the
 * contract. */
#ifndef CUDA_GROUP_GPUS_ENGINE_H
#define CUDA_GROUP_GPUS_ENGINE_H

#include "core/backend.h"

extern const struct engine_functions gpus_keys;

#endif
