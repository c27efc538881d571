/* SPDX-License-Identifier: Apache-2.0 */
/* simt_launch.h - runs the blocks of a kernel on the calling thread: its threads are fibers. Reads
 * the program's own symbol table: names of kernels, for reports, and addresses of their shared
 * memory, to poison it.
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

/* ---- fibers: functions with their own stacks that switch to each other ---- */

/* Fibers are numbered from 0 and run one at a time. Their stacks are never freed. */
constexpr unsigned fiber_max = 1024;

/* The body that every fiber runs repeatedly. Returns the number of the fiber that runs next, or
 * fiber_max for the caller of fiber_run. The body starts again when its fiber's turn comes. */
typedef unsigned (*fiber_body)();

/* Runs `first`, and the fibers it switches to, until a body returns fiber_max. Ends the process if
 * there is no memory for a stack. */
void fiber_run(fiber_body body, unsigned first);

/* Switches to `next`; returns when another fiber switches back. `next` may be the current fiber. */
void fiber_switch(unsigned next);

#endif
