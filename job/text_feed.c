/* SPDX-License-Identifier: Apache-2.0 */
/* text_feed.c - see text_feed.h. */
#include "job/text_feed.h"

#include "core/threads.h"

static void *opener_main(void *opaque)
{
    struct text_feed *feed = opaque;
    feed->functions->open(&feed->spec, &feed->engine, &feed->error);
    return NULL;
}

void text_feed_start(struct text_feed *feed, const struct engine_functions *functions,
                     const struct sort_spec *spec)
{
    *feed = (struct text_feed){.functions = functions, .spec = *spec};
    if (spec->count == COUNT_UNKNOWN)
        return;
    feed->is_opening = pthread_create(&feed->opener, NULL, opener_main, feed) == 0;
    if (!feed->is_opening)
        opener_main(feed);
}

/* Returns true if the engine has room for the first `bytes` bytes, as announced when it was
 * opened. */
static bool has_room(const struct text_feed *feed, size_t bytes)
{
    return feed->spec.count != COUNT_UNKNOWN && bytes <= feed->spec.count;
}

/* Sends the next piece; on failure sets feed->error. */
static void send_piece(struct text_feed *feed, const char *text, size_t bytes)
{
    struct chunk chunk;
    if (!feed->functions->lend(feed->engine, bytes - feed->sent, &chunk, &feed->error))
        return;
    chunk.count = chunk.capacity;
    shared_copy(chunk.items, text + feed->sent, chunk.count, feed->spec.threads);
    if (feed->functions->take(feed->engine, chunk, &feed->error))
        feed->sent += chunk.count;
}

void text_feed_send(struct text_feed *feed, const char *text, size_t bytes)
{
    if (feed->is_opening && pthread_tryjoin_np(feed->opener, NULL) == 0)
        feed->is_opening = false;
    if (feed->is_opening || !has_room(feed, bytes))
        return;
    while (!feed->error.is_set && feed->sent < bytes)
        send_piece(feed, text, bytes);
}

static void await_opener(struct text_feed *feed)
{
    if (feed->is_opening)
        pthread_join(feed->opener, NULL);
    feed->is_opening = false;
}

/* Opens the engine for a text of unknown size, or again for one that grew while it was read. */
static void open_for(struct text_feed *feed, size_t bytes)
{
    feed->functions->close(feed->engine);
    feed->engine = NULL;
    feed->sent = 0;
    feed->spec.count = bytes;
    opener_main(feed);
}

bool text_feed_finish(struct text_feed *feed, const char *text, size_t bytes,
                      struct engine **engine, struct error *error)
{
    await_opener(feed);
    if (!feed->error.is_set && !has_room(feed, bytes))
        open_for(feed, bytes);
    text_feed_send(feed, text, bytes);
    error_merge(error, &feed->error);
    if (feed->error.is_set)
        return false;
    *engine = feed->engine;
    feed->engine = NULL;
    return true;
}

void text_feed_close(struct text_feed *feed)
{
    await_opener(feed);
    if (feed->engine)
        feed->functions->close(feed->engine);
    feed->engine = NULL;
}
