/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/gate.h"

#include <assert.h>

#include "base/arena.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/start.h"
#include "sched/plan.h"
#include "sched/plan/gate.h"

/* --- of the job as a whole ----------------------------------------------------------------------
 */

static enum reason gate_hold(const struct control *c, const struct job *j)
{
    if (j->admin_hold)
        return j->auto_requeues && j->auto_requeues >= c->conf->max_batch_requeue
                   ? REASON_JOB_HOLD_MAX_REQUEUE
                   : REASON_JOB_HELD_ADMIN;
    if (j->held)
        return j->resv_gone ? REASON_RESERVATION_DELETED : REASON_JOB_HELD_USER;
    return REASON_NONE;
}

static enum reason gate_begin_time(const struct control *c, const struct job *j)
{
    return j->begin_at > control_wall(c) ? REASON_BEGIN_TIME : REASON_NONE;
}

/* It is ended for that, in a moment. */
static enum reason gate_deadline(const struct control *c, const struct job *j)
{
    return deadline_missed(c, j) ? REASON_DEADLINE : REASON_NONE;
}

/* --- in the partition that it has ---------------------------------------------------------------
 */

static enum reason gate_partition_state(const struct control *c, const struct job *j)
{
    if (!j->part || j->part->conf.state == CONF_PART_DOWN)
        return REASON_PARTITION_DOWN;
    return j->part->conf.state == CONF_PART_INACTIVE ? REASON_PARTITION_INACTIVE : REASON_NONE;
}

/* The lists, or the job's account or partition, changed since it was submitted. */
static enum reason gate_partition_accounts(const struct control *c, const struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (!j->part || (!j->part->conf.allow_accounts && !j->part->conf.deny_accounts))
        return REASON_NONE;
    return part_takes_account(&j->part->conf, job_unpack_spec(j, &arena)->account)
               ? REASON_NONE
               : REASON_ACCOUNT_NOT_ALLOWED;
}

static enum reason gate_partition_limits(const struct control *c, const struct job *j)
{
    enum reason reason = REASON_NONE;
    gate_find_breach(c->conf, j, &reason);
    return reason;
}

static int refuse_beyond_limits(const struct control *c, const struct job *j, struct err *err)
{
    enum reason reason;
    int code = gate_find_breach(c->conf, j, &reason);
    return code ? control_set_error(err, code, j->part->conf.name) : 0;
}

/* Of a job that no node could serve when it was accepted. */
static enum reason unfit_reason(const struct control *c, const struct job *j)
{
    switch (-select_possible(c->cluster, j, NULL)) {
    case 0:
        return REASON_NONE;
    case ERR_NODE_COUNT:
        return REASON_PARTITION_NODE_LIMIT;
    case ERR_TOO_MANY_CPUS:
        return REASON_PARTITION_CONFIG;
    default:
        return REASON_BAD_CONSTRAINTS;
    }
}

/* Its request for the partition that it has; NULL: it has no other partition. */
static struct part_request *find_part_request(const struct job *j)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        if (j->partitions->of[i].part == j->part)
            return &j->partitions->of[i];
    return NULL;
}

static void check_fit(struct control *c, struct job *j)
{
    struct part_request *f = j->is_unfit ? NULL : find_part_request(j);
    if (!f || f->judged)
        return;
    f->never = select_possible(c->cluster, j, NULL) != 0;
    f->judged = true;
}

/* A job that could never run there would block those behind it. */
static enum reason gate_fit(const struct control *c, const struct job *j)
{
    const struct part_request *f = find_part_request(j);
    if (j->is_unfit)
        return unfit_reason(c, j);
    if (!f)
        return REASON_NONE;
    bool never = f->judged ? f->never : select_possible(c->cluster, j, NULL) != 0;
    return never ? REASON_BAD_CONSTRAINTS : REASON_NONE;
}

static int refuse_unfit(const struct control *c, const struct job *j, struct err *err)
{
    return select_possible(c->cluster, j, err);
}

/* --- the table ----------------------------------------------------------------------------------
 */

#define REASONS_MOST 4 /* that a gate can give */

enum scope { JOB, PARTITION };

static const struct {
    const char *name;
    enum scope scope;
    enum reason (*find)(const struct control *c, const struct job *j);
    void (*update)(struct control *c, struct job *j);
    bool always;
    int (*refuse)(const struct control *c, const struct job *j, struct err *err);
    enum gate_refusal refusal;
    enum reason reasons[REASONS_MOST]; /* REASON_NONE behind the last one */
} gates[] = {
#define GATE_JOB(name, find, update, always, ...)                                                  \
    {#name, JOB, find, update, always, NULL, GATE_WAITS, {__VA_ARGS__}},
#define GATE_PARTITION(name, find, update, refuse, refusal, ...)                                   \
    {#name, PARTITION, find, update, false, refuse, refusal, {__VA_ARGS__}},
#include "cluster/job/reason.def"
};
#define GATES (sizeof(gates) / sizeof(gates[0]))

static bool can_give(size_t gate, enum reason reason)
{
    for (size_t i = 0; reason && i < REASONS_MOST; i++)
        if (gates[gate].reasons[i] == reason)
            return true;
    return !reason;
}

static enum reason find_closed(struct control *c, struct job *j, enum scope scope)
{
    enum reason found = REASON_NONE;
    for (size_t i = 0; i < GATES; i++) {
        if (gates[i].scope != scope || (found && !gates[i].always))
            continue;
        if (gates[i].update)
            gates[i].update(c, j);
        if (found)
            continue;
        found = gates[i].find(c, j);
        assert(can_give(i, found));
    }
    return found;
}

enum reason gate_of_job(struct control *c, struct job *j)
{
    return find_closed(c, j, JOB);
}

enum reason gate_queue(struct control *c, struct job *j)
{
    enum reason last = REASON_NONE;
    bool any = false;
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        enum reason reason = find_closed(c, j, PARTITION);
        if (!reason)
            job_partitions_queue(j);
        any = any || !reason;
        last = reason ? reason : last;
    }
    job_partitions_select_first(j);
    return any ? REASON_NONE : last;
}

enum gate_refusal gate_refuse(struct control *c, struct job *j, unsigned refusals, struct err *err)
{
    for (size_t i = GATES; i-- > 0;)
        if (gates[i].refusal & refusals && gates[i].refuse(c, j, err) != 0)
            return gates[i].refusal;
    return GATE_WAITS;
}

enum reason gate_beyond_limits(struct control *c, struct job *j)
{
    enum reason reason = REASON_NONE;
    for (size_t i = 0; i < GATES && !reason; i++)
        reason = gates[i].refusal == GATE_ENFORCED ? gates[i].find(c, j) : REASON_NONE;
    return reason;
}

/* --- all of them, for a request -----------------------------------------------------------------
 */

struct gates_answer {
    struct arena arena;
    VEC(Pb__Gate *) gates;
};

static void add_gate(struct gates_answer *a, const char *name, const char *partition,
                     enum reason reason)
{
    Pb__Gate *m = arena_alloc(&a->arena, sizeof(*m));
    pb__gate__init(m);
    m->name = (char *)name;
    m->partition = (char *)partition;
    m->reason = reason ? (char *)reason_word(reason) : NULL;
    vec_push(&a->gates, m);
}

/* Every gate of this scope, of a job that has 'partition' (NULL: of the job as a whole). */
static void add_gates(struct gates_answer *a, const struct control *c, const struct job *j,
                      enum scope scope, const char *partition)
{
    for (size_t i = 0; i < GATES; i++)
        if (gates[i].scope == scope)
            add_gate(a, gates[i].name, partition, gates[i].find(c, j));
}

/* The gates of the planner, as a pass would find them with this job as its first. */
static void add_gates_of_start(struct gates_answer *a, const struct control *c, const struct job *j)
{
    struct plan p;
    enum reason reason;
    const char *name;
    plan_begin(&p, c->cluster, NULL, control_wall(c), start_backfills(c));
    for (size_t i = 0; (name = gate_ask(&p, j, i, &reason)); i++)
        add_gate(a, name, NULL, reason);
    plan_end(&p);
}

static void answer_gates(struct control *c, uint64_t call, const struct job *j)
{
    struct gates_answer a = {0};
    Pb__GatesReply reply = PB__GATES_REPLY__INIT;
    arena_init(&a.arena, 0);
    add_gates(&a, c, j, JOB, NULL);
    for (uint32_t i = 0; i < job_partitions_count(j) && j->part; i++) {
        const struct part *part = j->partitions ? j->partitions->of[i].part : j->part;
        struct job_copy room;
        add_gates(&a, c, job_partitions_view(j, part, &room), PARTITION, part->conf.name);
    }
    if (j->part)
        add_gates_of_start(&a, c, j);
    reply.job_id = j->id;
    reply.gates = a.gates.data;
    reply.n_gates = a.gates.len;
    c->env->reply(c->env->ctx, call, &reply.base);
    vec_done(&a.gates);
    arena_done(&a.arena);
}

void control_job_gates(struct control *c, uint64_t call, const struct caller *who,
                       const Pb__StepId *r)
{
    struct job *j = named_any(c, r);
    struct err err = {0};
    if (!j || control_is_on_trial(j) || !control_shows_job(c, who, j))
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    else if ((r->array_tasks ? named_element(c, r, &j, &err) : named_job(c, r, &j, &err)) != 0)
        control_refuse(c, call, &err);
    else if (j->state != PB__JOB_STATE__PENDING)
        control_refuse_code(c, call, ERR_TRANSITION, "it is not pending");
    else
        answer_gates(c, call, j);
}
