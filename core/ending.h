/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h - tasks to do when a signal ends the process: remove a temporary, truncate an unfinished
 * output to its complete part, remove a trace that is not written yet, erase the line of progress.
 *
 *   begin_change -> a file is created, a task is set -> end_change      a working thread
 *   signal -> the tasks -> the signal again, with its default action    any thread
 *
 * From before the first task is set until after the last one is cleared, signals that would end the
 * process do the tasks first. Signals that the program ignores or handles itself are left alone.
 * Signals that cannot be caught, and signals of a crash, do no tasks.
 *
 * Linux ignores the default actions of signals for process 1, the first one of a container. There
 * the signals are always caught, and end the process with status 128 + the signal.
 */
#ifndef CORE_ENDING_H
#define CORE_ENDING_H

#include <signal.h>
#include <stdbool.h>

/* The tasks, in the order of execution. */
enum ending_task {
    ENDING_TEMPORARY,
    ENDING_OUTPUT,
    ENDING_TRACE,
    ENDING_PROGRESS,
    ENDING_TASK_COUNT
};

/* Call it once, at the start: process 1 catches the signals from then on. */
void ending_prepare(void);

/* Begins a change of the tasks, or of the files that they work on. Until ending_end_change(),
 * signals that end the process wait, and so does another thread that begins a change, so a change
 * must be short. Does not return if the process is ending. *old_mask is for ending_end_change(),
 * which keeps errno. */
void ending_begin_change(sigset_t *old_mask);
void ending_end_change(const sigset_t *old_mask);

/* Holds all signals that would end the process until ending_release(), for a caller that overwrites
 * a file, which must not be left half done without a message. Does not return if the process is
 * ending. */
void ending_hold(void);

/* Sets the line, with its end, that is written to standard error when the first signal is held.
 * NULL, which is the default: none. It must stay valid. */
void ending_set_notice(const char *notice);

/* Returns true if a signal came since ending_hold(), so that ending_release() ends the process. */
bool ending_has_held(void);

/* Releases the signals. If any came since ending_hold(), raises the first of them, which ends the
 * process. Has no effect without ending_hold(). */
void ending_release(void);

/* Does not return if the process is ending. For an error that may be only a consequence of that. */
void ending_wait_if_ending(void);

/* Sets the task, which must be async-signal-safe and gets `context`, the memory that it works on;
 * NULL: none. Call it within a change. */
void ending_set_task(enum ending_task task, void (*run)(void *context), void *context);

/* Does the tasks now, for a library that ends the process itself. The process counts as ending
 * then. Do not call it within a change. */
void ending_do_tasks(void);

#endif
