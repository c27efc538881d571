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

/* All belong to the one OS thread that called fiber_run. Stacks are pooled and never freed. A
 * kernel uses as many as it has threads that wait at the same time. */
struct fiber;

/* The body that every fiber runs repeatedly. It must end each round with fiber_retire or
 * fiber_return. */
typedef void (*fiber_body)();

/* Returns a fiber at the start of a round: the top one of the pool, or a new one. Ends the process
 * if there is no memory for a stack. */
struct fiber *fiber_take(fiber_body body);

/* Returns the running fiber; NULL outside of fiber_run. */
struct fiber *fiber_current();

/* Runs `first`, and the fibers it switches to, until one calls fiber_return. */
void fiber_run(struct fiber *first);

/* Switches to `next`; returns when another fiber switches back. `next` may be the current fiber. */
void fiber_switch(struct fiber *next);

/* Ends the round: the fiber returns to the pool, and `next` runs. The call returns when the fiber
 * starts its next round. */
void fiber_retire(struct fiber *next);

/* Ends fiber_run at the end of a round. Returns as fiber_retire does. */
void fiber_return();

#endif
