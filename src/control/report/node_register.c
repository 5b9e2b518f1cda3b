/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes register, become unresponsive and return; their reports are reconciled with the records of
 * jobs. */
#include <string.h>

#include "base/step_id.h"
#include "control/core/aside.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/aside_job.h"
#include "control/life/finish.h"
#include "control/life/ready.h"
#include "control/life/start.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/report/node_register.h"
#include "control/report/reboot.h"
#include "control/step/step.h"

struct ids {
    VEC(uint32_t) list;
};

/* Returns a copy of the jobs that hold resources of the node, because an action on one job may end
 * others. */
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

/* Orders the node to end everything of this attempt, and to start nothing of it; until the node
 * reports that nothing is left it gets no work. A disconnected node gets the order when it
 * registers. */
static void banish_attempt(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts)
{
    if (node_has_orphan(n, job_id, restarts))
        return;
    vec_push(&n->orphans, ((struct node_orphan){job_id, restarts}));
    control_save_node(c, n);
    if (aside_holds(c, job_id))
        aside_keep(c, n, job_id);
    else if (n->connected)
        node_send_banish(c, n, job_id, restarts);
}

void node_clear_orphan(struct control *c, struct node *n, uint32_t job_id, uint32_t restarts)
{
    for (size_t i = n->orphans.len; i-- > 0;)
        if (n->orphans.data[i].job_id == job_id && n->orphans.data[i].restarts == restarts) {
            vec_remove(&n->orphans, i);
            control_save_node(c, n);
            c->plan_wanted = true;
            aside_lift(c, n, job_id);
            break;
        }
}

/* A node that was given up may still have the job, or get it from a srun with the credential. */
static void lose_job(struct control *c, struct job *j, struct node *n)
{
    banish_attempt(c, n, j->id, j->restarts);
    finish_node_failed(c, j, n->index);
}

void node_fail_silent(struct control *c, struct node *n)
{
    order_remove(&c->cluster->unresponsive, &n->silence);
    /* Otherwise a launch in progress would begin after its job was given up, and after the node had
     * reported, in the same session, that it has nothing of the job. */
    if (n->connected)
        c->env->close(c->env->ctx, n->name);
    n->connected = n->registered = false;
    pool_update(c->cluster, n);
    _cleanup_free_ char *reboot =
        n->reboot.phase == NODE_REBOOT_ISSUED ? reboot_time_out(c, n) : NULL;
    if (!n->down || reboot)
        node_set_down(c, n, reboot ? reboot : "Not responding");
    node_lose_jobs(c, n);
}

void node_lose_jobs(struct control *c, struct node *n)
{
    jobs_on(c, n, lose_job);
}

/* --- registration -------------------------------------------------------------------------------
 */

static void append_low_resource(struct str *out, const char *what, uint64_t reported,
                                uint64_t configured)
{
    if (reported < configured)
        str_printf(out, "%s%s (reported:%llu < configured:%llu)", out->len ? ", " : "", what,
                   (unsigned long long)reported, (unsigned long long)configured);
}

/* Writes "gpu:a100:4,nic:1" for each kind that the node should have. */
static void append_low_gres(const struct control *c, const struct node *n, const char *reported,
                            struct str *out)
{
    const struct conf_gres_set *set = conf_gres_of(c->conf, n->index);
    struct gres_wants said = {0};
    if (!reported || gres_parse(c->cluster, reported, GRES_PER_NODE, &said, NULL) != 0) {
        gres_wants_done(&said);
        return;
    }
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *k = &set->items[i];
        uint64_t there = 0;
        vec_foreach (&said.list, w)
            there = str_eq(w->name, k->name) && str_eq(w->type, k->type) ? w->per_node : there;
        _cleanup_free_ char *what =
            mem_printf("Low gres/%s%s%s", k->name, k->type ? ":" : "", k->type ? k->type : "");
        append_low_resource(out, what, there, k->count);
    }
    gres_wants_done(&said);
}

/* Lists the resources of which the node has less than configured; empty: none (CORE-115,
 * CORE-118). */
static void list_shortfall(const struct control *c, const struct node *n, const Pb__NodeRegister *r,
                           struct str *out)
{
    if (c->conf->config_overrides)
        return;
    if (r->has_cpus)
        append_low_resource(out, "Low CPUs", r->cpus, n->row->cpus);
    if (r->has_real_memory_mib)
        append_low_resource(
            out, "Low RealMemory", r->real_memory_mib,
            (uint64_t)((double)n->row->real_memory_mib * c->conf->node_reg_mem_percent / 100));
    if (r->has_tmp_disk_mib)
        append_low_resource(out, "Low TmpDisk", r->tmp_disk_mib, n->row->tmp_disk_mib);
    append_low_gres(c, n, r->gres, out);
}

static void lose_other_incarnation(struct control *c, struct job *j, struct node *n)
{
    const struct alloc_node *a = alloc_find(j, n->index);
    if (str_eq(a->incarnation, n->incarnation))
        return;
    if (boot_awaits(j, n))
        boot_take_incarnation(c, j, n);
    else
        lose_job(c, j, n);
}

/* For a job whose nodes reboot first. A node with too few resources after its reboot fails the
 * job. */
static void continue_after_reboot(struct control *c, struct job *j, struct node *n)
{
    if (!attempt_of(j)->rebooting || boot_awaits(j, n))
        return;
    if (n->down)
        lose_job(c, j, n);
    else
        boot_look(c, j);
}

static const Pb__Presence *find_present(const Pb__NodeRegister *r, const struct job *j)
{
    for (size_t i = 0; i < r->n_present; i++)
        if (r->present[i]->job_id == j->id && r->present[i]->restarts == j->restarts)
            return r->present[i];
    return NULL;
}

/* Reconciles a job that should be on the node: its launch may have been lost, or the node may have
 * lost the job. */
static void reconcile_job(struct control *c, struct job *j, struct node *n,
                          const Pb__NodeRegister *r)
{
    struct alloc_node *a = alloc_find(j, n->index);
    if (!a || a->released)
        return;
    const Pb__Presence *present = find_present(r, j);
    if (attempt_of(j)->completing) {
        finish_send_terminate(c, j, a, NULL, (uint32_t)c->conf->kill_wait_sec);
        return;
    }
    if (attempt_of(j)->readying && !a->ready)
        start_send_prepare(c, j, a);
    if (attempt_of(j)->configuring) /* nothing else of it was sent to the node */
        return;
    bool script = j->batch && a == job_host(j);
    if (script && attempt_of(j)->launched && !present) {
        lose_job(c, j, n);
        return;
    }
    suspend_remind(c, j, a);
    step_ask_again(c, j, a, present);
    if (script && !attempt_of(j)->launched)
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
            reconcile_job(c, j, n, r);
    }
    vec_done(&ids.list);
}

/* Ends what the node has and should not have. */
static void banish_present(struct control *c, struct node *n, const Pb__Presence *p)
{
    if (p->job_id >= JOB_ID_UNALLOCATED) /* its srun and its nodes end it */
        return;
    struct job *j = cluster_find_job(c->cluster, p->job_id);
    const struct alloc_node *a = j && j->restarts == p->restarts ? alloc_find(j, n->index) : NULL;
    if ((a && !a->released) || (p->has_ended && p->ended))
        return;
    banish_attempt(c, n, p->job_id, p->restarts);
}

/* A node that was removed from the configuration while no controller ran does not know that its
 * jobs lost it: it is ordered to end them. Jobs whose records could not be read continue. */
static void dismiss_node(struct control *c, const char *name, const Pb__NodeRegister *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->n_present; i++) {
        const Pb__Presence *p = r->present[i];
        if (p->job_id >= JOB_ID_UNALLOCATED || (p->has_ended && p->ended) ||
            aside_holds(c, p->job_id))
            continue;
        if (count++ == 0) /* the node accepts orders only after this */
            c->env->welcome(c->env->ctx, name, c->epoch);
        node_send_banish_to(c, name, p->job_id, p->restarts);
    }
    if (count)
        control_log(c, LOG_LVL_INFO,
                    "node %s is not in the configuration: it is told to end %zu jobs", name, count);
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

/* Keeps the node's properties except its jobs. */
static void keep_seen(struct node *n, const Pb__NodeRegister *r)
{
    Pb__NodeRegister seen = *r;
    n->free_mem_mib = r->free_mem_mib;
    n->load_centi = r->cpu_load_centi;
    n->takes_attempt = r->has_takes_attempt && r->takes_attempt;
    str_clear(&n->seen);
    seen.n_present = 0;
    seen.extra = NULL;
    pb_pack(&seen.base, &n->seen);
    free(n->incarnation);
    n->incarnation = mem_strdup(r->incarnation);
}

static void keep_extra(struct control *c, struct node *n, const char *extra)
{
    if (!extra || str_eq(extra, n->extra))
        return;
    free(n->extra);
    n->extra = mem_strdup(extra);
    control_save_node(c, n);
}

void control_node_register(struct control *c, const char *name, const Pb__NodeRegister *r)
{
    struct node *n = cluster_find_node(c->cluster, name);
    if (!n) {
        dismiss_node(c, name, r);
        return;
    }
    struct str low = STR_INIT;
    list_shortfall(c, n, r, &low);
    if (node_take_actual(c->cluster, n, r))
        control_save_node(c, n);
    keep_extra(c, n, r->extra);
    n->connected = n->registered = true;
    pool_update(c->cluster, n);
    keep_seen(n, r);
    node_heard(c, n);
    c->cluster->stamp++;
    c->env->welcome(c->env->ctx, n->name, c->epoch);
    vec_foreach (&n->orphans, g)
        if (!aside_holds(c, g->job_id))
            node_send_banish(c, n, g->job_id, g->restarts);
    jobs_on(c, n, lose_other_incarnation);
    reconcile_all(c, n, r);
    for (size_t i = 0; i < r->n_present; i++)
        banish_present(c, n, r->present[i]);
    /* Before its resources are checked: nextstate=RESUME does not excuse a shortfall. */
    reboot_registered(c, n);
    if (low.len && !n->down)
        node_set_down(c, n, str_cstr(&low));
    else if (!low.len)
        into_service(c, n);
    str_done(&low);
    jobs_on(c, n, continue_after_reboot);
    if (r->conf_refused)
        control_log(c, LOG_LVL_ERROR, "node %s goes on with its former configuration: %s", n->name,
                    r->conf_refused);
    control_log(c, LOG_LVL_VERBOSE, "node %s registered, %zu jobs present", n->name, r->n_present);
    c->plan_wanted = true;
}
