/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadlines: closes connections that are too slow or idle for too long. */
#include <utlist.h>

#include "rpc/conn_priv.h"
#include "rpc/rpc.h"
#include "rpc/session.h"

#define SWEEP_MS 500

void rpc_conn_sweep_arm(struct rpc_io *io)
{
    if (io->sweep_armed)
        return;
    io->sweep_armed = true;
    loop_timer_set(io->sweep_timer, SWEEP_MS);
}

void rpc_conn_sweep_add(struct rpc_conn *c)
{
    if (c->is_timed || c->dead)
        return;
    c->is_timed = true;
    DL_APPEND2(c->io->timed, c, timed_prev, timed_next);
    rpc_conn_sweep_arm(c->io);
}

void rpc_conn_sweep_remove(struct rpc_conn *c)
{
    if (!c->is_timed)
        return;
    if (c->io->cursor == c)
        c->io->cursor = c->timed_next;
    DL_DELETE2(c->io->timed, c, timed_prev, timed_next);
    c->is_timed = false;
}

void rpc_conn_expire(struct rpc_conn *c, int64_t after_ms)
{
    c->expire_at = after_ms < 0 ? 0 : loop_mono_ms() + after_ms;
    if (c->expire_at)
        rpc_conn_sweep_add(c);
}

void rpc_conn_may_stall(struct rpc_conn *c, bool may)
{
    c->may_stall = may;
}

/* A connection is closed by the last sweep before its deadline, not by the first one after it. */
static bool is_due(int64_t at, int64_t now)
{
    return at && at < now + SWEEP_MS;
}

static void sweep_one(struct rpc_conn *c, int64_t now)
{
    int64_t patience = c->finishing && !c->ended           ? LINGER_MS
                       : c->io->queued > RPC_STALL_PRESSED ? RPC_STALL_PRESSED_MS
                                                           : RPC_STALL_TIMEOUT_MS;

    if (c->shut) {
        /* If the connection were closed now, the kernel would drop unacknowledged bytes after a
           few minutes. */
        if (c->may_stall && rpc_conn_unread(c))
            c->linger_until = now + LINGER_LONG_MS;
        if (is_due(c->linger_until, now))
            rpc_conn_report_closed(c, 0, NULL);
        return;
    }
    if (c->ended && rpc_conn_hung_up(c))
        rpc_conn_report_closed(c, -ERR_CLOSED, err_text(ERR_CLOSED));
    else if (is_due(c->frame_deadline, now))
        rpc_conn_report_closed(c, -ERR_TIMEOUT, "a message came too slowly");
    else if (c->stalled_since && !c->may_stall && is_due(c->stalled_since + patience, now))
        rpc_conn_report_closed(c, -ERR_TIMEOUT, "the other side does not read what it is sent");
    else if (is_due(c->expire_at, now))
        rpc_conn_report_closed(c, -ERR_TIMEOUT, "nothing was asked for too long");
    else if (!c->frame_deadline && !c->stalled_since && !c->expire_at && !c->ended)
        rpc_conn_sweep_remove(c);
}

void rpc_conn_sweep(void *ctx)
{
    struct rpc_io *io = ctx;
    int64_t now = loop_mono_ms();

    io->refs++;
    io->sweep_armed = false;
    str_done(&io->spare);
    io->cursor = io->timed;
    while (io->cursor) {
        struct rpc_conn *c = io->cursor;
        io->cursor = c->timed_next;
        rpc_conn_enter(c);
        sweep_one(c, now);
        rpc_conn_leave(c);
    }
    if (io->timed)
        rpc_conn_sweep_arm(io);
    rpc_io_unref(io);
}
