/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h. */
#include "cli/launcher.h"

#include <poll.h>
#include <stdlib.h>

/* The variables that each launcher sets. PMIx has none for the number of ranks, so Slurm's is
 * used. */
static const struct launcher {
    const char *mark; /* the launcher is in use if this variable is set */
    const char *size, *rank;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_SIZE", "PMI_RANK"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
};

/* A launcher ends all ranks as soon as one has failed. So the others wait, and usually only rank 0
 * prints its message. If scripts start the ranks, each prints its own. */
#define WAIT_MS 500

/* Returns the number in an environment variable; 0 if it is not set. */
static unsigned long read_number(const char *name)
{
    const char *const value = getenv(name);
    return value ? strtoul(value, NULL, 10) : 0;
}

bool launcher_refuse_ranks(struct error *error)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *const launcher = &launchers[i];
        if (!getenv(launcher->mark))
            continue;
        const unsigned long rank = read_number(launcher->rank);
        if (rank == 0 && read_number(launcher->size) <= 1)
            return true;
        if (rank > 0)
            poll(NULL, 0, WAIT_MS);
        return error_set(
            error,
            "started as one of several MPI ranks, which cannot share a job: run gpusort "
            "without mpirun or srun, or with -n 1; if each rank sorts a file of its own, "
            "unset %s",
            launcher->mark);
    }
    return true;
}
