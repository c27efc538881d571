/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_text_engine.h - the engine for lines of text of the backend "gpu". core/backend.h has the
 * contract.
 */
#ifndef CUDA_CUDA_TEXT_ENGINE_H
#define CUDA_CUDA_TEXT_ENGINE_H

#include "core/backend.h"

extern const struct engine_functions cuda_lines;

#endif
