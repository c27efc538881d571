/* SPDX-License-Identifier: Apache-2.0 */
/* simt_fiber.h - fibers: functions with stacks of their own that hand the processor to each other.
 *
 * All fibers belong to the one OS thread that entered fiber_run. Stacks are pooled and never given
 * back: a kernel uses as many as it has threads that wait at the same time.
 */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

struct fiber;

/* What every fiber runs, over and over: it must end each round with fiber_switch or
 * fiber_return. */
typedef void (*fiber_body)();

/* A fiber that stands at the start of a round; the pool's top one, or a new one. Ends the process
 * when there is no memory for a stack. */
struct fiber *fiber_take(fiber_body body);

/* The fiber that runs; NULL outside of fiber_run. */
struct fiber *fiber_current();

/* Begins to read what a switch to each of them will need; the stack of sooner, which was later a
 * few switches ago. */
void fiber_expect(const struct fiber *later, const struct fiber *sooner);

/* Runs `first` and what it switches to, until one calls fiber_return. */
void fiber_run(struct fiber *first);

/* Hands over to `next`; returns when another one hands back. next may be the current one. */
void fiber_switch(struct fiber *next);

/* As fiber_switch, from the end of a round: this fiber goes back to the pool, and returns, to start
 * its next round, when it has been taken and switched to. */
void fiber_retire(struct fiber *next);

/* Ends fiber_run from the end of a round; returns as fiber_retire does. */
void fiber_return();

#endif
