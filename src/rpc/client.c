/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking client of commands. */
#include "rpc/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "proto/common.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "rpc/mint.h"
#include "rpc/place.h"

#define PLACE_NONE SIZE_MAX
#define MOVED 1 /* another controller leads: rpc_client.leader */

struct rpc_client {
    const struct conf *conf;
    struct rpc_place *places;
    size_t place_count, tcp_count;
    struct rpc_wire wire;
    size_t place; /* place of the open connection */
    size_t leader;
    uint64_t last_id;
};

#define LATE_PART 4 /* this fraction of the time for finding a controller */

/* The state of one call that does not depend on the place it is sent to. */
struct call {
    struct rpc_client *client;
    const struct rpc_info *rpc;
    struct str body;
    int64_t find_ms;     /* time until which a leading controller is searched for */
    int64_t late_ms;     /* after the first round nothing is sent later than this */
    int64_t deadline_ms; /* of the whole call, or of each part of a streamed reply */
    struct rpc_header sent;
    struct str tried;  /* the places tried, and the result of each */
    struct str before; /* the same for the previous round */
    unsigned round;
    bool limited;   /* the caller has set a time limit */
    bool may_retry; /* a place may answer in the next round */
};

struct rpc_client *rpc_client_new(const struct conf *conf)
{
    struct rpc_client *c = mem_new(struct rpc_client);

    c->conf = conf;
    rpc_set_connect_timeout(conf->tcp_timeout_sec * 1000);
    c->places = rpc_place_list(conf, &c->place_count);
    for (size_t i = 0; i < c->place_count; i++)
        c->tcp_count += !c->places[i].local;
    c->wire.fd = -1;
    c->place = PLACE_NONE;
    return c;
}

static void drop_connection(struct rpc_client *c)
{
    rpc_wire_close(&c->wire);
    c->place = PLACE_NONE;
}

void rpc_client_free(struct rpc_client *c)
{
    if (!c)
        return;
    drop_connection(c);
    free(c->places);
    free(c);
}

static void note_trial(struct call *q, const char *where, const char *why)
{
    str_printf(&q->tried, "%s%s%s%s", q->tried.len ? "; " : "", where, *why ? ": " : "", why);
}

static int connect_to(struct rpc_client *c, size_t place, int64_t deadline_ms, struct err *err)
{
    const struct rpc_place *p = &c->places[place];
    const struct conf *conf = c->conf;
    int rc;

    drop_connection(c);
    if (p->local) {
        _cleanup_free_ char *name = conf_socket_controller(p->host);
        rc = rpc_open_here(conf, name, &c->wire, deadline_ms, err);
    } else {
        rc = rpc_wire_open_tcp(&c->wire, p->host->addr, conf->slurmctld_port, deadline_ms, err);
    }
    if (rc == 0)
        c->place = place;
    return rc;
}

static int send_call_request(struct call *q, struct err *err)
{
    struct rpc_client *c = q->client;
    struct rpc_minted *minted;
    int rc;

    q->sent = (struct rpc_header){
        .version = RPC_VERSION,
        .rpc = q->rpc->number,
        .body_len = (uint32_t)q->body.len,
        .id = ++c->last_id,
    };
    rc = rpc_vouch(c->conf, c->places[c->place].local, &q->sent, q->body.data, q->find_ms, &minted,
                   err);
    if (rc == 0)
        rc = rpc_wire_send(&c->wire, &q->sent, minted, q->body.data, q->deadline_ms, err);
    rpc_minted_free(minted, 1);
    return rc;
}

/* Whether the place says that it leads. Its answer, or the reason why there is none, is
   recorded. */
static bool place_leads(struct call *q, const struct rpc_place *p)
{
    struct rpc_client probe = {.conf = q->client->conf,
                               .wire = {.fd = -1, .first = &q->client->wire}};
    const Pb__Empty nothing = PB__EMPTY__INIT;
    struct call ping = {.client = &probe, .rpc = rpc_find(RPC_PING)};
    char where[RPC_PLACE_TEXT_MAX];
    struct rpc_place only = *p;
    struct err why = {0};
    const uint8_t *body;
    bool primary = false;

    probe.places = &only;
    ping.find_ms = ping.deadline_ms = rpc_wire_now_ms() + RPC_PLACE_PROBE_MS;
    pb_pack(&nothing.base, &ping.body);
    int rc = connect_to(&probe, 0, ping.deadline_ms, &why);
    if (rc == 0)
        rc = send_call_request(&ping, &why);
    if (rc == 0)
        rc = rpc_wire_answer(&probe.wire, &ping.sent, &ping.sent, &body, ping.deadline_ms, &why);
    if (rc == 0) {
        Pb__PingReply *m = pb_unpack(&pb__ping_reply__descriptor, body, ping.sent.body_len);
        primary = m && m->primary;
        if (m)
            pb__ping_reply__free_unpacked(m, NULL);
    }
    drop_connection(&probe);
    str_done(&ping.body);
    rpc_place_text(q->client->conf, p, where);
    if (!primary && rc != -ECANCELED)
        note_trial(q, where, rc ? why.text : err_text(ERR_STANDBY));
    return primary;
}

/* Finds a leading controller on another host; PLACE_NONE: there is none, or the answer has
   arrived. */
static size_t find_leader(struct call *q)
{
    const struct rpc_client *c = q->client;
    const struct conf_host *here = c->places[c->place].host;

    str_clear(&q->tried);
    for (size_t i = 0; i < c->place_count && !rpc_wire_has_bytes(&c->wire); i++)
        if (!c->places[i].local && c->places[i].host != here && place_leads(q, &c->places[i]))
            return rpc_wire_has_bytes(&c->wire) ? PLACE_NONE : i;
    return PLACE_NONE;
}

static int receive_answer(struct call *q, struct rpc_header *h, const uint8_t **body,
                          struct err *err)
{
    struct rpc_client *c = q->client;
    int rc = rpc_wire_answer(&c->wire, &q->sent, h, body, q->deadline_ms, err);

    /* There is no other controller: callers that repeat a lost request wait until this one is
       back. */
    if (rc == -ECONNRESET && c->conf->controllers.len == 1)
        rc = err_set(err, -ERR_CLOSED, "%s", err_text(ERR_CLOSED));
    return rc;
}

/* Receives the answer. While it is missing, the other controllers are asked whether one of them
 * has taken over; returns MOVED if so. A controller that is only slow still leads, and the call
 * keeps waiting for it. */
static int receive_or_move(struct call *q, struct rpc_header *h, const uint8_t **body,
                           struct err *err)
{
    struct rpc_client *c = q->client;

    for (int64_t pause = RPC_PLACE_HEDGE_MS; c->conf->controllers.len > 1;
         pause = pause * 2 < RPC_PLACE_HEDGE_MAX_MS ? pause * 2 : RPC_PLACE_HEDGE_MAX_MS) {
        int64_t until_ms = rpc_wire_now_ms() + pause;
        if (until_ms >= q->deadline_ms || rpc_wire_wait(&c->wire, until_ms) != -ERR_TIMEOUT)
            break;
        c->leader = find_leader(q);
        if (c->leader != PLACE_NONE)
            return MOVED;
    }
    return receive_answer(q, h, body, err);
}

static int exchange_frames(struct call *q, struct rpc_header *h, const uint8_t **body,
                           struct err *err)
{
    int rc = send_call_request(q, err);

    return rc ? rc : receive_or_move(q, h, body, err);
}

static int reach_place(struct call *q, size_t place, struct err *err)
{
    struct rpc_client *c = q->client;
    int64_t now_ms = rpc_wire_now_ms();
    size_t left = c->place_count - place < c->tcp_count ? c->place_count - place : c->tcp_count;
    int64_t patience_ms = rpc_place_patience(q->find_ms - now_ms, left, c->tcp_count, q->round);
    int rc = connect_to(c, place, now_ms + patience_ms, err);

    if (rc == -ERR_TIMEOUT || rc == -ETIMEDOUT)
        q->may_retry = c->tcp_count > 1;
    return rc;
}

/* Sends the request and receives the answer at the connected place, or at the place it redirects
   to. */
static int exchange_with_place(struct call *q, struct rpc_header *h, const uint8_t **body,
                               struct err *err)
{
    int rc = exchange_frames(q, h, body, err);

    if (rc == MOVED)
        rc = connect_to(q->client, q->client->leader, q->find_ms, err);
    else
        return rc;
    return rc ? rc : exchange_frames(q, h, body, err);
}

/* Whether the time ended in a later round, whose failures are caused by the deadline and not by
   the places. */
static bool has_run_out(const struct call *q)
{
    return q->round > 0 && rpc_wire_now_ms() >= q->find_ms;
}

/* Whether too little time is left for an answer: if a controller refused the request after the
 * deadline, the caller would have to assume that it was executed. */
static bool is_late(const struct call *q)
{
    return q->round > 0 && rpc_wire_now_ms() >= q->late_ms;
}

/* Returns the results of this round, or of the previous round if this one ran out of time or has
   no results. */
static const char *text_of_tries(const struct call *q)
{
    return str_cstr((has_run_out(q) || !q->tried.len) && q->before.len ? &q->before : &q->tried);
}

/* Sends the request to one place. Sets *done if the call is answered, or failed with an error to
   report. */
static int try_place(struct call *q, size_t place, bool kept, struct rpc_header *h,
                     const uint8_t **body, bool *done, struct err *err)
{
    struct rpc_client *c = q->client;
    const struct rpc_place *p = &c->places[place];
    char where[RPC_PLACE_TEXT_MAX];
    struct err why = {0};
    int rc = kept ? 0 : reach_place(q, place, &why);

    *done = false;
    if (rc < 0 && p->local && (rc == -ENOENT || rc == -ECONNREFUSED))
        return 0; /* the controller is not on this host: nothing to report */
    rpc_place_text(c->conf, p, where);
    if (rc == 0) {
        rc = exchange_with_place(q, h, body, &why);
        if (rc == MOVED || (rc < 0 && kept))
            q->may_retry = true;
        *done = rc <= 0 && (rc == 0 || !rpc_place_is_passing(c->conf, q->rpc, rc, &q->may_retry));
    }
    if (*done && rc == -ERR_TIMEOUT)
        err_set(err, rc, "%s (%s%s%s)", err_text(ERR_TIMEOUT), where, *text_of_tries(q) ? "; " : "",
                text_of_tries(q));
    else if (*done && rc == -ERR_CLOSED)
        rpc_place_closed(c->conf, p, err);
    else if (*done && rc < 0)
        *err = why;
    else if (!*done)
        note_trial(q, where, why.text);
    return rc;
}

/* Sends the request to the first place that is reachable and leads. While a reachable one may take
 * over soon, all places are asked again. */
static int exchange_with_any_place(struct call *q, struct rpc_header *h, const uint8_t **body,
                                   struct err *err)
{
    struct rpc_client *c = q->client;
    bool kept = rpc_wire_is_fresh(&c->wire);
    size_t place = kept ? c->place : 0;
    int64_t pause = RPC_PLACE_PAUSE_MIN_MS;

    for (;; q->round++, place = 0) {
        q->may_retry = false;
        str_clear(&q->before);
        str_append(&q->before, q->tried.data, q->tried.len);
        str_clear(&q->tried);
        for (; place < c->place_count && !is_late(q); place++, kept = false) {
            bool done;
            int rc = try_place(q, place, kept, h, body, &done, err);
            if (done &&
                !(rc == -ERR_AUTH && has_run_out(q))) /* no time was left to obtain a token */
                return rc;
        }
        if (!q->may_retry || rpc_wire_now_ms() + pause >= q->late_ms)
            break;
        rpc_wire_sleep(pause);
        pause = pause * 2 < RPC_PLACE_PAUSE_MAX_MS ? pause * 2 : RPC_PLACE_PAUSE_MAX_MS;
    }
    drop_connection(c);
    return err_set(err, -ERR_CONNECT, "%s (tried %s)", err_text(ERR_CONNECT), text_of_tries(q));
}

static int64_t get_silence_limit_ms(const struct conf *conf)
{
    return conf->message_timeout_sec * 1000;
}

/* Like exchange_with_any_place(), repeated for as long as the controller replies ERR_BACKOFF; a
   controller that does so has not executed anything. */
static int exchange_patiently(struct call *q, struct rpc_header *h, const uint8_t **body,
                              struct err *err)
{
    struct rpc_patience patience = {0};

    for (;;) {
        int rc = exchange_with_any_place(q, h, body, err);
        if (rc != -ERR_BACKOFF)
            return rc;
        int64_t pause = rpc_patience_next(&patience, err->text);
        if (q->limited && rpc_wire_now_ms() + pause >= q->deadline_ms)
            return rc;
        rpc_wire_sleep(pause);
        q->round = 0;
        if (q->limited)
            continue;
        q->find_ms = rpc_wire_now_ms() + get_silence_limit_ms(q->client->conf);
        if (q->deadline_ms != RPC_NO_DEADLINE)
            q->deadline_ms = q->find_ms;
    }
}

static int begin_call(struct rpc_client *c, struct call *q, enum rpc_number number,
                      const ProtobufCMessage *request, int64_t timeout_ms, struct err *err)
{
    *q = (struct call){
        .client = c,
        .rpc = rpc_find(number),
        .find_ms = rpc_wire_now_ms() + get_silence_limit_ms(c->conf),
        .deadline_ms = RPC_NO_DEADLINE,
        .limited = timeout_ms > 0,
    };
    if (timeout_ms == 0)
        timeout_ms = get_silence_limit_ms(c->conf);
    if (timeout_ms > 0)
        q->deadline_ms = rpc_wire_now_ms() + timeout_ms;
    if (q->find_ms > q->deadline_ms)
        q->find_ms = q->deadline_ms;
    q->late_ms = q->find_ms - (q->find_ms - rpc_wire_now_ms()) / LATE_PART;
    pb_pack(request, &q->body);
    return rpc_check_size(rpc_find(number), q->body.len, err);
}

int rpc_call(struct rpc_client *c, enum rpc_number number, const ProtobufCMessage *request,
             int64_t timeout_ms, struct arena *arena, void *reply, struct err *err)
{
    struct call q;
    struct rpc_header h;
    const uint8_t *body;
    struct err why = {0};
    int rc = begin_call(c, &q, number, request, timeout_ms, &why);

    if (rc == 0) {
        rc = exchange_patiently(&q, &h, &body, &why);
        if (rc == 0 && h.flags & RPC_FLAG_MORE)
            rc = err_set(&why, -ERR_PROTOCOL, "an answer in parts where one was expected");
        /* After a refusal the connection is usable; after any other failure it may not be. */
        if (rc < 0 &&
            (rc == -ERR_TIMEOUT || rc == -ERR_CLOSED || rc == -ERR_PROTOCOL || rc == -ERR_UNPROVEN))
            drop_connection(c);
    }
    if (rc == 0) {
        void *message = arena_unpack(arena, q.rpc->reply, body, h.body_len);
        if (message && reply)
            *(void **)reply = message;
        if (!message)
            rc = err_set(&why, -ERR_PROTOCOL, "malformed answer to %s", q.rpc->name);
    }
    str_done(&q.body);
    str_done(&q.tried);
    str_done(&q.before);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static int give_part(const struct call *q, const uint8_t *body, size_t len, struct arena *arena,
                     rpc_part_fn *part, void *ctx, struct err *err)
{
    arena->budget = arena->used + len * RPC_REPLY_FACTOR + RPC_REPLY_EXTRA;
    ProtobufCMessage *message = arena_unpack(arena, q->rpc->reply, body, len);
    if (!message)
        return err_set(err, -ERR_PROTOCOL, "malformed answer to %s", q->rpc->name);
    return part(ctx, message, err);
}

/* The parts are allocated in 'kept'; without it each part is freed before the next. */
static int call_stream(struct rpc_client *c, enum rpc_number number,
                       const ProtobufCMessage *request, struct arena *kept, rpc_part_fn *part,
                       void *ctx, struct err *err)
{
    struct call q;
    struct rpc_header h = {0};
    const uint8_t *body = NULL;
    struct err why = {0};
    bool answered = false;
    _cleanup_arena_ struct arena own;
    arena_init(&own, 0);
    int rc = begin_call(c, &q, number, request, 0, &why);

    if (rc == 0)
        rc = exchange_patiently(&q, &h, &body, &why);
    while (rc == 0) {
        answered = true;
        if (!kept)
            arena_reset(&own, 0);
        rc = give_part(&q, body, h.body_len, kept ? kept : &own, part, ctx, &why);
        if (rc != 0 || !(h.flags & RPC_FLAG_MORE))
            break;
        q.deadline_ms = rpc_wire_now_ms() + get_silence_limit_ms(c->conf);
        rc = rpc_wire_answer(&c->wire, &q.sent, &h, &body, q.deadline_ms, &why);
        if (rc == -ERR_CLOSED)
            rpc_place_closed(c->conf, &c->places[c->place], &why);
    }
    if (rc != 0 && (answered || rc == -ERR_TIMEOUT || rc == -ERR_CLOSED || rc == -ERR_PROTOCOL ||
                    rc == -ERR_UNPROVEN))
        drop_connection(c);
    str_done(&q.body);
    str_done(&q.tried);
    str_done(&q.before);
    if (rc != 0 && err)
        *err = why;
    return rc;
}

int rpc_call_stream(struct rpc_client *c, enum rpc_number number, const ProtobufCMessage *request,
                    rpc_part_fn *part, void *ctx, struct err *err)
{
    return call_stream(c, number, request, NULL, part, ctx, err);
}

int rpc_call_stream_kept(struct rpc_client *c, enum rpc_number number,
                         const ProtobufCMessage *request, struct arena *arena, rpc_part_fn *part,
                         void *ctx, struct err *err)
{
    size_t budget = arena->budget;
    int rc = call_stream(c, number, request, arena, part, ctx, err);

    arena->budget = budget;
    return rc;
}
