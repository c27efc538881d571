/* temporary.c - see temporary.h.
 *
 * A handler that removes the file must know its name whenever the file exists, though any thread
 * may be the one that takes the signal. So file and name belong to whoever moves the state:
 *
 *     NONE | EXISTS -> CHANGING -> EXISTS | NONE     the thread that writes: create, rename, remove
 *     NONE | EXISTS -> ENDING -> ENDED               a handler; then the signal ends the process
 *
 * The writing thread blocks the signals in itself while it is CHANGING, so that a handler that
 * waits for it runs in another thread. From ENDING on it waits for the end itself: otherwise it
 * would meet a file that is gone and report an error, or create the next one.
 */
#include "formats/temporary.h"

#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The signals that by default end the process and that it can take. Those of a crash (SIGSEGV and
 * the like) are left out: a broken process should not go on to remove files. */
static const int ending_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGXCPU,   SIGXFSZ,
                                     SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF};
#define ENDING_SIGNAL_COUNT (sizeof ending_signals / sizeof ending_signals[0])

#define SUFFIX ".gpusort-"
#define RANDOM_LETTERS 6
#define ATTEMPTS 100

enum temporary_state {
    TEMPORARY_NONE,
    TEMPORARY_EXISTS,
    TEMPORARY_CHANGING, /* being created, renamed or removed */
    TEMPORARY_ENDING,   /* being removed by a handler */
    TEMPORARY_ENDED
};

/* Static, because a signal handler takes no arguments. `path` is written in CHANGING alone. */
static struct {
    atomic_int state;
    char path[PATH_MAX + NAME_MAX + 2];
    struct sigaction old_actions[ENDING_SIGNAL_COUNT];
    bool is_caught[ENDING_SIGNAL_COUNT];
} temporary;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "the state is moved in a signal handler");

/* Takes the file, waiting for whoever has it; *state is what it was. False when the process is
 * ending. */
static bool take_over(enum temporary_state next, enum temporary_state *state)
{
    int seen = atomic_load(&temporary.state);
    while (seen != TEMPORARY_ENDED) {
        if (seen != TEMPORARY_NONE && seen != TEMPORARY_EXISTS) {
            poll(NULL, 0, 1);
            seen = atomic_load(&temporary.state);
        } else if (atomic_compare_exchange_weak(&temporary.state, &seen, next)) {
            *state = seen;
            return true;
        }
    }
    return false;
}

/* Calls functions that are async-signal-safe alone. */
static void remove_and_raise(int signal_number)
{
    enum temporary_state state;
    if (take_over(TEMPORARY_ENDING, &state)) {
        if (state == TEMPORARY_EXISTS)
            unlink(temporary.path);
        atomic_store(&temporary.state, TEMPORARY_ENDED);
    }
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    sigaction(signal_number, &default_action, NULL);
    raise(signal_number); /* taken when the handler returns */
}

static sigset_t ending_signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++)
        sigaddset(&set, ending_signals[i]);
    return set;
}

/* Returns the state before. Does not return when the process is ending. */
static enum temporary_state begin_change(sigset_t *old_mask)
{
    const sigset_t set = ending_signal_set();
    enum temporary_state state;
    pthread_sigmask(SIG_BLOCK, &set, old_mask);
    while (!take_over(TEMPORARY_CHANGING, &state))
        pause();
    return state;
}

static void end_change(const sigset_t *old_mask, enum temporary_state state)
{
    const int cause = errno;
    atomic_store(&temporary.state, state);
    pthread_sigmask(SIG_SETMASK, old_mask, NULL);
    errno = cause;
}

static void catch_signals(void)
{
    const struct sigaction action = {
        .sa_handler = remove_and_raise, .sa_mask = ending_signal_set(), .sa_flags = SA_RESTART};
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++) {
        struct sigaction *old = &temporary.old_actions[i];
        temporary.is_caught[i] = sigaction(ending_signals[i], NULL, old) == 0 &&
                                 !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL &&
                                 sigaction(ending_signals[i], &action, NULL) == 0;
    }
}

static void release_signals(void)
{
    const int cause = errno;
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++)
        if (temporary.is_caught[i])
            sigaction(ending_signals[i], &temporary.old_actions[i], NULL);
    errno = cause;
}

/* The bytes of `name` that leave room for the rest in a name of the directory's file system. */
static int kept_length(const char *directory, const char *name)
{
    long name_max = pathconf(directory, _PC_NAME_MAX);
    if (name_max <= 0 || name_max > NAME_MAX)
        name_max = NAME_MAX;
    const size_t added = 1 + strlen(SUFFIX) + RANDOM_LETTERS;
    const size_t room = (size_t)name_max > added ? (size_t)name_max - added : 0;
    size_t length = strlen(name);
    if (length > room) {
        length = room;
        while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
            length--; /* never inside a character of UTF-8 */
    }
    return (int)length;
}

static bool fill_random_letters(char *letters)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits) /* never a part of so few bytes */
        if (errno != EINTR)
            return false;
    for (size_t i = 0; i < RANDOM_LETTERS; i++, bits /= sizeof alphabet - 1)
        letters[i] = alphabet[bits % (sizeof alphabet - 1)];
    return true;
}

/* Writes the path with a place for the random letters; returns that place, NULL with errno. */
static char *compose_path(const char *target)
{
    const char *slash = strrchr(target, '/');
    if (!slash || (size_t)(slash - target) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    char directory[PATH_MAX + 1];
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - target) + 1, target);
    const int length =
        snprintf(temporary.path, sizeof temporary.path, "%s.%.*s" SUFFIX "%*s", directory,
                 kept_length(directory, slash + 1), slash + 1, RANDOM_LETTERS, "");
    if (length < 0 || (size_t)length >= sizeof temporary.path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return temporary.path + length - RANDOM_LETTERS;
}

/* As mkostemp(3), but with a mode that the umask and the directory's default ACL apply to. */
static int create_unique(const char *target, mode_t mode)
{
    char *letters = compose_path(target);
    if (!letters)
        return -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!fill_random_letters(letters))
            return -1;
        const int file = open(temporary.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

bool temporary_create(const char *target, mode_t mode, int *file)
{
    sigset_t old_mask;
    const enum temporary_state before = begin_change(&old_mask);
    if (before != TEMPORARY_NONE) {
        errno = EBUSY;
        end_change(&old_mask, before);
        return false;
    }
    catch_signals();
    int created = create_unique(target, mode);
    if (created >= 0) {
        *file = descriptor_raise(created);
        if (*file < 0)
            unlink(temporary.path);
        created = *file;
    }
    if (created < 0)
        release_signals();
    end_change(&old_mask, created < 0 ? TEMPORARY_NONE : TEMPORARY_EXISTS);
    return created >= 0;
}

/* Where the file system cannot make it without a name: the name is there for a moment, in which the
 * signals wait. */
static int create_and_unlink(const char *directory)
{
    char *path;
    if (asprintf(&path, "%s/gpusort%.*s", directory, RANDOM_LETTERS, "XXXXXX") < 0)
        return -1;
    sigset_t old_mask;
    const enum temporary_state before = begin_change(&old_mask);
    if (before == TEMPORARY_NONE)
        catch_signals();
    const int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    if (before == TEMPORARY_NONE)
        release_signals();
    end_change(&old_mask, before);
    free(path);
    return file;
}

bool temporary_create_nameless(const char *directory, int *file)
{
    const int made = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
    *file = descriptor_raise(made >= 0 ? made : create_and_unlink(directory));
    return *file >= 0;
}

bool temporary_rename(const char *target)
{
    sigset_t old_mask;
    begin_change(&old_mask);
    const bool renamed = rename(temporary.path, target) == 0;
    if (renamed)
        release_signals();
    end_change(&old_mask, renamed ? TEMPORARY_NONE : TEMPORARY_EXISTS);
    return renamed;
}

void temporary_remove(void)
{
    const int cause = errno;
    sigset_t old_mask;
    begin_change(&old_mask);
    unlink(temporary.path);
    release_signals();
    end_change(&old_mask, TEMPORARY_NONE);
    errno = cause;
}

void temporary_remove_leftover(void)
{
    if (atomic_load(&temporary.state) == TEMPORARY_EXISTS)
        temporary_remove();
}
