/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol suspend and resume. A job is SUSPENDED at once, and its clock stops; its CPUs on a node
 * become available when the node has confirmed that no process of the job runs there. The job
 * resumes when all of its CPUs are free. Orders to nodes are numbered by the job (halts): a node
 * that was disconnected gets the last order when it is back, and an old order has no effect.
 */
#include "control/life/suspend.h"
#include "base/pb.h"
#include "control/core/facts.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/node/node.h"
#include "control/step/step.h"

#define SUSPENDS(hooks) extern const struct suspend_hooks hooks;
#include "control/machine.def"

static const struct suspend_hooks *const all_hooks[] = {
#define SUSPENDS(hooks) &hooks,
#include "control/machine.def"
    NULL};

#define hooks_foreach(h) for (const struct suspend_hooks *const *h = all_hooks; *h; h++)

void suspend_admit(struct control *c, struct job *j)
{
    hooks_foreach (h)
        (*h)->admit(c, j);
}

void suspend_move_end(struct control *c, const struct job *j)
{
    hooks_foreach (h)
        (*h)->move_end(c, j);
}

static void note_stop(struct control *c)
{
    hooks_foreach (h)
        (*h)->note_stop(c);
}

static bool is_held_back(const struct control *c, const struct job *j, const struct alloc_node *a)
{
    bool held = false;
    hooks_foreach (h)
        held = held || (*h)->holds_back(c, j, a);
    return held;
}

static bool may_be_held_back(const struct control *c, const struct job *j)
{
    bool may = false;
    hooks_foreach (h)
        may = may || (*h)->may_hold_back(c, j);
    return may;
}

static bool stays_suspended(struct control *c, struct job *j)
{
    bool stays = false;
    hooks_foreach (h)
        stays = stays || (*h)->keeps_suspended(c, j);
    return stays;
}

static void leave_turns(struct control *c, struct job *j)
{
    hooks_foreach (h)
        (*h)->leave(c, j);
}

static int check_turns(const struct job *j, struct err *err)
{
    int rc = 0;
    hooks_foreach (h)
        rc = rc == 0 ? (*h)->check_resume(j, err) : rc;
    return rc;
}

static void send_halt_number(struct control *c, struct job *j, struct alloc_node *a,
                             uint32_t number, bool stop)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__Halt m = PB__HALT__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.number = number;
    m.stop = stop;
    m.uid = j->uid;
    m.gid = j->gid;
    order.halt = &m;
    order.attempt = facts_make_attempt(c, j, a, &arena);
    node_send_orders(c, c->cluster->nodes.data[a->node], &order);
}

static void send_halt(struct control *c, struct job *j, struct alloc_node *a)
{
    send_halt_number(c, j, a, attempt_of(j)->halts, j->state == PB__JOB_STATE__SUSPENDED);
}

static void give_order(struct control *c, struct job *j, struct alloc_node *a)
{
    a->held = is_held_back(c, j, a);
    if (a->touched && !a->held)
        send_halt(c, j, a);
}

/* Sends no order to nodes on which nothing of the job can be. */
static void order_nodes(struct control *c, struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        if (a->released)
            continue;
        a->halt_told = !a->touched;
        give_order(c, j, a);
        if (!a->touched && attempt_is_parked(j))
            park_leave(c->cluster, j, a);
    }
    attempt_make(j)->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
}

bool suspend_is_pending(const struct job *j)
{
    if (!attempt_of(j)->halts)
        return false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && !a->halt_told)
            return true;
    return false;
}

bool suspend_repeat(struct control *c, struct job *j)
{
    bool more = false;
    if (job_is_final(j) || !attempt_of(j)->halts)
        return false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && !a->halt_told) {
            give_order(c, j, a);
            more = true;
        }
    return more;
}

void suspend_give_held(struct control *c, struct job *j)
{
    if (j->state != PB__JOB_STATE__RUNNING || !job_is_held_back(j))
        return;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (a->held && !a->released)
            give_order(c, j, a);
    if (!job_is_held_back(j))
        step_retry_waiting(c, j);
}

void suspend_remind(struct control *c, struct job *j, struct alloc_node *a)
{
    uint32_t number = attempt_of(j)->halts;
    if (!number || !a->touched)
        return;
    give_order(c, j, a);
    if (a->held) /* the previous order was to suspend */
        send_halt_number(c, j, a, number - 1, true);
}

void suspend_begin_held(struct control *c, struct job *j)
{
    attempt_make(j)->halts = 2; /* one suspend and one resume order */
    attempt_make(j)->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    vec_foreach (&attempt_of(j)->alloc, a) {
        a->touched = true; /* nodes get these orders before any launch */
        a->halt_told = false;
        suspend_remind(c, j, a);
    }
    job_touch(c->cluster, j);
}

void suspend_halted(struct control *c, const struct node *n, const Pb__Halted *e)
{
    struct job *j = cluster_find_job(c->cluster, e->job_id);
    struct alloc_node *a = j && j->restarts == e->restarts ? alloc_find(j, n->index) : NULL;
    if (!a || a->released || job_is_final(j) || e->number != attempt_of(j)->halts)
        return;
    a->halt_told = true;
    if (j->state != PB__JOB_STATE__SUSPENDED || a->parked)
        return;
    note_stop(c);
    if (attempt_stands_by(j))
        return;
    park_leave(c->cluster, j, a);
    c->plan_wanted = true;
}

/* Continues its clock. Does not use the sum of the suspended times, each of which is rounded to
 * seconds. */
static void start_clock(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    int64_t stood_sec = control_wall(c) - attempt_of(j)->start_at - attempt->ran_ms / 1000;
    attempt->suspended_sec = stood_sec > 0 ? stood_sec : 0;
    control_start_clock(c, j, attempt->ran_ms);
    park_yield(c->cluster, j, false);
}

void suspend_end(struct control *c, struct job *j)
{
    if (j->state == PB__JOB_STATE__SUSPENDED)
        start_clock(c, j);
}

void suspend_restored(struct control *c, struct job *j)
{
    int64_t now = control_mono(c);
    if (!attempt_of(j)->halts)
        return;
    vec_foreach (&attempt_of(j)->alloc, a)
        a->halt_told = a->parked;
    vec_foreach (&attempt_of(j)->alloc, a)
        a->held = j->state == PB__JOB_STATE__RUNNING && may_be_held_back(c, j);
    if (!attempt_of(j)->repeat_mono_ms || attempt_of(j)->repeat_mono_ms > now + CONTROL_REPEAT_MS)
        attempt_make(j)->repeat_mono_ms = now + CONTROL_REPEAT_MS;
}

static int check_state(const struct job *j, enum _Pb__JobState wanted, struct err *err)
{
    if (job_is_final(j))
        return control_set_error(err, ERR_JOB_DONE, NULL);
    if (j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (j->state == wanted)
        return 0;
    return control_set_error(
        err, wanted == PB__JOB_STATE__RUNNING ? ERR_NOT_RUNNING : ERR_NOT_SUSPENDED, NULL);
}

/* Also for a job that waits for its turn: it has none then. */
static int check_suspend(const struct job *j, struct err *err)
{
    if (attempt_stands_by(j) && j->state == PB__JOB_STATE__SUSPENDED)
        return 0;
    return check_state(j, PB__JOB_STATE__RUNNING, err);
}

static int check_resume(const struct control *c, const struct job *j, struct err *err)
{
    int rc = check_state(j, PB__JOB_STATE__SUSPENDED, err);
    rc = rc == 0 ? check_turns(j, err) : rc;
    return rc == 0 ? park_check_return(c->cluster, j, err) : rc;
}

void suspend_stop(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    step_limit_take_over(j);
    attempt->ran_ms = control_mono(c) - attempt->start_mono_ms;
    attempt->suspended_at = control_wall(c);
    job_set_state(c->cluster, j, PB__JOB_STATE__SUSPENDED, CAUSE_SUSPENSION, NULL);
    attempt->halts++;
    control_set_end(c, j);
    order_nodes(c, j);
    control_schedule(c, j);
}

void suspend_continue(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    start_clock(c, j);
    attempt->suspended_at = control_wall(c);
    job_set_state(c->cluster, j, PB__JOB_STATE__RUNNING, CAUSE_RESUMPTION, NULL);
    attempt->halts++;
    control_set_end(c, j);
    order_nodes(c, j);
    step_retry_waiting(c, j);
    control_schedule(c, j);
}

int suspend_job(struct control *c, struct job *j, struct err *err)
{
    int rc = check_suspend(j, err);
    if (rc != 0)
        return rc;
    leave_turns(c, j);
    if (j->state == PB__JOB_STATE__RUNNING)
        suspend_stop(c, j);
    control_move_end(c, j);
    return 0;
}

void suspend_for_preemptor(struct control *c, struct job *j)
{
    hooks_foreach (h)
        (*h)->note_preemptor(c, j);
    if (suspend_job(c, j, NULL) == 0)
        park_yield(c->cluster, j, true);
}

int suspend_resume(struct control *c, struct job *j, struct err *err)
{
    int rc = check_resume(c, j, err);
    if (rc != 0)
        return rc;
    park_return(c->cluster, j);
    park_yield(c->cluster, j, false);
    if (!stays_suspended(c, j))
        suspend_continue(c, j);
    control_move_end(c, j);
    return 0;
}

/* Resources of a suspended job that have returned to it on its nodes. */
struct returned {
    struct job *job;
    uint32_t node;
};

/* The jobs take their resources back one after the other; if one of them cannot, all release them
 * again. */
static int take_back_all(struct control *c, const struct split_list *parts, struct err *err)
{
    VEC(struct returned) returned = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < parts->len; i++) {
        struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        if (job_is_final(j))
            continue;
        rc = check_resume(c, j, err);
        if (rc != 0)
            break;
        vec_foreach (&attempt_of(j)->alloc, a)
            if (a->parked && !a->released)
                vec_push(&returned, ((struct returned){j, a->node}));
        park_return(c->cluster, j);
    }
    for (size_t i = 0; rc != 0 && i < returned.len; i++) {
        struct job *j = returned.data[i].job;
        park_leave(c->cluster, j, alloc_find(j, returned.data[i].node));
    }
    vec_done(&returned);
    return rc;
}

/* The components of a job set are suspended and resumed together, except ended ones. 0: all of them
 * can. */
static int check_all(struct control *c, const struct split_list *parts, bool resume,
                     struct err *err)
{
    const struct job *first = cluster_find_job(c->cluster, parts->data[0].job_id);
    int rc = 0;
    if (!first->set)
        return 0;
    if (resume)
        return take_back_all(c, parts, err);
    for (size_t i = 0; rc == 0 && i < parts->len; i++) {
        const struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        rc = job_is_final(j) ? 0 : check_suspend(j, err);
    }
    return rc;
}

/* Elements of an array have different states: elements in unsuitable states are skipped. */
static int each_part(struct control *c, bool resume, const struct split_list *parts,
                     struct err *err)
{
    int wrong = 0;
    bool any = false;
    vec_foreach (parts, part) {
        struct job *j = cluster_find_job(c->cluster, part->job_id);
        struct err why = {0};
        int rc = resume ? suspend_resume(c, j, &why) : suspend_job(c, j, &why);
        split_settle(c, part, rc == 0);
        any = any || rc == 0;
        bool worse = rc == -ERR_NODES_BUSY && wrong != rc;
        if (rc != 0 && (wrong == 0 || worse)) {
            wrong = rc;
            *err = why;
        }
    }
    return any && wrong != -ERR_NODES_BUSY ? 0 : wrong;
}

/* Array elements that are sets have different states, too: each set is changed as a whole or not at
 * all. */
static int each_set(struct control *c, bool resume, const struct split_list *parts, struct err *err)
{
    int wrong = 0;
    bool any = false;
    for (size_t i = 0, count; i < parts->len; i += count) {
        count = split_count_set(c, parts, i);
        const struct split_list group = {&parts->data[i], count, count};
        struct err why = {0};
        int rc = check_all(c, &group, resume, &why);
        if (rc == 0)
            rc = each_part(c, resume, &group, &why);
        else
            vec_foreach (&group, part)
                split_settle(c, part, false);
        any = any || rc == 0;
        if (rc != 0 && (wrong == 0 || (rc == -ERR_NODES_BUSY && wrong != rc))) {
            wrong = rc;
            *err = why;
        }
    }
    return any && wrong != -ERR_NODES_BUSY ? 0 : wrong;
}

void control_job_suspend(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__JobSuspend *r)
{
    struct err err = {0};
    struct split_list parts = {0};
    bool resume = r->has_resume && r->resume;
    Pb__StepId id = NAMED_JOB(r);
    id.array_tasks = r->array_tasks;
    if (!who->is_operator && !who->is_admin)
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    else if (split_targets(c, &id, &parts, &err) != 0 || set_check_whole(c, &id, &err) != 0 ||
             each_set(c, resume, &parts, &err) != 0)
        control_refuse(c, call, &err);
    else
        control_done(c, call);
    vec_done(&parts);
}
