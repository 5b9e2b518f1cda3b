/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sluice events: transitions of jobs and nodes, one per line; with --attempts rows of the archive.
 * Printed events are acknowledged with the next request, so an event may be printed twice but is
 * never lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/pb.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "control/event/event.h"
#include "proto/event.pb-c.h"
#include "show/show.h"

#define AGAIN_SEC 1                     /* between two attempts to reach a controller */
#define WAIT_MS (EVENT_WAIT_MS + 30000) /* for a reply that waits for an event */

struct stream {
    const struct sluice_options *options;
    bool placed;    /* 'since' is known */
    uint64_t since; /* all events up to this number were printed */
    bool incomplete, unreachable;
};

static void note_missing(struct stream *s, uint64_t from, uint64_t to)
{
    s->incomplete = true;
    cmd_error("events %" PRIu64 " to %" PRIu64
              " no longer exist: acknowledged by an earlier 'sluice events', or more than "
              "the controller keeps",
              from, to);
}

/* A missing number is a loss only if the caller may see all events. */
static void look_for_gap(struct stream *s, const Pb__EventList *list, uint64_t last,
                         uint64_t number)
{
    bool dropped = list->has_first && list->first > last + 1 && number >= list->first;
    uint64_t upto = list->has_all && list->all ? number - 1 : dropped ? list->first - 1 : last;
    if (upto > last)
        note_missing(s, last + 1, upto);
}

static int print_part(struct stream *s, const Pb__EventList *list, struct arena *arena)
{
    struct str *out = cmd_out();
    uint64_t last = list->since;
    for (size_t i = 0; i < list->n_events; i++) {
        const Pb__Event *e =
            arena_unpack(arena, &pb__event__descriptor, list->events[i].data, list->events[i].len);
        if (!e || !e->job + !e->node + !e->attempt + !e->step != 3) {
            cmd_error("the controller's answer is malformed");
            return -1;
        }
        look_for_gap(s, list, last, e->number);
        last = e->number;
        if (s->options->json)
            show_event_json(e, out);
        else
            show_event_text(e, out);
    }
    look_for_gap(s, list, last, list->next + 1);
    int r = out->len ? path_write_all(STDOUT_FILENO, out->data, out->len) : 0;
    str_clear(out);
    if (r && r != -EPIPE)
        cmd_error("standard output cannot be written: %s", strerror(-r));
    return r;
}

static bool is_passing(int code)
{
    return code == -ERR_CONNECT || code == -ERR_CLOSED || code == -ERR_TIMEOUT ||
           code == -ERR_STANDBY || code == -ERR_SHUTDOWN || code == -ERR_STORE;
}

/* Returns 0: done, 1: there are more events, 2: ask again, negative: error. */
static int request_events(struct stream *s, bool wait)
{
    const struct sluice_options *o = s->options;
    _cleanup_arena_ struct arena arena;
    Pb__EventRequest request = PB__EVENT_REQUEST__INIT;
    Pb__EventList *list = NULL;
    struct err err = {0};
    arena_init(&arena, 0);
    request.consumer = (char *)o->consumer;
    SET(&request, attempts, o->attempts);
    request.has_wait = request.wait = wait;
    request.has_since = s->placed;
    request.since = s->since;
    int rc = rpc_call(cmd_client(), RPC_EVENTS, &request.base, WAIT_MS, &arena, &list, &err);
    if (rc && o->follow && is_passing(rc)) {
        if (!s->unreachable)
            cmd_say("%s; trying again", err.text);
        s->unreachable = true;
        sleep(AGAIN_SEC);
        return 2;
    }
    if (rc) {
        cmd_error("%s", err.text);
        return -1;
    }
    s->unreachable = false;
    if (list->created && !o->follow)
        cmd_say("%s; 'sluice events%s --forget' ends it",
                o->attempts ? "ended attempts are kept until they are acknowledged"
                            : "events are recorded from now on",
                o->attempts ? " --attempts" : "");
    if (print_part(s, list, &arena))
        return -1;
    s->since = list->next;
    s->placed = true;
    return list->has_more && list->more;
}

static int forget_consumer(const struct sluice_options *o)
{
    Pb__EventRequest request = PB__EVENT_REQUEST__INIT;
    Pb__EventList *list = NULL;
    struct err err = {0};
    request.consumer = (char *)o->consumer;
    SET(&request, attempts, o->attempts);
    request.has_forget = request.forget = true;
    int rc = cmd_call(RPC_EVENTS, &request.base, &list, &err);
    if (rc)
        cmd_error("%s", err.text);
    return rc ? 1 : 0;
}

int sluice_events(const struct sluice_options *o, const char *const *operand)
{
    struct stream s = {.options = o, .placed = o->since_given, .since = o->since};
    int rc;
    sluice_choose(o);
    if (o->forget)
        return forget_consumer(o);
    do
        rc = request_events(&s, o->follow);
    while (rc > 0 || (rc == 0 && o->follow));
    if (rc == 0) /* acknowledges the printed events */
        rc = request_events(&s, false);
    return rc < 0 || s.incomplete ? 1 : 0;
}
