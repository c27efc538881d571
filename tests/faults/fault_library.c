/* SPDX-License-Identifier: Apache-2.0 */
/* fault_library.c - makes one call fail. It is loaded into gpusort by LD_PRELOAD; see faults.py.
 *
 *   FAULT=NAME:N:HOW   call number N of the function NAME fails, counted from 1; N+: and all later
 *                      ones. HOW is the errno of the failure; or "short": the call does half of the
 *                      request; or "end": it returns 0, as at the end of a file; or "signal": the
 *                      process gets SIGTERM and, twice, SIGINT, and then the call is made; or
 *                      "run": the shell runs the command $FAULT_RUN, and then the call is made. The
 *                      last four only for calls that move bytes.
 *   FAULT_MEMORY=BYTES a call that requests more memory than that fails
 *   FAULT_NAMED=yes    files without a name cannot be opened, as on some file systems
 *   FAULT_OWNER=UID    regular files belong to that user and have all permissions, as on a drive of
 *                      Windows
 *   FAULT_BUSY=yes     open files cannot be renamed or removed, as on some drives of Windows
 *   FAULT_BTRFS=full   all file systems are btrfs, and are full
 *   FAULT_FUSE=yes     all file systems are FUSE, and a regular file has another inode at each look
 *   FAULT_CALLS=FILE   at exit, writes a line "NAME CALLS" to FILE for each function called
 *
 * Calls count from the start of main, and only from certain callers: the program, and libzstd,
 * which works for it. For memory, calls from the C library count as well, because it allocates for
 * the program (strdup, fopen, argp). libgomp ends the process if it cannot start a thread, so its
 * threads are counted under their own name, "omp_thread". So is a close of a file that may have
 * been written to, "close_output".
 *
 * The process sees four processors, so that the calls are the same on every machine, or as many as
 * FAULT_PROCESSORS says.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SHORT (-1) /* instead of an errno, like the next */
#define SIGNAL (-2)
#define RUN (-3)
#define END (-4)

/* The callers whose calls may count. */
enum caller { CALLER_OTHER, CALLER_PROGRAM, CALLER_C_LIBRARY, CALLER_OPENMP };

/* clang-format off */
#define FUNCTIONS(X)                                                                               \
    X(read) X(pread) X(write) X(pwrite) X(lseek) X(open) X(openat) X(close) X(close_output)        \
    X(fcntl) X(fopen) X(fclose) X(getdelim) X(stat) X(fstat) X(statx) X(fstatfs) X(faccessat)      \
    X(readlinkat) X(linkat) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(fchmod) X(fchown)     \
    X(fgetxattr) X(flistxattr) X(fsetxattr) X(fremovexattr) X(ftruncate) X(fallocate) X(syncfs)    \
    X(fdatasync) X(posix_fadvise) X(mmap) X(mremap) X(munmap) X(mprotect) X(madvise) X(malloc)     \
    X(calloc) X(realloc) X(aligned_alloc) X(reallocarray) X(pthread_create) X(omp_thread)          \
    X(getrandom) X(eventfd) X(pipe2) X(splice) X(getrlimit) X(setrlimit) X(sigaction)
/* clang-format on */

enum function {
#define X(name) FUNCTION_##name,
    FUNCTIONS(X)
#undef X
        FUNCTION_COUNT
};

static const char *const function_names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
};

static struct {
    bool has_started;   /* main has started */
    int function;       /* the function to fail; -1: none */
    unsigned long call; /* the number of the call that fails */
    bool is_lasting;    /* later calls fail too */
    int how;
    size_t memory; /* maximum bytes of a request; 0: no limit */
    atomic_ulong calls[FUNCTION_COUNT];
} faults = {.function = -1};

/* The code of a library. The return address of a call identifies the caller. */
struct code {
    enum caller caller;
    uintptr_t begin, end;
};
static struct code codes[8];
static size_t code_count;

static int add_code(struct dl_phdr_info *info, size_t size, void *opaque)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    enum caller caller = CALLER_OTHER;
    (void)size, (void)opaque;
    if (!*name || strncmp(name, "libzstd", 7) == 0) /* the program has no name */
        caller = CALLER_PROGRAM;
    else if (strncmp(name, "libc.", 5) == 0)
        caller = CALLER_C_LIBRARY;
    else if (strncmp(name, "libgomp", 7) == 0)
        caller = CALLER_OPENMP;
    for (size_t i = 0; i < info->dlpi_phnum && caller != CALLER_OTHER; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) &&
            code_count < sizeof codes / sizeof codes[0]) {
            const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
            codes[code_count++] = (struct code){caller, begin, begin + part->p_memsz};
        }
    }
    return 0;
}

static enum caller find_caller(const void *address)
{
    for (size_t i = 0; i < code_count; i++)
        if ((uintptr_t)address >= codes[i].begin && (uintptr_t)address < codes[i].end)
            return codes[i].caller;
    return CALLER_OTHER;
}

/* Counts a call. Returns 0 if it is to be made, or an errno, SHORT, SIGNAL, RUN or END. */
static int count(enum function function)
{
    const unsigned long call = atomic_fetch_add(&faults.calls[function], 1) + 1;
    if ((int)function != faults.function || call < faults.call ||
        (call > faults.call && !faults.is_lasting))
        return 0;
    return faults.how;
}

static int count_call(enum function function, const void *address)
{
    return faults.has_started && find_caller(address) == CALLER_PROGRAM ? count(function) : 0;
}

/* As count_call, for a call that requests `bytes` bytes of memory. */
static int count_bytes(enum function function, const void *address, size_t bytes)
{
    const bool is_refused = faults.memory > 0 && bytes > faults.memory && faults.has_started &&
                            find_caller(address) == CALLER_PROGRAM;
    return is_refused ? ENOMEM : count_call(function, address);
}

static int count_memory(enum function function, const void *address, size_t bytes)
{
    const enum caller caller = faults.has_started ? find_caller(address) : CALLER_OTHER;
    if (caller != CALLER_PROGRAM && caller != CALLER_C_LIBRARY)
        return 0;
    return faults.memory > 0 && bytes > faults.memory ? ENOMEM : count(function);
}

/* ---- start and end ---- */

/* Runs before there are threads, and before calls are counted. */
static void read_order(void)
{
    char name[32], lasting[8], how[16];
    const char *order = getenv("FAULT"), *memory = getenv("FAULT_MEMORY");
    faults.memory = memory ? strtoul(memory, NULL, 10) : 0;
    dl_iterate_phdr(add_code, NULL);
    if (!order)
        return;
    if (sscanf(order, "%31[^:]:%lu%7[+:]%15s", name, &faults.call, lasting, how) != 4)
        abort();
    faults.is_lasting = lasting[0] == '+';
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(name, function_names[i]) == 0)
            faults.function = i;
    if (faults.function < 0)
        abort();
    faults.how = strcmp(how, "short") == 0    ? SHORT
                 : strcmp(how, "signal") == 0 ? SIGNAL
                 : strcmp(how, "run") == 0    ? RUN
                 : strcmp(how, "end") == 0    ? END
                                              : atoi(how);
}

__attribute__((destructor)) static void write_calls(void)
{
    const char *path = getenv("FAULT_CALLS");
    faults.has_started = false;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (faults.calls[i] > 0)
            fprintf(file, "%s %lu\n", function_names[i], faults.calls[i]);
    fclose(file);
}

typedef int main_function(int, char **, char **);
static main_function *real_main;

static int counted_main(int argc, char **argv, char **environment)
{
    read_order();
    faults.has_started = true;
    return real_main(argc, argv, environment);
}

/* Replaces the C library's function, which the program's startup code calls. */
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*linker_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*linker_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) next =
        (__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return next(counted_main, argc, argv, init, fini, linker_fini, stack_end);
}

/* ---- the functions ---- */

#define CALLER __builtin_return_address(0)

/* The next function of that name, which is the C library's. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Defines a function that returns `failure` and sets errno if `count` returns an errno. */
#define FAILING_BY(count, result, name, parameters, arguments, failure)                            \
    result name parameters                                                                         \
    {                                                                                              \
        static __typeof__(&name) next;                                                             \
        const int how = count;                                                                     \
        if (how) {                                                                                 \
            errno = how;                                                                           \
            return failure;                                                                        \
        }                                                                                          \
        if (!next)                                                                                 \
            next = NEXT(name);                                                                     \
        return next arguments;                                                                     \
    }
#define FAILING(result, name, parameters, arguments, failure)                                      \
    FAILING_BY(count_call(FUNCTION_##name, CALLER), result, name, parameters, arguments, failure)

/* Runs the command $FAULT_RUN, without this library. */
static void run_command(void)
{
    unsetenv("LD_PRELOAD");
    if (system(getenv("FAULT_RUN")) != 0)
        abort();
}

/* Defines a function that moves bytes, and may move fewer. */
#define MOVING(name, parameters, arguments, fewer)                                                 \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        static __typeof__(&name) next;                                                             \
        const int how = count_call(FUNCTION_##name, CALLER);                                       \
        if (how > 0) {                                                                             \
            errno = how;                                                                           \
            return -1;                                                                             \
        }                                                                                          \
        if (!next)                                                                                 \
            next = NEXT(name);                                                                     \
        if (how == SIGNAL) {                                                                       \
            kill(getpid(), SIGTERM);                                                               \
            kill(getpid(), SIGINT);                                                                \
            kill(getpid(), SIGINT);                                                                \
        }                                                                                          \
        if (how == RUN)                                                                            \
            run_command();                                                                         \
        if (how == END)                                                                            \
            return 0;                                                                              \
        if (how == SHORT && bytes > 1)                                                             \
            return next fewer;                                                                     \
        return next arguments;                                                                     \
    }

/* clang-format off */
MOVING(read, (int file, void *data, size_t bytes), (file, data, bytes), (file, data, bytes / 2))
MOVING(pread, (int file, void *data, size_t bytes, off_t at), (file, data, bytes, at),
       (file, data, bytes / 2, at))
MOVING(write, (int file, const void *data, size_t bytes), (file, data, bytes),
       (file, data, bytes / 2))
MOVING(pwrite, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at),
       (file, data, bytes / 2, at))
FAILING(off_t, lseek, (int file, off_t at, int whence), (file, at, whence), -1)
FAILING(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
FAILING(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *file),
        (line, room, end, file), -1)
FAILING(int, stat, (const char *path, struct stat *status), (path, status), -1)
FAILING(int, faccessat, (int directory, const char *path, int mode, int flags),
        (directory, path, mode, flags), -1)
FAILING(int, statx,
        (int directory, const char *path, int flags, unsigned mask, struct statx *facts),
        (directory, path, flags, mask, facts), -1)
FAILING(ssize_t, readlinkat, (int directory, const char *path, char *link, size_t bytes),
        (directory, path, link, bytes), -1)
FAILING(int, linkat, (int from, const char *old, int to, const char *name, int flags),
        (from, old, to, name, flags), -1)
FAILING(int, unlinkat, (int directory, const char *path, int flags), (directory, path, flags), -1)
FAILING(ssize_t, fgetxattr, (int file, const char *name, void *value, size_t bytes),
        (file, name, value, bytes), -1)
FAILING(ssize_t, flistxattr, (int file, char *names, size_t bytes), (file, names, bytes), -1)
FAILING(int, fsetxattr, (int file, const char *name, const void *value, size_t bytes, int flags),
        (file, name, value, bytes, flags), -1)
FAILING(int, fremovexattr, (int file, const char *name), (file, name), -1)
FAILING(int, fchmod, (int file, mode_t mode), (file, mode), -1)
FAILING(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), -1)
FAILING(int, ftruncate, (int file, off_t bytes), (file, bytes), -1)
FAILING(int, syncfs, (int file), (file), -1)
FAILING(int, fdatasync, (int file), (file), -1)
FAILING(int, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes), -1)
FAILING(int, posix_fadvise, (int file, off_t at, off_t bytes, int advice),
        (file, at, bytes, advice), how)
FAILING(int, munmap, (void *data, size_t bytes), (data, bytes), -1)
FAILING(int, madvise, (void *data, size_t bytes, int advice), (data, bytes, advice), -1)
FAILING(ssize_t, getrandom, (void *data, size_t bytes, unsigned flags), (data, bytes, flags), -1)
FAILING(int, eventfd, (unsigned value, int flags), (value, flags), -1)
FAILING(ssize_t, splice,
        (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags),
        (from, from_at, to, to_at, bytes, flags), -1)
FAILING(int, getrlimit, (__rlimit_resource_t which, struct rlimit *limit), (which, limit), -1)
FAILING(int, setrlimit, (__rlimit_resource_t which, const struct rlimit *limit), (which, limit),
        -1)
FAILING(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old),
        (number, action, old), -1)
/* clang-format on */

/* Returns true if FAULT_BUSY is set and the program has the file open, except by O_PATH. */
static bool is_busy(int directory, const char *path)
{
    struct stat status, other;
    bool is_open = false;
    if (!getenv("FAULT_BUSY") || fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    for (int file = 0; file < 64 && !is_open; file++)
        is_open = NEXT(fstat)(file, &other) == 0 && other.st_dev == status.st_dev &&
                  other.st_ino == status.st_ino && !(NEXT(fcntl)(file, F_GETFL) & O_PATH);
    return is_open;
}

static int must_keep(enum function function, const void *caller, int directory, const char *path)
{
    return is_busy(directory, path) ? ETXTBSY : count_call(function, caller);
}

/* clang-format off */
FAILING_BY(must_keep(FUNCTION_renameat, CALLER, from, old), int, renameat,
           (int from, const char *old, int to, const char *name), (from, old, to, name), -1)
FAILING_BY(must_keep(FUNCTION_renameat2, CALLER, from, old), int, renameat2,
           (int from, const char *old, int to, const char *name, unsigned flags),
           (from, old, to, name, flags), -1)
FAILING_BY(must_keep(FUNCTION_unlink, CALLER, AT_FDCWD, path), int, unlink, (const char *path),
           (path), -1)
/* A reservation of addresses without access does not count as memory. */
FAILING_BY(count_bytes(FUNCTION_mmap, CALLER, protection == PROT_NONE ? 0 : bytes), void *, mmap,
           (void *at, size_t bytes, int protection, int flags, int file, off_t offset),
           (at, bytes, protection, flags, file, offset), MAP_FAILED)
FAILING_BY(count_bytes(FUNCTION_mprotect, CALLER, bytes), int, mprotect,
           (void *data, size_t bytes, int protection), (data, bytes, protection), -1)
/* clang-format on */

int fstat(int file, struct stat *status)
{
    const char *const owner = getenv("FAULT_OWNER");
    const int how = count_call(FUNCTION_fstat, CALLER);
    const int result = how ? -1 : NEXT(fstat)(file, status);
    if (result == 0 && owner && S_ISREG(status->st_mode)) {
        status->st_uid = status->st_gid = (uid_t)atoi(owner);
        status->st_mode |= 0777;
    }
    if (result == 0 && getenv("FAULT_FUSE") && S_ISREG(status->st_mode)) {
        static atomic_ulong looks;
        status->st_ino += ++looks;
    }
    errno = how ? how : errno;
    return result;
}

int fstatfs(int file, struct statfs *status)
{
    const int how = count_call(FUNCTION_fstatfs, CALLER);
    const int result = how ? -1 : NEXT(fstatfs)(file, status);
    if (result == 0 && getenv("FAULT_BTRFS")) {
        status->f_type = BTRFS_SUPER_MAGIC;
        status->f_bavail = 0;
    }
    if (result == 0 && getenv("FAULT_FUSE"))
        status->f_type = FUSE_SUPER_MAGIC;
    errno = how ? how : errno;
    return result;
}

/* With FAULT_NAMED, files without a name cannot be opened. */
static int must_fail(enum function function, const void *caller, int flags)
{
    const bool is_refused = (flags & O_TMPFILE) == O_TMPFILE && getenv("FAULT_NAMED");
    return is_refused ? EOPNOTSUPP : count_call(function, caller);
}

/* Defines a function that has a mode after its flags if it creates a file. */
#define OPENING(name, parameters, ...)                                                             \
    int name parameters                                                                            \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;              \
        va_end(rest);                                                                              \
        const int how = must_fail(FUNCTION_##name, CALLER, flags);                                 \
        errno = how ? how : errno;                                                                 \
        return how ? -1 : NEXT(name)(__VA_ARGS__, mode);                                           \
    }
OPENING(open, (const char *path, int flags, ...), path, flags)
OPENING(openat, (int directory, const char *path, int flags, ...), directory, path, flags)

int fcntl(int file, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    const int how = count_call(FUNCTION_fcntl, CALLER);
    errno = how ? how : errno;
    return how ? -1 : NEXT(fcntl)(file, command, argument);
}

void *mremap(void *data, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *const at = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    const int how = count_bytes(FUNCTION_mremap, CALLER, bytes);
    errno = how ? how : errno;
    return how ? MAP_FAILED : NEXT(mremap)(data, old_bytes, bytes, flags, at);
}

static int own_pipe_end = -1; /* the write end of the last pipe that the program created */

int pipe2(int ends[2], int flags)
{
    const int how = count_call(FUNCTION_pipe2, CALLER);
    const int result = how ? -1 : NEXT(pipe2)(ends, flags);
    if (result == 0)
        own_pipe_end = ends[1];
    errno = how ? how : errno;
    return result;
}

/* These two release the file even if they fail. Data written to a file can be lost in the close of
 * its first descriptor; the close of a second one is not counted. */
int close(int file)
{
    static struct stat last;
    struct stat status;
    const int flags = NEXT(fcntl)(file, F_GETFL);
    const bool is_output = (flags & O_ACCMODE) != O_RDONLY && file != own_pipe_end &&
                           NEXT(fstat)(file, &status) == 0 &&
                           (status.st_mode & S_IFMT) != 0; /* an eventfd has no file type */
    const bool is_second =
        is_output && status.st_dev == last.st_dev && status.st_ino == last.st_ino;
    if (is_output)
        last = status;
    const enum function function = is_output ? FUNCTION_close_output : FUNCTION_close;
    const int how = is_second ? 0 : count_call(function, CALLER);
    const int result = NEXT(close)(file);
    errno = how ? how : errno;
    return how ? -1 : result;
}

int fclose(FILE *file)
{
    const int how = count_call(FUNCTION_fclose, CALLER), result = NEXT(fclose)(file);
    errno = how ? how : errno;
    return how ? EOF : result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    const bool is_openmp = faults.has_started && find_caller(CALLER) == CALLER_OPENMP;
    const int how =
        is_openmp ? count(FUNCTION_omp_thread) : count_call(FUNCTION_pthread_create, CALLER);
    return how ? how : NEXT(pthread_create)(thread, attributes, run, argument);
}

int omp_get_num_procs(void);
int omp_get_num_procs(void)
{
    const char *const said = getenv("FAULT_PROCESSORS");
    return said ? atoi(said) : 4;
}

/* ---- memory: by names that need no dlsym, which allocates memory itself ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *data, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define FAILING_MEMORY(name, parameters, size, work)                                               \
    void *name parameters                                                                          \
    {                                                                                              \
        const int how = count_memory(FUNCTION_##name, CALLER, size);                               \
        errno = how ? how : errno;                                                                 \
        return how ? NULL : work;                                                                  \
    }

/* clang-format off */
FAILING_MEMORY(malloc, (size_t bytes), bytes, __libc_malloc(bytes))
FAILING_MEMORY(calloc, (size_t number, size_t bytes), number * bytes,
               __libc_calloc(number, bytes))
FAILING_MEMORY(realloc, (void *data, size_t bytes), bytes, __libc_realloc(data, bytes))
FAILING_MEMORY(aligned_alloc, (size_t alignment, size_t bytes), bytes,
               __libc_memalign(alignment, bytes))
FAILING_MEMORY(reallocarray, (void *data, size_t number, size_t bytes), number * bytes,
               __libc_realloc(data, number * bytes))
/* clang-format on */
