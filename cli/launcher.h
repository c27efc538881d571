/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - detects an MPI launcher, such as mpirun, that started several processes. */
#ifndef CLI_LAUNCHER_H
#define CLI_LAUNCHER_H

#include "core/error.h"

/* Fails in a process that an MPI launcher started as one of several ranks: each of them would do
 * the whole job and replace the same output. Ranks other than 0 wait half a second first, so that
 * the launcher ends them before they print. Slurm's variables alone do not count, because every
 * process of a batch job has them. */
bool launcher_refuse_ranks(struct error *error);

#endif
