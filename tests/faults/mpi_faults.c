/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_faults.c - loaded into gpusort before its plugin: one call of MPI fails, or the rank is
 * killed in it. For tests/job/mpi.sh.
 *
 *   MPI_FAULT=RANK:FUNCTION:NUMBER:fail|kill    as in 1:MPI_Iallreduce:3:kill
 *
 * The number counts the calls of the function in that rank, from 1. process_vm_readv(2) is refused,
 * so that ranks send messages, unless it is the function. The function may also be malloc, of which
 * only the program's calls for more than 16 KiB count, once the rank writes a trace.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_now(const char *function, unsigned *calls)
{
    const char *const fault = getenv("MPI_FAULT"), *const rank = getenv("OMPI_COMM_WORLD_RANK");
    char name[32], action[8];
    unsigned number;
    int faulty_rank;
    if (!fault || !rank ||
        sscanf(fault, "%d:%31[^:]:%u:%7s", &faulty_rank, name, &number, action) != 4 ||
        faulty_rank != atoi(rank) || strcmp(name, function) != 0 ||
        __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED) != number)
        return 0;
    if (strcmp(action, "kill") == 0)
        raise(SIGKILL);
    return 1;
}

ssize_t process_vm_readv(pid_t process, const struct iovec *own, unsigned long own_count,
                         const struct iovec *other, unsigned long other_count, unsigned long flags)
{
    static unsigned calls;
    const char *const fault = getenv("MPI_FAULT");
    if (!fault || !strstr(fault, ":process_vm_readv:")) {
        errno = EPERM;
        return -1;
    }
    if (is_now("process_vm_readv", &calls)) {
        errno = EFAULT;
        return -1;
    }
    return syscall(SYS_process_vm_readv, process, own, own_count, other, other_count, flags);
}

static int writes_trace;

FILE *fdopen(int file, const char *mode)
{
    FILE *(*const open_stream)(int, const char *) = dlsym(RTLD_NEXT, "fdopen");
    writes_trace = 1;
    return open_stream(file, mode);
}

void *__libc_malloc(size_t bytes);

static int is_of_program(const void *code)
{
    Dl_info file;
    return dladdr(code, &file) && strcmp(basename(file.dli_fname), "gpusort") == 0;
}

void *malloc(size_t bytes)
{
    static unsigned calls;
    return writes_trace && bytes > 16384 && is_of_program(__builtin_return_address(0)) &&
                   is_now("malloc", &calls)
               ? NULL
               : __libc_malloc(bytes);
}

#define WRAP(function, parameters, arguments)                                                      \
    int MPI_##function parameters;                                                                 \
    int MPI_##function parameters                                                                  \
    {                                                                                              \
        static unsigned calls;                                                                     \
        return is_now("MPI_" #function, &calls) ? MPI_ERR_OTHER : PMPI_##function arguments;       \
    }

WRAP(Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided))
WRAP(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
WRAP(Comm_size, (MPI_Comm comm, int *size), (comm, size))
WRAP(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out),
     (comm, type, key, info, out))
WRAP(Ibcast,
     (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request),
     (data, count, type, root, comm, request))
WRAP(Iallreduce,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request *request),
     (in, out, count, type, op, comm, request))
WRAP(Test, (MPI_Request * request, int *is_done, MPI_Status *status), (request, is_done, status))
WRAP(Isend,
     (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
      MPI_Request *request),
     (data, count, type, to, tag, comm, request))
WRAP(Irecv,
     (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
      MPI_Request *request),
     (data, count, type, from, tag, comm, request))
WRAP(Testany, (int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status))

/* Writes the names of the threads that have not ended to the file "threads", if that is the fault.
 */
int MPI_Finalize(void)
{
    static unsigned calls;
    if (is_now("MPI_Finalize", &calls) && system("cat /proc/$PPID/task/*/comm >threads") != 0)
        return MPI_ERR_OTHER;
    return PMPI_Finalize();
}
