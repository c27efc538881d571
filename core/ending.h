/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h - what is still to be done when a signal ends the process: a temporary is removed, an
 * output that is not finished is cut off where it is whole, the line of progress is taken away.
 *
 *   begin_change -> a file is made, a task set -> end_change     a thread that works
 *   signal -> the tasks -> the signal again, as if not caught    any thread
 *
 * From before the first task is set until after the last one is taken back, signals that would end
 * the process do the tasks first; those that the program ignores or handles itself are left alone.
 * Signals that no process can catch, and those of a crash, do none.
 */
#ifndef CORE_ENDING_H
#define CORE_ENDING_H

#include <signal.h>

/* In the order in which they are done. */
enum ending_task { ENDING_TEMPORARY, ENDING_OUTPUT, ENDING_PROGRESS, ENDING_TASK_COUNT };

/* From here to ending_end_change what the tasks go by is the caller's alone: signals that end the
 * process wait, and so does another thread that begins a change. So it is to be short. Does not
 * return when the process is ending. *old_mask is for ending_end_change, which keeps errno. */
void ending_begin_change(sigset_t *old_mask);
void ending_end_change(const sigset_t *old_mask);

/* From here to ending_release no signal that ends the process is obeyed, as often as it comes: the
 * caller overwrites what cannot be left half done. Does not return when the process is ending. */
void ending_hold(void);

/* Obeys the first signal that came since ending_hold, and then does not return. */
void ending_release(void);

/* Does not return when the process is ending: for what failed, but perhaps for that alone. */
void ending_wait_if_ending(void);

/* Within a change: from now on the task is to call `run`, which does only what a signal handler may
 * do; NULL: nothing. */
void ending_set_task(enum ending_task task, void (*run)(void));

/* Does the tasks now, for a process that a library ends under us: it is ending from here on. */
void ending_do_tasks(void);

#endif
