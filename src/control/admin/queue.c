/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of the order of jobs by requests: scontrol top, and external schedulers. */
#include <assert.h>
#include <string.h>

#include "base/pb.h"
#include "cluster/job/job_set_text.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/enqueue.h"
#include "control/life/priority.h"
#include "control/life/split.h"
#include "control/life/start.h"
#include "sched/select/place.h"

#define QUEUE_MOST 1000 /* maximum jobs in one request about their order */
/* Maximum jobs that change their places at one time, because each is written. */
#define TOP_MOST 10000

/* --- scontrol top --------------------------------------------------------------------------------
 */

struct place {
    struct job *job;
    uint32_t priority;
};

struct job_list { /* used as a VEC */
    struct job **data;
    size_t len, room;
};

struct top {
    struct idmap chosen;      /* ids of the jobs to be first */
    VEC(struct place) before; /* jobs of the kind in their present order */
    VEC(struct job *) after;
};

/* Jobs that a user may reorder without affecting jobs of others. */
struct kind {
    uint32_t uid;
    const struct part *part;
    bool reserved;      /* they precede all others in the queue */
    struct str account; /* account and QOS as they are packed */
};

static void pick_account(const struct job *j, struct str *out)
{
    static const struct pb_fields fields = {{UINT64_C(1) << 3 | UINT64_C(1) << 4}};
    str_clear(out);
    pb_pick_fields(j->spec.data, j->spec.len, &fields, out);
}

static bool is_of_kind(const struct job *j, const struct kind *kind, struct str *scratch)
{
    if (j->uid != kind->uid || j->part != kind->part || j->partitions ||
        j->resv_asked != kind->reserved)
        return false;
    pick_account(j, scratch);
    return scratch->len == kind->account.len &&
           memcmp(str_cstr(scratch), str_cstr(&kind->account), scratch->len) == 0;
}

static bool is_chosen(const struct top *t, const struct job *j)
{
    uint32_t place;
    return idmap_get(&t->chosen, j->id, &place);
}

static int check_top(struct control *c, const struct caller *who, const struct job *j,
                     struct err *err)
{
    if (!who->is_operator && !c->conf->sched.enable_user_top)
        return control_set_error(
            err, ERR_ACCESS,
            "scontrol top of ordinary users needs SchedulerParameters=enable_user_top");
    if (j->state != PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_NOT_PENDING, NULL);
    if (!j->part)
        return control_set_error(err, ERR_NO_PARTITION, j->part_name);
    if (j->held || j->admin_hold)
        return control_set_error(err, ERR_JOB_HELD, NULL);
    if (j->partitions)
        return control_set_error(err, ERR_TRANSITION, "it is in the queues of several partitions");
    return 0;
}

/* Adds the job; for a job set all components by the id of the leader, or the named one. */
static int add_top_jobs(struct control *c, const struct caller *who, const Pb__StepId *id,
                        struct job_list *jobs, struct err *err)
{
    bool by_set = id->has_set_offset || named_lost_leader(c, id);
    struct job *j = by_set ? named_any(c, id) : cluster_find_job(c->cluster, id->job_id);
    int rc = !j                      ? control_set_error(err, ERR_NO_JOB, NULL)
             : !control_owns(who, j) ? control_set_error(err, control_denial(c, who, j), NULL)
                                     : 0;
    if (rc == 0 && by_set)
        rc = named_component(c, id, &j, err);
    bool all = rc == 0 && !id->has_set_offset && job_set_is_leader(j);
    for (; rc == 0 && j; j = all ? named_next(j) : NULL) {
        rc = check_top(c, who, j, err);
        vec_push(jobs, j);
    }
    return rc;
}

/* Pending elements of a job array get records of their own, which must be settled. */
static int add_top_elements(struct control *c, const struct caller *who, const Pb__StepId *id,
                            struct job_list *jobs, struct split_list *parts, struct err *err)
{
    size_t from = parts->len;
    int rc = split_targets(c, id, parts, err);
    for (size_t i = from; rc == 0 && i < parts->len; i++) {
        struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        rc = control_owns(who, j) ? check_top(c, who, j, err)
                                  : control_set_error(err, control_denial(c, who, j), NULL);
        vec_push(jobs, j);
    }
    return rc;
}

static int add_move(struct top *t, struct job *j, uint32_t priority, bool moves, struct err *err)
{
    if (t->before.len == TOP_MOST)
        return err_set(err, -ERR_LIMIT, "%s: more than %d jobs would change their places",
                       err_text(ERR_LIMIT), TOP_MOST);
    vec_push(&t->before, ((struct place){j, priority}));
    if (!moves)
        vec_push(&t->after, j);
    return 0;
}

/* Returns the maximum priority of the i-th job in the new order: of equal jobs the one with the
 * lower id is first. */
static uint32_t most_of(const struct top *t, size_t i, const struct job *j)
{
    assert(i && t->before.data && t->after.data);
    uint32_t most = t->before.data[i - 1].priority;
    return t->after.data[i - 1]->id > j->id && most > 1 ? most - 1 : most;
}

static void lower_priorities(struct top *t)
{
    for (size_t i = 1; i < t->after.len; i++) {
        uint32_t most = most_of(t, i, t->after.data[i]), *to = &t->before.data[i].priority;
        *to = *to < most ? *to : most;
    }
}

/* Iterates over the jobs of a partition in the order in which they would start: queued jobs only,
 * or also jobs that wait for something else. */
struct candidates {
    struct order_link *link; /* the next job in the queue; NULL if jobs that wait are included */
    VEC(struct job *) list;
    size_t at;
};

static int compare_rank(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void find_candidates(const struct control *c, const struct kind *kind, bool with_waiting,
                            struct candidates *out)
{
    _cleanup_str_ struct str scratch = STR_INIT;
    *out = (struct candidates){.link = with_waiting ? NULL : order_first(&kind->part->queue)};
    for (size_t i = 0; with_waiting && i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (j->state == PB__JOB_STATE__PENDING && !j->held && !j->admin_hold &&
            is_of_kind(j, kind, &scratch))
            vec_push(&out->list, j);
    }
    if (out->list.len)
        qsort(out->list.data, out->list.len, sizeof *out->list.data, compare_rank);
}

static struct job *next_candidate(struct candidates *from)
{
    struct order_link *link = from->link;
    if (!link)
        return from->at < from->list.len ? from->list.data[from->at++] : NULL;
    from->link = order_next(link);
    return job_partitions_job_of(link);
}

/* Collects the jobs of the kind down to the last one that moves, and those behind it whose order
 * would change. */
static int collect_jobs(struct candidates *from, const struct kind *kind, size_t left,
                        struct top *t, struct err *err)
{
    _cleanup_str_ struct str scratch = STR_INIT;
    struct job *j;
    int rc = 0;
    while (left && rc == 0 && (j = next_candidate(from))) {
        bool moves = is_chosen(t, j);
        left -= moves;
        if (moves || is_of_kind(j, kind, &scratch))
            rc = add_move(t, j, j->priority, moves, err);
    }
    if (rc == 0)
        lower_priorities(t);
    while (rc == 0 && (j = next_candidate(from))) {
        if (!is_of_kind(j, kind, &scratch))
            continue;
        uint32_t most = most_of(t, t->after.len, j);
        if (j->priority <= most)
            break;
        rc = add_move(t, j, most, false, err);
    }
    return rc;
}

static void shift_priority(struct control *c, struct job *j, uint32_t to)
{
    if (to == j->priority)
        return;
    if (j->rank.given) {
        priority_give(j, to);
    } else { /* by its nice value, as in Slurm */
        int64_t nice = j->nice - (to - priority_unbounded(c, j));
        nice = nice > PRIO_NICE_MOST ? PRIO_NICE_MOST : nice;
        priority_set_nice(j, (int32_t)(nice < -PRIO_NICE_MOST ? -PRIO_NICE_MOST : nice));
    }
    job_touch(c->cluster, j);
    enqueue_job(c, j);
}

/* Assigns the existing priorities in the new order: jobs of others keep their places among them. If
 * no lower value is left for the next job, the previous one gets a higher value. */
static void give_places(struct control *c, struct top *t)
{
    size_t n = t->after.len;
    assert(n && t->before.data && t->after.data);
    for (size_t i = n - 1; i > 0; i--) {
        uint32_t least = t->before.data[i].priority, *to = &t->before.data[i - 1].priority;
        if (t->after.data[i - 1]->id > t->after.data[i]->id)
            least += least < UINT32_MAX;
        *to = *to > least ? *to : least;
    }
    for (size_t i = 0; i < n; i++)
        shift_priority(c, t->after.data[i], t->before.data[i].priority);
}

/* Chooses the jobs of the same kind as the first one, each once; the others keep their places.
 * Returns whether one of them is in no queue, because it waits for its begin time or another
 * job. */
static bool choose_jobs(struct top *t, struct job *const *jobs, size_t count,
                        const struct kind *kind)
{
    _cleanup_str_ struct str scratch = STR_INIT;
    bool any_waits = false;
    for (size_t i = 0; i < count; i++) {
        if (is_chosen(t, jobs[i]) || !is_of_kind(jobs[i], kind, &scratch))
            continue;
        idmap_set(&t->chosen, jobs[i]->id, 0);
        vec_push(&t->after, jobs[i]);
        any_waits = any_waits || !jobs[i]->queued.in;
    }
    return any_waits;
}

static int put_on_top(struct control *c, struct job **jobs, size_t count, struct err *err)
{
    assert(jobs && count);
    struct kind kind = {jobs[0]->uid, jobs[0]->part, jobs[0]->resv_asked, STR_INIT};
    struct top t = {0};
    pick_account(jobs[0], &kind.account);
    struct candidates from;
    find_candidates(c, &kind, choose_jobs(&t, jobs, count, &kind), &from);
    int rc = collect_jobs(&from, &kind, t.after.len, &t, err);
    vec_done(&from.list);
    if (rc == 0) {
        give_places(c, &t);
        c->plan_wanted = true;
    }
    idmap_done(&t.chosen);
    vec_done(&t.before);
    vec_done(&t.after);
    str_done(&kind.account);
    return rc;
}

void control_job_top(struct control *c, uint64_t call, const struct caller *who,
                     const Pb__JobTop *r)
{
    struct err err = {0};
    struct job_list jobs = {0};
    struct split_list parts = {0};
    size_t count = r->n_target ? r->n_target : r->n_job_id;
    int rc = count ? 0 : control_set_error(&err, ERR_NO_JOB, NULL);
    if (count > QUEUE_MOST)
        rc = err_set(&err, -ERR_LIMIT, "%s: %d jobs at a time", err_text(ERR_LIMIT), QUEUE_MOST);
    for (size_t i = 0; i < count && rc == 0; i++) {
        Pb__StepId plain = PB__STEP_ID__INIT;
        if (!r->n_target)
            plain.job_id = r->job_id[i];
        const Pb__StepId *id = r->n_target ? r->target[i] : &plain;
        rc = id->array_tasks ? add_top_elements(c, who, id, &jobs, &parts, &err)
                             : add_top_jobs(c, who, id, &jobs, &err);
    }
    if (rc == 0)
        rc = put_on_top(c, jobs.data, jobs.len, &err);
    vec_foreach (&parts, part)
        split_settle(c, part, rc == 0);
    vec_done(&parts);
    vec_done(&jobs);
    if (rc != 0)
        control_refuse(c, call, &err);
    else
        control_done(c, call);
}

/* --- an external scheduler -----------------------------------------------------------------------
 */

/* The job must be pending, and may get another place or nodes. */
static int check_waits(const struct job *j, struct err *err)
{
    if (!j)
        return control_set_error(err, ERR_NO_JOB, NULL);
    if (j->state != PB__JOB_STATE__PENDING)
        return control_set_error(err, job_is_final(j) ? ERR_JOB_DONE : ERR_TRANSITION,
                                 "it is not pending");
    return j->held || j->admin_hold ? control_set_error(err, ERR_JOB_HELD, NULL) : 0;
}

static int order_record(struct control *c, struct job *j, uint32_t priority, struct err *err)
{
    int rc = check_waits(j, err);
    if (rc == 0 && !job_set_is_leader(j))
        rc = err_set(err, -ERR_NOT_WHOLE_SET, "%s: use the job id %s", err_text(ERR_NOT_WHOLE_SET),
                     NAMED_SET_TEXT(j));
    if (rc == 0 && priority == 0)
        rc = err_set(err, -ERR_RANGE, "a priority of 0 is a hold, which is asked for as such");
    if (rc != 0)
        return rc;
    for (struct job *component = j; component; component = named_next(component)) {
        priority_set_nice(component, 0);
        priority_give(component, priority);
        job_touch(c->cluster, component);
        if (component->state == PB__JOB_STATE__PENDING) /* another one is ending, to be requeued */
            enqueue_job(c, component);
    }
    return 0;
}

/* For an array: all pending records, or those of the named elements. */
static int order_one(struct control *c, const Pb__JobPriority *want, struct err *err)
{
    struct split_list parts = {0};
    struct err why = {0};
    bool any = false;
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = want->job_id;
    id.array_tasks = want->array_tasks;
    int rc = split_targets(c, &id, &parts, err);
    vec_foreach (&parts, part) {
        struct job *j = cluster_find_job(c->cluster, part->job_id);
        int one = order_record(c, j, want->priority, &why);
        split_settle(c, part, one == 0);
        any = any || one == 0;
        rc = one;
    }
    vec_done(&parts);
    if (why.code)
        *err = why;
    return any ? 0 : rc;
}

static Pb__QueueRefusal *refuse_one(uint32_t id, const struct err *err, struct arena *arena)
{
    Pb__QueueRefusal *m = arena_alloc(arena, sizeof(*m));
    pb__queue_refusal__init(m);
    m->job_id = id;
    m->code = -err->code;
    m->text = arena_strdup(arena, err->text);
    return m;
}

void control_queue_order(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__QueueOrder *r)
{
    _cleanup_arena_ struct arena arena;
    Pb__QueueReply reply = PB__QUEUE_REPLY__INIT;
    struct err err = {0};
    arena_init(&arena, 0);
    if (!who->is_operator || r->n_jobs > QUEUE_MOST) {
        control_refuse_code(c, call, who->is_operator ? ERR_LIMIT : ERR_ACCESS, "jobs at a time");
        return;
    }
    reply.refused = arena_alloc(&arena, (r->n_jobs + 1) * sizeof(*reply.refused));
    for (size_t i = 0; i < r->n_jobs; i++)
        if (order_one(c, r->jobs[i], &err) != 0)
            reply.refused[reply.n_refused++] = refuse_one(r->jobs[i]->job_id, &err, &arena);
    c->plan_wanted = true;
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &reply.base);
}

/* Checks the request except its nodes. */
static int check_place(struct control *c, const struct caller *who, struct job *j, struct err *err)
{
    int rc = who->is_operator ? check_waits(j, err) : control_set_error(err, ERR_ACCESS, NULL);
    if (rc == 0 && j->in_set)
        rc = control_set_error(err, ERR_NOT_SUPPORTED, JOB_SET_TEXT_PLACED);
    if (rc == 0 && c->announced)
        rc = control_set_error(err, ERR_SHUTDOWN, "no job starts");
    if (rc == 0 && !job_partitions_is_queued(j))
        rc = err_set(err, -ERR_TRANSITION, "%s: %s", err_text(ERR_TRANSITION),
                     j->reason ? job_reason_word(j) : "it is in no queue");
    return rc;
}

/* Chooses the first of its partitions that has the nodes. */
static int find_place(struct control *c, const struct job *j, struct bitset *nodes,
                      struct decision *d, struct err *err)
{
    struct job_copy room;
    int rc = 0;
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        const struct part_request *f = j->partitions ? &j->partitions->of[i] : NULL;
        if (f && !f->queued.in)
            continue;
        d->part = f ? f->part : j->part;
        rc = place_find(c->cluster, job_partitions_view(j, d->part, &room), nodes, control_wall(c),
                        &d->where, &d->in, err);
        if (rc == 0)
            break;
    }
    return rc;
}

/* For an array: returns a record that could start; the record determines the element. */
static struct job *find_waiting(struct control *c, uint32_t id)
{
    const struct array *a = array_find(c->cluster, id);
    for (struct job *j = a ? array_first(a) : NULL; j; j = array_after(j))
        if (j->state == PB__JOB_STATE__PENDING && job_partitions_is_queued(j))
            return j;
    return cluster_find_job(c->cluster, id);
}

void control_job_place(struct control *c, uint64_t call, const struct caller *who,
                       const Pb__JobPlace *r)
{
    struct err err = {0};
    struct decision d = {.kind = PLAN_START};
    _cleanup_bitset_ struct bitset *nodes = NULL;
    struct job *j = find_waiting(c, r->job_id);
    int rc = check_place(c, who, j, &err);
    if (rc == 0)
        rc = cluster_node_set(c->cluster, r->nodes, &nodes, &err);
    if (rc == 0)
        rc = find_place(c, j, nodes, &d, &err);
    d.job = j;
    if (rc == 0)
        rc = start_placed(c, &d, &err);
    plan_decision_done(&d);
    if (rc != 0)
        control_refuse(c, call, &err);
    else
        control_done(c, call);
}
