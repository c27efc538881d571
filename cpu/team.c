/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - see team.h. */
#include "cpu/team.h"

#include "core/threads.h"

/* Thread function. A member starts its work when the size of the team is known. */
static void *run_member(void *argument)
{
    struct team *team = argument;
    pthread_mutex_lock(&team->mutex);
    struct member member = {team, ++team->numbered, 0};
    while (!team->is_open)
        pthread_cond_wait(&team->changed, &team->mutex);
    member.count = team->count;
    pthread_mutex_unlock(&team->mutex);
    team->work(&member, team->context);
    return NULL;
}

static void open_gate(struct team *team, unsigned count)
{
    pthread_mutex_lock(&team->mutex);
    team->count = count;
    team->is_open = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
}

void team_begin(struct team *team, unsigned count, team_work *work, void *context)
{
    *team = (struct team){.work = work,
                          .context = context,
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    while (team->started + 1 < TEAM_COUNT_MAX && team->started + 1 < count &&
           thread_start(&team->threads[team->started], "CPU sort", run_member, team) == 0)
        team->started++;
    open_gate(team, team->started + 1);
    work(&(struct member){team, 0, team->started + 1}, context);
}

void team_end(struct team *team)
{
    for (unsigned i = 0; i < team->started; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
}

void team_barrier(const struct member *member)
{
    struct team *team = member->team;
    pthread_mutex_lock(&team->mutex);
    const unsigned barrier = team->barriers;
    if (++team->waiting == member->count) {
        team->waiting = 0;
        team->barriers++;
        pthread_cond_broadcast(&team->changed);
    }
    while (team->barriers == barrier)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}
