/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - messages, lists, plans, times, progress and traces for the user. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/options/options.h"
#include "cli/plan/plan.h"
#include "formats/io/output_path.h"

#include <pthread.h>
#include <stdio.h>

/* Prints the error to standard error, on one line whatever a file's name contains. */
void report_error(const struct error *error);

/* -c: prints the line or number out of order to standard error, as sort(1) does, with '?' for each
 * character that quote_is_shown() excludes, except tabs and NULs. file: as the user gave it.
 * Changes disorder->text. */
void report_disorder(const char *file, const struct job *job, struct disorder *disorder);

/* --list: types, formats, codecs, devices and their paths. Starts the GPU to find its name, which
 * may take a second. */
void report_list(FILE *stream);

/* --explain and -v: prints the plan and its reasons, each line with `prefix`. */
void report_plan(FILE *stream, const char *prefix, const struct plan *plan);

/* --explain: prints the GPU that the plan does not use, or why there is none. Starts the GPU to
 * find out, which may take a second. Prints nothing for a plan that uses the GPU. */
void report_gpu(FILE *stream, const struct plan *plan);

/* -v: prints the time of each stage, the proof, and what the plan did not know: the strategy, the
 * spare backend if it sorted, and the sorted parts. */
void report_times(FILE *stream, const struct plan *plan, const struct job_report *report);

/* ---- --stats, the figures of a job for users and for programs: stats.c ---- */

/* Prints the figures of a job, one line per group. */
void stats_print_text(FILE *stream, const struct plan *plan, const struct job_report *report);

/* Returns the same figures as members of a JSON object, for stats_print_json(). is_done: the job
 * succeeded; otherwise some figures are left out. The caller frees the text; NULL if memory runs
 * out. Bytes that are not UTF-8 become U+FFFD. */
char *stats_make_members(const struct plan *plan, const struct job_report *report, bool is_done);

/* Prints the object on one line. status: the exit status. error: set or not.
 * members: NULL if no job was run, or memory ran out. */
void stats_print_json(FILE *stream, int status, const struct error *error, const char *members);

/* ---- --progress: progress.c ----
 *
 * A line on standard error with the progress of a long job:
 *
 *   gpusort: read 45%, 5.20 GB/s, 12 s left
 *
 * A thread reads the counters of core/trace.h, first after one second. So a shorter job shows
 * nothing, and a job that is certain to be shorter has no such thread. On a terminal one line is
 * rewritten. It is erased at the end, even if a signal ends the process (core/ending.h), and before
 * the first byte of an output that may be shown on the terminal (formats/io/output_write.c).
 * Elsewhere, if requested, a line is printed every second at first, and less often in a long job.
 */

/* Facts about the job. */
struct outlook {
    uint64_t read_bytes;  /* to read: all inputs, as their files hold them; with ranks, the decoded
                             parts of the ranks that are counted. SIZE_UNKNOWN: not known */
    uint64_t write_bytes; /* bytes of content, if they can be predicted; SIZE_UNKNOWN: not known */
    bool is_encoded;      /* the output is compressed */
    double sort_seconds;  /* estimate of the model; NAN: not known */
    uint64_t read_before; /* bytes that ranks read for the plan, which do not count */
};

struct progress {
    bool is_running; /* the thread was started */
    pthread_t thread;
    bool on_terminal;
    uint64_t start_ns;
    pthread_mutex_t lock; /* protects start_ns, the fields below, and the line on the terminal */
    pthread_cond_t has_stopped;
    bool is_stopped;
    struct outlook outlook;
    uint64_t read_took_ns;   /* time until everything was read */
    uint64_t stage_begin_ns; /* of the current stage; 0: none yet */
    uint64_t stage_start_ns; /* stage_begin_ns, plus the time for which the process was stopped,
                                which is also added to start_ns */
    int shown;               /* columns of the current line */
    bool may_draw;           /* false once a signal handler has erased the line */
};

/* Returns true if the options request progress. */
bool progress_is_wanted(const struct options *options);

/* Starts to show progress, if the options request it and the job may take long. plan: as begun. If
 * the thread cannot be started, nothing is shown. The caller ends this with progress_stop(). */
void progress_start(struct progress *progress, const struct options *options,
                    const struct plan *plan);

/* Passes the finished plan to the estimates. Erases the line and shows nothing until
 * progress_go_on(), so that the caller can print meanwhile. */
void progress_set_plan(struct progress *progress, const struct plan *plan);
void progress_go_on(struct progress *progress);

/* Erases the line and ends the thread. Has no effect if progress is not shown. */
void progress_stop(struct progress *progress);

/* ---- --trace, the file for the trace: trace_file.c ---- */

struct trace_file {
    struct group *group; /* NULL, or the ranks whose traces go to the file of rank 0 */
    int file;            /* -1: none */
    bool is_new;         /* trace_file_open() created it */
    struct output_path path;
};

/* Returns a trace file that is not open. */
struct trace_file trace_file_closed(void);

/* Opens the file for writing, if a job is traced, and keeps its content. The caller calls
 * trace_file_close(), also after a failure. */
bool trace_file_open(const struct options *options, struct group *group, struct trace_file *trace,
                     struct error *error);

/* Fails if the file is an input, the list of inputs, the output, or a file that standard error was
 * redirected to. */
bool trace_file_check(const struct options *options, const struct trace_file *trace,
                      struct error *error);

/* Writes the trace if the job has begun; otherwise removes a file that was created. The trace
 * replaces the content of a file, and is written to a given descriptor from its offset. Closes the
 * file. Collective if ranks share the job, the job has succeeded and --trace is given. */
bool trace_file_close(const struct options *options, struct trace_file *trace, bool has_begun,
                      bool has_succeeded, struct error *error);

#endif
