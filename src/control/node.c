/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes come, report, fall silent and come back; what they say about jobs meets what the records
 * say. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cluster/usage.h"
#include "control/internal.h"

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order)
{
    Pb__NodeOrders orders = PB__NODE_ORDERS__INIT;
    order->has_epoch = true;
    order->epoch = c->epoch;
    orders.orders = &order;
    orders.n_orders = 1;
    c->env->send(c->env->ctx, n->name, &orders);
}

void node_heard(struct control *c, struct node *n)
{
    bool asleep = n->row->state == CONF_NODE_CLOUD && !n->registered; /* it is not started yet */
    if (c->conf->slurmd_timeout_sec > 0 && !n->future && !asleep)
        order_move(&c->cluster->silent, &n->silence,
                   control_mono(c) + c->conf->slurmd_timeout_sec * 1000, n->index);
}

struct ids {
    VEC(uint32_t) list;
};

/* Of the jobs that hold something of the node: a copy, because what is done to one may end others.
 */
static struct ids holders_of(const struct node *n)
{
    struct ids ids = {0};
    vec_foreach (&n->holders, id)
        vec_push(&ids.list, *id);
    return ids;
}

static void jobs_on(struct control *c, const struct node *n,
                    void (*act)(struct control *, struct job *, struct node *))
{
    struct ids ids = holders_of(n);
    vec_foreach (&ids.list, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        const struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
        if (a && !a->released)
            act(c, j, c->cluster->nodes.data[n->index]);
    }
    vec_done(&ids.list);
}

static bool has_ghost(const struct node *n, uint32_t job_id, uint32_t restarts)
{
    vec_foreach (&n->ghosts, g)
        if (g->job_id == job_id && g->restarts == restarts)
            return true;
    return false;
}

void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts)
{
    const struct job *j = cluster_find_job(c->cluster, job_id);
    Pb__Terminate t = PB__TERMINATE__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    t.job_id = job_id;
    t.restarts = restarts;
    t.uid = j ? j->uid : 0;
    t.gid = j ? j->gid : 0;
    t.has_grace_sec = true;
    t.grace_sec = 0;
    order.terminate = &t;
    node_send_orders(c, n, &order);
}

/* It is to end what it has of this attempt, and to begin nothing of it; until it has said that
 * nothing is left it takes no work. A node that is away is told when it registers. */
static void banish(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts)
{
    if (has_ghost(n, job_id, restarts))
        return;
    vec_push(&n->ghosts, ((struct node_ghost){job_id, restarts}));
    control_save_node(c, n);
    if (aside_holds(c, job_id))
        aside_keep(c, n, job_id);
    else if (n->connected)
        node_send_banish(c, n, job_id, restarts);
}

void node_give_back(struct control *c, struct node *n, struct job *j, const char *why)
{
    if (has_ghost(n, j->id, j->restarts))
        return;
    vec_push(&n->ghosts, ((struct node_ghost){j->id, j->restarts}));
    control_save_node(c, n);
    if (n->connected)
        finish_send_terminate_to(c, j, n, why, (uint32_t)c->conf->kill_wait_sec);
}

/* A node that was given up may have it still, or get it from a srun that has the credential. */
static void lose(struct control *c, struct job *j, struct node *n)
{
    banish(c, n, j->id, j->restarts);
    finish_node_failed(c, j, n->index);
}

static void set_down(struct control *c, struct node *n, const char *reason)
{
    n->down = true;
    node_set_reason(n, reason, c->conf->slurm_uid, control_wall(c));
    control_save_node(c, n);
    control_log(c, LOG_LVL_ERROR, "node %s is DOWN: %s", n->name, reason);
    c->plan_wanted = true;
}

void node_drain(struct control *c, struct node *n, const char *reason)
{
    if (n->drain)
        return;
    n->drain = true;
    node_set_reason(n, reason, c->conf->slurm_uid, control_wall(c));
    control_save_node(c, n);
    control_log(c, LOG_LVL_ERROR, "node %s is drained: %s", n->name, reason);
}

void node_fail_silent(struct control *c, struct node *n)
{
    order_remove(&c->cluster->silent, &n->silence);
    /* A launch under way would otherwise begin after its job was given up, and after the node had
     * said, in the same session, that it has nothing of it. */
    if (n->connected)
        c->env->close(c->env->ctx, n->name);
    n->connected = n->registered = false;
    pool_update(c->cluster, n);
    if (!n->down)
        set_down(c, n, "Not responding");
    node_lose_jobs(c, n);
}

void node_lose_jobs(struct control *c, struct node *n)
{
    jobs_on(c, n, lose);
}

void control_node_lost(struct control *c, const char *name)
{
    struct node *n = cluster_find_node(c->cluster, name);
    if (!n || !n->connected)
        return;
    n->connected = false;
    pool_update(c->cluster, n);
    c->cluster->stamp++;
}

/* --- registration
 * ------------------------------------------------------------------------------------ */

static void say_low(struct str *out, const char *what, uint64_t reported, uint64_t configured)
{
    if (reported < configured)
        str_printf(out, "%s%s (reported:%llu < configured:%llu)", out->len ? ", " : "", what,
                   (unsigned long long)reported, (unsigned long long)configured);
}

/* "gpu:a100:4,nic:1": of each kind that the node should have. */
static void say_low_gres(const struct control *c, const struct node *n, const char *reported,
                         struct str *out)
{
    struct gres_wants said = {0};
    if (!reported || gres_parse(c->cluster, reported, GRES_PER_NODE, &said, NULL) != 0) {
        gres_wants_done(&said);
        return;
    }
    vec_foreach (&n->gres, s) {
        const struct gres_kind *k = &c->cluster->gres_kinds.data[s->kind];
        uint64_t there = 0;
        vec_foreach (&said.list, w)
            there = str_eq(w->name, k->name) && str_eq(w->type, k->type) ? w->per_node : there;
        _cleanup_free_ char *what =
            mem_printf("Low gres/%s%s%s", k->name, k->type ? ":" : "", k->type ? k->type : "");
        say_low(out, what, there, s->count);
    }
    gres_wants_done(&said);
}

/* What the node has less of than configured; empty: nothing (CORE-115, CORE-118). */
static void shortfall(const struct control *c, const struct node *n, const Pb__NodeRegister *r,
                      struct str *out)
{
    if (c->conf->config_overrides)
        return;
    if (r->has_cpus)
        say_low(out, "Low CPUs", r->cpus, n->row->cpus);
    if (r->has_real_memory_mib)
        say_low(out, "Low RealMemory", r->real_memory_mib, n->row->real_memory_mib);
    if (r->has_tmp_disk_mib)
        say_low(out, "Low TmpDisk", r->tmp_disk_mib, n->row->tmp_disk_mib);
    say_low_gres(c, n, r->gres, out);
}

static void lose_other_incarnation(struct control *c, struct job *j, struct node *n)
{
    const struct alloc_node *a = alloc_find(j, n->index);
    if (!str_eq(a->incarnation, n->incarnation))
        lose(c, j, n);
}

static const Pb__Presence *find_present(const Pb__NodeRegister *r, const struct job *j)
{
    for (size_t i = 0; i < r->n_present; i++)
        if (r->present[i]->job_id == j->id && r->present[i]->restarts == j->restarts)
            return r->present[i];
    return NULL;
}

/* A job we think is there: its launch may have been lost, or the node may have lost it. */
static void reconcile(struct control *c, struct job *j, struct node *n, const Pb__NodeRegister *r)
{
    struct alloc_node *a = alloc_find(j, n->index);
    if (!a || a->released)
        return;
    const Pb__Presence *present = find_present(r, j);
    if (j->completing) {
        finish_send_terminate(c, j, a, NULL, (uint32_t)c->conf->kill_wait_sec);
        return;
    }
    if (j->configuring) /* nothing of it was sent there */
        return;
    bool script = j->batch && a == &j->alloc.data[0];
    if (script && j->launched && !present) {
        lose(c, j, n);
        return;
    }
    suspend_remind(c, j, a);
    step_ask_again(c, j, a, present);
    if (script && !j->launched)
        start_send_batch(c, j);
    else if (!script && !present)
        start_send_prepare(c, j, a);
}

static void reconcile_all(struct control *c, struct node *n, const Pb__NodeRegister *r)
{
    struct ids ids = holders_of(n);
    vec_foreach (&ids.list, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (j)
            reconcile(c, j, n, r);
    }
    vec_done(&ids.list);
}

/* What it has and should not have. */
static void banish_present(struct control *c, struct node *n, const Pb__Presence *p)
{
    struct job *j = cluster_find_job(c->cluster, p->job_id);
    const struct alloc_node *a = j && j->restarts == p->restarts ? alloc_find(j, n->index) : NULL;
    if ((a && !a->released) || (p->has_ended && p->ended))
        return;
    banish(c, n, p->job_id, p->restarts);
}

static void into_service(struct control *c, struct node *n)
{
    bool was_silent = n->reason && strncmp(n->reason, "Not responding", 14) == 0;
    bool was_low = n->reason && strncmp(n->reason, "Low ", 4) == 0;
    uint32_t rule = c->conf->return_to_service;
    if (!n->down || n->admin_down)
        return;
    if (rule == 2 || (rule == 1 && was_silent) || was_low) {
        n->down = false;
        node_set_reason(n, NULL, 0, 0);
        control_save_node(c, n);
        control_log(c, LOG_LVL_INFO, "node %s is back in service", n->name);
    }
}

void control_node_register(struct control *c, const char *name, const Pb__NodeRegister *r)
{
    struct node *n = cluster_find_node(c->cluster, name);
    if (!n)
        return;
    struct str low = STR_INIT;
    shortfall(c, n, r, &low);
    if (node_take_actual(c->cluster, n, r))
        control_save_node(c, n);
    n->connected = n->registered = true;
    pool_update(c->cluster, n);
    n->free_mem_mib = r->free_mem_mib;
    n->load_centi = r->cpu_load_centi;
    str_clear(&n->seen);
    Pb__NodeRegister seen = *r;
    seen.n_present = 0;
    pb_pack(&seen.base, &n->seen);
    free(n->incarnation);
    n->incarnation = mem_strdup(r->incarnation);
    node_heard(c, n);
    c->cluster->stamp++;
    c->env->welcome(c->env->ctx, n->name, c->epoch);
    vec_foreach (&n->ghosts, g)
        if (!aside_holds(c, g->job_id))
            node_send_banish(c, n, g->job_id, g->restarts);
    jobs_on(c, n, lose_other_incarnation);
    reconcile_all(c, n, r);
    for (size_t i = 0; i < r->n_present; i++)
        banish_present(c, n, r->present[i]);
    if (low.len && !n->down)
        set_down(c, n, str_cstr(&low));
    else if (!low.len)
        into_service(c, n);
    str_done(&low);
    if (r->conf_refused)
        control_log(c, LOG_LVL_ERROR, "node %s goes on with its former configuration: %s", n->name,
                    r->conf_refused);
    control_log(c, LOG_LVL_VERBOSE, "node %s registered, %zu jobs present", n->name, r->n_present);
    c->plan_wanted = true;
}

/* --- reports
 * ------------------------------------------------------------------------------------------ */

/* "What: text, job 42": the word that people look for first, cut short in listings. */
static void drain_for(struct control *c, struct node *n, const char *what, const char *text,
                      uint32_t job_id)
{
    struct str reason = STR_INIT;
    str_printf(&reason, "%s%s%s, job %u", what, text && *text ? ": " : "", text ? text : "",
               job_id);
    node_drain(c, n, str_cstr(&reason));
    str_done(&reason);
}

/* The job goes back to the queue, and is held there: what is wrong with this node's prolog may be
 * wrong with every node's. */
static void prolog_failed(struct control *c, struct node *n, struct job *j, const char *text)
{
    drain_for(c, n, "Prolog error", text, j->id);
    j->requeue_after = j->may_requeue;
    if (j->requeue_after && !c->conf->sched.nohold_on_prolog_fail)
        j->held = true;
    finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, "JobLaunchFailure", NULL);
}

/* The job has not run. It would go the same way elsewhere, or again, until somebody has looked. */
static void user_env_failed(struct control *c, struct job *j)
{
    j->requeue_after = j->may_requeue;
    j->held = j->held || j->requeue_after;
    finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, "JobLaunchFailure", NULL);
}

static struct job *find_attempt(struct control *c, uint32_t id, uint32_t restarts)
{
    struct job *j = cluster_find_job(c->cluster, id);
    return j && j->restarts == restarts ? j : NULL;
}

static bool refused_for_time(const Pb__Launched *e)
{
    return e->has_issued_at_ms && (e->code == ERR_CREDENTIAL_EXPIRED || e->code == ERR_SKEW);
}

/* It was old when it came, after a time without network: a younger one is on its way. */
static bool came_late(const struct control *c, const Pb__Launched *e)
{
    return e->code == ERR_CREDENTIAL_EXPIRED &&
           c->env->wall_ms(c->env->ctx) - e->issued_at_ms >= CONTROL_CRED_MS;
}

/* Every job would fail there. This one has not run, and can run elsewhere. */
static void node_at_fault(struct control *c, struct node *n, struct job *j, const char *what,
                          const char *text)
{
    drain_for(c, n, what, text, j->id);
    j->requeue_after = j->may_requeue;
    finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, "JobLaunchFailure", NULL);
}

static void on_launched(struct control *c, struct node *n, const Pb__Launched *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    if (!j || j->state == PB__JOB_STATE__PENDING || job_is_final(j) || !j->batch ||
        j->alloc.data[0].node != n->index)
        return;
    if (e->code == 0) {
        if (!j->launched)
            job_touch(c->cluster, j);
        j->launched = true;
        job_make_run(j)->repeat_mono_ms = 0;
        control_schedule(c, j);
        return;
    }
    control_log(c, LOG_LVL_ERROR, "job %u could not be started on %s: %s", j->id, n->name,
                e->text ? e->text : err_text(e->code));
    if (refused_for_time(e) && came_late(c, e))
        return;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(e->text);
    if (refused_for_time(e))
        node_at_fault(c, n, j, "Clock skew", e->text);
    else if (e->code == ERR_NODE_FAULT)
        node_at_fault(c, n, j, "Launch failure", e->text);
    else if (e->code == ERR_USER_ENV)
        user_env_failed(c, j);
    else if (e->has_drain && e->drain)
        prolog_failed(c, n, j, e->text);
    else
        finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, "JobLaunchFailure", NULL);
}

static void on_prolog_failed(struct control *c, struct node *n, const Pb__PrologFailed *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    const struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    if (!a || a->released || job_is_final(j)) {
        drain_for(c, n, "Prolog error", e->text, e->job_id);
        return;
    }
    free(j->reason_detail);
    j->reason_detail = mem_strdup(e->text);
    prolog_failed(c, n, j, e->text);
}

/* Nothing of it is left there. */
static void lay_ghost(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts)
{
    for (size_t i = n->ghosts.len; i-- > 0;)
        if (n->ghosts.data[i].job_id == job_id && n->ghosts.data[i].restarts == restarts) {
            vec_remove(&n->ghosts, i);
            control_save_node(c, n);
            c->plan_wanted = true;
            aside_lift(c, n, job_id);
            break;
        }
}

static void on_batch_ended(struct control *c, struct node *n, const Pb__BatchEnded *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    bool gone = e->has_gone && e->gone;
    if (!j)
        aside_ended(c, e->job_id, e->exit_status);
    if (gone)
        lay_ghost(c, n, e->job_id, e->restarts);
    if (!a || j->state == PB__JOB_STATE__PENDING)
        return;
    if (job_is_final(j)) {
        if (j->completing && e->exit_status) {
            j->exit_status = e->exit_status;
            job_touch(c->cluster, j);
        }
        if (gone)
            finish_node(c, j, a);
        return;
    }
    if (gone)
        alloc_release(c->cluster, j, a);
    int status = e->has_out_of_memory && e->out_of_memory ? STATUS_OUT_OF_MEMORY : e->exit_status;
    bool late = e->has_timed_out && e->timed_out;
    if (status && e->text && *e->text) {
        free(j->reason_detail);
        j->reason_detail = mem_strdup(e->text);
    }
    if (late)
        finish_job(c, j, PB__JOB_STATE__TIMEOUT, status, "TimeLimit", NULL);
    else
        finish_batch(c, j, status);
}

static void on_gone(struct control *c, struct node *n, const Pb__JobGone *e)
{
    lay_ghost(c, n, e->job_id, e->restarts);
    if (e->has_epilog_status && e->epilog_status)
        drain_for(c, n, "Epilog error", e->text, e->job_id);
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    if (a && j->completing)
        finish_node(c, j, a);
}

/* An event that comes again is not counted again, whatever this controller remembers of it. */
static void count_usage(struct control *c, struct node *n, const Pb__NodeEvent *e)
{
    const Pb__BatchEnded *b = e->batch_ended;
    const Pb__StepEnded *t = e->step_ended;
    const Pb__Usage *usage = b ? b->usage : t ? t->usage : NULL;
    struct job *j =
        usage ? find_attempt(c, b ? b->job_id : t->job_id, b ? b->restarts : t->restarts) : NULL;
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    struct step *s = a && t ? step_find(j, t->step_id) : NULL;
    if (!a || e->seq <= a->usage_seq)
        return;
    a->usage_seq = e->seq;
    if (!j->usage)
        j->usage = mem_new(struct str);
    usage_merge_packed(j->usage, usage, n->name, false);
    if (s)
        usage_merge_packed(&s->usage, usage, n->name, true);
    job_touch(c->cluster, j);
}

static void on_event(struct control *c, struct node *n, const Pb__NodeEvent *e)
{
    count_usage(c, n, e);
    if (e->launched)
        on_launched(c, n, e->launched);
    if (e->batch_ended)
        on_batch_ended(c, n, e->batch_ended);
    if (e->step_ended) {
        const Pb__StepEnded *s = e->step_ended;
        struct job *j = find_attempt(c, s->job_id, s->restarts);
        bool memory = s->has_out_of_memory && s->out_of_memory;
        if (j)
            step_ended_on(c, j, s->step_id, n->index,
                          memory ? STATUS_OUT_OF_MEMORY : s->exit_status);
    }
    if (e->job_gone)
        on_gone(c, n, e->job_gone);
    if (e->trouble)
        node_drain(c, n, e->trouble->reason);
    if (e->prolog_failed)
        on_prolog_failed(c, n, e->prolog_failed);
    if (e->halted)
        suspend_halted(c, n, e->halted);
}

/* It was silent for too long and given up, and its session lived: what it has and runs is not known
 * any more. */
static void ask_again(struct control *c, const struct node *n)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    order.report = &empty;
    node_send_orders(c, n, &order);
}

void control_node_report(struct control *c, const char *name, const Pb__NodeReport *r)
{
    struct node *n = cluster_find_node(c->cluster, name);
    uint64_t last = 0;
    if (!n)
        return;
    node_heard(c, n);
    if (!n->registered)
        ask_again(c, n);
    if (r->has_free_mem_mib)
        n->free_mem_mib = r->free_mem_mib;
    if (r->has_cpu_load_centi)
        n->load_centi = r->cpu_load_centi;
    for (size_t i = 0; i < r->n_events; i++) {
        on_event(c, n, r->events[i]);
        last = r->events[i]->seq > last ? r->events[i]->seq : last;
    }
    if (last)
        c->env->ack(c->env->ctx, name, last);
}

void control_shutdown_nodes(struct control *c)
{
    vec_foreach (&c->cluster->nodes, n) {
        Pb__Empty empty = PB__EMPTY__INIT;
        Pb__NodeOrder order = PB__NODE_ORDER__INIT;
        order.shutdown = &empty;
        node_send_orders(c, *n, &order);
    }
}
