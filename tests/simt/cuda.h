/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - a stand-in for the functions of the CUDA driver that are used: memory of several devices
 * at one range of addresses. cudaGetDriverEntryPointByVersion() finds them; see cuda_runtime.h.
 *
 * A range is memory of the heap. The one device that got access by cuMemSetAccess may use the range
 * like its own memory, from its beginning up to the first byte without access. What was mapped
 * counts as memory of the device that holds it.
 */
#ifndef SIMT_CUDA_H
#define SIMT_CUDA_H

#include "cuda_runtime.h"

typedef cudaError_t CUresult;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

enum CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemLocationType { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAllocationGranularity_flags { CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 };
enum CUmemAccess_flags { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };

struct CUmemLocation {
    CUmemLocationType type;
    int id;
};

struct CUmemAllocationProp {
    CUmemAllocationType type;
    CUmemLocation location;
};

struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags;
};

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *kind,
                                       CUmemAllocationGranularity_flags flags);
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *kind, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                        size_t count);

#endif
