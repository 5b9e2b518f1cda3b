/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call to the controllers on the event loop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/once.h"
#include "rpc/place.h"
#include "rpc/probe.h"

#define BUSY_PAUSE_MS 5
#define MINT_PATIENCE_MS 2000 /* the loop is blocked meanwhile; a local daemon takes 0.1 ms */

struct rpc_async {
    struct loop *loop;
    const struct conf *conf;
    struct rpc_io *io;
    const struct rpc_info *rpc;
    struct str body;
    struct str tried;  /* the places tried in this round, and the result of each */
    struct str before; /* the same for the previous round */
    struct rpc_place *places;
    size_t place, place_count, tcp_count;
    char place_text[RPC_PLACE_TEXT_MAX];
    unsigned round;
    bool may_retry;  /* a place may answer in the next round */
    int64_t find_ms; /* time until which a leading controller is searched for */
    int64_t pause_ms, hedge_ms;
    int64_t own_ms; /* default time limit, if the caller has set none; 0: the caller has set one */
    struct rpc_patience patience;
    struct loop_timer *step, *limit, *hedge;
    struct rpc_dial *dial;
    struct rpc_once *once;
    struct rpc_probe *probe;
    struct rpc_kept *kept; /* NULL: the connection is closed after the call */
    bool on_kept;          /* the request was sent over the connection of an earlier call */
    rpc_done_fn *done;
    void *ctx;
};

static void on_async_step(void *ctx);
static void on_async_limit(void *ctx);
static void on_hedge(void *ctx);

struct rpc_async *rpc_async_controller(struct loop *l, const struct conf *conf,
                                       enum rpc_number number, const ProtobufCMessage *request,
                                       int64_t timeout_ms, rpc_done_fn *done, void *ctx)
{
    struct rpc_async *a = mem_new(struct rpc_async);
    int64_t patience_ms = conf->message_timeout_sec * 1000;

    a->loop = l;
    a->conf = conf;
    rpc_set_connect_timeout(conf->tcp_timeout_sec * 1000);
    a->io = rpc_io_new(l);
    a->rpc = rpc_find(number);
    a->done = done;
    a->ctx = ctx;
    a->places = rpc_place_list(conf, &a->place_count);
    for (size_t i = 0; i < a->place_count; i++)
        a->tcp_count += !a->places[i].local;
    pb_pack(request, &a->body);
    a->pause_ms = RPC_PLACE_PAUSE_MIN_MS;
    a->step = loop_timer_new(l, on_async_step, a);
    a->limit = loop_timer_new(l, on_async_limit, a);
    a->hedge = loop_timer_new(l, on_hedge, a);
    loop_timer_set(a->step, 0);
    if (timeout_ms == 0)
        timeout_ms = a->own_ms = patience_ms;
    if (timeout_ms > 0)
        loop_timer_set(a->limit, timeout_ms);
    a->find_ms =
        loop_mono_ms() + (timeout_ms > 0 && timeout_ms < patience_ms ? timeout_ms : patience_ms);
    return a;
}

void rpc_kept_close(struct rpc_kept *k)
{
    if (k->fd >= 0)
        close(take_fd(&k->fd));
}

void rpc_async_keep(struct rpc_async *a, struct rpc_kept *k)
{
    a->kept = k;
}

void rpc_async_drop(struct rpc_async *a)
{
    if (!a)
        return;
    rpc_dial_drop(a->dial);
    rpc_once_drop(a->once);
    rpc_probe_drop(a->probe);
    loop_timer_free(a->step);
    loop_timer_free(a->limit);
    loop_timer_free(a->hedge);
    rpc_io_free(a->io);
    free(a->places);
    str_done(&a->body);
    str_done(&a->tried);
    str_done(&a->before);
    free(a);
}

static void finish_call(struct rpc_async *a, int code, const ProtobufCMessage *reply,
                        const struct err *err)
{
    rpc_done_fn *done = a->done;
    void *ctx = a->ctx;

    rpc_async_drop(a);
    done(ctx, code, reply, err);
}

/* Whether the time ended in a later round, whose failures are caused by the deadline and not by
   the places. */
static bool has_run_out(const struct rpc_async *a)
{
    return a->round > 0 && loop_mono_ms() >= a->find_ms;
}

/* Returns the results of this round, or of the previous round if this one ran out of time or has
   no results. */
static const char *text_of_tries(const struct rpc_async *a)
{
    return str_cstr((has_run_out(a) || !a->tried.len) && a->before.len ? &a->before : &a->tried);
}

static void fail_to_find(struct rpc_async *a)
{
    struct err err;

    err_set(&err, -ERR_CONNECT, "%s (tried %s)", err_text(ERR_CONNECT), text_of_tries(a));
    finish_call(a, err.code, NULL, &err);
}

static void on_async_limit(void *ctx)
{
    struct rpc_async *a = ctx;
    struct err err;

    if (!a->once && has_run_out(a)) { /* no place is being asked */
        fail_to_find(a);
        return;
    }
    if (a->place_text[0])
        err_set(&err, -ERR_TIMEOUT, "%s (%s%s%s)", err_text(ERR_TIMEOUT), a->place_text,
                *text_of_tries(a) ? "; " : "", text_of_tries(a));
    else
        err_set(&err, -ERR_TIMEOUT, "%s", err_text(ERR_TIMEOUT));
    finish_call(a, err.code, NULL, &err);
}

/* Drops the connection to the place that is being asked. */
static void leave_target(struct rpc_async *a)
{
    rpc_dial_drop(take_ptr(a->dial));
    rpc_once_drop(take_ptr(a->once));
    rpc_probe_drop(take_ptr(a->probe));
    loop_timer_set(a->hedge, -1);
}

static void next_place(struct rpc_async *a, const char *why)
{
    leave_target(a);
    if (why)
        str_printf(&a->tried, "%s%s%s%s", a->tried.len ? "; " : "", a->place_text,
                   a->place_text[0] ? ": " : "", why);
    a->place++;
    loop_timer_set(a->step, 0);
}

/* Repeats the request at the same place after the requested pause. */
static void wait_patiently(struct rpc_async *a, const char *why)
{
    int64_t pause_ms = rpc_patience_next(&a->patience, why);

    leave_target(a);
    if (a->own_ms)
        loop_timer_set(a->limit, a->own_ms + pause_ms);
    a->find_ms = loop_mono_ms() + pause_ms + a->conf->message_timeout_sec * 1000;
    loop_timer_set(a->step, pause_ms);
}

static void on_async_answer(void *ctx, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct rpc_async *a = ctx;
    struct err closed;

    a->once = NULL;
    if (code == -ERR_CLOSED && a->on_kept) {
        /* The kept connection was closed: repeat the request over a new one. */
        leave_target(a);
        loop_timer_set(a->step, 0);
        return;
    }
    if (code == -ERR_BACKOFF) {
        wait_patiently(a, err->text);
        return;
    }
    if (rpc_place_is_passing(a->conf, a->rpc, code, &a->may_retry)) {
        next_place(a, err->text);
        return;
    }
    if (code == -ERR_CLOSED) {
        rpc_place_closed(a->conf, &a->places[a->place], &closed);
        err = &closed;
    }
    finish_call(a, code, reply, err);
}

static void on_probed(void *ctx, const struct conf_host *leader, const char *tried)
{
    struct rpc_async *a = ctx;

    a->probe = NULL;
    for (size_t i = 0; leader && i < a->place_count; i++)
        if (!a->places[i].local && a->places[i].host == leader) {
            leave_target(a);
            a->place = i;
            loop_timer_set(a->step, 0);
            return;
        }
    str_clear(&a->tried);
    str_puts(&a->tried, tried);
    a->hedge_ms =
        a->hedge_ms * 2 < RPC_PLACE_HEDGE_MAX_MS ? a->hedge_ms * 2 : RPC_PLACE_HEDGE_MAX_MS;
    loop_timer_set(a->hedge, a->hedge_ms);
}

/* There is no answer yet: checks whether another controller has taken over. A controller that is
   only slow still leads. */
static void on_hedge(void *ctx)
{
    struct rpc_async *a = ctx;

    a->probe = rpc_probe_start(a->io, a->conf, a->places[a->place].host, on_probed, a);
}

static void start_request(struct rpc_async *a, int fd)
{
    struct rpc_minted *minted;
    struct err err;
    struct rpc_header h = {
        .version = RPC_VERSION,
        .rpc = a->rpc->number,
        .body_len = (uint32_t)a->body.len,
        .id = 1,
    };

    if (rpc_vouch(a->conf, a->places[a->place].local, &h, a->body.data,
                  rpc_wire_now_ms() + MINT_PATIENCE_MS, &minted, &err) < 0) {
        close(fd);
        finish_call(a, err.code, NULL, &err);
        return;
    }
    a->once = rpc_once_start(a->io, fd, &h, minted, a->body.data, on_async_answer, a);
    rpc_minted_free(minted, 1);
    if (a->kept && a->places[a->place].local) {
        rpc_kept_close(a->kept);
        a->kept->place = a->place;
        rpc_once_keep(a->once, &a->kept->fd);
    }
    if (a->conf->controllers.len > 1) {
        a->hedge_ms = RPC_PLACE_HEDGE_MS;
        loop_timer_set(a->hedge, a->hedge_ms);
    }
}

static void on_async_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                             const struct err *err)
{
    struct rpc_async *a = ctx;

    a->dial = NULL;
    if (fd >= 0) {
        start_request(a, fd);
        return;
    }
    if (a->tcp_count > 1 && err->code == -ERR_TIMEOUT)
        a->may_retry = true;
    a->place_text[0] = '\0'; /* the failure text names the place already */
    next_place(a, err->text);
}

/* Uses the kept connection. Returns false if there is none to this place that is still open. */
static bool take_kept(struct rpc_async *a, struct rpc_wire *w)
{
    if (!a->kept || a->kept->place != a->place)
        return false;
    w->fd = take_fd(&a->kept->fd);
    if (rpc_wire_is_fresh(w))
        return true;
    rpc_wire_close(w);
    return false;
}

static int open_local(struct rpc_async *a, struct rpc_wire *w, struct err *err)
{
    uid_t trusted[RPC_TRUSTED_COUNT];

    rpc_trusted_uids(a->conf, trusted);
    return rpc_wire_open_local(w, a->place_text, trusted, RPC_TRUSTED_COUNT, 0, err);
}

static void try_local(struct rpc_async *a)
{
    struct rpc_wire w = {.fd = -1};
    struct err err;
    int rc;

    a->on_kept = take_kept(a, &w);
    rc = a->on_kept ? 0 : open_local(a, &w, &err);
    if (rc == 0)
        start_request(a, w.fd);
    else if (rc == -EAGAIN)
        loop_timer_set(a->step, BUSY_PAUSE_MS);
    else
        next_place(a, rc == -ENOENT || rc == -ECONNREFUSED ? NULL : err.text);
}

static void try_address(struct rpc_async *a)
{
    const struct conf *conf = a->conf;
    struct rpc_target t = {a->places[a->place].host->addr, conf->slurmctld_port};
    size_t left = a->place_count - a->place;
    int64_t remaining_ms = a->find_ms - loop_mono_ms();

    if (remaining_ms < 1)
        remaining_ms = 1;
    a->dial = rpc_dial_start(a->loop, &t, 1,
                             rpc_place_patience(remaining_ms, left, a->tcp_count, a->round),
                             on_async_dialled, a);
}

/* Ends a round in which all places were tried. If one of them may take over soon, another round
   follows. */
static void end_round(struct rpc_async *a)
{
    if (a->may_retry && loop_mono_ms() + a->pause_ms < a->find_ms) {
        a->round++;
        a->place = 0;
        a->may_retry = false;
        str_clear(&a->before);
        str_append(&a->before, a->tried.data, a->tried.len);
        str_clear(&a->tried);
        loop_timer_set(a->step, a->pause_ms);
        a->pause_ms =
            a->pause_ms * 2 < RPC_PLACE_PAUSE_MAX_MS ? a->pause_ms * 2 : RPC_PLACE_PAUSE_MAX_MS;
        return;
    }
    fail_to_find(a);
}

static void on_async_step(void *ctx)
{
    struct rpc_async *a = ctx;
    struct err err;

    if (rpc_check_size(a->rpc, a->body.len, &err) < 0) {
        finish_call(a, err.code, NULL, &err);
        return;
    }
    if (a->place == a->place_count) {
        end_round(a);
        return;
    }
    rpc_place_text(a->conf, &a->places[a->place], a->place_text);
    if (a->places[a->place].local)
        try_local(a);
    else
        try_address(a);
}
