/* team.h - threads that work on one task together, step by step.
 *
 * All members run the same function; where one step needs what the others have done in the last,
 * they meet. Who waits sleeps: a member that has nothing to do takes no time from other processes,
 * or from other members where there are more of these than processors.
 */
#ifndef CPU_TEAM_H
#define CPU_TEAM_H

#include <stddef.h>

struct team;

struct member {
    struct team *team;
    unsigned number; /* from 0 */
    unsigned count;  /* of the team */
};

typedef void team_work(const struct member *member, void *context);

/* Calls work(member, context) for each of `count` members, at least 1, and waits for them. The
 * calling thread is member 0; the others are started here, and end here. If threads cannot be had
 * the team is smaller, down to the caller alone: member->count says how large it is. */
void team_run(unsigned count, team_work *work, void *context);

/* Returns when all members have called it. What they wrote before can be read then. */
void team_meet(const struct member *member);

/* Where the part of `count` things that is the member `number`'s begins, of a team of `members`; it
 * ends where the next one's begins. All parts are equal, but for one thing. */
static inline size_t team_share_begin(size_t count, unsigned number, unsigned members)
{
    return count / members * number + count % members * number / members;
}

#endif
