/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/dial.h"
#include "rpc/rpc.h"

static int64_t connect_timeout_ms; /* 0: none */

void rpc_set_connect_timeout(int64_t ms)
{
    connect_timeout_ms = ms;
}

void rpc_tries_init(struct rpc_tries *t, int count, int64_t until_ms)
{
    *t = (struct rpc_tries){.count = count,
                            .at = -1,
                            .until_ms = until_ms,
                            .each_ms = connect_timeout_ms ? connect_timeout_ms : INT64_MAX};
}

static int64_t get_quick_try_limit_ms(const struct rpc_tries *t, int64_t left_ms)
{
    int64_t share = left_ms / (2 * (int64_t)(t->count - t->at));

    if (t->count == 1)
        return left_ms;
    return share < RPC_TRIES_QUICK_MS ? share : RPC_TRIES_QUICK_MS;
}

static int choose_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms)
{
    int64_t left_ms = t->until_ms > now_ms ? t->until_ms - now_ms : 0;

    t->at++;
    if (!t->is_second_round && t->at < t->count) {
        *patience_ms = get_quick_try_limit_ms(t, left_ms);
        return t->at;
    }
    if (!t->is_second_round)
        t->at = 0;
    t->is_second_round = true;
    if (t->count == 1 || left_ms == 0)
        return -1;
    while (t->at < t->count && !(t->unanswered >> t->at & 1))
        t->at++;
    if (t->at >= t->count)
        return -1;
    *patience_ms = left_ms / __builtin_popcount(t->unanswered >> t->at);
    return t->at;
}

int rpc_tries_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms)
{
    int at = choose_next(t, now_ms, patience_ms);

    if (at >= 0 && *patience_ms > t->each_ms)
        *patience_ms = t->each_ms;
    return at;
}

void rpc_tries_note_timeout(struct rpc_tries *t)
{
    t->unanswered |= 1u << t->at;
}

/* Lane of loop_work_post(): lookups run one at a time, so a hung name service blocks one worker. */
#define LANE 16
#define REASONS_MAX (ERR_TEXT_MAX - 64)

/* A name lookup on a worker thread; it outlives a dial that is dropped meanwhile. */
struct lookup {
    struct rpc_dial *dial; /* NULL: the dial was dropped */
    char *host;
    uint16_t port;
    struct rpc_addr addrs[RPC_NET_ADDRESSES_MAX];
    int count;
    struct err err;
};

struct rpc_dial {
    struct loop *loop;
    rpc_dial_fn *done;
    void *ctx;
    int64_t each_ms;
    struct rpc_target *targets;
    size_t count, at;
    struct rpc_addr addrs[RPC_NET_ADDRESSES_MAX];
    int addr_at;
    struct rpc_tries tries; /* of the addresses */
    int last;               /* -errno of the previous attempt; 0: there was none */
    int fd;
    struct loop_fd *watch;
    struct loop_timer *timer; /* first the start, then the time limit of each attempt */
    struct lookup *lookup;
    struct str reasons;
    bool timed_out;
};

static void next_target(struct rpc_dial *d);
static void next_address(struct rpc_dial *d);

static void on_dial_timer(void *ctx);

struct rpc_dial *rpc_dial_start(struct loop *l, const struct rpc_target *targets, size_t count,
                                int64_t each_ms, rpc_dial_fn *done, void *ctx)
{
    struct rpc_dial *d = mem_new(struct rpc_dial);

    d->loop = l;
    d->done = done;
    d->ctx = ctx;
    d->each_ms = each_ms;
    d->fd = -1;
    d->targets = mem_new_array(struct rpc_target, count);
    d->count = count;
    for (size_t i = 0; i < count; i++) {
        d->targets[i].addr = mem_strdup(targets[i].addr);
        d->targets[i].port = targets[i].port;
        d->targets[i].owner = targets[i].owner;
    }
    d->reasons = STR_INIT_CAP(REASONS_MAX);
    d->at = SIZE_MAX; /* not started */
    d->timer = loop_timer_new(l, on_dial_timer, d);
    loop_timer_set(d->timer, 0);
    return d;
}

static void stop_attempt(struct rpc_dial *d)
{
    if (d->watch)
        loop_fd_free(take_ptr(d->watch));
    if (d->fd >= 0)
        close(take_fd(&d->fd));
    loop_timer_set(d->timer, -1);
}

void rpc_dial_drop(struct rpc_dial *d)
{
    if (!d)
        return;
    stop_attempt(d);
    loop_timer_free(d->timer);
    if (d->lookup)
        d->lookup->dial = NULL;
    for (size_t i = 0; i < d->count; i++)
        free((char *)d->targets[i].addr);
    free(d->targets);
    str_done(&d->reasons);
    free(d);
}

/* Frees the dial, then reports the result. */
static void report_dial(struct rpc_dial *d, int fd)
{
    rpc_dial_fn *done = d->done;
    void *ctx = d->ctx;
    size_t target = d->at;
    struct rpc_addr addr = {0};
    struct err err = {0};

    if (fd >= 0)
        addr = d->addrs[d->addr_at];
    else
        err_set(&err, d->timed_out ? -ERR_TIMEOUT : -ERR_CONNECT, "%s", str_cstr(&d->reasons));
    rpc_dial_drop(d);
    done(ctx, fd, target, &addr, &err);
}

static void add_reason(struct rpc_dial *d, const char *why)
{
    const struct rpc_target *t = &d->targets[d->at];

    str_printf(&d->reasons, "%s%s", d->reasons.len ? "; " : "", t->addr);
    if (t->port)
        str_printf(&d->reasons, ":%u", t->port);
    str_printf(&d->reasons, ": %s", why);
}

static void on_connecting(void *ctx, int fd, unsigned ready)
{
    struct rpc_dial *d = ctx;
    int rc = rpc_net_connected(d->fd);

    if (rc == 0) {
        int got = take_fd(&d->fd);
        loop_fd_free(take_ptr(d->watch));
        report_dial(d, got);
        return;
    }
    stop_attempt(d);
    d->last = rc;
    next_address(d);
}

/* Tries the next address of a target; only the failure of the last address is reported. */
static void next_address(struct rpc_dial *d)
{
    int64_t patience_ms;

    while ((d->addr_at = rpc_tries_next(&d->tries, loop_mono_ms(), &patience_ms)) >= 0) {
        bool pending;
        int fd = rpc_net_connect(&d->addrs[d->addr_at], d->targets[d->at].owner, &pending);
        if (fd < 0) {
            d->last = fd;
            continue;
        }
        if (!pending) {
            report_dial(d, fd);
            return;
        }
        d->fd = fd;
        d->watch = loop_fd_new(d->loop, fd, LOOP_WRITE, on_connecting, d);
        loop_timer_set(d->timer, patience_ms);
        return;
    }
    if (d->last)
        add_reason(d, strerror(-d->last));
    next_target(d);
}

static void got_addresses(struct rpc_dial *d, int count, const struct err *err)
{
    rpc_tries_init(&d->tries, count < 0 ? 0 : count, loop_mono_ms() + d->each_ms);
    d->last = 0;
    if (count < 0)
        add_reason(d, err->text);
    next_address(d);
}

static void lookup_run(void *ctx)
{
    struct lookup *q = ctx;

    q->count = rpc_net_resolve(q->host, q->port, false, q->addrs, &q->err);
}

static void lookup_done(void *ctx)
{
    struct lookup *q = ctx;
    struct rpc_dial *d = q->dial;
    int count = q->count;
    struct err err = q->err;

    if (d) {
        d->lookup = NULL;
        if (count > 0)
            memcpy(d->addrs, q->addrs, sizeof(q->addrs[0]) * (size_t)count);
    }
    free(q->host);
    free(q);
    if (d)
        got_addresses(d, count, &err);
}

static void next_target(struct rpc_dial *d)
{
    const struct rpc_target *t;
    int n;

    d->at++;
    if (d->at >= d->count) {
        report_dial(d, -1);
        return;
    }
    t = &d->targets[d->at];
    n = rpc_net_resolve(t->addr, t->port, true, d->addrs, NULL);
    if (n > 0) {
        got_addresses(d, n, NULL);
        return;
    }
    struct lookup *q = mem_new(struct lookup);
    q->dial = d;
    q->host = mem_strdup(t->addr);
    q->port = t->port;
    d->lookup = q;
    if (loop_has_workers(d->loop)) {
        loop_work_post(d->loop, LANE, lookup_run, lookup_done, q);
    } else {
        lookup_run(q);
        lookup_done(q);
    }
}

static void on_dial_timer(void *ctx)
{
    struct rpc_dial *d = ctx;

    if (d->at == SIZE_MAX) {
        next_target(d);
        return;
    }
    stop_attempt(d);
    d->timed_out = true;
    d->last = -ETIMEDOUT;
    rpc_tries_note_timeout(&d->tries);
    next_address(d);
}
