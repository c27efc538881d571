/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - a team of threads that work through the steps of one task.
 *
 * All members run the same function and call team_barrier where a step needs the results of the
 * step before. A waiting member sleeps, so that it takes no time from other processes, or from
 * other members where there are fewer processors.
 */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Maximum members; more do not make a sort faster. */
#define TEAM_COUNT_MAX 257

struct member {
    struct team *team;
    unsigned number; /* from 0 */
    unsigned count;  /* size of the team */
};

typedef void team_work(const struct member *member, void *context);

/* Only team.c uses the fields; other code may read `count` after team_begin. */
struct team {
    team_work *work;
    void *context;
    unsigned count; /* final once is_open */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open;
    unsigned numbered; /* members that have a number */
    unsigned waiting;  /* members at the barrier */
    unsigned barriers; /* barriers passed */
    unsigned started;  /* threads started */
    pthread_t threads[TEAM_COUNT_MAX - 1];
};

/* Calls work(member, context) for each of `count` members, at least 1. The caller is member 0:
 * team_begin returns when its own work is done. The others are new threads, which may continue
 * until team_end has joined them. The team is smaller if `count` is above TEAM_COUNT_MAX, or if
 * threads cannot be created, down to the caller alone: see member->count. *team must not move
 * before team_end. */
void team_begin(struct team *team, unsigned count, team_work *work, void *context);
void team_end(struct team *team);

/* Barrier: returns when all members have called it, with their earlier writes visible. */
void team_barrier(const struct member *member);

/* Start of member `number`'s range of `count` things in a team of `members`; it ends where the
 * next one's begins. Ranges differ by at most one thing. */
static inline size_t team_range_begin(size_t count, unsigned number, unsigned members)
{
    return count / members * number + count % members * number / members;
}

#endif
