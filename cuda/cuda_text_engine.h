/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_text_engine.h - the engine of the backend "gpu" for lines of text, whose contract
 * core/backend.h states.
 */
#ifndef CUDA_CUDA_TEXT_ENGINE_H
#define CUDA_CUDA_TEXT_ENGINE_H

#include "core/backend.h"

extern const struct engine_functions cuda_lines;

#endif
