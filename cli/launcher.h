/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - joins the other ranks if an MPI launcher, such as mpirun, started this process as
 * one of several. */
#ifndef CLI_LAUNCHER_H
#define CLI_LAUNCHER_H

#include "core/error.h"
#include "core/group.h"

/* Fills *group and sets *is_shared if a launcher of MPI started several ranks, which share the job.
 * The functions are those of the plugin mpi.so, which is loaded from the directory of the program,
 * else from ../libexec/gpusort, ../lib/gpusort or build, relative to it. Fails if there is no
 * plugin, or its MPI finds one rank, or another number than the launcher states: else ranks would
 * do the whole job each, and replace the same output.
 *
 * Slurm's variables alone mean nothing, as every process of a batch job has them. */
bool launcher_join(struct group *group, bool *is_shared, struct error *error);

/* Sets *rank to the number of this process among those of a launcher. Returns false if there is no
 * launcher. */
bool launcher_find_rank(unsigned *rank);

/* Called before any thread is started. Undoes a binding to processors that Open MPI chose by
 * default: a core if it starts one or two ranks, else a socket. Such a binding suits ranks of one
 * thread, but the ranks of a host divide its processors themselves (plan_make()). The process gets
 * the processors of mpirun, or of its helper on another host, and OpenMP an equal part of them as
 * its number of threads, unless OMP_NUM_THREADS is set. Keeps a binding that the user chose, by
 * options of mpirun or in a script that starts gpusort, and the binding of a rank that sorts alone
 * because the user has unset OMPI_COMM_WORLD_SIZE. */
void launcher_undo_binding(void);

/* Lets rank 0 alone write to standard output: that of other ranks is /dev/null from now on. */
void launcher_leave_output(void);

/* To be called before an error is printed on which the ranks have not agreed. If several ranks fail
 * in the same way, only one should print: ranks other than 0 wait here for some time, in which the
 * launcher ends them if rank 0 has failed too. has_joined: launcher_join() has succeeded, so a
 * shorter wait is enough. */
void launcher_let_rank_0_print(bool has_joined);

#endif
