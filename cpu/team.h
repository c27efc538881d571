/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - threads that work on one task together, step by step.
 *
 * All members run the same function; where one step needs what the others have done in the last,
 * they meet. Who waits sleeps: a member that has nothing to do takes no time from other processes,
 * or from other members where there are more of these than processors.
 */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* More threads than this do not make a sort faster. */
#define TEAM_COUNT_MAX 257

struct member {
    struct team *team;
    unsigned number; /* from 0 */
    unsigned count;  /* of the team */
};

typedef void team_work(const struct member *member, void *context);

/* Its fields are team.c's. */
struct team {
    team_work *work;
    void *context;
    unsigned count; /* final once the gate is open */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open;
    unsigned numbered; /* members that have their number */
    unsigned waiting;  /* at the meeting */
    unsigned barriers; /* that are over */
    unsigned started;  /* threads */
    pthread_t threads[TEAM_COUNT_MAX - 1];
};

/* Calls work(member, context) for each of `count` members, at least 1. The calling thread is member
 * 0, and it returns when its own work is done; the others are started here, and may go on until
 * team_end has waited for them. If threads cannot be had the team is smaller, down to the caller
 * alone: member->count says how large it is. *team stays where it is until team_end. */
void team_begin(struct team *team, unsigned count, team_work *work, void *context);
void team_end(struct team *team);

/* Both in one. */
void team_run(unsigned count, team_work *work, void *context);

/* Returns when all members have called it. What they wrote before can be read then. */
void team_barrier(const struct member *member);

/* Where the part of `count` things that is the member `number`'s begins, of a team of `members`; it
 * ends where the next one's begins. All parts are equal, but for one thing. */
static inline size_t team_range_begin(size_t count, unsigned number, unsigned members)
{
    return count / members * number + count % members * number / members;
}

#endif
