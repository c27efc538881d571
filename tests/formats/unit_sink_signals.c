/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sink_signals.c - at any time, any signal leaves the target of a sink complete, and no other
 * file. This holds for temporaries with and without a name.
 */
#include "tests/formats/unit_sink.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static bool open_out(struct sink **sink)
{
    struct error error = {0};
    return sink_open(&(struct sink_spec){"out", &codecs[0], 0, 1, false, NULL}, sink, &error);
}

/* Starts a child that opens a temporary, with a name or without, and then raises the signal.
 * Returns the child's wait status. */
static int signal_child(int signal_number, void (*prepare)(int), bool has_name)
{
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        struct sink *sink;
        setrlimit(RLIMIT_CORE, &no_core);
        prepare(signal_number);
        if (has_name)
            refuse_unnamed_files();
        if (!open_out(&sink) || count_named_temporaries() != has_name || count_temporaries() != 1)
            _exit(99);
        raise(signal_number);
        sink_discard(sink); /* the signal was ignored */
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void take_default(int signal_number)
{
    signal(signal_number, SIG_DFL);
}

static void ignore(int signal_number)
{
    signal(signal_number, SIG_IGN);
}

static void assert_leaves_nothing(int signal_number, bool has_name)
{
    int status = signal_child(signal_number, take_default, has_name);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal_number);
    if (signal_number != SIGKILL) {
        status = signal_child(signal_number, ignore, has_name);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(count_temporaries(), 0);
}

static void test_signals_leave_nothing(void **state)
{
    (void)state;
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGXCPU,   SIGXFSZ,
                                  SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM,  SIGVTALRM, SIGPROF,
                                  SIGIO,   SIGPWR,  SIGSYS,  SIGSTKFLT};
    put_file("out", "old", 3);
    for (int has_name = 0; has_name < 2; has_name++) {
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
            assert_leaves_nothing(signals[i], has_name);
        for (int real_time = SIGRTMIN; real_time <= SIGRTMAX; real_time++)
            assert_leaves_nothing(real_time, has_name);
    }
    assert_leaves_nothing(SIGKILL, false);
    assert_leaves_nothing(SIGABRT, false);
    assert_file_holds("out", "old", 3);
    unlink("out");
}

static void *wait_for_signals(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Opens and commits until it is killed. The second thread receives the signals while the first one
 * blocks them. */
static void replace_forever(bool has_name)
{
    pthread_t other;
    if (has_name)
        refuse_unnamed_files();
    if (pthread_create(&other, NULL, wait_for_signals, NULL) != 0)
        _exit(98);
    for (;;) {
        struct error error = {0};
        struct sink *sink;
        if (!open_out(&sink) || !sink_write(sink, "x", 1, &error) || !sink_commit(sink, &error))
            _exit(99);
    }
}

static void test_kill_at_any_moment(void **state)
{
    (void)state;
    const int here = open(".", O_RDONLY | O_DIRECTORY);
    char in_memory[] = "/dev/shm/unit_sink_signals.XXXXXX";
    assert_true(here >= 0);
    if (mkdtemp(in_memory)) /* a disk takes 0.2 s a round, to write what a rename replaces */
        assert_int_equal(chdir(in_memory), 0);
    put_file("out", "x", 1);
    for (int i = 0; i < 200; i++) {
        fflush(stdout);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            replace_forever(i % 2);
        int status;
        usleep((useconds_t)(1000 + 37 * i % 2000));
        kill(child, SIGTERM);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(count_temporaries(), 0);
        assert_file_holds("out", "x", 1);
    }
    unlink("out");
    assert_int_equal(fchdir(here), 0);
    close(here);
    rmdir(in_memory);
}

/* When the sink is closed, the signals have their old handlers. */
static void test_signals_are_given_back(void **state)
{
    (void)state;
    struct sigaction before, during, after;
    sigaction(SIGTERM, NULL, &before);
    refuse_unnamed_files(); /* a signal only removes a name */
    struct sink *sink = open_sink("out");
    sigaction(SIGTERM, NULL, &during);
    sink_discard(sink);
    sigaction(SIGTERM, NULL, &after);
    assert_true(before.sa_handler == SIG_DFL);
    assert_true(during.sa_handler != SIG_DFL);
    assert_true(after.sa_handler == SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_leave_nothing),
        cmocka_unit_test(test_kill_at_any_moment),
        cmocka_unit_test(test_signals_are_given_back),
    };
    return cmocka_run_group_tests_name("sink_signals", tests, enter_scratch, leave_scratch);
}
