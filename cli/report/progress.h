/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - a line on standard error with the progress of a long job.
 *
 *   gpusort: read 45%, 5.20 GB/s, 12 s left
 *
 * A thread reads the counters of core/trace.h, first after one second. So a shorter job shows
 * nothing, and a job that is certain to be shorter has no such thread. On a terminal one line is
 * rewritten, and erased at the end, even if a signal ends the process (core/ending.h). Elsewhere,
 * if requested, a line is printed every second.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/options/options.h"
#include "cli/plan/plan.h"

#include <pthread.h>

/* Facts about the job. */
struct outlook {
    uint64_t read_bytes;  /* of all inputs, as their files hold them; SIZE_UNKNOWN: not known */
    uint64_t write_bytes; /* bytes of content, if they can be predicted; 0: not known */
    bool is_encoded;      /* the output is compressed */
    double sort_seconds;  /* estimate of the model; below 0: not known */
    bool is_piped;        /* the output goes to a pipe or a device */
    uint64_t read_before; /* bytes that ranks read for the plan, which do not count */
};

struct progress {
    bool is_running; /* the thread was started */
    pthread_t thread;
    bool on_terminal;
    uint64_t start_ns;
    pthread_mutex_t lock; /* protects the fields below, and the line on the terminal */
    pthread_cond_t has_stopped;
    bool is_stopped;
    struct outlook outlook;
    uint64_t read_took_ns; /* time until everything was read */
    int shown;             /* columns of the current line */
    bool may_draw;         /* false once a signal handler has erased the line */
};

/* Returns true if the options request progress. */
bool progress_is_wanted(const struct options *options);

/* Starts to show progress, if the options request it and the job may take long. If the thread
 * cannot be started, nothing is shown. The caller ends this with progress_stop(). */
void progress_start(struct progress *progress, const struct options *options);

/* Passes the finished plan to the estimates. Erases the line and shows nothing until
 * progress_go_on(), so that the caller can print meanwhile. */
void progress_tell_plan(struct progress *progress, const struct plan *plan);
void progress_go_on(struct progress *progress);

/* Erases the line and ends the thread. Has no effect if progress is not shown. */
void progress_stop(struct progress *progress);

#endif
