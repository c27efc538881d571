/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - a line on standard error that says how far a long run is.
 *
 *   gpusort: read 45%, 5.20 GB/s, 12 s left
 *
 * A thread of its own looks at what core/trace.h counts, first after a second; so a run that takes
 * less shows nothing, and one that is sure to has no such thread. On a terminal one line is written
 * anew and taken away in the end, be that a signal (core/ending.h); elsewhere, if it is asked for,
 * a line comes every second.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/options.h"
#include "cli/plan.h"

#include <pthread.h>

/* What is known of the job. */
struct outlook {
    uint64_t read_bytes;  /* of all inputs, as their files hold them; SIZE_UNKNOWN: not known */
    uint64_t write_bytes; /* of content, as far as it can be foretold; 0: not known */
    bool is_encoded;      /* the output is compressed */
    double sort_seconds;  /* by the model; below 0: not known */
    bool is_piped;        /* the output goes to a pipe or a device */
};

struct progress {
    bool is_running; /* the thread was started */
    pthread_t thread;
    bool on_terminal;
    uint64_t start_ns;
    pthread_mutex_t lock; /* over the rest, and over what is written there */
    pthread_cond_t has_stopped;
    bool is_stopped;
    struct outlook outlook;
    uint64_t read_took_ns; /* until all was read */
    int shown;             /* columns of the line that is there */
};

/* Shows from now on what is done, if the options want that and it may take long. Where the thread
 * cannot be started nothing is shown. The caller ends it with progress_stop. */
void progress_start(struct progress *progress, const struct options *options);

/* The plan is made: more can be told than before. The line is taken away, and nothing is shown
 * until progress_go_on, so that others may print meanwhile. */
void progress_tell_plan(struct progress *progress, const struct plan *plan);
void progress_go_on(struct progress *progress);

/* Takes the line away. */
void progress_stop(struct progress *progress);

#endif
