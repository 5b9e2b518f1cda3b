/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A new configuration under running jobs: the cluster is rebuilt from the new file, the state of
 * nodes is carried over by name, and the jobs are restored from their own records, as after a
 * restart.
 */
#include <string.h>

#include "control/admin/license_update.h"
#include "control/admin/node_dynamic.h"
#include "control/admin/node_topology.h"
#include "control/admin/reconfig.h"
#include "control/admin/update_node.h"
#include "control/admin/update_part.h"
#include "control/core/reply.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/gate.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/start.h"
#include "control/life/transition.h"
#include "control/node/node.h"
#include "control/submit/submit.h"

void reconfig_keep_gone(struct cluster *c, const void *data, size_t len)
{
    struct str packed = STR_INIT;
    str_append(&packed, data, len);
    vec_push(&c->gone_nodes, packed);
}

/* Moves a stored record to the node of its name; without such a node it is kept for the node's
 * return. */
static void carry_record(struct cluster *next, const struct str *packed)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *r =
        arena_unpack(&arena, &pb__node_record__descriptor, packed->data, packed->len);
    struct node *to = r ? cluster_find_node(next, r->name) : NULL;
    if (to)
        node_restore(next, to, r);
    else if (r)
        reconfig_keep_gone(next, packed->data, packed->len);
}

/* Everything that survives a restart also survives a reconfiguration, also for nodes that are
 * removed and return. */
static void carry_node_records(struct cluster *next, const struct cluster *old)
{
    struct str stored = STR_INIT;
    vec_foreach (&old->gone_nodes, packed)
        carry_record(next, packed);
    vec_foreach (&old->nodes, n) {
        str_clear(&stored);
        node_pack_stored(*n, &stored);
        carry_record(next, &stored);
    }
    str_done(&stored);
}

/* Carries the state of a node that is only in memory. */
static void carry_node(struct cluster *next, struct node *to, struct node *from)
{
    to->connected = from->connected;
    to->registered = from->registered;
    to->incarnation = take_ptr(from->incarnation);
    to->reboot = from->reboot;
    from->reboot.incarnation = NULL;
    to->free_mem_mib = from->free_mem_mib;
    to->load_centi = from->load_centi;
    to->last_busy_at = from->last_busy_at;
    to->announced = from->announced;
    to->seen = from->seen;
    from->seen = STR_INIT;
    pool_update(next, to);
}

static void carry_attempt(struct attempt *to, struct attempt *from)
{
    memcpy(&to->waiting_steps, &from->waiting_steps, sizeof to->waiting_steps);
    memset(&from->waiting_steps, 0, sizeof from->waiting_steps);
    to->board = take_ptr(from->board);
    to->limit_mono_ms = from->limit_mono_ms;
    to->grace_mono_ms = from->grace_mono_ms;
    to->warn_mono_ms = from->warn_mono_ms;
    to->mail_mono_ms = from->mail_mono_ms;
    to->repeat_mono_ms = from->repeat_mono_ms;
    to->unlaunched_mono_ms = from->unlaunched_mono_ms;
    to->purge_mono_ms = from->purge_mono_ms;
    to->left_mono_ms = from->left_mono_ms;
}

/* Its record has the steps in the same order. */
static void carry_steps(struct job *to, const struct job *from)
{
    for (size_t i = 0; i < attempt_of(from)->steps.len && i < attempt_of(to)->steps.len; i++) {
        attempt_of(to)->steps.data[i].asked = attempt_of(from)->steps.data[i].asked;
        attempt_of(to)->steps.data[i].made_mono_ms = attempt_of(from)->steps.data[i].made_mono_ms;
        attempt_of(to)->steps.data[i].limit_run_ms = attempt_of(from)->steps.data[i].limit_run_ms;
        attempt_of(to)->steps.data[i].limit_by_srun = attempt_of(from)->steps.data[i].limit_by_srun;
        attempt_of(to)->steps.data[i].timed_out = attempt_of(from)->steps.data[i].timed_out;
    }
}

/* Carries the state of a job that is only in memory to its new record: waiting calls and clocks. */
static void carry_job(const struct cluster *old, const struct cluster *next, struct job *to,
                      struct job *from)
{
    memcpy(&to->end_calls, &from->end_calls, sizeof to->end_calls);
    memset(&from->end_calls, 0, sizeof from->end_calls);
    to->alloc_call = from->alloc_call;
    to->trial = from->trial;
    burst_free(to->burst);
    to->burst = take_ptr(from->burst);
    attempt_make(to)->script = attempt_of(from)->script;
    to->alloc_step = take_ptr(from->alloc_step);
    if (from->attempt)
        carry_attempt(attempt_make(to), from->attempt);
    carry_steps(to, from);
    to->gone_mono_ms = from->gone_mono_ms;
    vec_foreach (&attempt_of(from)->alloc, a) {
        struct node *n = cluster_find_node(next, old->nodes.data[a->node]->name);
        struct alloc_node *b = n ? alloc_find(to, n->index) : NULL;
        if (b)
            b->touched = a->touched, b->ready = a->ready, b->halt_told = a->halt_told;
    }
}

/* Restores the job from its record in the other cluster. */
static void take_in(struct control *c, struct cluster *old, struct cluster *next, struct job *from)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str packed = STR_INIT;
    struct err err = {0};
    job_pack_live(old, from);
    job_pack_record(from, &packed);
    const Pb__JobRecord *r =
        arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    struct job *to = cluster_add_job(next, from->id);
    if (job_restore(next, to, r, &err) != 0)
        control_log(c, LOG_LVL_ERROR, "job %u: %s", from->id, err.text);
    to->request_key = from->request_key;
    if (to->request_key)
        idmap_set(&next->requests, to->request_key, to->id);
    if (attempt_of(from)->ends.in)
        order_insert(&next->ends, &attempt_make(to)->ends, from->attempt->ends.key, to->id);
    str_done(&packed);
}

/* Builds the new cluster with the jobs in it: c->cluster and c->conf are new. for_node: the same
 * configuration with other nodes; no reconfiguration was requested. */
static void build_cluster(struct control *c, struct cluster *old, struct conf *conf, bool for_node,
                          struct str *report)
{
    struct cluster *next = cluster_new(conf);
    next->zone = old->zone;
    start_drop_plan(c);
    plan_notes_clear(&c->plan_notes);
    next->stamp = old->stamp + 1;
    carry_node_records(next, old);
    node_topology_settle(c, next, conf);
    c->cluster = next;
    transition_observe(c);
    c->conf = conf;
    node_topology_carry(c, old->conf, for_node, report);
    c->ports_freed = true; /* other ports may be configured */
    update_carry_parts(c, old, for_node, report);
    license_update_carry(c, old, report);
    array_carry(next, old);
    resv_carry(c, old);
    resv_report_losses(c, old, report);
    for (size_t i = 0; i < old->jobs.len; i++)
        take_in(c, old, next, old->jobs.data[i]);
    priority_forget(c);
    reconfig_report(c, old, report);
}

/* Sends the last orders to a removed node. */
static void end_on_removed(struct control *c, const struct cluster *old, struct job *j)
{
    const struct job *before = cluster_find_job(old, j->id);
    vec_foreach (&attempt_of(before)->alloc, a) {
        const struct node *n = old->nodes.data[a->node];
        if (!a->released && !cluster_find_node(c->cluster, n->name))
            finish_send_terminate_to(c, j, n, "NODE FAILURE", (uint32_t)c->conf->kill_wait_sec);
    }
}

/* A running job whose node was removed has lost the node. */
static void settle_running(struct control *c, const struct cluster *old, struct job *j)
{
    bool host;
    if (!reconfig_lost_node(old, c->cluster, j->id, &host))
        return;
    end_on_removed(c, old, j);
    finish_without(c, j, host);
}

static void reconcile_job_nodes(struct control *c, const struct cluster *old, struct job *j)
{
    resv_resume_job(c, j);
    if (j->state == PB__JOB_STATE__PENDING) {
        depend_resume(c, j);
        enqueue_job(c, j);
    } else if (attempt_of(j)->completing && job_nodes_left(j) == 0)
        finish_clean(c, j);
    else if (!job_is_final(j))
        settle_running(c, old, j);
    control_schedule(c, j);
}

/* Daemons reread their copies of the file, for the prolog, epilog and other options. */
static void send_reconfigure_orders(struct control *c)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    order.reconfigure = &empty;
    vec_foreach (&c->cluster->nodes, n)
        if ((*n)->connected)
            node_send_orders(c, *n, &order);
    node_topology_tell(c, true);
}

static void carry_over(struct control *c, struct cluster *old)
{
    vec_foreach (&c->cluster->nodes, n) {
        struct node *from = cluster_find_node(old, (*n)->name);
        if (from)
            carry_node(c->cluster, *n, from);
    }
    trigger_carry(c, old);
    vec_foreach (&old->jobs, from) {
        struct job *to = cluster_find_job(c->cluster, (*from)->id);
        carry_job(old, c->cluster, to, *from);
        if ((*from)->dirty || (*from)->waits.late)
            job_touch(c->cluster, to);
    }
    vec_foreach (&c->cluster->nodes, n)
        node_heard(c, *n);
    for (size_t i = 0; i < c->cluster->jobs.len; i++)
        reconcile_job_nodes(c, old, c->cluster->jobs.data[i]);
    burst_start_desk(c);
    c->plan_wanted = true;
    c->wake_at_ms = INT64_MAX;
}

void reconfig_swap(struct control *c, struct conf *conf)
{
    struct str unused = STR_INIT;
    struct cluster *old = c->cluster;
    struct conf *old_conf = c->conf;
    build_cluster(c, old, conf, true, &unused);
    carry_over(c, old);
    vec_foreach (&old->nodes, from) { /* unresponsiveness continues */
        struct node *n = cluster_find_node(c->cluster, (*from)->name);
        if (n && (*from)->silence.in)
            order_move(&c->cluster->unresponsive, &n->silence, (*from)->silence.key, n->index);
    }
    update_node_resume_look(c);
    cluster_free(old);
    conf_free(old_conf);
    str_done(&unused);
}

static void reply_changes(struct control *c, uint64_t call, const struct str *changes)
{
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;
    reply.changes = (char *)str_cstr(changes);
    if (call)
        c->env->reply(c->env->ctx, call, &reply.base);
}

void control_reconfigure(struct control *c, uint64_t call, struct conf *conf, const char *note)
{
    struct str changes = STR_INIT;
    struct cluster *old = c->cluster;
    struct conf *old_conf = c->conf;
    conf_diff(old_conf, conf, &changes);
    str_puts(&changes, note);
    build_cluster(c, old, conf, false, &changes);
    node_dynamic_settle(c, &changes);
    carry_over(c, old);
    trigger_reconfigured(c);
    send_reconfigure_orders(c);
    cluster_free(old);
    conf_free(old_conf);
    reply_changes(c, call, &changes);
    str_done(&changes);
}

void control_reconfigure_preview(struct control *c, uint64_t call, struct conf *conf,
                                 const char *note)
{
    struct str changes = STR_INIT;
    struct cluster *old = c->cluster;
    struct conf *old_conf = c->conf;
    conf_diff(old_conf, conf, &changes);
    str_puts(&changes, note);
    c->preview = true;
    build_cluster(c, old, conf, false, &changes);
    node_dynamic_settle(c, &changes);
    cluster_free(c->cluster);
    c->preview = false;
    c->cluster = old;
    c->conf = old_conf;
    priority_forget(c);
    conf_free(conf);
    reply_changes(c, call, &changes);
    str_done(&changes);
}

/* --- report --------------------------------------------------------------------------------------
 * The effects of a new configuration on existing jobs, reported before and when it is applied. */

#define LINES_MAX 100

static bool is_lost(const struct cluster *old, const struct cluster *next,
                    const struct alloc_node *a)
{
    return !a->released && !cluster_find_node(next, old->nodes.data[a->node]->name);
}

/* Returns a lost node of the job, preferably its host. */
static const struct alloc_node *lost_node(const struct cluster *old, const struct cluster *next,
                                          const struct job *j)
{
    if (attempt_of(j)->alloc.len && is_lost(old, next, job_host(j)))
        return job_host(j);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (is_lost(old, next, a))
            return a;
    return NULL;
}

bool reconfig_lost_node(const struct cluster *old, const struct cluster *next, uint32_t job_id,
                        bool *host)
{
    const struct job *j = cluster_find_job(old, job_id);
    const struct alloc_node *a = j ? lost_node(old, next, j) : NULL;
    *host = a && a == job_host(j);
    return a != NULL;
}

static bool describe_running_jobs(const struct control *c, const struct cluster *old,
                                  const struct job *j, struct str *out)
{
    const struct alloc_node *a = lost_node(old, c->cluster, j);
    if (!a)
        return false;
    const char *then = j->no_kill && a != job_host(j) ? "goes on without it"
                       : j->may_requeue               ? "is queued again"
                                                      : "ends";
    str_printf(out, "JobId=%s: runs on node %s, which is removed: it %s\n", JOB_ID_TEXT(j),
               old->nodes.data[a->node]->name, then);
    return true;
}

static bool describe_pending_job(struct control *c, struct job *j, struct str *out)
{
    struct err err = {0};
    if (!j->part) {
        str_printf(out, "JobId=%s: its partition %s is removed: it waits for another\n",
                   JOB_ID_TEXT(j), j->part_name ? j->part_name : "");
        return true;
    }
    int rc = submit_check_possible(c, j, &err);
    if (rc == -ERR_LICENSE && license_has_possible_alternative(c->cluster, j))
        rc = submit_check_partitions(c, j, &err);
    bool never = rc != 0;
    enum reason beyond = never ? REASON_NONE : gate_beyond_limits(c, j);
    if (never)
        str_printf(out, "JobId=%s: can no longer run: %s\n", JOB_ID_TEXT(j), err.text);
    else if (beyond)
        str_printf(out, "JobId=%s: waits beyond the limits of its partition (%s)\n", JOB_ID_TEXT(j),
                   reason_word(beyond));
    return never || beyond;
}

/* The same state before the reconfiguration is not reported. */
static bool waited_before(struct control *c, struct cluster *old, uint32_t id)
{
    struct job *j = cluster_find_job(old, id);
    struct cluster *next = c->cluster;
    struct err err = {0};
    if (!j->part)
        return true;
    c->cluster = old;
    bool before = gate_refuse(c, j, GATE_REFUSES | GATE_ENFORCED, &err) != GATE_WAITS;
    c->cluster = next;
    return before;
}

static bool is_hidden(const struct cluster *old, const struct node *n)
{
    const struct node *before = cluster_find_node(old, n->name);
    return n->features_set && before && before->row && n->row &&
           !str_eq(before->row->features, n->row->features);
}

/* Reports features of nodes that slurm.conf changes but that features set by scontrol hide. */
static void report_features(const struct cluster *next, const struct cluster *old, struct str *out)
{
    size_t lines = 0;
    vec_foreach (&next->nodes, at) {
        const struct node *n = *at;
        if (!is_hidden(old, n) || lines++ >= LINES_MAX)
            continue;
        str_printf(out,
                   "NodeName=%s: Feature=%s of slurm.conf has no effect: scontrol set "
                   "AvailableFeatures=%s\n",
                   n->name, n->row->features ? n->row->features : "",
                   n->features ? n->features : "");
    }
    if (lines > LINES_MAX)
        str_printf(out, "and the features of %zu more nodes\n", lines - LINES_MAX);
}

static void report_jobs(struct control *c, struct cluster *old, struct str *out)
{
    size_t lines = 0, more = 0;
    struct str line = STR_INIT;
    vec_foreach (&old->jobs, at) {
        struct job *next = cluster_find_job(c->cluster, (*at)->id);
        bool said = false;
        str_clear(&line);
        if ((*at)->state == PB__JOB_STATE__RUNNING || (*at)->state == PB__JOB_STATE__SUSPENDED)
            said = describe_running_jobs(c, old, *at, &line);
        else if ((*at)->state == PB__JOB_STATE__PENDING)
            said = describe_pending_job(c, next, &line) && !waited_before(c, old, (*at)->id);
        if (said && lines++ < LINES_MAX)
            str_append(out, line.data, line.len);
        else
            more += said;
    }
    if (more)
        str_printf(out, "and %zu more jobs\n", more);
    str_done(&line);
}

void reconfig_report(struct control *c, struct cluster *old, struct str *out)
{
    report_features(c->cluster, old, out);
    report_jobs(c, old, out);
}
