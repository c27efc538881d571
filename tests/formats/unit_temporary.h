/* SPDX-License-Identifier: Apache-2.0 */
/* unit_temporary.h - finds the temporary files of outputs in the working directory of a unit test.
 */
#ifndef TESTS_UNIT_TEMPORARY_H
#define TESTS_UNIT_TEMPORARY_H

#include "tests/unit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Returns the number of temporaries with a name. */
static inline size_t count_named_temporaries(void)
{
    glob_t found;
    const int result = glob(".gpusort-*", 0, NULL, &found);
    const size_t count = result == 0 ? found.gl_pathc : 0;
    if (result == 0)
        globfree(&found);
    return count;
}

/* Returns the path in /proc of an open file of the working directory that has no name, malloc'd;
 * NULL if there is none. */
static inline char *find_unnamed_temporary(void)
{
    char here[4096], target[8192];
    assert_non_null(getcwd(here, sizeof here));
    for (int file = 0; file < 64; file++) {
        char *path;
        struct stat status;
        assert_true(asprintf(&path, "/proc/self/fd/%d", file) > 0);
        const ssize_t length = readlink(path, target, sizeof target);
        if (length > (ssize_t)strlen(here) && memcmp(target, here, strlen(here)) == 0 &&
            fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* Returns the number of temporaries, with a name or without. */
static inline size_t count_temporaries(void)
{
    char *const unnamed = find_unnamed_temporary();
    free(unnamed);
    return count_named_temporaries() + (unnamed != NULL);
}

/* From here on, system call `number` fails with EOPNOTSUPP if its argument `argument`, counted from
 * 0, has a bit of `bits`. Ends the process with 77 if that is not possible. */
static inline void refuse_call(int number, unsigned argument, unsigned bits)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (unsigned)offsetof(struct seccomp_data, args) + 8 * argument),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

/* From here on, no file without a name can be opened, as on some file systems. */
static inline void refuse_unnamed_files(void)
{
    refuse_call(SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY);
}

#endif
