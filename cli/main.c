/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - gpusort: parses the options, makes the plan, runs it, and prints the error if there is
 * one.
 */
#include "cli/launcher.h"
#include "cli/options/options.h"
#include "cli/options/quote.h"
#include "cli/plan/plan.h"
#include "cli/report/report.h"
#include "core/ending.h"
#include "core/line/line_key.h"
#include "core/trace.h"
#include "job/pipeline.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Settings of OpenMP ----
 *
 * libgomp reads its environment when it is loaded. Linked statically, as the Makefile does if it
 * can, that is after the constructor below and before main(). Settings of the user are kept. Those
 * that are not valid are ignored, as by sort(1), without the messages of libgomp, which would also
 * come before the object of --stats=json.
 *
 * At the end of a loop, libgomp's threads spin for milliseconds before they sleep. On busy
 * processors that takes time from other threads: 1e6 lines with two threads on two busy cores took
 * 137 ms, and 64 ms if threads sleep at once (an AMD EPYC (Zen 5), 2026-11).
 */

static FILE *stderr_before; /* NULL: stderr is not replaced */

/* Returns true for a positive number, or several with commas. */
static bool are_numbers(const char *text)
{
    char *end;
    do {
        errno = 0;
        const long number = strtol(text, &end, 10); /* 0 if there is none */
        if (number <= 0 || number > INT_MAX || errno)
            return false;
        end += strspn(end, " ");
        text = end + 1;
    } while (*end == ',');
    return !*end;
}

__attribute__((constructor(101))) static void set_openmp(void)
{
    const char *const threads = getenv("OMP_NUM_THREADS");
    if (threads && !are_numbers(threads))
        (void)unsetenv("OMP_NUM_THREADS"); /* launcher.c and plan.c test whether it is set */
    if (!getenv("OMP_WAIT_POLICY"))
        (void)setenv("GOMP_SPINCOUNT", "1000", 0); /* some microseconds */
    const char *const display = getenv("OMP_DISPLAY_ENV");
    const bool is_shown =
        display && (strcasecmp(display, "true") == 0 || strcasecmp(display, "verbose") == 0);
    FILE *const discarded = is_shown ? NULL : fopencookie(NULL, "w", (cookie_io_functions_t){0});
    if (!discarded)
        return;
    stderr_before = stderr;
    stderr = discarded;
}

static void restore_stderr(void)
{
    if (!stderr_before)
        return;
    fclose(stderr);
    stderr = stderr_before;
    stderr_before = NULL;
}

/* ---- Running a plan ---- */

/* As in sort(1): 1 means only that -c or -C found disorder. */
enum { EXIT_DISORDER = 1, EXIT_TROUBLE = 2 };

/* The job that runs; `options` is NULL if none does. While it runs, only a library calls exit(3),
 * so every exit is a failure, whatever its status: OpenMP ends the process when it cannot start a
 * thread. Static, because an exit handler takes no arguments. */
static struct {
    const struct options *options;
    const struct group *group;
} running;

struct outcome {
    int status;    /* exit status if there is no error */
    char *members; /* for stats_print_json; the caller frees it; NULL: none */
};

/* A first line of text is seldom longer. */
#define FIRST_BYTES ((size_t)4096)

/* Returns how many bytes to peek at first: of a pipe those that have come. */
static size_t first_bytes(const struct source *source)
{
    return source_can_read_at(source) ? FIRST_BYTES : 1;
}

/* Returns the number of header lines that have been read: ranks take them with the plan. */
static size_t header_lines_read(const struct job *job)
{
    return job->group ? job->header_lines : 0;
}

/* Returns the first key, of a kind for numbers, that has a number in quotes in the first line after
 * the header. NULL: there is none, or there are several inputs. *has_comma: the number has a comma
 * in it. */
static const struct line_key *find_quoted_number(const struct job *job, bool *has_comma)
{
    const struct line_order *const order = &job->line_order;
    const unsigned char *head;
    size_t bytes;
    struct error error = {0}; /* is found again when the input is read */
    if (!job->keep_lines || job->reader_count != 1 ||
        !source_peek(job->readers[0].source, first_bytes(job->readers[0].source), &head, &bytes,
                     &error))
        return NULL;
    const char *line = (const char *)head;
    const char *const text_end = line + bytes, *end = memchr(line, order->terminator, bytes);
    for (size_t i = header_lines_read(job); i < job->header_lines && end; i++) {
        line = end + 1;
        end = memchr(line, order->terminator, (size_t)(text_end - line));
    }
    for (size_t i = 0; i < order->key_count && end; i++) {
        const enum line_kind kind = order->keys[i].kind;
        const struct line_span key =
            line_key_find(order->separator, &order->keys[i], line, (size_t)(end - line));
        size_t quote = 0;
        while (memchr(" \t", key.text[quote], 2)) /* ends at the terminator of the line */
            quote++;
        if (quote > 0 && order->keys[i].begin.character > 0) /* no -k could begin after it */
            continue;
        if (kind == LINE_STRICT || !line_kind_is_number(kind) || key.length <= quote + 1 ||
            key.text[quote] != '"' || !memchr("+-.0123456789", key.text[quote + 1], 13))
            continue;
        const char *after = key.text + quote + 2;
        while (memchr(".0123456789", *after, 11))
            after++;
        *has_comma = *after == ',';
        return &order->keys[i];
    }
    return NULL;
}

/* Returns true if the first bytes of the input have more than one carriage return and no newline.
 * Waits for FIRST_BYTES of a pipe only if the bytes that have come are like that. Returns false
 * with -z. */
static bool has_returns(const struct job *job, struct source *source)
{
    const unsigned char *head, *first;
    size_t bytes;
    struct error error = {0}; /* is found again when the input is read */
    if (job->line_order.terminator != '\n')
        return false;
    for (size_t want = first_bytes(source); want <= FIRST_BYTES; want += FIRST_BYTES - 1)
        if (!source_peek(source, want, &head, &bytes, &error) || memchr(head, '\n', bytes) ||
            (first = memchr(head, '\r', bytes)) == NULL ||
            !memchr(first + 1, '\r', bytes - (size_t)(first + 1 - head)))
            return false;
    return true;
}

/* Reports the first thing that the user may not have meant: that the first line is sorted with its
 * byte order mark or with carriage returns in it, and on a terminal that the keys are numbers in
 * quotes, and, if the plan is not printed, that raw numbers are read as f64 because no type is
 * given. Prints nothing with -q, beside a JSON object, or again after a GPU has failed. */
static void report_doubts(const struct options *options, const struct plan *plan)
{
    const struct job *const job = &plan->job;
    const bool on_terminal = isatty(STDERR_FILENO) == 1;
    if (options->quiet || options->stats == STATS_JSON || options->check == CHECK_QUIET ||
        plan->failed_devices)
        return;
    for (size_t i = 0; i < job->reader_count; i++) {
        const struct reader *const reader = &job->readers[i];
        const char *const name = source_name(reader->source);
        if (on_terminal && !options->verbose && job->input_format == &format_raw &&
            reader->is_type_assumed) {
            fprintf(stderr, "gpusort: %s: read as f64 (--type names another)\n", name);
            return;
        }
        /* Without -g, -n, -h and -k, a first line with a mark is an error. */
        const bool is_strict = job->line_order.keys[0].kind == LINE_STRICT;
        if (reader->begins_with_mark && job->header_lines == 0 && !is_strict) {
            fprintf(
                stderr,
                "gpusort: %s:1: this line is %s with the byte order mark (UTF-8) that it begins "
                "with (tail -c +4 removes it%s)\n",
                name, options->check ? "compared" : "sorted", source_command_note(reader->source));
            return;
        }
        if ((job->header_lines > 0 || !is_strict) && has_returns(job, reader->source)) {
            fprintf(
                stderr,
                "gpusort: %s:%zu: this line has carriage returns in it; if they end lines, they "
                "have to become newlines (tr '\\r' '\\n'%s)\n",
                name, header_lines_read(job) + 1, source_command_note(reader->source));
            return;
        }
    }
    bool has_comma = false;
    const struct line_key *const key = on_terminal ? find_quoted_number(job, &has_comma) : NULL;
    if (!key)
        return;
    fprintf(stderr, "gpusort: %s:%zu: a number in quotes counts as no number",
            source_name(job->readers[0].source), job->header_lines + 1);
    if (has_comma)
        fputs(", and this one has a comma in it, which has to be removed with them\n", stderr);
    else
        fprintf(stderr,
                " (if all lines have a quote there, a key that begins with -k %zu.%zu%s%c%s leaves "
                "it out)\n",
                key->begin.field + 1, key->begin.character + 2,
                key->begin.character == 0 || key->begin.skip_blanks ? "b" : "",
                key->kind == LINE_NUMERIC   ? 'n'
                : key->kind == LINE_GENERAL ? 'g'
                                            : 'h',
                key->reverse ? "r" : "");
}

/* Runs the plan once, and ends its progress. Fills *outcome, also after a failure. *is_undone: it
 * has failed, and may run again. */
static bool run_once(const struct options *options, struct plan *plan, struct progress *progress,
                     struct outcome *outcome, bool *is_undone, struct error *error)
{
    struct job_report report = {0};
    progress_set_plan(progress, plan);
    if (options->verbose)
        report_plan(stderr, "gpusort: ", plan);
    report_doubts(options, plan);
    progress_go_on(progress);
    running.options = options;
    running.group = plan->job.group;
    const bool ok = pipeline_run(&plan->job, &report, error);
    running.options = NULL;
    progress_stop(progress);
    if (ok && options->verbose)
        report_times(stderr, plan, &report);
    if (ok && options->stats == STATS_TEXT)
        stats_print_text(stderr, plan, &report);
    free(outcome->members);
    outcome->members = NULL;
    if (options->stats == STATS_JSON) /* printed at the end, with the error */
        outcome->members = stats_make_members(plan, &report, ok);
    if (ok && report.disorder.is_found) {
        outcome->status = EXIT_DISORDER;
        if (options->check == CHECK_SHOW && options->stats != STATS_JSON) {
            report_disorder(options->inputs[0], &plan->job, &report.disorder);
            if (ferror(stderr)) /* as sort(1): the line is the result */
                outcome->status = EXIT_TROUBLE;
        }
    }
    *is_undone = report.is_undone;
    free(report.disorder.text);
    free(report.ranks);
    return ok;
}

/* Runs the job. If a GPU fails and no harm is done, the plan may be replaced by one without it
 * (plan_again()), which runs. */
static bool run_planned_job(struct options *options, struct plan *plan, struct progress *progress,
                            struct outcome *outcome, struct error *error)
{
    bool is_undone;
    while (!run_once(options, plan, progress, outcome, &is_undone, error)) {
        if (!is_undone || !plan_again(options, plan, error))
            return false;
        progress_start(progress, options, plan);
        if (options->verbose) {
            fputs("gpusort: ", stderr);
            quote_print(stderr, error->message);
            fputs("; the job begins again\n", stderr);
        }
        *error = (struct error){0};
    }
    return true;
}

/* ---- From options to the exit status ---- */

/* Only rank 0 prints what is not an error. */
static void quiet_other_ranks(struct options *options, const struct group *group)
{
    if (!group || group->rank == 0)
        return;
    options->quiet = true;
    options->verbose = false;
    options->progress = PROGRESS_OFF;
    if (options->stats == STATS_TEXT)
        options->stats = STATS_NONE;
}

static bool make_plan(struct options *options, struct group *group, struct trace_file *trace,
                      struct progress *progress, struct plan *plan, struct error *error)
{
    bool ok = trace_file_open(options, group, trace, error) && plan_begin(options, plan, error) &&
              trace_file_check(options, trace, error);
    plan->job.group = group;
    if (ok) {
        progress_start(progress, options, plan);
        ok = plan_make(options, plan, error);
    }
    return group_agree(group, ok, error);
}

/* group: NULL, or the ranks that share the job. */
static bool sort_as_planned(struct options *options, struct group *group, struct outcome *outcome,
                            struct error *error)
{
    static struct plan plan; /* large for a stack */
    struct progress progress = {0};
    struct trace_file trace = trace_file_closed();
    if (!trace_start(options->trace != NULL, error)) /* planning reads from the inputs */
        return false;
    bool ok = (!group || trace_ranks_share(group, progress_is_wanted(options), error)) &&
              make_plan(options, group, &trace, &progress, &plan, error);
    const bool has_begun = ok && options->action == ACTION_SORT;
    const bool is_silent = options->quiet || options->stats == STATS_JSON;
    ending_set_notice(is_silent ? NULL
                                : "gpusort: the file is being overwritten: the job ends when it is "
                                  "complete\n");
    if (has_begun)
        ok = run_planned_job(options, &plan, &progress, outcome, error);
    progress_stop(&progress);
    if (ok && options->action == ACTION_EXPLAIN && (!group || group->rank == 0)) {
        report_plan(stdout, "", &plan);
        report_gpu(stdout, &plan);
    }
    plan_free(&plan); /* ends the reading threads, so nothing is recorded any more */
    ok = trace_file_close(options, &trace, has_begun, ok, error) && ok;
    trace_stop();
    return ok;
}

/* Prints the error, if there is one. With --stats=json the object contains it, so that standard
 * error has nothing else; if a signal is about to end the process, no object is printed, but the
 * error is. If ranks have agreed to fail, rank 0 prints the object, or else one rank the error. */
static void report_outcome(const struct options *options, const struct group *group,
                           const struct outcome *outcome, bool ok, const struct error *error)
{
    const bool is_first = !group || group->rank == 0;
    const bool is_json = options->stats == STATS_JSON && !ending_has_held();
    const bool has_agreed = group && group->has_agreed_to_fail;
    if (!ok && !has_agreed)
        launcher_let_rank_0_print(group != NULL);
    if (is_json && is_first && (!ok || options->action == ACTION_SORT))
        stats_print_json(stderr, ok ? outcome->status : EXIT_TROUBLE, error, outcome->members);
    else if (!ok && (has_agreed ? group->speaks && !is_json : true))
        report_error(error);
}

/* Called on exit. If a job runs, a library has called exit(3): removes what the job would leave,
 * and reports that. Otherwise checks that standard output accepted everything printed, so that
 * `gpusort --help > /dev/full` fails. */
static void end_process(void)
{
    if (quote_holds_text()) /* argp ends the process */
        launcher_let_rank_0_print(false);
    quote_release_stderr();
    if (running.options) {
        struct error error = {0};
        ending_do_tasks();
        error_set(&error,
                  "ended by OpenMP, as it says above; fewer threads (--parallel) or a higher "
                  "limit on processes (ulimit -u) may do");
        report_outcome(running.options, running.group, &(struct outcome){0}, false, &error);
        _exit(EXIT_TROUBLE);
    }
    const bool pending = __fpending(stdout) > 0 || ferror(stdout);
    errno = 0; /* an earlier write may have failed with an unknown cause */
    if (fclose(stdout) != 0 && pending) {
        fprintf(stderr, "gpusort: standard output: %s\n", errno ? strerror(errno) : "write failed");
        _exit(EXIT_TROUBLE);
    }
}

static bool sort_or_share(struct options *options, struct outcome *outcome, struct error *error)
{
    struct group joined;
    bool is_shared;
    if (!launcher_join(&joined, &is_shared, error)) {
        report_outcome(options, NULL, outcome, false, error);
        return false;
    }
    struct group *const group = is_shared ? &joined : NULL;
    unsigned rank;
    quiet_other_ranks(options, group);
    bool ok = options_name_rank(options, launcher_find_rank(&rank) ? &rank : NULL, error);
    if (group)
        ok = group_agree(group, ok, error) && plan_share_options(options, group, error);
    ok = ok && sort_as_planned(options, group, outcome, error);
    report_outcome(options, group, outcome, ok, error);
    ending_release(); /* after the message on a file that was damaged in place */
    if (group)
        group_close(group, ok);
    return ok;
}

int main(int argc, char **argv)
{
    static char line_buffer[1 << 16];
    struct error error = {0};
    struct options options;
    struct outcome outcome = {EXIT_SUCCESS, NULL};
    restore_stderr();
    /* A line of up to 64 KiB is one write(2), so that lines of other processes do not mix with it;
     * a pipe keeps up to 4096 bytes together. */
    setvbuf(stderr, line_buffer, _IOLBF, sizeof line_buffer);
    atexit(end_process);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large becomes an error */
    ending_prepare();
    launcher_undo_binding();
    launcher_leave_output();
    bool ok = options_parse(argc, argv, &options, &error);
    if (!ok)
        report_outcome(&options, NULL, &outcome, false, &error);
    else if (options.action == ACTION_LIST)
        report_list(stdout);
    else
        ok = sort_or_share(&options, &outcome, &error);
    if (options.stats != STATS_NONE && ferror(stderr)) /* figures that were requested are missing */
        ok = false;
    options_free(&options);
    free(outcome.members);
    return ok ? outcome.status : EXIT_TROUBLE;
}
