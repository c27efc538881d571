/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see report.h.
 *
 * The remaining time is a rough estimate. Reading and writing are assumed to continue at their
 * measured rates. Before anything is written, writing is assumed to be as fast as reading, unless
 * the output is compressed, which may take many times longer: then the remaining time is not known.
 * The time of the sort between them comes from the model, if there is an estimate; in a job in
 * parts, the rate of reading includes the sort.
 */
#include "cli/report/report.h"

#include "core/clock.h"
#include "core/ending.h"
#include "core/threads.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/io/output_file.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Time before the first line, and at least between lines if standard error is not a terminal. */
#define SECOND_NS UINT64_C(1000000000)
#define REDRAW_NS (SECOND_NS / 5)

/* Less than this is read, sorted and written within a second, even at 8 MB/s. */
#define READ_BYTES_MIN ((uint64_t)8 << 20)

#define COLUMNS_DEFAULT 80

/* Bytes of a line, including its end. */
#define LINE_BYTES 160

/* ---- how far it is --------------------------------------------------------------------------- */

struct estimate {
    const char *stage;
    bool has_read;           /* the first bytes have been read */
    double fraction;         /* of the stage that is done; NAN: not known */
    double bytes;            /* processed in this stage */
    double bytes_per_second; /* 0: this stage processes no bytes */
    double seconds;          /* since the stage began */
    double seconds_left;     /* until the job ends; NAN: not known */
};

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)SECOND_NS;
}

static double fraction_of(uint64_t done, uint64_t all)
{
    return all == 0 || all == SIZE_UNKNOWN ? NAN : done < all ? (double)done / (double)all : 1;
}

/* Returns the seconds for the remaining bytes at this rate; NAN: not known. */
static double seconds_for(uint64_t done, uint64_t all, double bytes_per_second)
{
    if (all == SIZE_UNKNOWN || bytes_per_second <= 0)
        return NAN;
    return done < all ? (double)(all - done) / bytes_per_second : 0;
}

/* Returns the seconds for writing, of which nothing is done; NAN: not known. */
static double seconds_to_write(const struct outlook *outlook, double read_rate)
{
    return outlook->is_encoded ? NAN : seconds_for(0, outlook->write_bytes, read_rate);
}

/* While parts are read, sorted and spilled, all of that counts as reading. */
static struct estimate estimate_reading(const struct outlook *outlook,
                                        const struct trace_view *view, double seconds)
{
    const uint64_t read = view->bytes[TRACE_READ];
    const double rate = (double)read / seconds;
    const double read_seconds = seconds_for(read, outlook->read_bytes, rate);
    const double write_seconds = seconds_to_write(outlook, rate);
    return (struct estimate){
        .fraction = fraction_of(read, outlook->read_bytes),
        .bytes = (double)read,
        .bytes_per_second = rate,
        .seconds_left = read_seconds + outlook->sort_seconds + write_seconds,
    };
}

/* Estimates a stage between reading and writing. Only the model knows its time. */
static struct estimate estimate_sorting(const struct progress *progress,
                                        const struct trace_view *view, double seconds)
{
    const struct outlook *const outlook = &progress->outlook;
    const double read_took = seconds_of(progress->read_took_ns);
    const double left = outlook->sort_seconds == 0 ? 0 : outlook->sort_seconds - seconds;
    const double rate = read_took > 0 ? (double)view->bytes[TRACE_READ] / read_took : 0;
    const double write_seconds = seconds_to_write(outlook, rate);
    return (struct estimate){
        .fraction = NAN,
        .seconds_left = (left < 0 ? NAN : left) + write_seconds,
    };
}

static struct estimate estimate_writing(const struct outlook *outlook,
                                        const struct trace_view *view, double seconds)
{
    const uint64_t written = view->bytes[outlook->is_encoded ? TRACE_ENCODE : TRACE_WRITE];
    const uint64_t all = view->expected_bytes ? view->expected_bytes : outlook->write_bytes;
    const double rate = seconds > 0 ? (double)written / seconds : 0;
    return (struct estimate){
        .fraction = fraction_of(written, all),
        .bytes = (double)written,
        .bytes_per_second = rate,
        .seconds_left = seconds_for(written, all, rate),
    };
}

/* Looks at the counters of this process, or of all ranks that rank 0 can see. */
static void look(const struct progress *progress, struct trace_view *view)
{
    trace_look(view);
    (void)trace_ranks_look(view);
    const uint64_t before = progress->outlook.read_before; /* of ranks that may have ended since */
    view->bytes[TRACE_READ] -= before < view->bytes[TRACE_READ] ? before : view->bytes[TRACE_READ];
}

static struct estimate estimate_now(struct progress *progress)
{
    struct outlook *const outlook = &progress->outlook;
    struct trace_view view;
    struct estimate estimate = {.fraction = NAN, .seconds_left = NAN};
    const uint64_t now_ns = clock_now_ns(), ran_ns = now_ns - progress->start_ns;
    look(progress, &view);
    const uint64_t stage_ns = view.stage ? view.stage_begin_ns : progress->start_ns;
    if (stage_ns != progress->stage_begin_ns)
        progress->stage_begin_ns = progress->stage_start_ns = stage_ns;
    const uint64_t begin_ns = progress->stage_start_ns;
    const double seconds = seconds_of(now_ns > begin_ns ? now_ns - begin_ns : 0);
    const bool is_reading = view.stage && strcmp(view.stage, stage_names[STAGE_READ]) == 0;
    if (!view.stage) {
        view.stage = stage_names[STAGE_START];
    } else if (strcmp(view.stage, stage_names[STAGE_VERIFY]) == 0) {
        /* No estimate: the bytes read back are not counted separately. */
    } else if (strcmp(view.stage, stage_names[STAGE_WRITE]) == 0) {
        estimate = estimate_writing(outlook, &view, seconds);
    } else if (is_reading || (outlook->read_bytes != SIZE_UNKNOWN && /* another part */
                              view.bytes[TRACE_READ] < outlook->read_bytes)) {
        if (!is_reading)
            outlook->sort_seconds = 0; /* the rate includes sorting from now on */
        estimate = estimate_reading(outlook, &view, seconds_of(ran_ns));
        progress->read_took_ns = ran_ns;
    } else {
        estimate = estimate_sorting(progress, &view, seconds);
    }
    estimate.stage = view.stage;
    estimate.has_read = view.bytes[TRACE_READ] > 0;
    estimate.seconds = seconds;
    return estimate;
}

/* ---- the line -------------------------------------------------------------------------------- */

/* Appends to a line. The text is cut if it does not fit. */
static void append(char line[LINE_BYTES], const char *format, double value)
{
    const size_t length = strlen(line);
    snprintf(line + length, LINE_BYTES - length, format, value);
}

/* Appends a number of bytes in the largest unit in which it is at least 1. */
static void append_bytes(char line[LINE_BYTES], const char *before, double bytes, const char *after)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    const size_t length = strlen(line);
    size_t unit = 0;
    for (; bytes >= 999.995 && unit < 3; unit++)
        bytes /= 1000;
    snprintf(line + length, LINE_BYTES - length, "%s%.*f %s%s", before, unit > 0 ? 2 : 0, bytes,
             units[unit], after);
}

static void append_left(char line[LINE_BYTES], double seconds)
{
    if (isnan(seconds))
        return;
    if (seconds < 99.5)
        append(line, ", %.0f s left", seconds);
    else if (seconds < 99.5 * 60)
        append(line, ", %.0f min left", seconds / 60);
    else
        append(line, ", %.1f h left", seconds / 3600);
}

static void describe(const struct estimate *estimate, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, "gpusort: %s", estimate->stage);
    if (!isnan(estimate->fraction))
        append(line, " %.0f%%", 100 * estimate->fraction);
    else if (estimate->bytes > 0)
        append_bytes(line, " ", estimate->bytes, "");
    if (estimate->bytes_per_second > 0)
        append_bytes(line, ", ", estimate->bytes_per_second, "/s");
    else
        append(line, ", %.0f s", estimate->seconds);
    append_left(line, estimate->seconds_left);
}

/* Writes to standard error. Failures are ignored, because they cannot be reported. */
static void put(const char *text, size_t length)
{
    if (write(STDERR_FILENO, text, length) < 0)
        return;
}

/* Returns true if the process is in the terminal's foreground group, or if that is not known. */
static bool is_in_foreground(void)
{
    const pid_t foreground = tcgetpgrp(STDERR_FILENO);
    return foreground < 0 || foreground == getpgrp();
}

/* Erases the line, and lets no other be drawn. Async-signal-safe. Writes nothing in the background,
 * or if the terminal accepts no output: it may be stopped. */
static void erase_now(void *context)
{
    struct progress *const progress = context;
    char text[LINE_BYTES + 2];
    struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};
    const int shown = __atomic_load_n(&progress->shown, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->may_draw, false, __ATOMIC_RELAXED);
    if (shown == 0 || !is_in_foreground() || poll(&terminal, 1, 0) <= 0)
        return;
    memset(text, ' ', sizeof text);
    text[0] = text[shown + 1] = '\r';
    put(text, (size_t)shown + 2);
}

static void set_may_draw(struct progress *progress, bool may_draw)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    progress->may_draw = may_draw;
    ending_set_task(ENDING_PROGRESS, may_draw ? erase_now : NULL, progress);
    ending_end_change(&old_mask);
}

/* Writes the line over the current one, cut to the width of the terminal. Does nothing in the
 * background, or once a signal handler has erased the line. */
static void redraw(struct progress *progress, const char *line)
{
    struct winsize size;
    char text[512];
    const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
                            ? size.ws_col
                            : COLUMNS_DEFAULT;
    if (!is_in_foreground() || !__atomic_load_n(&progress->may_draw, __ATOMIC_RELAXED))
        return;
    int shown = (int)strlen(line);
    shown = shown < columns ? shown : columns - 1; /* some terminals wrap after the last column */
    /* The terminal may be narrower than before. */
    const int before = progress->shown < columns ? progress->shown : columns - 1;
    const int blanks = before > shown ? before - shown : 0;
    const int length = snprintf(text, sizeof text, "\r%.*s%*s", shown, line, blanks, "");
    if (shown > progress->shown)
        __atomic_store_n(&progress->shown, shown, __ATOMIC_RELAXED); /* before it is written */
    put(text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
    __atomic_store_n(&progress->shown, shown, __ATOMIC_RELAXED);
}

static void erase(struct progress *progress)
{
    if (progress->shown == 0)
        return;
    redraw(progress, "");
    if (is_in_foreground())
        put("\r", 1);
    __atomic_store_n(&progress->shown, 0, __ATOMIC_RELAXED);
}

static void show(struct progress *progress)
{
    char line[LINE_BYTES + 1]; /* and the newline of a log */
    const struct estimate estimate = estimate_now(progress);
    describe(&estimate, line);
    if (!progress->on_terminal) {
        strcat(line, "\n");
        put(line, strlen(line));
    } else if (!estimate.has_read) {
        erase(progress); /* the producer of the input may ask for a password */
    } else {
        redraw(progress, line);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits until the time has come, and returns false, or until the thread must stop, and returns
 * true. The caller holds the lock, which is released while waiting. */
static bool wait_until(struct progress *progress, uint64_t time_ns)
{
    const struct timespec time = {(time_t)(time_ns / SECOND_NS), (long)(time_ns % SECOND_NS)};
    while (!progress->is_stopped &&
           pthread_cond_timedwait(&progress->has_stopped, &progress->lock, &time) != ETIMEDOUT)
        ;
    return progress->is_stopped;
}

/* Returns the time until the next line. A log gets one line a second at first, and one for each
 * fiftieth of the time of a long job. */
static uint64_t pause_ns(const struct progress *progress, uint64_t now_ns)
{
    const uint64_t part_ns = (now_ns - progress->start_ns) / 50;
    return progress->on_terminal ? REDRAW_NS : part_ns > SECOND_NS ? part_ns : SECOND_NS;
}

/* If the thread wakes up far too late, the process was stopped. That time does not count. */
static void leave_out_stop(struct progress *progress, uint64_t now_ns, uint64_t late_ns)
{
    if (late_ns <= SECOND_NS || progress->start_ns + late_ns >= now_ns)
        return;
    progress->start_ns += late_ns;
    progress->stage_start_ns += late_ns;
}

static void *progress_main(void *opaque)
{
    struct progress *const progress = opaque;
    uint64_t time_ns = progress->start_ns + SECOND_NS;
    pthread_mutex_lock(&progress->lock);
    while (!wait_until(progress, time_ns)) {
        const uint64_t now_ns = clock_now_ns();
        leave_out_stop(progress, now_ns, now_ns - time_ns);
        show(progress);
        time_ns = clock_now_ns() + pause_ns(progress, now_ns);
    }
    erase(progress);
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

/* Ends the thread, and erases the line, before the output begins. The writer waits while the
 * terminal is stopped. */
static void make_way(void *context)
{
    struct progress *const progress = context;
    pthread_mutex_lock(&progress->lock);
    progress->is_stopped = true;
    pthread_cond_signal(&progress->has_stopped);
    erase(progress);
    pthread_mutex_unlock(&progress->lock);
}

/* Returns true if a user may be typing an input: standard input is a terminal, or the name of an
 * input leads to a character device. */
static bool is_typed(const struct options *options)
{
    struct stat status;
    for (size_t i = 0; i < options->input_count; i++) {
        const char *const path = options->inputs[i];
        if (strcmp(path, "-") == 0 ? isatty(STDIN_FILENO) == 1
                                   : stat(path, &status) == 0 && S_ISCHR(status.st_mode))
            return true;
    }
    return false;
}

bool progress_is_wanted(const struct options *options)
{
    if (options->quiet || options->progress == PROGRESS_OFF)
        return false;
    return options->progress == PROGRESS_ON ||
           (options->stats != STATS_JSON && isatty(STDERR_FILENO) == 1 && !is_typed(options));
}

void progress_start(struct progress *progress, const struct options *options,
                    const struct plan *plan)
{
    *progress = (struct progress){.on_terminal = isatty(STDERR_FILENO) == 1,
                                  .outlook = {.read_bytes = plan->file_bytes,
                                              .write_bytes = SIZE_UNKNOWN,
                                              .sort_seconds = NAN}};
    if (!progress_is_wanted(options) || plan->file_bytes < READ_BYTES_MIN)
        return;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes); /* none of these can fail on Linux */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->has_stopped, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&progress->lock, NULL);
    progress->start_ns = clock_now_ns();
    progress->is_running =
        thread_start_without_signals(&progress->thread, "progress", progress_main, progress);
    if (!progress->is_running || !progress->on_terminal)
        return;
    set_may_draw(progress, true); /* long before the first line */
    output_file_before_first_byte(make_way, progress);
}

/* Returns the time of the sort without reading and writing; NAN: not known. */
static double estimate_sort(const struct plan *plan)
{
    const struct job *const job = &plan->job;
    if (job->action != JOB_SORT)
        return 0;
    if (!plan->has_estimate)
        return NAN;
    return job->backend == backends[0] ? plan->estimate.cpu_sort_seconds
                                       : plan->estimate.gpu_sort_seconds;
}

/* Ranks read their parts after the plan, which has decoded compressed inputs. All parts are about
 * equal, so the bytes of the counted ranks follow from their number. */
static void set_ranks(struct progress *progress, const struct plan *plan)
{
    struct outlook *const outlook = &progress->outlook;
    struct trace_view view;
    trace_look(&view);
    const unsigned counted = trace_ranks_look(&view);
    const double factor =
        plan->job.has_rank_inputs ? counted : (double)counted / plan->job.group->size;
    outlook->read_before = view.bytes[TRACE_READ];
    if (outlook->write_bytes != SIZE_UNKNOWN)
        outlook->write_bytes = (uint64_t)((double)outlook->write_bytes * factor);
    if (plan->job.input_bytes != SIZE_UNKNOWN)
        outlook->read_bytes = (uint64_t)((double)plan->job.input_bytes * factor);
    if (outlook->read_bytes != SIZE_UNKNOWN && outlook->read_bytes > SOURCE_PEEK_MAX)
        outlook->read_bytes -= SOURCE_PEEK_MAX; /* rank 0 has read the first bytes of its part */
    progress->start_ns = clock_now_ns();
}

/* The size of an output that is not all of the input in the same format becomes known only when
 * writing begins. */
void progress_set_plan(struct progress *progress, const struct plan *plan)
{
    const struct job *const job = &plan->job;
    const bool writes_same = !job->sort.is_top && !job->argsort.index_type &&
                             !job->line_order.unique && job->output_format == job->input_format;
    if (!progress->is_running)
        return;
    pthread_mutex_lock(&progress->lock);
    erase(progress);
    progress->outlook.write_bytes = job->action == JOB_CHECK ? 0
                                    : writes_same            ? plan->job.input_bytes
                                                             : SIZE_UNKNOWN;
    if (job->group)
        set_ranks(progress, plan);
    progress->outlook.sort_seconds = estimate_sort(plan);
    progress->outlook.is_encoded = job->output.codec != codecs[0];
}

void progress_go_on(struct progress *progress)
{
    if (progress->is_running)
        pthread_mutex_unlock(&progress->lock);
}

void progress_stop(struct progress *progress)
{
    if (!progress->is_running)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->is_stopped = true;
    pthread_cond_signal(&progress->has_stopped);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    output_file_before_first_byte(NULL, NULL);
    if (progress->on_terminal)
        set_may_draw(progress, false);
    pthread_cond_destroy(&progress->has_stopped);
    pthread_mutex_destroy(&progress->lock);
    progress->is_running = false;
}
