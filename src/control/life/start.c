/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From pending to running: the plan's decisions are checked again, allocated, and sent to the nodes
 * or the waiting command. */
#include <string.h>

#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/job/job_set_text.h"
#include "cluster/job/license_tied.h"
#include "cluster/job/step_cpus.h"
#include "conf/conf_sets.h"
#include "control/core/counters.h"
#include "control/core/facts.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/mail.h"
#include "control/life/preempt.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/life/start.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/step/step.h"
#include "sched/common.h"
#include "sched/plan/joint.h"
#include "sched/plan/two_mode.h"

static void batch_node(const struct control *c, const struct job *j, Pb__StepNode *node,
                       uint32_t *task, struct arena *arena)
{
    const struct alloc_node *a = job_host(j);
    const struct node *n = c->cluster->nodes.data[a->node];
    facts_put_node(n, node);
    node->task_ids = task;
    node->n_task_ids = 1;
    node->cpus = a->cpus;
    SET(node, cpu_set, facts_pack_cpus(c, a, arena));
    SET(node, mem_mib, alloc_memory_mib(a));
    node->n_gres = a->gres.len;
    node->gres = gres_held_pack(c->cluster, a->gres.data, a->gres.len, arena);
    if (a->incarnation)
        SET(node, incarnation, str_hash(a->incarnation));
}

void start_send_batch(struct control *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepNode node;
    Pb__StepNode *nodes[] = {&node};
    Pb__StepRecord batch = PB__STEP_RECORD__INIT;
    uint32_t task = 0;
    struct str cred = STR_INIT, names = STR_INIT;
    uint8_t sig[64];
    batch_node(c, j, &node, &task, &arena);
    batch.step_id = STEP_ID_BATCH;
    batch.layout = nodes;
    batch.n_layout = 1;
    facts_make_cred(c, j, &batch, &cred, sig);
    job_format_nodes(c->cluster, j, &names);

    Pb__LaunchBatch launch = PB__LAUNCH_BATCH__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    launch.job_id = j->id;
    launch.restarts = j->restarts;
    launch.cred = (ProtobufCBinaryData){cred.len, (uint8_t *)cred.data};
    launch.signature = (ProtobufCBinaryData){sizeof sig, sig};
    launch.spec = job_unpack_spec(j, &arena);
    if (!launch.spec->has_oom_kill_step && conf_list_has(c->conf->task_plugin_param, "OOMKillStep"))
        SET(launch.spec, oom_kill_step, true);
    if (j->array)
        SET(&launch, payload_job_id, j->array->id);
    launch.nodes = (char *)str_cstr(&names);
    launch.burst_env = j->burst ? j->burst->env : NULL;
    launch.partition = j->part ? (char *)j->part->conf.name : NULL;
    SET(&launch, num_tasks, j->want.tasks);
    if (j->want.pack)
        SET(&launch, packs, true);
    SET(&launch, time_limit_sec, j->limit_sec);
    if (c->conf->prolog_contain)
        SET(&launch, contain, true);
    launch.components = facts_make_components(c, j, 0, &launch.n_components, &arena);
    for (size_t i = 0; i < launch.n_components; i++)
        launch.components[i]->n_addrs = 0; /* its environment does not name them */
    order.launch = &launch;
    node_send_orders(c, c->cluster->nodes.data[job_host(j)->node], &order);
    str_done(&cred);
    str_done(&names);
}

/* Whether nodes are told about the job before anything of it is launched there. */
static bool is_prepared(const struct control *c)
{
    return c->conf->prolog_contain || (c->conf->prolog_at_alloc && c->conf->prolog);
}

void start_send_prepare(struct control *c, struct job *j, const struct alloc_node *a)
{
    if ((!is_prepared(c) && !attempt_of(j)->readying) || job_is_final(j))
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__Prepare m = PB__PREPARE__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.uid = j->uid;
    m.gid = j->gid;
    if (c->conf->prolog_contain)
        SET(&m, contain, true);
    if (attempt_of(j)->readying)
        SET(&m, report, true);
    order.prepare = &m;
    order.attempt = facts_make_attempt(c, j, a, &arena);
    node_send_orders(c, c->cluster->nodes.data[a->node], &order);
}

/* The node of the script is prepared by the launch itself. */
static void prepare_nodes(struct control *c, struct job *j)
{
    if (!is_prepared(c))
        return;
    vec_foreach (&attempt_of(j)->alloc, a) {
        a->touched = true;
        if (!j->batch || a != job_host(j))
            start_send_prepare(c, j, a);
    }
}

static void debug_selection(struct control *c, const struct job *j)
{
    if (!c->debug)
        return;
    vec_foreach (&attempt_of(j)->alloc, a) {
        const char *node = c->cluster->nodes.data[a->node]->name;
        control_debug(c, select_type, "job %u: node %s, %u CPUs, %llu MiB", j->id, node, a->cpus,
                      (unsigned long long)alloc_memory_mib(a));
        vec_foreach (&a->gres, g)
            control_debug(c, gres, "job %u: node %s, %llu of GRES kind %u", j->id, node,
                          (unsigned long long)g->count, g->kind);
    }
}

static int take_nodes(struct control *c, struct job *j, const struct selection *where)
{
    struct err err = {0};
    vec_foreach (&where->shares, s) {
        const struct alloc_want want = share_want(where, s);
        if (alloc_place(c->cluster, j, &want, &err) == 0) {
            c->cluster->nodes.data[s->node]->last_busy_at = control_wall(c);
            continue;
        }
        control_log(c, LOG_LVL_ERROR, "job %u: the plan does not hold: %s", j->id, err.text);
        alloc_clear(c->cluster, j);
        return -ERR_NODES_BUSY;
    }
    job_choose_host(c->cluster, j);
    debug_selection(c, j);
    return 0;
}

static void start_clocks(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    deadline_limit(c, j);
    attempt->start_at = j->sched_at = control_wall(c);
    control_start_clock(c, j, 0);
    attempt->end_at = attempt->end_mono_ms = j->expected_at = 0;
    j->gone_mono_ms = 0;
    j->reason = REASON_NONE;
    control_set_end(c, j);
    order_move(&c->cluster->ends, &attempt->ends, job_ends_at(j, attempt->start_at), j->id);
}

/* The job has its nodes, and its step is created later: its srun requests the step again, or is
 * gone. */
static void defer_step(struct control *c, struct job *j)
{
    attempt_make(j)->interactive_step = true;
    j->gone_mono_ms = control_mono(c);
    job_touch(c->cluster, j);
    control_schedule(c, j);
}

static bool waits_for_ports(const Pb__StepSpec *spec, int rc)
{
    return rc == -ERR_NODES_BUSY && step_ports_wanted(spec) &&
           !(spec->has_immediate && spec->immediate);
}

bool start_step(struct control *c, struct job *j)
{
    if (!j->alloc_step || attempt_of(j)->interactive_step || attempt_of(j)->next_step)
        return true;
    /* Other jobs have its CPUs. */
    if (j->state == PB__JOB_STATE__SUSPENDED || job_is_held_back(j)) {
        defer_step(c, j);
        return true;
    }
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct err err = {0};
    const Pb__StepSpec *spec =
        arena_unpack(&arena, &pb__step_spec__descriptor, j->alloc_step->data, j->alloc_step->len);
    struct step *s;
    int rc = spec ? step_make(c, j, spec, &s, &err) : -ERR_PARSE;
    if (rc == 0)
        attempt_make(j)->interactive_step = true;
    else if (spec && waits_for_ports(spec, rc))
        defer_step(c, j);
    if (attempt_of(j)->interactive_step)
        return true;
    if (j->alloc_call)
        control_refuse(c, j->alloc_call, &err);
    j->alloc_call = 0;
    finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, REASON_JOB_LAUNCH_FAILURE, NULL);
    return false;
}

static void answer_alloc(struct control *c, struct job *j)
{
    uint64_t call = j->alloc_call;
    j->alloc_call = 0;
    if (call)
        start_reply_alloc(c, j, call, true);
}

void start_ready(struct control *c, struct job *j)
{
    mail_event(c, j, JOB_MAIL_BEGIN);
    suspend_admit(c, j);
    prepare_nodes(c, j);
    if (j->batch) {
        attempt_make(j)->launched = false;
        job_host(j)->touched = true;
        attempt_make(j)->repeat_mono_ms = control_mono(c) + c->conf->batch_start_timeout_sec * 1000;
        start_send_batch(c, j);
    } else if (!start_step(c, j)) {
        return;
    }
    inactive_look(c, j);
    answer_alloc(c, j);
}

/* Starts a job whose run time begins after PrologSlurmctld and the reboot of its nodes; its command
 * is told that it waits. */
static void start_configuring(struct control *c, struct job *j)
{
    bool asked = j->alloc_call != 0;
    j->reason = attempt_of(j)->rebooting ? REASON_NONE : REASON_PROLOG;
    answer_alloc(c, j);
    j->gone_mono_ms = asked ? control_mono(c) : 0; /* until it calls again */
}

/* The script, or the command that waits for the job, begins when all components are configured. */
static bool waits_for_components(const struct job *j)
{
    for (uint32_t i = 1; job_set_is_leader(j) && i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && !job_is_final(component) && attempt_of(component)->configuring)
            return true;
    }
    return false;
}

void start_component_changed(struct control *c, struct job *j)
{
    struct job *leader = job_set_component(j, 0);
    if (!leader || leader == j || job_is_final(leader))
        return;
    const struct attempt *attempt = attempt_of(leader);
    if (attempt->configuring && !attempt->script && !attempt->readying &&
        !boot_is_pending(c, leader) && !burst_is_starting(leader->burst) &&
        !waits_for_components(leader))
        start_all_ready(c, leader);
}

void start_booted(struct control *c, struct job *j)
{
    if (ready_begin(c, j))
        control_schedule(c, j);
    else
        start_all_ready(c, j);
}

void start_configured(struct control *c, struct job *j)
{
    if (!boot_begin(c, j)) {
        start_booted(c, j);
        return;
    }
    j->reason = REASON_NONE;
    control_schedule(c, j);
}

void start_all_ready(struct control *c, struct job *j)
{
    if (waits_for_components(j))
        return;
    attempt_make(j)->configuring = attempt_make(j)->rebooting = false;
    if (j->deadline_at && control_wall(c) >= j->deadline_at) { /* the script took too long */
        finish_job(c, j, PB__JOB_STATE__DEADLINE, 0, REASON_DEADLINE, NULL);
        return;
    }
    start_clocks(c, j);
    job_touch(c->cluster, j);
    start_ready(c, j);
    step_retry_waiting(c, j);
    control_schedule(c, j);
    start_component_changed(c, j);
}

void start_count_time(struct control *c, const struct transition *t)
{
    start_clocks(c, t->job);
    t->job->rank.accrue_at = t->job->rank.accrued_sec = 0;
}

void start_launch(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    bool waits = burst_start(c, j) || hook_start(c, j) || boot_begin(c, j) || ready_begin(c, j);
    if (!waits && waits_for_components(j)) {
        attempt_make(j)->configuring = waits = true;
        job_touch(c->cluster, j);
    }
    if (waits)
        start_configuring(c, j);
    else
        start_ready(c, j);
    control_schedule(c, j);
}

void start_plan_again(struct control *c, const struct transition *t)
{
    c->plan_wanted = true; /* licences are free now, nodes when they are clean */
}

/* --- the parts of a decision: the job's own, and those of the other components of its set --------
 */

static size_t count_parts(const struct decision *d)
{
    return 1 + d->more.list.len;
}

static struct placement get_decided_part(const struct decision *d, size_t n)
{
    if (n > 0)
        return d->more.list.data[n - 1];
    return (struct placement){d->job->id, d->part, d->in, d->where, d->license};
}

/* Checks shared resources for all parts together. */
static bool has_common_resources(struct control *c, const struct job *j, const struct decision *d)
{
    struct resv *in = d->in ? resv_find(c->cluster, d->in->name) : NULL;
    struct job_copy room, sum;
    const struct job *one = license_view_alternative(j, d->license, &room);
    if (!common_fits(c->cluster, one, in, &d->where, control_wall(c)))
        return false;
    if (!j->set)
        return true;
    struct joint_choice choice = {0};
    joint_choice_read(&choice, d->license, &d->more);
    joint_licenses_init(&sum, c->cluster, j, &choice);
    bool fits = common_fits(c->cluster, &sum.job, in, NULL, control_wall(c));
    joint_licenses_done(&sum);
    return fits;
}

/* Allocates the nodes of the part to its job, which has not begun. */
static bool claim_part(struct control *c, struct job *j, const struct placement *part)
{
    job_partitions_select_part(j, part->part);
    return take_nodes(c, j, &part->where) == 0;
}

/* The parts are allocated in the order in which the planner placed them. Returns the number of the
 * part at this place; 0 is the part of the job itself. */
static size_t number_at(const struct decision *d, size_t place)
{
    return d->more.order.len ? d->more.order.data[place] : place;
}

static struct job *job_of_part(struct control *c, const struct decision *d, size_t number,
                               struct job *own)
{
    return number ? cluster_find_job(c->cluster, get_decided_part(d, number).id) : own;
}

/* Releases the nodes of the parts at the first places: either all parts begin or none. */
static void roll_back(struct control *c, const struct decision *d, size_t places, struct job *own)
{
    while (places-- > 0) {
        struct job *j = job_of_part(c, d, number_at(d, places), own);
        alloc_clear(c->cluster, j);
        attempt_drop(c->cluster, j);
        job_partitions_select_first(j);
    }
}

/* 'own': the job of the first part. */
static bool claim_parts(struct control *c, const struct decision *d, struct job *own)
{
    for (size_t i = 0; i < count_parts(d); i++) {
        size_t number = number_at(d, i);
        const struct placement part = get_decided_part(d, number);
        struct job *j = job_of_part(c, d, number, own);
        if (claim_part(c, j, &part))
            continue;
        job_partitions_select_first(j);
        roll_back(c, d, i, own);
        return false;
    }
    return true;
}

static void log_start(struct control *c, const struct job *j, const struct decision *d)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    job_format_nodes(c->cluster, j, &nodes);
    if (d->backfilled)
        control_sched(c, "backfill: Started JobId=%s in %s on %s", JOB_ID_TEXT(j),
                      j->part->conf.name, str_cstr(&nodes));
    else
        control_sched(c, "sched: Allocate JobId=%s NodeList=%s #CPUs=%u Partition=%s",
                      JOB_ID_TEXT(j), str_cstr(&nodes), job_alloc_cpus(j), j->part->conf.name);
}

static void begin_part(struct control *c, struct job *j, const struct placement *part,
                       const struct decision *d)
{
    job_partitions_end(j);
    resv_unbind(j);
    resv_begin_job(c, j, part->in ? resv_find(c->cluster, part->in->name) : NULL);
    license_choose_alternative(j, part->license);
    vec_foreach (&part->where.payers, payer)
        license_set_payer(j, *payer);
    vec_foreach (&j->want.licenses.list, need)
        control_debug(c, license, "job %u takes %llu licenses", j->id,
                      (unsigned long long)need->count);
    if (d->limit_sec) {
        control_log(c, LOG_LVL_INFO,
                    "job %u: its limit is %lld s (--time-min), so that it starts now", j->id,
                    (long long)d->limit_sec);
        j->limit_sec = d->limit_sec;
    }
    attempt_make(j)->backfilled = d->backfilled;
    if (control_get_sched_log(c))
        log_start(c, j, d);
    job_set_state(c->cluster, j, PB__JOB_STATE__RUNNING,
                  d->backfilled ? CAUSE_BACKFILL : CAUSE_SCHEDULER,
                  d->backfilled ? "backfilled" : NULL);
}

/* Returns false if the job does not start. */
static bool start_job(struct control *c, struct job *group, const struct decision *d)
{
    const struct placement own = get_decided_part(d, 0);
    bool has_common = has_common_resources(c, group, d);
    depend_update(c, group);
    if (depend_reason(c, group)) { /* another job of its name has started in this pass */
        enqueue_job(c, group);
        return false;
    }
    if (!has_common)
        return false;
    struct job *j = split_first(c, group);
    if (!j || !claim_parts(c, d, j)) {
        c->plan.again = 0;
        if (j && j != group)
            array_merge(c->cluster, group, j);
        job_partitions_select_first(group);
        return false;
    }
    /* The leader starts last: if it ends at once, the other components already run and end with
     * it. */
    for (size_t i = 1; i < count_parts(d); i++) {
        const struct placement part = get_decided_part(d, i);
        begin_part(c, cluster_find_job(c->cluster, part.id), &part, d);
    }
    begin_part(c, j, &own, d);
    if (group != j && group->waits.partly && !group->waits.on->ready.count)
        enqueue_job(c, group); /* the other elements wait, each for its own dependency */
    return true;
}

int start_placed(struct control *c, const struct decision *d, struct err *err)
{
    if (!start_job(c, cluster_find_job(c->cluster, d->job->id), d))
        return err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    c->plan_wanted = true;
    return 0;
}

/* --- planning: a pass over many jobs takes several turns, so that other calls are answered -------
 */

static void end_pass(struct control *c)
{
    if (!c->planning)
        return;
    c->cluster->pool.freed += c->plan.gave_up;
    c->plan_wanted = c->plan_wanted || c->plan.gave_up;
    plan_end(&c->plan);
    c->planning = false;
}

bool start_backfills(const struct control *c)
{
    return !str_case_eq(c->conf->scheduler_type, "sched/builtin") &&
           c->conf->sched.bf_interval != -1;
}

void start_drop_plan(struct control *c)
{
    c->plan_wanted = c->plan_wanted || c->planning;
    end_pass(c);
    plan_starts_done(&c->planned);
    c->on_plan_dropped(c);
}

/* Resources that became free since the pass began belong to the first job in the queue, not to the
 * next one: the pass then restarts. It restarts only once; otherwise the last jobs would never be
 * examined while jobs end all the time. */
static void begin_or_resume(struct control *c)
{
    if (c->planning && c->cluster->pool.freed != c->plan_freed && !c->plan_again) {
        counters_pass(c, false);
        end_pass(c);
        c->plan_again = true;
    }
    if (c->planning) {
        plan_resume(&c->plan, control_wall(c));
    } else {
        resv_refill(c);
        c->plan_wanted = false;
        c->planning = true;
        c->plan_freed = c->cluster->pool.freed;
        c->passes++;
        plan_begin(&c->plan, c->cluster, &c->plan_notes, control_wall(c), start_backfills(c));
        if (conf_sets_have_two_modes(c->conf) && start_backfills(c))
            two_mode_begin(&c->plan);
    }
    c->plan.work = 0;
}

/* Each pass examines all waiting jobs: only changes of a job's state are logged. */
static void log_wait(struct control *c, const struct job *j, const struct decision *d)
{
    if (j->reason == d->reason && j->expected_at == d->start_at)
        return;
    _cleanup_str_ struct str at = STR_INIT;
    if (d->start_at)
        str_printf(&at, ", planned start in %lld s", (long long)(d->start_at - c->plan.now_sec));
    control_sched(c, "sched: JobId=%s waits: %s%s%s%s", JOB_ID_TEXT(j),
                  d->reason ? reason_word(d->reason) : "None", d->detail ? ": " : "",
                  d->detail ? d->detail : "", str_cstr(&at));
}

/* Writes the reasons of the job, and of those components of its set that no gate keeps out of the
 * queue. */
static void set_waiting_reasons(struct control *c, struct job *j, const struct decision *d)
{
    if (d->of_component)
        set_show_reason(c, j, d->reason, d->detail);
    for (uint32_t i = 0; !d->of_component && i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (!component || (component != j && !job_partitions_is_queued(component)))
            continue;
        set_show_reason(c, component, set_reason_for(component, d->reason), d->detail);
    }
}

static void debug_set(struct control *c, const struct job *j, const struct decision *d)
{
    if (!j->set)
        return;
    if (d->kind == PLAN_START)
        control_debug(c, job_sets, JOB_SET_TEXT_STARTS, j->id, job_set_count(j));
    else
        control_debug(c, job_sets, JOB_SET_TEXT_DELAYED, job_set_id(j), j->set_offset,
                      reason_word(d->reason),
                      d->start_at ? (long long)(d->start_at - c->plan.now_sec) : -1LL);
}

static void follow_decision(struct control *c, struct decision *d)
{
    struct job *j = cluster_find_job(c->cluster, d->job->id);
    if (d->kind == PLAN_RESUME) {
        preempt_resume(c, j);
        return;
    }
    j->switches_since = d->switches_since;
    j->switches_waived = d->switches_waived;
    j->preempt_look_at = d->preempt_look_at;
    debug_set(c, j, d);
    if (d->kind == PLAN_WAIT && control_get_sched_log(c))
        log_wait(c, j, d);
    if (d->kind == PLAN_START)
        start_job(c, j, d);
    else
        set_waiting_reasons(c, j, d);
    for (size_t i = 0; i < d->n_victims; i++) {
        struct job *victim = cluster_find_job(c->cluster, d->victims[i]);
        preempt_displace(c, victim, j);
    }
    if (d->kind == PLAN_WAIT && (j->switches_since || j->preempt_look_at))
        control_schedule(c, j);
    if (d->kind == PLAN_WAIT)
        control_debug(c, backfill, "job %u waits: %s%s%s, planned start in %lld s", j->id,
                      d->reason ? reason_word(d->reason) : "None", d->detail ? ": " : "",
                      d->detail ? d->detail : "",
                      d->start_at ? (long long)(d->start_at - c->plan.now_sec) : -1LL);
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (!component || (d->of_component && component != j))
            continue;
        int64_t expected_at = d->kind == PLAN_WAIT ? d->start_at : 0;
        if (component->expected_at != expected_at)
            component->shown_sched_at = 0; /* also if it was shown in this second */
        component->sched_at = c->plan.now_sec;
        component->expected_at = expected_at;
    }
    plan_decision_done(d);
    free(d->detail);
}

static bool next_decision(struct control *c, struct decision *d)
{
    int64_t begun_usec = counters_clock(c);
    uint64_t work = c->plan.work;
    size_t part = c->plan.part;
    bool blocked = c->plan.blocked;
    if (!plan_next(&c->plan, d))
        return false;
    counters_look(c, begun_usec, blocked && part == c->plan.part, c->plan.work > work);
    return true;
}

/* CompleteWait: returns the wall seconds until which a completing job counts; 0: none. */
static int64_t completing_until(const struct control *c)
{
    int64_t now = control_wall(c), wait = c->conf->complete_wait_sec, until = 0;
    struct order_link *l = wait ? order_first(&c->cluster->ends) : NULL;

    for (; l && l->key <= now; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if (attempt_of(j)->completing && attempt_of(j)->end_at + wait > now &&
            attempt_of(j)->end_at + wait > until)
            until = attempt_of(j)->end_at + wait;
    }
    return until;
}

/* With two modes another pass follows while job sets wait: a start that one mode does not permit
 * may be found by the other. */
static void schedule_next_mode(struct control *c)
{
    const struct plan *p = &c->plan;
    int64_t after_sec = c->conf->sched.bf_interval > 0 ? c->conf->sched.bf_interval : 1;
    bool waits = false;
    if (!p->mode || !p->sets.len)
        return;
    vec_foreach (&p->sets, set)
        waits = waits || !set->started;
    c->next_mode_ms = waits ? control_mono(c) + after_sec * 1000 : 0;
    control_debug(c, job_sets, JOB_SET_TEXT_PASS, p->sets.len, p->mode);
}

static void begin_next_mode(struct control *c)
{
    if (!c->next_mode_ms || c->next_mode_ms > control_mono(c))
        return;
    c->next_mode_ms = 0;
    c->plan_wanted = true;
}

int64_t start_due_ms(const struct control *c)
{
    int64_t until = c->plan_wanted && !c->planning ? completing_until(c) : 0;

    if (c->planning || c->plan_wanted)
        return control_mono(c) + (until ? (until - control_wall(c)) * 1000 : 0);
    return c->next_mode_ms ? c->next_mode_ms : INT64_MAX;
}

void start_plan(struct control *c)
{
    struct decision d;
    if (c->announced) { /* no job starts */
        end_pass(c);
        plan_starts_done(&c->planned);
        c->plan_wanted = false;
        c->next_mode_ms = 0;
        return;
    }
    begin_next_mode(c);
    if (!c->planning && !c->plan_wanted)
        return;
    if (completing_until(c)) {
        if (c->planning)
            start_drop_plan(c);
        return;
    }
    begin_or_resume(c);
    while (c->plan.work < c->plan_work) {
        if (!next_decision(c, &d)) {
            counters_pass(c, true);
            schedule_next_mode(c);
            plan_starts_take(&c->planned, &c->plan);
            end_pass(c);
            c->plan_again = false;
            c->passes_done = c->passes;
            return;
        }
        follow_decision(c, &d);
    }
}

/* Removes the job with the other components of its set; none was stored. */
static void remove_trial(struct control *c, struct job *leader)
{
    for (uint32_t i = job_set_count(leader); i-- > 1;)
        cluster_remove_job(c->cluster, job_set_component(leader, i));
    cluster_remove_job(c->cluster, leader);
}

/* Answers a request that was planned and did not start: rejected with --immediate, otherwise told
 * that it waits. */
static void answer_fresh(struct control *c, struct job *j)
{
    uint64_t call = j->alloc_call;
    j->alloc_call = 0;
    if (j->trial) {
        if (call)
            control_refuse_code(c, call, ERR_NODES_BUSY, NULL);
        remove_trial(c, j);
    } else if (call) {
        /* Its command is told at once that the job waits; until it calls again it counts as
         * disconnected. */
        j->gone_mono_ms = control_mono(c);
        control_schedule(c, j);
        start_reply_alloc(c, j, call, false);
    }
}

void start_answer_fresh(struct control *c)
{
    bool idle = !c->planning && !c->plan_wanted;
    size_t left = 0;
    vec_foreach (&c->fresh, fresh) {
        struct job *j = cluster_find_job(c->cluster, fresh->job_id);
        bool waits = j && j->state == PB__JOB_STATE__PENDING;
        bool planned = idle || c->passes_done > fresh->pass;
        if (waits && !planned) {
            struct fresh kept = *fresh;
            fresh->said = NULL;
            c->fresh.data[left++] = kept;
            continue;
        }
        if (waits)
            answer_fresh(c, j);
        free(fresh->said);
    }
    c->fresh.len = left;
}

/* Returns the messages of its submission, once; NULL: none. */
static char *take_said(struct control *c, const struct job *j, struct arena *arena)
{
    char *text = NULL;
    vec_foreach (&c->fresh, fresh) {
        if (fresh->job_id != j->id || !fresh->said)
            continue;
        text = arena_strdup(arena, fresh->said);
        free(take_ptr(fresh->said));
    }
    return text;
}

void start_reply_alloc(struct control *c, struct job *j, uint64_t call, bool granted)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__AllocReply *r = facts_make_alloc(c, j, granted, &arena);
    const struct step *first = granted ? step_find(j, 0) : NULL;
    r->message = take_said(c, j, &arena);
    if (attempt_of(j)->interactive_step && first)
        r->step = step_reply(c, j, first, &arena);
    if (granted && job_set_is_leader(j))
        r->components = facts_make_components(c, j, 1, &r->n_components, &arena);
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &r->base);
}
