/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_node.cu - see cuda_node.h. It makes the system call itself, so libnuma is not needed. */
#include "cuda/engine/cuda_node.h"

#include <ctype.h>
#include <cuda_runtime.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns the number of the device's node; -1: not known. */
static int find_node(unsigned device)
{
    char name[32] = "", path[96];
    int node = -1;
    if (cudaDeviceGetPCIBusId(name, sizeof name, static_cast<int>(device)) != cudaSuccess) {
        (void)cudaGetLastError();
        return -1;
    }
    for (char *c = name; *c; c++)
        *c = static_cast<char>(tolower(static_cast<unsigned char>(*c)));
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", name);
    FILE *const file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &node) != 1)
        node = -1;
    fclose(file);
    return node;
}

void cuda_node_prefer(unsigned device, void *memory, size_t bytes)
{
    const int node = find_node(device);
    unsigned long mask[16] = {}; /* of up to 1024 nodes */
    constexpr int bits = 8 * sizeof *mask;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
    if (node < 0 || node >= bits * 16 || end <= begin)
        return;
    mask[node / bits] = 1ul << node % bits;
    (void)syscall(SYS_mbind, begin, end - begin, MPOL_PREFERRED, mask, bits * 16ul + 1, 0u);
}
