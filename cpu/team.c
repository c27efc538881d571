/* team.c - see team.h. */
#include "cpu/team.h"

#include <pthread.h>
#include <stdbool.h>

/* More threads than this do not make a sort faster. */
#define THREADS_MAX 256

struct team {
    team_work *work;
    void *context;
    unsigned count; /* final once the gate is open */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open;
    unsigned numbered; /* members that have their number */
    unsigned waiting;  /* at the meeting */
    unsigned meetings; /* that are over */
};

/* A member waits until it is known how many there are. */
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

void team_run(unsigned count, team_work *work, void *context)
{
    struct team team = {.work = work,
                        .context = context,
                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    pthread_t threads[THREADS_MAX];
    unsigned started = 0;
    while (started < THREADS_MAX && started + 1 < count &&
           pthread_create(&threads[started], NULL, run_member, &team) == 0)
        started++;
    open_gate(&team, started + 1);
    work(&(struct member){&team, 0, started + 1}, context);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.mutex);
}

void team_meet(const struct member *member)
{
    struct team *team = member->team;
    if (member->count == 1)
        return;
    pthread_mutex_lock(&team->mutex);
    const unsigned meeting = team->meetings;
    if (++team->waiting == member->count) {
        team->waiting = 0;
        team->meetings++;
        pthread_cond_broadcast(&team->changed);
    }
    while (team->meetings == meeting)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}
