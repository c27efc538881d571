/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - see group.h. */
#include "core/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool group_check(struct group *group, const char *failure, struct error *error)
{
    if (!failure)
        return true;
    group->is_broken = true;
    return error_set(error, "the ranks of the job lost each other: %s", failure);
}

/* Returns false with *error if a function of the group has failed before. Other ranks wait until
 * this rank ends the job. */
static bool is_whole(const struct group *group, struct error *error)
{
    return !group->is_broken || error_set(error, "the ranks of the job lost each other");
}

bool group_broadcast(struct group *group, void *data, size_t bytes, struct error *error)
{
    return is_whole(group, error) &&
           group_check(group, group->functions->broadcast(group->context, data, bytes), error);
}

bool group_sum(struct group *group, uint64_t *values, size_t count, struct error *error)
{
    return is_whole(group, error) &&
           group_check(group, group->functions->sum(group->context, values, count), error);
}

bool group_reserve(struct group *group, size_t count, struct error *error)
{
    return is_whole(group, error) &&
           group_check(group, group->functions->reserve(group->context, count), error);
}

/* Waits for the message in slot 0. */
static bool await_message(struct group *group, struct error *error)
{
    size_t slot = GROUP_NO_SLOT, bytes;
    for (unsigned looks = 0; slot == GROUP_NO_SLOT; looks++) {
        group_pause(looks);
        if (!group_check(group, group->functions->poll(group->context, &slot, &bytes), error))
            return false;
    }
    return true;
}

bool group_send(struct group *group, const void *data, size_t bytes, unsigned to,
                struct error *error)
{
    return is_whole(group, error) &&
           group_check(group, group->functions->send(group->context, 0, data, bytes, to, 0),
                       error) &&
           await_message(group, error);
}

bool group_receive(struct group *group, void *data, size_t bytes, unsigned from,
                   struct error *error)
{
    return is_whole(group, error) &&
           group_check(group, group->functions->receive(group->context, 0, data, bytes, from, 0),
                       error) &&
           await_message(group, error);
}

/* Sets *lowest to the lowest rank that failed, or to `size` if none did. */
static bool find_failed(struct group *group, bool ok, unsigned *lowest, struct error *error)
{
    uint64_t *const failed = calloc(group->size, sizeof *failed);
    if (!failed)
        return error_set(error, "out of memory");
    failed[group->rank] = !ok;
    const bool is_known = group_sum(group, failed, group->size, error);
    for (*lowest = 0; is_known && *lowest < group->size && !failed[*lowest];)
        ++*lowest;
    free(failed);
    return is_known;
}

/* Appends this rank and its host to the error, except on rank 0. */
static void add_place(const struct group *group, struct error *error)
{
    char host[128] = "", place[192];
    if (group->rank == 0)
        return;
    (void)gethostname(host, sizeof host - 1);
    snprintf(place, sizeof place, " (rank %u on %s)", group->rank, host);
    error_add(error, place);
}

bool group_agree(struct group *group, bool ok, struct error *error)
{
    unsigned lowest = 0;
    union {
        uint64_t words[sizeof error->message / sizeof(uint64_t)];
        char text[sizeof error->message];
    } message = {{0}};
    if (!group)
        return ok;
    if (group->has_agreed_to_fail || !find_failed(group, ok, &lowest, error))
        return false;
    if (lowest == group->size)
        return true;
    if (lowest == group->rank) {
        add_place(group, error);
        strcpy(message.text, error->message);
    }
    if (!group_sum(group, message.words, sizeof message.words / sizeof *message.words, error))
        return false;
    error->is_set = true;
    memcpy(error->message, message.text, sizeof message.text);
    group->has_agreed_to_fail = true;
    group->speaks = lowest == group->rank;
    return false;
}

uint64_t *group_gather(struct group *group, const uint64_t *own, size_t count, struct error *error)
{
    uint64_t *const rows = calloc(group->size * count, sizeof *rows);
    if (group_agree(group, rows || error_set(error, "out of memory"), error)) {
        memcpy(rows + group->rank * count, own, count * sizeof *own);
        if (group_sum(group, rows, group->size * count, error))
            return rows;
    }
    free(rows);
    return NULL;
}

void group_close(struct group *group, bool ok)
{
    if (ok || group->has_agreed_to_fail)
        group->functions->finish(group->context);
    else
        group->functions->abort(group->context);
}

uint64_t group_begin(const struct group *group, uint64_t count, unsigned rank)
{
    const uint64_t each = count / group->size, rest = count % group->size;
    return each * rank + (rank < rest ? rank : rest);
}
