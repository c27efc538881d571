/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_plugin.c - the functions of core/group.h by MPI: the only file that knows MPI.
 *
 * gpusort loads it (cli/launcher.c) if a launcher of MPI started it as one of several ranks. So a
 * start without a launcher does not pay for MPI. The calls are those of MPI 3.
 */
#include "core/group.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Static, because a process joins one group. */
static struct {
    MPI_Request *requests;
    size_t count;
    char failure[MPI_MAX_ERROR_STRING + 64];
} plugin;

/* Returns NULL if the result is MPI_SUCCESS, else the text of the failure. */
static const char *check(const char *call, int result)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (result == MPI_SUCCESS)
        return NULL;
    (void)MPI_Error_string(result, text, &length);
    snprintf(plugin.failure, sizeof plugin.failure, "%s: %s", call, text);
    return plugin.failure;
}

/* Waits, with sleeps, for a collective operation. result: what the call that began it returned.
 * MPI's own wait would keep a processor busy, which another rank of the host may need. */
static const char *await(const char *call, int result, MPI_Request *request)
{
    int is_done = 0;
    const char *failure = check(call, result);
    for (unsigned looks = 0; !failure && !is_done; looks++) {
        group_pause(looks);
        failure = check("MPI_Test", MPI_Test(request, &is_done, MPI_STATUS_IGNORE));
    }
    return failure;
}

/* Counts of MPI are of type int. */
static const char too_large[] = "more than 2^31 bytes or numbers at once";

static const char *broadcast(void *context, void *data, size_t bytes)
{
    MPI_Request request;
    (void)context;
    if (bytes > INT_MAX)
        return too_large;
    return await("MPI_Ibcast", MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request),
                 &request);
}

static const char *sum(void *context, uint64_t *values, size_t count)
{
    MPI_Request request;
    (void)context;
    if (count > INT_MAX)
        return too_large;
    return await("MPI_Iallreduce",
                 MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_UINT64_T, MPI_SUM,
                                MPI_COMM_WORLD, &request),
                 &request);
}

static const char *reserve(void *context, size_t count)
{
    (void)context;
    free(plugin.requests);
    plugin.requests = malloc((count + 1) * sizeof *plugin.requests);
    plugin.count = plugin.requests ? count : 0;
    for (size_t i = 0; i < plugin.count; i++)
        plugin.requests[i] = MPI_REQUEST_NULL;
    return plugin.requests ? NULL : "no memory for messages";
}

static const char *send(void *context, size_t slot, const void *data, size_t bytes, unsigned to,
                        unsigned tag)
{
    (void)context;
    return check("MPI_Isend", MPI_Isend(data, (int)bytes, MPI_BYTE, (int)to, (int)tag,
                                        MPI_COMM_WORLD, &plugin.requests[slot]));
}

static const char *receive(void *context, size_t slot, void *data, size_t bytes, unsigned from,
                           unsigned tag)
{
    (void)context;
    return check("MPI_Irecv", MPI_Irecv(data, (int)bytes, MPI_BYTE, (int)from, (int)tag,
                                        MPI_COMM_WORLD, &plugin.requests[slot]));
}

static const char *poll_messages(void *context, size_t *slot, size_t *bytes)
{
    int index = MPI_UNDEFINED, is_done = 0, count = 0;
    MPI_Status status;
    (void)context;
    *slot = GROUP_NO_SLOT;
    *bytes = 0;
    const char *const failure = check(
        "MPI_Testany", MPI_Testany((int)plugin.count, plugin.requests, &index, &is_done, &status));
    if (failure || !is_done || index == MPI_UNDEFINED)
        return failure;
    *slot = (size_t)index;
    if (MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0)
        *bytes = (size_t)count;
    return NULL;
}

static void abort_ranks(void *context)
{
    (void)context;
    MPI_Abort(MPI_COMM_WORLD, 2);
    _Exit(2);
}

static void finish(void *context)
{
    (void)context;
    MPI_Finalize();
    free(plugin.requests);
}

/* Fills in how many ranks there are on this host, and which of them this is. */
static const char *find_host(struct group *group)
{
    MPI_Comm host;
    int rank = 0, size = 1;
    const char *failure =
        check("MPI_Comm_split_type",
              MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    if (failure)
        return failure;
    failure = check("MPI_Comm_rank", MPI_Comm_rank(host, &rank));
    if (!failure)
        failure = check("MPI_Comm_size", MPI_Comm_size(host, &size));
    MPI_Comm_free(&host);
    group->host_rank = (unsigned)rank;
    group->host_size = (unsigned)size;
    return failure;
}

static const struct group_functions functions = {
    .broadcast = broadcast,
    .sum = sum,
    .reserve = reserve,
    .send = send,
    .receive = receive,
    .poll = poll_messages,
    .abort = abort_ranks,
    .finish = finish,
};

/* Returns true if the user has chosen layers of Open MPI by variables, which mpirun's --mca sets,
 * or has a file of parameters, whatever it holds. */
static bool are_layers_chosen(void)
{
    char path[PATH_MAX];
    const char *const home = getenv("HOME");
    snprintf(path, sizeof path, "%s/.openmpi/mca-params.conf", home ? home : "");
    return getenv("OMPI_MCA_pml") || getenv("OMPI_MCA_mtl") || getenv("OMPI_MCA_btl") ||
           access(path, F_OK) == 0;
}

/* Ranks of one host need no network. Open MPI looks for one, which takes 0.2 s, unless the layer of
 * its messages is named. This overrides a choice of the system's administrator. */
static void name_transport(void)
{
    const char *const ranks = getenv("OMPI_COMM_WORLD_SIZE");
    const char *const host_ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (ranks && host_ranks && strcmp(ranks, host_ranks) == 0 && !are_layers_chosen())
        (void)setenv("OMPI_MCA_pml", "ob1", 0);
}

/* dlsym(3) must find this function with -fvisibility=hidden, too. */
__attribute__((visibility("default"))) group_open_function gpusort_group_open_1;
const char *gpusort_group_open_1(struct group *group)
{
    int provided = MPI_THREAD_SINGLE, rank = 0, size = 1;
    name_transport();
    const char *failure =
        check("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    if (failure)
        return failure;
    if (provided < MPI_THREAD_FUNNELED)
        return "this MPI does not support threads (MPI_THREAD_FUNNELED)";
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    failure = check("MPI_Comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (!failure)
        failure = check("MPI_Comm_size", MPI_Comm_size(MPI_COMM_WORLD, &size));
    *group =
        (struct group){.rank = (unsigned)rank, .size = (unsigned)size, .functions = &functions};
    return failure ? failure : find_host(group);
}
