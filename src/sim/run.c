/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run: takes event after event until all is over, strikes with faults meanwhile, and checks the
 * promises at the end. */
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"

#define FAULTS_EVERY_MS 1000
#define ARRIVALS_MS 120000               /* the clients come within two virtual minutes */
#define STUCK_MS (INT64_C(48) * 3600000) /* nothing may take longer than two virtual days */

static struct sim_event pop(struct sim *s)
{
    struct sim_event first = s->queue.data[0], last = vec_pop(&s->queue);
    size_t i = 0;
    if (s->queue.len == 0)
        return first;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->queue.len)
            break;
        struct sim_event *c = &s->queue.data[child];
        if (child + 1 < s->queue.len &&
            (c[1].at_ms < c->at_ms || (c[1].at_ms == c->at_ms && c[1].number < c->number))) {
            child++;
            c++;
        }
        if (last.at_ms < c->at_ms || (last.at_ms == c->at_ms && last.number < c->number))
            break;
        s->queue.data[i] = *c;
        i = child;
    }
    s->queue.data[i] = last;
    return first;
}

void sim_fault(struct sim *s)
{
    if (s->quiet)
        return;
    sim_push(s, FAULTS_EVERY_MS, (struct sim_event){.kind = SIM_FAULT});
    if (!rng_chance(&s->rng, s->options.fault_per_mille))
        return;
    unsigned node = (unsigned)rng_between(&s->rng, 0, (int64_t)s->nodes.len - 1);
    int64_t what = rng_between(&s->rng, 0, 99);
    if (what < 35 && s->control) {
        sim_controller_crash(s);
    } else if (what < 60 && s->nodes.data[node].up) {
        sim_node_crash(s, node, what < 40);
    } else if (s->nodes.data[node].session) {
        s->result->sessions_broken++;
        sim_node_hangup(s, node, true);
    }
}

static void control_receives(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!s->control || e->generation != n->session)
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    bool registers = e->message == SIM_REGISTER;
    void *body = arena_unpack(
        &arena, registers ? &pb__node_register__descriptor : &pb__node_report__descriptor,
        e->body.data, e->body.len);
    if (registers)
        control_node_register(s->control, n->name, body);
    else
        control_node_report(s->control, n->name, body);
    sim_turn(s);
}

static int happen(struct sim *s, struct sim_event *e, struct err *err)
{
    switch (e->kind) {
    case SIM_TICK:
        if (s->control && e->generation == s->life && (int64_t)e->value == s->wake_at_ms) {
            control_tick(s->control);
            sim_turn(s);
        }
        break;
    case SIM_COMMITTED:
        if (e->generation == s->life)
            sim_committed(s);
        break;
    case SIM_TO_NODE:
        sim_node_receive(s, e);
        break;
    case SIM_TO_CONTROL:
        control_receives(s, e);
        break;
    case SIM_CONNECT:
        if (e->value)
            s->nodes.data[e->index].up = true;
        sim_node_connect(s, e->index);
        break;
    case SIM_BEAT:
        sim_node_beat(s, e);
        break;
    case SIM_HANGUP:
        if (e->generation && e->generation == s->nodes.data[e->index].session)
            sim_node_hangup(s, e->index, false);
        break;
    case SIM_NODE_WORK:
        sim_node_work(s, e);
        break;
    case SIM_REQUEST:
        sim_client_request(s, e);
        break;
    case SIM_REPLY:
        sim_client_reply(s, e);
        break;
    case SIM_CLIENT:
        sim_client_act(s, e->index);
        break;
    case SIM_FAULT:
        sim_fault(s);
        break;
    case SIM_RESTART:
        return s->control ? 0 : sim_controller_start(s, err);
    }
    return 0;
}

static bool clients_are_over(const struct sim *s)
{
    vec_foreach (&s->clients, c)
        if (c->state != SIM_OVER || c->call)
            return false;
    return true;
}

static bool all_is_over(struct sim *s)
{
    if (!s->quiet || !s->control || s->committing || s->next || !clients_are_over(s))
        return false;
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_stats(s->control, &stats);
    if (stats.pending || stats.running)
        return false;
    vec_foreach (&s->nodes, n)
        if (n->unacked.len)
            return false;
    return true;
}

static void list_everything(struct sim *s, struct str *out)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.has_all_states = filter.all_states = true;
    uint64_t cursor = 0;
    while (control_list_jobs(s->control, &root, &filter, &cursor, 1 << 20, out))
        ;
}

static const Pb__JobLive *find_live(const Pb__JobList *list, uint32_t job_id)
{
    size_t low = 0, high = list->n_jobs; /* listed in order of ids */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->jobs[middle]->live->job_id < job_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->n_jobs && list->jobs[low]->live->job_id == job_id ? list->jobs[low]->live
                                                                         : NULL;
}

static void check_job(struct sim *s, const struct sim_client *c, const Pb__JobLive *live)
{
    if (!live) {
        sim_break(s, "job %u was acknowledged and is lost", c->job_id);
        return;
    }
    if (live->state == PB__JOB_STATE__PENDING || live->state == PB__JOB_STATE__RUNNING ||
        live->completing)
        sim_break(s, "job %u never ended (state %d)", c->job_id, (int)live->state);
    if (live->state != PB__JOB_STATE__COMPLETED || c->interactive)
        return;
    vec_foreach (&s->ledger, at)
        if (at->job_id == c->job_id && at->restarts == live->restarts)
            return;
    sim_break(s, "job %u restart %u is COMPLETED and never ran", c->job_id, live->restarts);
}

static void check_promises(struct sim *s)
{
    struct str packed = STR_INIT;
    list_everything(s, &packed);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobList *list =
        arena_unpack(&arena, &pb__job_list__descriptor, packed.data, packed.len);
    if (!list)
        sim_break(s, "the listing does not decode");
    for (size_t i = 0; list && i < s->clients.len; i++)
        if (s->clients.data[i].job_id) {
            check_job(s, &s->clients.data[i], find_live(list, s->clients.data[i].job_id));
            s->result->ended++;
        }
    vec_foreach (&s->nodes, n)
        vec_foreach (&n->jobs, j)
            if (!j->ended && (j->batch || j->steps.len))
                sim_break(s, "%s still runs job %u", n->name, j->job_id);
    str_done(&packed);
}

static void populate(struct sim *s)
{
    for (unsigned i = 0; i < s->options.nodes; i++) {
        struct sim_node node = {.up = true};
        snprintf(node.name, sizeof node.name, "n%u", i + 1);
        vec_push(&s->nodes, node);
        sim_push(s, rng_between(&s->rng, 0, 100),
                 (struct sim_event){.kind = SIM_CONNECT, .index = i});
    }
    for (unsigned i = 0; i < s->options.jobs; i++) {
        struct sim_client c = {.id = rng_next(&s->rng) | 1,
                               .interactive = rng_chance(&s->rng, 200)};
        c.wants_cancel = !c.interactive && rng_chance(&s->rng, 150);
        c.dies = c.interactive && rng_chance(&s->rng, 200);
        c.nodes = (unsigned)rng_between(&s->rng, 1, s->options.nodes > 4 ? 4 : s->options.nodes);
        c.tasks = c.nodes * (unsigned)rng_between(&s->rng, 1, s->options.cpus);
        c.run_ms = rng_between(&s->rng, 1, 20000);
        c.limit_sec = rng_chance(&s->rng, 200) ? 10 : 600;
        vec_push(&s->clients, c);
        sim_push(s, rng_between(&s->rng, 0, ARRIVALS_MS),
                 (struct sim_event){.kind = SIM_CLIENT, .index = i});
    }
    s->result->submitted = s->options.jobs;
}

static int play(struct sim *s, struct err *err)
{
    while (s->queue.len && !s->broken.code) {
        struct sim_event e = pop(s);
        s->now_ms = e.at_ms;
        s->result->events++;
        int rc = happen(s, &e, err);
        sim_event_done(&e);
        if (rc != 0)
            return rc;
        if (s->now_ms > ARRIVALS_MS * 2)
            s->quiet = true;
        if (s->quiet && all_is_over(s))
            return 0;
        if (s->now_ms > STUCK_MS)
            sim_break(s, "still not over after two virtual days");
    }
    if (!s->broken.code && !all_is_over(s))
        sim_break(s, "nothing more would happen, but something is not over");
    return 0;
}

int sim_run(const struct sim_options *options, struct sim_result *result, struct err *err)
{
    struct sim s = {.options = *options, .result = result, .rng = {options->seed}};
    *result = (struct sim_result){0};
    int rc = sim_controller_start(&s, err);
    if (rc == 0) {
        populate(&s);
        sim_push(&s, FAULTS_EVERY_MS, (struct sim_event){.kind = SIM_FAULT});
        rc = play(&s, err);
    }
    if (rc == 0 && !s.broken.code)
        check_promises(&s);
    result->virtual_ms = s.now_ms;
    sim_world_done(&s);
    if (rc == 0 && s.broken.code)
        rc = err_set(err, s.broken.code, "%s", s.broken.text);
    return rc;
}
