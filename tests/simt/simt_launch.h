/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.h - runs the blocks of a kernel on the calling thread. */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include "simt_device.h"

#include <functional>

struct simt_kernel {
    const void *function;             /* for its name */
    std::function<void()> run_thread; /* the body, for the thread in the built-in variables */
    dim3 grid, block;                 /* checked: at most 1024 threads per block */
    size_t dynamic_shared_bytes;
};

/* Runs all blocks, one after the other. One launch at a time. */
void simt_run_kernel(const struct simt_kernel &kernel);

#endif
