/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which job a connection comes from. All of /proc is looked through, so a worker does it. */
#include "slurmd/usage/origin.h"

#include <string.h>

#include "base/mem.h"
#include "base/owner.h"
#include "proto/adopt.pb-c.h"
#include "slurmd/usage/usage.h"

#define QUESTIONS_MAX 16 /* at a time */

struct question {
    struct slurmd *d;
    uint64_t call;
    uid_t uid;
    struct owner_end local, remote;
    pid_t pid; /* 0: not found */
};

static unsigned open_questions;

static void on_search(void *ctx) /* on the worker */
{
    struct question *q = ctx;

    if (owner_find(&q->local, &q->remote, q->uid, &q->pid))
        q->pid = 0;
}

static void on_found(void *ctx)
{
    struct question *q = ctx;
    Pb__OriginReply m = PB__ORIGIN_REPLY__INIT;

    open_questions--;
    m.job_id = q->pid ? usage_job_of(q->d, q->pid) : 0;
    m.has_job_id = m.job_id != 0;
    if (q->d->server)
        rpc_reply(q->d->server, q->call, &m.base);
    free(q);
}

void origin_answer(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__OriginRequest *m = (const Pb__OriginRequest *)r->body;
    struct question *q;

    if (m->local.len != OWNER_END_SIZE || m->remote.len != OWNER_END_SIZE) {
        rpc_reply_error(d->server, r->call, ERR_PROTOCOL, "the ends of a connection are 18 bytes");
        return;
    }
    if (open_questions >= QUESTIONS_MAX) {
        rpc_reply_error(d->server, r->call, ERR_BUSY, "too many ask where connections come from");
        return;
    }
    q = mem_new(struct question);
    q->d = d;
    q->call = r->call;
    q->uid = (uid_t)m->uid;
    owner_end_unpack(m->local.data, &q->local);
    owner_end_unpack(m->remote.data, &q->remote);
    open_questions++;
    loop_work_post(d->loop, 0, on_search, on_found, q);
}
