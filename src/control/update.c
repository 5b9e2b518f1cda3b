/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update: what may be changed of a job, a node, a partition, by whom, and when. */
#include <string.h>

#include "base/hostlist.h"
#include "control/internal.h"

static int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

/* --- jobs
 * --------------------------------------------------------------------------------------------- */

#define COPY(field)                                                                                \
    if (set->has_##field) {                                                                        \
        spec->has_##field = true;                                                                  \
        spec->field = set->field;                                                                  \
    }
#define COPY_TEXT(field)                                                                           \
    if (set->field)                                                                                \
        spec->field = set->field;

static void copy_texts(Pb__JobSpec *spec, const Pb__JobSpec *set)
{
    COPY_TEXT(name)
    COPY_TEXT(comment)
    COPY_TEXT(account)
    COPY_TEXT(qos)
    COPY_TEXT(extra)
    COPY_TEXT(wckey)
    COPY_TEXT(std_out)
    COPY_TEXT(std_err)
    COPY_TEXT(std_in)
    COPY_TEXT(partition)
    COPY_TEXT(features)
    COPY_TEXT(req_nodes)
    COPY_TEXT(exc_nodes)
    COPY_TEXT(mail_type)
    COPY_TEXT(mail_user)
}

static void copy_numbers(Pb__JobSpec *spec, const Pb__JobSpec *set)
{
    COPY(min_nodes)
    COPY(max_nodes)
    COPY(num_tasks)
    COPY(cpus_per_task)
    COPY(ntasks_per_node)
    COPY(min_cpus_per_node)
    COPY(mem_per_node_mib)
    COPY(mem_per_cpu_mib)
    COPY(tmp_per_node_mib)
    COPY(contiguous)
    COPY(exclusive)
    COPY(oversubscribe)
    COPY(time_limit_sec)
    COPY(time_min_sec)
    COPY(begin_at_sec)
    COPY(nice)
    COPY(requeue)
    COPY(no_kill)
}

/* Of a job that is not pending any more only a few things can change. */
static int check_running(const struct caller *who, const struct job *j, const Pb__JobSpec *set,
                         struct err *err)
{
    if (j->state == PB__JOB_STATE__PENDING)
        return 0;
    if (job_is_final(j))
        return no(err, ERR_JOB_DONE, NULL);
    if (set->has_min_nodes || set->has_max_nodes || set->has_num_tasks || set->has_cpus_per_task ||
        set->has_mem_per_node_mib || set->has_mem_per_cpu_mib || set->partition || set->features ||
        set->req_nodes || set->exc_nodes || set->has_begin_at_sec || set->has_min_cpus_per_node ||
        set->has_ntasks_per_node || set->has_tmp_per_node_mib || set->has_contiguous ||
        set->has_exclusive || set->has_oversubscribe)
        return no(err, ERR_CANNOT_UPDATE, "the job is running");
    int64_t limit = set->time_limit_sec > 0 ? set->time_limit_sec : INT64_MAX; /* 0: unlimited */
    if (set->has_time_limit_sec && limit > j->limit_sec && !who->is_operator)
        return no(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

static int set_fields(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobSpec *set, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    struct part *before = j->part, *after = before;
    int rc = check_running(who, j, set, err);
    if (rc != 0)
        return rc;
    if (set->has_nice && set->nice < 0 && !who->is_operator)
        return no(err, ERR_ACCESS, "a negative nice value");
    if (set->partition && (rc = submit_find_part(c, who, set, &after, err)) != 0)
        return rc;
    const Pb__JobSpec old = *spec;
    copy_texts(spec, set);
    copy_numbers(spec, set);
    if (j->queued.in)
        order_remove(&before->queue, &j->queued);
    j->part = after;
    rc = job_read_spec(c->cluster, j, spec, err);
    if (rc == 0 && j->state == PB__JOB_STATE__PENDING)
        rc = submit_check_possible(c, j, err);
    if (rc != 0) {
        j->part = before;
        job_read_spec(c->cluster, j, &old, NULL);
        return rc;
    }
    struct str packed = STR_INIT;
    pb_pack(&spec->base, &packed);
    str_done(&j->spec);
    j->spec = packed;
    return 0;
}

static void set_limit(struct control *c, struct job *j, int64_t limit_sec)
{
    j->limit_sec = limit_sec > 0 ? limit_sec : INT64_MAX;
    if (j->state != PB__JOB_STATE__RUNNING)
        return;
    int64_t limit = j->limit_sec > CLUSTER_NO_LIMIT_SEC ? CLUSTER_NO_LIMIT_SEC : j->limit_sec;
    int64_t left = j->start_at + limit - control_wall(c);
    j->end_mono_ms =
        j->limit_sec == INT64_MAX ? INT64_MAX : control_mono(c) + (left > 0 ? left * 1000 : 0);
    order_move(&c->cluster->ends, &j->ends, j->start_at + limit, j->id);
}

static int hold(const struct caller *who, struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    bool wanted = r->has_hold        ? r->hold
                  : r->has_user_hold ? r->user_hold
                                     : r->has_priority && r->priority == 0;
    if (j->state != PB__JOB_STATE__PENDING)
        return no(err, job_is_final(j) ? ERR_JOB_DONE : ERR_TRANSITION,
                  "only a pending job can be held or released");
    if (!wanted && j->admin_hold && !who->is_operator)
        return no(err, ERR_ACCESS, "the hold of an administrator");
    bool admin = who->is_operator && who->uid != j->uid && !(r->has_user_hold && r->user_hold);
    j->held = wanted && !admin;
    j->admin_hold = wanted && admin;
    return 0;
}

static int requeue(struct control *c, struct job *j, struct err *err)
{
    if (!j->batch)
        return no(err, ERR_TRANSITION, "only batch jobs can be requeued");
    if (j->state == PB__JOB_STATE__PENDING)
        return no(err, ERR_JOB_PENDING, NULL);
    if (!job_is_final(j)) {
        j->requeue_after = true;
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, NULL, "REQUEUE");
    } else if (j->completing) {
        j->requeue_after = true;
        job_touch(c->cluster, j);
    } else {
        finish_requeue(c, j);
    }
    return 0;
}

static int set_priority(const struct caller *who, struct job *j, uint32_t priority, struct err *err)
{
    if (priority == 0)
        return 0;
    if (!who->is_operator && priority > j->priority)
        return no(err, ERR_ACCESS, "raising a priority");
    if (job_is_final(j))
        return no(err, ERR_JOB_DONE, NULL);
    j->priority = priority;
    return 0;
}

static int update_job(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobUpdate *r, struct err *err)
{
    int rc = 0;
    if (r->has_requeue && r->requeue)
        return requeue(c, j, err);
    if (r->set)
        rc = set_fields(c, who, j, r->set, err);
    if (rc == 0 && r->set && r->set->has_time_limit_sec)
        set_limit(c, j, r->set->time_limit_sec);
    if (rc == 0 && r->set && r->set->has_nice)
        j->priority = submit_priority(j);
    if (rc == 0 && (r->has_hold || r->has_user_hold || (r->has_priority && r->priority == 0)))
        rc = hold(who, j, r, err);
    if (rc == 0 && r->has_priority)
        rc = set_priority(who, j, r->priority, err);
    if (rc == 0)
        job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        submit_enqueue(c, j);
    control_schedule(c, j);
    c->plan_wanted = true;
    return rc;
}

void control_job_update(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobUpdate *r)
{
    struct err err = {0};
    struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j)
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    else if (!control_owns(who, j))
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    else if (update_job(c, who, j, r, &err) != 0)
        control_refuse(c, call, &err);
    else
        control_done(c, call);
}

/* --- nodes
 * -------------------------------------------------------------------------------------------- */

static void fail_jobs(struct control *c, const struct node *n)
{
    VEC(uint32_t) ids = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l))
        vec_push(&ids, order_item(l, struct job, ends)->id);
    vec_foreach (&ids, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (j)
            finish_node_failed(c, j, n->index);
    }
    vec_done(&ids);
}

static void resume(struct node *n)
{
    n->drain = n->fail = n->down = n->admin_down = n->future = false;
    node_set_reason(n, NULL, 0, 0);
}

/* Before any node is changed all of them are checked, so that a refusal changes nothing. */
static int check_state(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    static const char *const known[] = {"RESUME", "UNDRAIN", "IDLE",  "DRAIN",
                                        "DOWN",   "FAIL",    "FUTURE"};
    bool found = false;
    for (size_t i = 0; r->state && i < sizeof known / sizeof known[0]; i++)
        found = found || str_case_eq(r->state, known[i]);
    if (r->state && !found)
        return err_set(err, -ERR_PARSE, "Invalid node state specified: %s", r->state);
    bool needs_reason =
        r->state && (str_case_eq(r->state, "DRAIN") || str_case_eq(r->state, "DOWN"));
    if (needs_reason && !(r->reason && *r->reason) && !n->reason)
        return err_set(err, -ERR_PARSE, "You must specify a reason when %s a node: Reason=...",
                       str_case_eq(r->state, "DRAIN") ? "DRAINING" : "DOWNING");
    return 0;
}

static void set_state(struct control *c, struct node *n, const char *state)
{
    if (str_case_eq(state, "RESUME") || str_case_eq(state, "IDLE")) {
        resume(n);
    } else if (str_case_eq(state, "UNDRAIN")) {
        n->drain = false;
        if (!n->down)
            node_set_reason(n, NULL, 0, 0);
    } else if (str_case_eq(state, "DRAIN")) {
        n->drain = true;
    } else if (str_case_eq(state, "FAIL")) {
        n->fail = true;
    } else if (str_case_eq(state, "FUTURE")) {
        n->future = true;
    } else {
        n->down = n->admin_down = true;
        fail_jobs(c, n);
    }
}

static void set_text(char **to, const char *text)
{
    if (!text)
        return;
    free(*to);
    *to = *text ? mem_strdup(text) : NULL;
}

static void update_node(struct control *c, const struct caller *who, struct node *n,
                        const Pb__NodeUpdate *r)
{
    if (r->reason)
        node_set_reason(n, *r->reason ? r->reason : NULL, who->uid, control_wall(c));
    if (r->state)
        set_state(c, n, r->state);
    if (r->has_weight) {
        n->weight = r->weight;
        n->weight_set = true;
    }
    if (r->features) {
        set_text(&n->features, r->features);
        n->features_set = true;
    }
    set_text(&n->comment, r->comment);
    set_text(&n->extra, r->extra);
    control_save_node(c, n);
    control_log(c, LOG_LVL_INFO, "node %s changed by uid %u%s%s", n->name, who->uid,
                r->state ? ": " : "", r->state ? r->state : "");
}

void control_node_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__NodeUpdate *r)
{
    struct err err = {0};
    struct bitset *set = NULL;
    int rc = 0;
    if (r->n_refused_field)
        rc = no(&err, ERR_CANNOT_UPDATE, r->refused_field[0]);
    if (rc == 0 && str_case_eq(r->nodes, "ALL")) {
        set = bitset_new(c->cluster->nodes.len);
        bitset_fill(set);
    } else if (rc == 0) {
        rc = cluster_node_set(c->cluster, r->nodes, &set, &err);
    }
    for (long i = set ? bitset_next(set, 0) : -1; i >= 0 && rc == 0;
         i = bitset_next(set, (size_t)i + 1))
        rc = check_state(c->cluster->nodes.data[i], r, &err);
    if (rc != 0) {
        bitset_free(set);
        control_refuse(c, call, &err);
        return;
    }
    bitset_foreach (set, i)
        update_node(c, who, c->cluster->nodes.data[i], r);
    bitset_free(set);
    c->plan_wanted = true;
    control_done(c, call);
}

/* --- partitions
 * --------------------------------------------------------------------------------------- */

static int set_part_state(struct part *p, const char *word, struct err *err)
{
    static const char *const words[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
    for (int i = 0; i < 4; i++)
        if (str_case_eq(word, words[i])) {
            p->conf.state = (enum conf_part_state)i;
            return 0;
        }
    return err_set(err, -ERR_PARSE, "Invalid partition state specified: %s", word);
}

static int set_part_nodes(struct control *c, struct part *p, const char *expr, struct err *err)
{
    struct bitset *set = NULL;
    int rc = 0;
    if (str_case_eq(expr, "ALL")) {
        set = bitset_new(c->cluster->nodes.len);
        bitset_fill(set);
    } else {
        rc = cluster_node_set(c->cluster, expr, &set, err);
    }
    if (rc != 0)
        return rc;
    bitset_free(p->nodes);
    p->nodes = set;
    free(p->live_nodes);
    p->live_nodes = mem_strdup(expr);
    p->conf.nodes = p->live_nodes;
    return 0;
}

#define TAKE(field)                                                                                \
    if (r->has_##field)                                                                            \
        p->conf.field = r->field;

static int set_part(struct control *c, struct part *p, const Pb__PartRecord *r, struct err *err)
{
    int rc = 0;
    if (r->state)
        rc = set_part_state(p, r->state, err);
    if (rc == 0 && r->nodes)
        rc = set_part_nodes(c, p, r->nodes, err);
    if (rc != 0)
        return rc;
    TAKE(max_time_sec)
    TAKE(default_time_sec)
    TAKE(max_nodes)
    TAKE(min_nodes)
    TAKE(priority_tier)
    TAKE(priority_job_factor)
    TAKE(hidden)
    TAKE(root_only)
    TAKE(key)
    if (r->has_is_default && r->is_default)
        vec_foreach (&c->cluster->parts, other)
            (*other)->conf.is_default = false;
    TAKE(is_default)
    if (r->allow_groups) {
        free(p->live_groups);
        p->live_groups = mem_strdup(r->allow_groups);
        p->conf.allow_groups = p->live_groups;
    }
    p->changed = true;
    return 0;
}

/* Fields of the record that can not be changed live, by name; NULL: none was given. */
static const char *part_refused(const Pb__PartUpdate *r)
{
    const Pb__PartRecord *s = r->set;
    if (r->n_refused_field)
        return r->refused_field[0];
    return s->share                ? "OverSubscribe"
           : s->allow_accounts     ? "AllowAccounts"
           : s->allow_qos          ? "AllowQos"
           : s->deny_accounts      ? "DenyAccounts"
           : s->deny_qos           ? "DenyQos"
           : s->alloc_nodes        ? "AllocNodes"
           : s->alternate          ? "Alternate"
           : s->qos                ? "QoS"
           : s->preempt_mode       ? "PreemptMode"
           : s->has_lln            ? "LLN"
           : s->has_grace_time_sec ? "GraceTime"
                                   : NULL;
}

static void save_part(struct control *c, const struct part *p)
{
    struct str packed = STR_INIT;
    part_pack(c->cluster, p, &packed);
    c->env->put(c->env->ctx, RECORD_PART, 0, p->conf.name, packed.data, packed.len);
    str_done(&packed);
    c->cluster->stamp++;
}

int update_restore_part(struct control *c, const Pb__PartRecord *r)
{
    struct part *p = cluster_find_part(c->cluster, r->name);
    struct err err = {0};
    return p ? set_part(c, p, r, &err) : 0;
}

void control_part_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__PartUpdate *r)
{
    struct err err = {0};
    struct part *p = cluster_find_part(c->cluster, r->set->name);
    const char *refused = part_refused(r);
    int rc = 0;
    if (!p)
        rc = no(&err, ERR_NO_PARTITION, r->set->name);
    else if (refused)
        rc = no(&err, ERR_CANNOT_UPDATE, refused);
    else
        rc = set_part(c, p, r->set, &err);
    if (rc != 0) {
        control_refuse(c, call, &err);
        return;
    }
    save_part(c, p);
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (j->part == p && j->state == PB__JOB_STATE__PENDING)
            submit_enqueue(c, j);
    }
    control_log(c, LOG_LVL_INFO, "partition %s changed by uid %u", p->conf.name, who->uid);
    c->plan_wanted = true;
    control_done(c, call);
}
