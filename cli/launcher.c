/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h. */
#include "cli/launcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The variables that each launcher sets. PMIx has none for the number of ranks, so Slurm's is
 * used. */
static const struct launcher {
    const char *mark; /* the launcher is in use if this variable is set, and `other` is not */
    const char *size, *rank, *other;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL},
    {"PMI_SIZE", "PMI_SIZE", "PMI_RANK", NULL},
    /* Open MPI sets PMIX_RANK too. To let ranks sort alone, users unset only
     * OMPI_COMM_WORLD_SIZE. */
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"},
};

/* How long a rank that has failed waits, because the launcher ends it if rank 0 has failed too:
 * mpirun of Open MPI takes a second. Once the ranks have joined, rank 0 ends them itself. If
 * scripts start the ranks, each prints its own message. */
#define LAUNCHER_WAIT_MS 2500
#define ABORT_WAIT_MS 500

/* Returns the number in an environment variable; 0 if it is not set. */
static unsigned long read_number(const char *name)
{
    const char *const value = getenv(name);
    return value ? strtoul(value, NULL, 10) : 0;
}

/* Returns true if the variable is set and not empty. NULL: no variable. */
static bool is_set(const char *name)
{
    const char *const value = name ? getenv(name) : NULL;
    return value && *value;
}

/* Returns the launcher that has set the variables of this process; NULL: none. */
static const struct launcher *find_variables(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (is_set(launchers[i].mark) && !is_set(launchers[i].other))
            return &launchers[i];
    return NULL;
}

/* Returns the launcher of this process and the number of ranks that it started, 0 if that is not
 * known; NULL if there is none, or one rank alone. */
static const struct launcher *find_launcher(unsigned long *size)
{
    const struct launcher *const launcher = find_variables();
    if (!launcher)
        return NULL;
    *size = read_number(launcher->size);
    return *size != 1 || read_number(launcher->rank) > 0 ? launcher : NULL;
}

bool launcher_find_rank(unsigned *rank)
{
    const struct launcher *const launcher = find_variables();
    if (launcher)
        *rank = (unsigned)read_number(launcher->rank);
    return launcher;
}

/* Returns true if the user has said to which processors Open MPI binds a rank: by --bind-to,
 * --map-by with PE=, --cpu-set or --rankfile. */
static bool is_binding_named(void)
{
    const char *const policy = getenv("OMPI_MCA_rmaps_base_mapping_policy");
    return getenv("OMPI_MCA_hwloc_base_binding_policy") || getenv("OMPI_MCA_hwloc_base_cpu_set") ||
           getenv("OMPI_MCA_orte_rankfile") || (policy && strcasestr(policy, "pe="));
}

/* Processors, one bit each: as many as the system can have. */
struct processors {
    unsigned long words[1024 / sizeof(unsigned long)];
};

static bool find_processors(pid_t process, struct processors *found)
{
    return sched_getaffinity(process, sizeof *found, (cpu_set_t *)found) == 0;
}

/* Returns the parent of a process, and sets *is_launcher: the process is mpirun, or its helper on
 * another host. Returns 0 if that is not known. */
static pid_t find_parent(pid_t process, bool *is_launcher)
{
    char path[32], name[16];
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *const file = fopen(path, "re");
    const bool ok = file && fscanf(file, "%*d (%15[^)]) %*c %d", name, &parent) == 2;
    if (file)
        fclose(file);
    *is_launcher = ok && (strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0 ||
                          strncmp(name, "orte", 4) == 0);
    return ok ? parent : 0;
}

/* Sets *found to the processors of the launcher. Returns false if the launcher is not found, or if
 * a process between it and this one has other processors than this one, which another program has
 * bound then. */
static bool find_launchers_processors(struct processors *found)
{
    struct processors own;
    bool is_launcher;
    if (!find_processors(0, &own))
        return false;
    for (pid_t process = getppid(), next; process > 1; process = next) {
        next = find_parent(process, &is_launcher);
        if (!find_processors(process, found))
            return false;
        if (is_launcher)
            return true;
        if (memcmp(&own, found, sizeof own) != 0)
            return false;
    }
    return false;
}

void launcher_undo_binding(void)
{
    struct processors all;
    if (!is_set("OMPI_COMM_WORLD_SIZE") || !getenv("OMPI_MCA_orte_bound_at_launch") ||
        is_binding_named() || !find_launchers_processors(&all))
        return;
    const bool is_undone = sched_setaffinity(0, sizeof all, (cpu_set_t *)&all) == 0;
    const unsigned long ranks = read_number("OMPI_COMM_WORLD_LOCAL_SIZE");
    const int threads = omp_get_num_procs() / (ranks > 0 ? (int)ranks : 1);
    if (is_undone && !getenv("OMP_NUM_THREADS")) /* OpenMP has counted the processors before */
        omp_set_num_threads(threads > 0 ? threads : 1);
}

void launcher_leave_output(void)
{
    unsigned long size;
    const struct launcher *const launcher = find_launcher(&size);
    if (!launcher || read_number(launcher->rank) == 0)
        return;
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0 && null != STDOUT_FILENO) {
        dup2(null, STDOUT_FILENO);
        close(null);
    }
}

/* Where the plugin is, seen from the directory of the program: in build/, installed in one of two
 * places, or in the sources, where make puts a copy of the program. */
static const char *const places[] = {"mpi.so", "../libexec/gpusort/mpi.so", "../lib/gpusort/mpi.so",
                                     "build/mpi.so"};

static bool find_plugin(char path[PATH_MAX])
{
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    const char *const slash = length > 0 ? memrchr(program, '/', (size_t)length) : NULL;
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        const int written =
            snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - program), program, places[i]);
        if (written < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* RTLD_GLOBAL: components of Open MPI that the plugin loads need the symbols of its library. A
 * program that is linked statically would load a second C library, and crash. The system has loaded
 * no dynamic linker for it, so AT_BASE is 0. */
static bool open_plugin(const char *path, struct group *group, struct error *error)
{
    if (getauxval(AT_BASE) == 0)
        return error_set(error,
                         "cannot share the job with other MPI ranks: this gpusort is linked "
                         "statically, and cannot load %s",
                         path);
    void *const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return error_set(error, "cannot share the job with other MPI ranks: %s", dlerror());
    group_open_function *open_group;
    void *const symbol = dlsym(library, GROUP_OPEN_NAME);
    memcpy(&open_group, &symbol, sizeof symbol);
    if (!symbol)
        return error_set(error, "%s: of another version of gpusort: install both anew", path);
    const char *const failure = open_group(group);
    return !failure || error_set(error, "cannot share the job with other MPI ranks: %s", failure);
}

static bool join(const struct launcher *launcher, unsigned long size, struct group *group,
                 struct error *error)
{
    char path[PATH_MAX];
    if (!find_plugin(path))
        return error_set(error,
                         "started as one of %s MPI ranks, which cannot share a job without "
                         "gpusort's mpi.so, which make builds if it finds mpicc: run gpusort "
                         "without mpirun or srun, or as one rank (mpirun -n 1); if each rank sorts "
                         "a file of its own, unset %s",
                         size == 0 ? "perhaps several" : "several", launcher->mark);
    if (!open_plugin(path, group, error))
        return false;
    if (group->size > 1 && (size == 0 || size == group->size))
        return true;
    char started[32] = "an unknown number of";
    if (size > 0)
        snprintf(started, sizeof started, "%lu", size);
    return error_set(error,
                     "the launcher started %s ranks, of which the MPI of %s finds %u: use the "
                     "mpirun of that MPI, or srun --mpi=pmix; if each rank sorts a file of its "
                     "own, unset %s",
                     started, path, group->size, launcher->mark);
}

bool launcher_join(struct group *group, bool *is_shared, struct error *error)
{
    unsigned long size = 0;
    const struct launcher *const launcher = find_launcher(&size);
    *is_shared = false;
    if (!launcher)
        return true;
    *is_shared = join(launcher, size, group, error);
    return *is_shared;
}

void launcher_let_rank_0_print(bool has_joined)
{
    unsigned long size;
    const struct launcher *const launcher = find_launcher(&size);
    if (launcher && read_number(launcher->rank) > 0)
        poll(NULL, 0, has_joined ? ABORT_WAIT_MS : LAUNCHER_WAIT_MS);
}
