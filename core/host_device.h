/* SPDX-License-Identifier: Apache-2.0 */
/* host_device.h - marks a function that both the host's compilers and nvcc make code of. */
#ifndef CORE_HOST_DEVICE_H
#define CORE_HOST_DEVICE_H

#ifdef __CUDACC__
#    define HOST_DEVICE __host__ __device__
#else
#    define HOST_DEVICE
#endif

#endif
