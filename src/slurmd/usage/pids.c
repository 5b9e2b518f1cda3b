/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/pids.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/owner.h"
#include "base/proc.h"
#include "proto/adopt.pb-c.h"
#include "rpc/reply.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/usage/usage.h"

/* Ancestors per process; a process may end and its pid be reused during the search. */
#define DEPTH_MAX 10000

static Pb__StepProcess *add_process(struct arena *arena, Pb__StepPids *one, pid_t pid)
{
    Pb__StepProcess *p = arena_alloc(arena, sizeof(*p));

    pb__step_process__init(p);
    p->pid = (uint32_t)pid;
    one->processes[one->n_processes++] = p;
    return p;
}

static bool is_task(const struct tally_step *s, pid_t pid)
{
    vec_foreach (&s->tasks, task)
        if (task->pid == pid)
            return true;
    return false;
}

static Pb__StepPids *view_step(const struct tally *t, const struct tally_step *s,
                               struct arena *arena)
{
    Pb__StepPids *one = arena_alloc(arena, sizeof(*one));

    pb__step_pids__init(one);
    one->job_id = s->job_id;
    one->step_id = s->step_id;
    one->processes =
        arena_alloc(arena, (t->procs.len + s->tasks.len + 1) * sizeof(*one->processes));
    for (uint32_t i = 0; i < s->tasks.len; i++) {
        const struct tally_task *task = &s->tasks.data[i];
        if (!task->pid)
            continue;
        Pb__StepProcess *p = add_process(arena, one, task->pid);
        p->has_local = p->has_task = true;
        p->local = i;
        p->task = task->rank;
    }
    vec_foreach (&t->procs, p)
        if (p->step == s && !p->is_shepherd && !is_task(s, p->pid))
            add_process(arena, one, p->pid);
    return one;
}

static int by_id(const void *a, const void *b)
{
    const Pb__StepPids *x = *(Pb__StepPids *const *)a, *y = *(Pb__StepPids *const *)b;

    if (x->job_id != y->job_id)
        return x->job_id < y->job_id ? -1 : 1;
    return (x->step_id > y->step_id) - (x->step_id < y->step_id);
}

void pids_view(const struct tally *t, const Pb__NodePidsRequest *ask, struct arena *arena,
               Pb__NodePids *m)
{
    m->steps = arena_alloc(arena, (t->steps.len + 1) * sizeof(*m->steps));
    vec_foreach (&t->steps, at) {
        const struct tally_step *s = *at;
        if (s->shepherd && (!ask->has_job_id || ask->job_id == s->job_id) &&
            (!ask->has_step_id || ask->step_id == s->step_id))
            m->steps[m->n_steps++] = view_step(t, s, arena);
    }
    if (m->n_steps)
        qsort(m->steps, m->n_steps, sizeof(*m->steps), by_id);
}

static bool is_his(const struct slurmd *d, uid_t uid, uint32_t job_id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->key.id == job_id)
            return (uid_t)a->note.about->uid == uid;
    return false;
}

void pids_hide(const struct slurmd *d, uid_t uid, Pb__NodePids *m)
{
    size_t kept = 0;

    if (!conf_is_private(d->conf, "jobs"))
        return;
    for (size_t i = 0; i < m->n_steps; i++)
        if (is_his(d, uid, m->steps[i]->job_id))
            m->steps[kept++] = m->steps[i];
    m->n_steps = kept;
}

pid_t pids_parent(pid_t pid)
{
    struct proc p;

    return proc_read(pid, &p) == 0 ? p.parent : 0;
}

const struct tally_step *pids_find(const struct tally *t, pid_t pid, pids_parent_fn *parent_of)
{
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        pid = parent_of(pid);
        vec_foreach (&t->steps, s)
            if (pid > 1 && (*s)->shepherd == pid)
                return *s;
    }
    return NULL;
}

#define QUESTIONS_MAX 16 /* concurrent queries */

struct question {
    struct slurmd *d;
    uint64_t call;
    uid_t uid;
    struct owner_end local, remote;
    pid_t pid; /* 0: not found */
};

static unsigned open_questions;

static void on_search(void *ctx) /* runs on a worker thread */
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

void pids_answer_origin(struct slurmd *d, const struct rpc_request *r)
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
