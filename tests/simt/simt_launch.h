/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.h - runs the blocks of a kernel on the calling thread. Reads the program's own symbol
 * table: names of kernels, for reports, and addresses of their shared memory, to poison it.
 */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include "simt_device.h"

#include <functional>
#include <string>
#include <vector>

struct simt_kernel {
    const void *function;             /* for its name */
    std::function<void()> run_thread; /* the body, for the thread in the built-in variables */
    dim3 grid, block;                 /* checked: at most 1024 threads per block */
    size_t dynamic_shared_bytes;
};

/* Runs all blocks, one after the other. One launch at a time. */
void simt_run_kernel(const struct simt_kernel &kernel);

struct simt_variable {
    unsigned char *data;
    size_t bytes;
};

/* Returns the name of the function at that address, or the address itself in a stripped program. */
std::string simt_function_name(const void *function);

/* Returns the __shared__ variables of the program; none in a stripped program. */
const std::vector<simt_variable> &simt_shared_variables();

#endif
