/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.h - finds and selects the devices of this machine. */
#ifndef CUDA_CUDA_DEVICE_H
#define CUDA_CUDA_DEVICE_H

#include "core/backend.h"
#include "core/error.h"

#include <stddef.h>

/* Fails with the reason unless the machine has a driver and the device, and the device is new
 * enough for the architectures that this program was compiled for. Without a driver this is the
 * first call to fail, before anything is loaded. If CUDA has not counted the devices before, hides
 * those after this one, as cuda_device_count() does. */
bool cuda_device_find(unsigned device, struct error *error);

/* As `count` of struct backend. */
unsigned cuda_device_count(unsigned most);

/* As `is_possible` of struct backend: true if the machine has a driver. */
bool cuda_device_is_possible(void);

/* As `reaches` of struct backend. */
bool cuda_device_reaches(unsigned device, unsigned other);

/* Selects the device for the calling thread. */
bool cuda_device_use(unsigned device, struct error *error);

/* As `look` and `probe` of struct backend. cuda_device_probe starts the device, because its free
 * memory is known only then, and selects it for the calling thread. */
bool cuda_device_look(unsigned device, struct device_facts *facts, struct error *error);
bool cuda_device_probe(unsigned device, struct device_facts *facts, struct error *error);

/* ---- memory of the host that is near a device ---- */

/* Asks the system to take the pages of the memory, which have not been used yet, from the NUMA node
 * that the device is connected to. This is a hint: if the node is not known, or has no room, the
 * pages are taken from elsewhere. */
void cuda_node_prefer(unsigned device, void *memory, size_t bytes);

#endif
