/* SPDX-License-Identifier: Apache-2.0 */
/* ending.c - see ending.h.
 *
 * A handler must know the tasks whenever there are any, and any thread may take the signal. So
 * tasks, and the files that they work on, belong to the thread that has moved the state:
 *
 *     IDLE -> CHANGING -> IDLE     a working thread
 *     IDLE -> NOW -> DONE          a handler; then the signal ends the process
 *     IDLE -> NOW -> IDLE          a handler, if signals are held: it keeps the signal
 *
 * A thread blocks the signals in itself while it is CHANGING, so that a handler that waits for it
 * runs in another thread. From NOW on, a thread that begins a change waits for the end of the
 * process. Otherwise it would find its file removed and report an error, or create the next file.
 */
#include "core/ending.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The signals that end the process by default and can be caught, in addition to the real-time
 * signals. Signals of a crash (SIGSEGV, SIGABRT and others) are left out: a broken process should
 * not remove files. */
static const int standard_signals[] = {
    SIGHUP,    SIGINT,  SIGQUIT,   SIGTERM, SIGXCPU, SIGXFSZ, SIGPIPE, SIGUSR1,
    SIGUSR2,   SIGALRM, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS,
#ifdef SIGSTKFLT
    SIGSTKFLT,
#endif
};
#define STANDARD_SIGNAL_COUNT (sizeof standard_signals / sizeof standard_signals[0])
#define REAL_TIME_SIGNALS_MAX 64

static size_t ending_signal_count(void)
{
    return STANDARD_SIGNAL_COUNT + (size_t)(SIGRTMAX - SIGRTMIN + 1);
}

static int ending_signal(size_t i)
{
    return i < STANDARD_SIGNAL_COUNT ? standard_signals[i]
                                     : SIGRTMIN + (int)(i - STANDARD_SIGNAL_COUNT);
}

enum ending_state { ENDING_IDLE, ENDING_CHANGING, ENDING_NOW, ENDING_DONE };

/* All that a signal handler works on: static, because it takes no arguments. Written only in the
 * state CHANGING, except the atomic fields, and the notice, which is set before signals are held.
 */
static struct {
    atomic_int state;
    struct {
        void (*run)(void *context); /* NULL: nothing to do */
        void *context;
    } tasks[ENDING_TASK_COUNT];
    bool is_first;      /* the first process of a container, for which SIG_DFL ignores signals */
    bool is_held;       /* signals wait for ending_release */
    const char *notice; /* as for ending_set_notice() */
    atomic_int held_signal; /* the first signal held; 0: none */
    struct sigaction old_actions[STANDARD_SIGNAL_COUNT + REAL_TIME_SIGNALS_MAX];
    bool is_caught[STANDARD_SIGNAL_COUNT + REAL_TIME_SIGNALS_MAX];
} ending;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "the state is moved in a signal handler");

/* Waits until the state is IDLE and sets it to `next`. Returns false if the process is ending. */
static bool take_over(enum ending_state next)
{
    int seen = ENDING_IDLE;
    while (!atomic_compare_exchange_weak(&ending.state, &seen, next)) {
        if (seen == ENDING_DONE)
            return false;
        if (seen != ENDING_IDLE)
            poll(NULL, 0, 1);
        seen = ENDING_IDLE;
    }
    return true;
}

/* Erases the line of progress, which is not drawn again, and writes the notice, if there is one.
 * Does nothing if standard error accepts no output: a terminal may be stopped. */
static void write_notice(void)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!ending.notice || poll(&output, 1, 0) <= 0)
        return;
    if (ending.tasks[ENDING_PROGRESS].run)
        ending.tasks[ENDING_PROGRESS].run(ending.tasks[ENDING_PROGRESS].context);
    if (write(STDERR_FILENO, ending.notice, strlen(ending.notice)) < 0)
        return; /* it cannot be reported */
}

/* Returns false if signals are not held. Otherwise keeps the signal for ending_release(), and moves
 * the state from NOW to IDLE. */
static bool keep_signal(int signal_number)
{
    int none = 0;
    if (!ending.is_held)
        return false;
    if (atomic_compare_exchange_strong(&ending.held_signal, &none, signal_number))
        write_notice();
    atomic_store(&ending.state, ENDING_IDLE);
    return true;
}

/* Returns true when the tasks have run, here or in another thread, and false if the signal is kept
 * instead. signal_number: 0 for an end without a signal, which is never kept. Async-signal-safe. */
static bool do_tasks(int signal_number)
{
    if (!take_over(ENDING_NOW))
        return true;
    if (signal_number && keep_signal(signal_number))
        return false;
    for (size_t i = 0; i < ENDING_TASK_COUNT; i++)
        if (ending.tasks[i].run)
            ending.tasks[i].run(ending.tasks[i].context);
    atomic_store(&ending.state, ENDING_DONE);
    return true;
}

static void end_process(int signal_number)
{
    const int cause = errno;
    if (!do_tasks(signal_number)) {
        errno = cause;
        return;
    }
    if (ending.is_first)
        _exit(128 + signal_number); /* as a shell reports the signal */
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    sigaction(signal_number, &default_action, NULL);
    raise(signal_number); /* delivered when the handler returns */
}

static sigset_t ending_signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ending_signal_count(); i++)
        sigaddset(&set, ending_signal(i));
    return set;
}

/* Returns true if signals must be caught. */
static bool has_task(void)
{
    if (ending.is_held || ending.is_first)
        return true;
    for (size_t i = 0; i < ENDING_TASK_COUNT; i++)
        if (ending.tasks[i].run)
            return true;
    return false;
}

static void catch_signals(void)
{
    const struct sigaction action = {
        .sa_handler = end_process, .sa_mask = ending_signal_set(), .sa_flags = SA_RESTART};
    for (size_t i = 0; i < ending_signal_count(); i++) {
        struct sigaction *old = &ending.old_actions[i];
        ending.is_caught[i] = sigaction(ending_signal(i), NULL, old) == 0 &&
                              !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL &&
                              sigaction(ending_signal(i), &action, NULL) == 0;
    }
}

static void release_signals(void)
{
    for (size_t i = 0; i < ending_signal_count(); i++)
        if (ending.is_caught[i])
            sigaction(ending_signal(i), &ending.old_actions[i], NULL);
}

void ending_begin_change(sigset_t *old_mask)
{
    const sigset_t set = ending_signal_set();
    pthread_sigmask(SIG_BLOCK, &set, old_mask);
    while (!take_over(ENDING_CHANGING))
        pause();
    if (!has_task())
        catch_signals();
}

void ending_end_change(const sigset_t *old_mask)
{
    const int cause = errno;
    if (!has_task())
        release_signals();
    atomic_store(&ending.state, ENDING_IDLE);
    pthread_sigmask(SIG_SETMASK, old_mask, NULL);
    errno = cause;
}

static void set_held(bool is_held)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    ending.is_held = is_held;
    ending_end_change(&old_mask);
}

void ending_prepare(void)
{
    sigset_t old_mask;
    if (getpid() != 1)
        return;
    ending_begin_change(&old_mask);
    ending.is_first = true;
    ending_end_change(&old_mask);
}

void ending_set_notice(const char *notice)
{
    ending.notice = notice;
}

void ending_hold(void)
{
    set_held(true);
}

bool ending_has_held(void)
{
    return atomic_load(&ending.held_signal) != 0;
}

void ending_release(void)
{
    if (!ending.is_held)
        return;
    set_held(false);
    const int signal_number = atomic_exchange(&ending.held_signal, 0);
    if (signal_number)
        raise(signal_number);
}

void ending_wait_if_ending(void)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    ending_end_change(&old_mask);
}

void ending_set_task(enum ending_task task, void (*run)(void *context), void *context)
{
    ending.tasks[task].run = run;
    ending.tasks[task].context = context;
}

void ending_do_tasks(void)
{
    const sigset_t set = ending_signal_set();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)do_tasks(0);
}
