/* SPDX-License-Identifier: Apache-2.0 */
/* host_device.h - marks functions that are compiled by the host's compilers and by nvcc for the
 * device.
 */
#ifndef CORE_HOST_DEVICE_H
#define CORE_HOST_DEVICE_H

#ifdef __CUDACC__
#    define HOST_DEVICE __host__ __device__
#else
#    define HOST_DEVICE
#endif

#endif
