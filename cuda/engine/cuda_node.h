/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_node.h - the part of the host's memory that is near a GPU. */
#ifndef CUDA_CUDA_NODE_H
#define CUDA_CUDA_NODE_H

#include <stddef.h>

/* Asks the system to take the pages of the memory, which have not been used yet, from the NUMA node
 * that the device is connected to. This is a hint: if the node is not known, or has no room, the
 * pages are taken from elsewhere. */
void cuda_node_prefer(unsigned device, void *memory, size_t bytes);

#endif
