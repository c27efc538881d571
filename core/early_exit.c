/* SPDX-License-Identifier: Apache-2.0 */
/* early_exit.c - see early_exit.h.
 *
 * When the first process has ended, the second one is an orphan, which process 1 adopts and must
 * reap, unless a subreaper does. In some containers process 1 is a service that reaps only the
 * children that it has started: there each job would leave a zombie. So no second process is
 * started if earlier jobs have left ZOMBIES_MAX.
 */
#include "core/early_exit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* From this number of zombies of earlier jobs on, process 1 is taken not to reap them. Fewer may be
 * reaped some time later. */
#define ZOMBIES_MAX 8

/* If process 1 has this many children or more, they are not examined further, and no second process
 * is started. */
#define CHILDREN_MAX 256

/* Descriptors below this one are closed when the first process has ended. */
#define DESCRIPTORS 4096

/* Returns true if the process has the name and is a zombie. */
static bool is_zombie(int process, const char *own_name)
{
    char path[32], name[32], line[128];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    snprintf(name, sizeof name, " (%s) Z ", own_name);
    FILE *const file = fopen(path, "re");
    if (!file)
        return false;
    const bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    return is_read && strstr(line, name) != NULL;
}

/* Returns true if process 1 reaps its children, as far as earlier jobs show; false also if its
 * children cannot be listed. */
static bool init_reaps(void)
{
    FILE *const children = fopen("/proc/1/task/1/children", "re");
    char own_name[16] = "";
    int process;
    unsigned zombies = 0, seen = 0;
    if (!children)
        return false;
    (void)prctl(PR_GET_NAME, own_name);
    for (; seen < CHILDREN_MAX && fscanf(children, "%d", &process) == 1; seen++)
        zombies += is_zombie(process, own_name);
    fclose(children);
    return zombies < ZOMBIES_MAX && seen < CHILDREN_MAX;
}

/* The second process. It runs in the memory of the first, which is in exit(3), so it calls only the
 * system. All its signals are blocked. */
static int release_all(void *first_process)
{
    const bool is_at_root = chdir("/") == 0; /* so that other file systems can be unmounted */
    (void)is_at_root;
    while (getppid() == *(const pid_t *)first_process)
        (void)poll(NULL, 0, 1);
    /* Someone may wait for the end of a pipe, or for a lock. CUDA's descriptors are devices. */
    for (int i = 0; i < DESCRIPTORS; i++) {
        struct stat status;
        if (fstat(i, &status) == 0 && !S_ISCHR(status.st_mode))
            close(i);
    }
    _exit(0);
}

static void start_process(void)
{
    static char stack[1 << 14] __attribute__((aligned(64)));
    static pid_t own;
    sigset_t all, old;
    if (!init_reaps())
        return;
    own = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    (void)clone(release_all, stack + sizeof stack, CLONE_VM | CLONE_FILES, &own);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void prepare(void)
{
    (void)atexit(start_process);
}

void early_exit_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare);
}
