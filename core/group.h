/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - the processes of one job, which may run on several hosts: ranks 0 to size - 1.
 *
 * A plugin (mpi/mpi_plugin.c) provides the functions; everything else depends on this table alone,
 * so that a test can provide functions of its own. All functions are called by the thread that
 * opened the group. Collective functions are called by all ranks, in the same order.
 *
 * Failures. A phase of the job ends with group_agree(), after which all ranks go on or all ranks
 * fail. A rank that fails before may skip the collective calls up to its next group_agree(); so a
 * collective function that such a rank skips begins with group_agree(). A rank whose functions fail
 * ends the job by group_close().
 */
#ifndef CORE_GROUP_H
#define CORE_GROUP_H

#include "core/error.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each function that can fail returns NULL, or a text that says what failed, which stays valid. */
struct group_functions {
    /* Collective: copies `data` of rank 0 to all ranks. */
    const char *(*broadcast)(void *context, void *data, size_t bytes);

    /* Collective: replaces each value by its sum over all ranks, modulo 2^64. */
    const char *(*sum)(void *context, uint64_t *values, size_t count);

    /* Makes room for messages in slots 0 to count - 1, instead of the slots before. No message may
     * be under way. */
    const char *(*reserve)(void *context, size_t count);

    /* Begins to send or to receive a message of at most `bytes` bytes, which are at most INT_MAX,
     * in a slot that is free. Messages with the same tag between two ranks arrive in order. The
     * data belongs to the message until poll() returns the slot. */
    const char *(*send)(void *context, size_t slot, const void *data, size_t bytes, unsigned to,
                        unsigned tag);
    const char *(*receive)(void *context, size_t slot, void *data, size_t bytes, unsigned from,
                           unsigned tag);

    /* Sets *slot to that of a message that is complete, which is free then, and *bytes to the
     * number of bytes that it had if it was received; else sets *slot to GROUP_NO_SLOT. Does not
     * wait. */
    const char *(*poll)(void *context, size_t *slot, size_t *bytes);

    /* Ends all ranks, with status 2. Does not return. */
    void (*abort)(void *context);

    /* Collective: leaves the group. */
    void (*finish)(void *context);
};

#define GROUP_NO_SLOT SIZE_MAX
#define GROUP_TAG_MAX 32767u

struct group {
    unsigned rank, size;
    unsigned host_rank, host_size; /* the same among the ranks of this host */
    const struct group_functions *functions;
    void *context;
    bool is_broken;          /* a function has failed: nothing is sent any more */
    bool has_agreed_to_fail; /* group_agree() has returned false on all ranks */
    bool speaks;             /* if has_agreed_to_fail: this rank prints the error */
};

/* The symbol that a plugin exports, of the type group_open_function: joins the other ranks and
 * fills *group. Returns NULL or a text that says what failed. The number in the name changes with
 * these structures. */
#define GROUP_OPEN_NAME "gpusort_group_open_1"
typedef const char *group_open_function(struct group *group);

/* Pauses between two polls for other ranks: the first 64 pauses yield the processor, later ones
 * sleep. looks: number of pauses so far. A sleep leaves the processor to other ranks: on a host
 * with 32 processors, a rank that did not sleep while it waited halved the speed at which rank 0
 * allocated the space of the output (2026-11). */
static inline void group_pause(unsigned looks)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 50000};
    if (looks < 64)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

/* Sets the error, and the group to broken, if `failure`, which a function returned, is not NULL.
 * Returns true if it is NULL. */
bool group_check(struct group *group, const char *failure, struct error *error);

/* Call the functions of the group. They return false with *error if one fails, or has failed. */
bool group_broadcast(struct group *group, void *data, size_t bytes, struct error *error);
bool group_sum(struct group *group, uint64_t *values, size_t count, struct error *error);

/* Collective: returns the `count` values of each rank, in a row for each, which the caller frees.
 * Returns NULL with *error if the group fails or a rank has no memory. */
uint64_t *group_gather(struct group *group, const uint64_t *own, size_t count, struct error *error);

/* Returns the number of values of group_sum() that hold a text of `bytes` bytes. */
static inline size_t group_words(uint64_t bytes)
{
    return (size_t)((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

/* Makes room for messages in `count` slots. */
bool group_reserve(struct group *group, size_t count, struct error *error);

/* Send or receive a message in slot 0, for which there must be room, and wait for it. No other
 * message may be under way. `bytes` is at most INT_MAX. */
bool group_send(struct group *group, const void *data, size_t bytes, unsigned to,
                struct error *error);
bool group_receive(struct group *group, void *data, size_t bytes, unsigned from,
                   struct error *error);

/* Collective: returns true if `ok` is true on all ranks. Otherwise returns false, and sets *error
 * on all ranks to the error of the lowest rank that failed; group->speaks is true on that rank.
 * Once the ranks have agreed to fail, it returns false at once. If the group fails, it returns
 * false with an error of this rank. group may be NULL, for a job of one process: returns `ok`. */
bool group_agree(struct group *group, bool ok, struct error *error);

/* Leaves the group; if the job failed, and not by group_agree(), ends all ranks and does not
 * return. */
void group_close(struct group *group, bool ok);

/* Returns the index of the rank's first of `count` things, which are divided among the ranks, in
 * their order and as equally as possible; `count` for rank `size`. */
uint64_t group_begin(const struct group *group, uint64_t count, unsigned rank);

#ifdef __cplusplus
}
#endif

#endif
