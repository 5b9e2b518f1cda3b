/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that start what they are told, and never fail. */
#include "sim/study/replay_world.h"

static void forget_end(struct world *w, uint32_t job)
{
    order_remove(&w->events, &w->trips[job].event);
}

static void attempt_over(struct world *w, uint32_t job, enum replay_fate fate)
{
    struct replay_job *j = &w->r->jobs[job];
    struct trip *trip = &w->trips[job];
    if (!trip->runs)
        return;
    trip->runs = false;
    forget_end(w, job);
    j->fate = fate;
    j->end_sec = w->r->attempts.data[trip->attempt].end_sec = w->now_sec;
    replay_let_follow(w, job);
}

static void add_span(struct world *w, uint32_t node, uint32_t cpus)
{
    struct replay_attempt *a = &vec_last(&w->r->attempts);
    struct replay_span *last = a->spans ? &vec_last(&w->r->spans) : NULL;
    if (last && last->first + last->count == node && last->cpus == cpus) {
        last->count++;
        return;
    }
    a->spans++;
    vec_push(&w->r->spans, ((struct replay_span){node, 1, cpus}));
}

static void note_places(struct world *w, const Pb__Cred *cred)
{
    struct replay_attempt *a = &vec_last(&w->r->attempts);
    for (size_t i = 0; i < cred->n_job_nodes; i++) {
        const Pb__NodeShare *s = cred->job_nodes[i];
        long node = w->options->places ? conf_find_node(w->conf, s->node) : -1;
        a->nodes++;
        a->cpus += s->cpus;
        if (node >= 0)
            add_span(w, (uint32_t)node, s->cpus);
    }
}

static void begin_attempt(struct world *w, uint32_t job, const char *node, const Pb__LaunchBatch *m)
{
    struct replay_job *j = &w->r->jobs[job];
    struct trip *trip = &w->trips[job];
    arena_reset(&w->arena, 0);
    const Pb__Cred *cred =
        arena_unpack(&w->arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
    trip->runs = true;
    trip->restarts = m->restarts;
    trip->node = node;
    trip->attempt = (uint32_t)w->r->attempts.len;
    vec_push(&w->r->attempts, ((struct replay_attempt){.job = job,
                                                       .start_sec = w->now_sec,
                                                       .end_sec = w->now_sec,
                                                       .first_span = w->r->spans.len}));
    if (cred)
        note_places(w, cred);
    j->fate = REPLAY_RUNS;
    j->start_sec = w->now_sec;
    j->restarts = m->restarts;
    j->nodes = vec_last(&w->r->attempts).nodes;
    j->cpus = vec_last(&w->r->attempts).cpus;
    replay_push(w, job, w->now_sec + w->r->trace->jobs.data[job].run_sec, false);
}

static void take_launch(struct world *w, const char *node, const Pb__LaunchBatch *m)
{
    uint32_t job;
    if (!idmap_get(&w->ids, m->job_id, &job))
        return;
    if (!w->trips[job].runs || w->trips[job].restarts != m->restarts)
        begin_attempt(w, job, node, m);
    vec_push(&w->answers,
             ((struct answer){
                 .node = node, .job_id = m->job_id, .restarts = m->restarts, .launched = true}));
}

static void take_terminate(struct world *w, const char *node, const Pb__Terminate *m)
{
    uint32_t job;
    if (m->has_step_id)
        return;
    if (idmap_get(&w->ids, m->job_id, &job) && w->trips[job].restarts == m->restarts)
        attempt_over(w, job, REPLAY_KILLED);
    vec_push(&w->answers,
             ((struct answer){
                 .node = node, .job_id = m->job_id, .restarts = m->restarts, .gone = true}));
}

void replay_node_take(void *ctx, const char *node, const Pb__NodeOrders *m)
{
    struct world *w = ctx;
    for (size_t i = 0; i < m->n_orders; i++) {
        const Pb__NodeOrder *o = m->orders[i];
        if (o->launch)
            take_launch(w, node, o->launch);
        if (o->terminate)
            take_terminate(w, node, o->terminate);
        if (o->signal)
            vec_push(&w->answers,
                     ((struct answer){
                         .node = node, .job_id = o->signal->job_id, .nonce = o->signal->nonce}));
    }
}

static void report(struct world *w, const char *node, Pb__NodeEvent *event)
{
    Pb__NodeReport m = PB__NODE_REPORT__INIT;
    event->seq = ++w->seq;
    m.events = &event;
    m.n_events = 1;
    control_node_report(w->control, node, &m);
}

void replay_node_answer(struct world *w, const struct answer *a)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched launched = PB__LAUNCHED__INIT;
    Pb__JobGone gone = PB__JOB_GONE__INIT;
    Pb__SignalDone done = PB__SIGNAL_DONE__INIT;
    launched.job_id = gone.job_id = done.job_id = a->job_id;
    launched.restarts = gone.restarts = a->restarts;
    done.nonce = a->nonce;
    if (a->launched)
        event.launched = &launched;
    else if (a->gone)
        event.job_gone = &gone;
    else
        event.signal_done = &done;
    report(w, a->node, &event);
}

void replay_node_end(struct world *w, uint32_t job)
{
    const struct trip *trip = &w->trips[job];
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = w->r->jobs[job].job_id;
    m.restarts = trip->restarts;
    m.exit_status = w->r->trace->jobs.data[job].failed ? 1 << 8 : 0;
    m.has_gone = m.gone = true;
    event.batch_ended = &m;
    attempt_over(w, job, REPLAY_ENDED);
    report(w, trip->node, &event);
}

void replay_node_register(struct world *w)
{
    vec_foreach (&w->conf->nodes, n) {
        const struct conf_node_row *row = &w->conf->node_rows.data[n->row];
        Pb__NodeRegister m = PB__NODE_REGISTER__INIT;
        m.name = (char *)n->name;
        m.version = "sim";
        m.incarnation = "sim";
        m.has_cpus = m.has_real_memory_mib = m.has_tmp_disk_mib = true;
        m.cpus = row->cpus;
        m.real_memory_mib = row->real_memory_mib;
        m.tmp_disk_mib = row->tmp_disk_mib;
        control_node_register(w->control, n->name, &m);
    }
}
