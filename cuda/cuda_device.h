/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.h - the devices of this machine. */
#ifndef CUDA_CUDA_DEVICE_H
#define CUDA_CUDA_DEVICE_H

#include "core/backend.h"

/* Fails, with the reason, unless the machine has a driver and the device, and that is no older than
 * what this program was compiled for. Without a driver it is the first call to fail, and nothing
 * has been loaded. */
bool cuda_device_find(unsigned device, struct error *error);

/* As struct backend's: true if the machine has a driver. */
bool cuda_device_is_possible(void);

/* Makes the device the calling thread's. */
bool cuda_device_use(unsigned device, struct error *error);

/* As struct backend's look and probe. The second starts the device, as only then its free memory is
 * known. */
bool cuda_device_look(unsigned device, struct device_facts *facts, struct error *error);
bool cuda_device_probe(unsigned device, struct device_facts *facts, struct error *error);

#endif
