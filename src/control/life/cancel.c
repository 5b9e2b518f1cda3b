/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scancel: ends or signals a job, a step, or everything that matches. */
#include <signal.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/job/job_set_text.h"
#include "control/core/filter.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/aside_job.h"
#include "control/life/burst.h"
#include "control/life/cancel.h"
#include "control/life/finish.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/node/node.h"
#include "control/step/step.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

#define UNREACHED_BYTES 1024 /* maximum bytes for the nodes of one job, */
/* And for all nodes in a reply; further nodes are counted. */
#define UNREACHED_BYTES_ALL (1 << 20)
#define TASKS_BYTES 1024 /* for the elements of a job array in one result */

struct results {
    VEC(Pb__JobSignalReply__Result) list;
    struct arena arena;
    size_t unreached_bytes;
    uint32_t matched;
};

/* Limits the list, so that a caller who signals many jobs gets a reply in any case. */
static char *put_missed(struct results *r, struct hostlist *missed)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    hostlist_uniq(missed); /* duplicates from several elements of an array */
    hostlist_format(missed, &nodes);
    if (nodes.len > UNREACHED_BYTES || r->unreached_bytes + nodes.len > UNREACHED_BYTES_ALL)
        return arena_printf(&r->arena, "%zu nodes", hostlist_count(missed));
    r->unreached_bytes += nodes.len;
    return arena_printf(&r->arena, "%s", str_cstr(&nodes));
}

/* Adds a result. text: the error message; NULL: the text of the code. missed: nodes that a signal
 * did not reach; NULL: none. */
static void note_result(struct results *r, uint32_t job_id, const Pb__StepId *step, int code,
                        const char *text, struct hostlist *missed)
{
    Pb__JobSignalReply__Result m = PB__JOB_SIGNAL_REPLY__RESULT__INIT;
    m.job_id = job_id;
    if (step && step->has_step_id)
        SET(&m, step_id, step->step_id);
    if (step && step->has_set_offset)
        SET(&m, set_offset, step->set_offset);
    m.array_tasks = step ? step->array_tasks : NULL;
    m.code = code;
    m.text = text ? arena_strdup(&r->arena, text) : code ? (char *)err_text(code) : NULL;
    if (missed && hostlist_count(missed))
        m.unreached = put_missed(r, missed);
    vec_push(&r->list, m);
}

/* Whether srun forwards the signal to its tasks, or ends them because of it. A SIGHUP that srun
 * ignores is not forwarded, a stopped srun forwards nothing. */
static bool does_srun_forward(int32_t signo)
{
    return signo == SIGUSR1 || signo == SIGUSR2 || signo == SIGALRM || signo == SIGQUIT ||
           signo == SIGTERM;
}

/* Lists the steps that get the signal from their srun, which is one of the signalled processes. */
static void list_forwarded(const struct job *j, Pb__SignalJob *s, struct arena *arena)
{
    const struct attempt *a = attempt_of(j);
    if (s->batch_only || !does_srun_forward(s->signal))
        return;
    s->forwarded = arena_alloc(arena, sizeof *s->forwarded * (a->steps.len + 1));
    vec_foreach (&a->steps, step)
        if (step->srun_in_step || (s->full && step->srun_in_script))
            s->forwarded[s->n_forwarded++] = step->id;
}

/* Sends the signal. False: the node is not connected. The signal is not kept; 'missed' reports the
 * node to the sender. */
static bool send_signal(struct control *c, struct job *j, const struct alloc_node *a,
                        const Pb__JobSignal *r, const Pb__StepId *step, uint64_t nonce,
                        struct hostlist *missed)
{
    const struct node *n = c->cluster->nodes.data[a->node];
    Pb__SignalJob s = PB__SIGNAL_JOB__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    s.job_id = j->id;
    s.restarts = j->restarts;
    if (step && step->has_step_id)
        SET(&s, step_id, step->step_id);
    s.signal = r->signal;
    s.has_batch_only = s.has_full = true;
    s.batch_only = r->has_batch_only && r->batch_only;
    s.full = r->has_full && r->full;
    if (!s.has_step_id)
        list_forwarded(j, &s, &arena);
    s.full = s.full && (!j->batch || a == job_host(j));
    s.nonce = nonce ? nonce : c->epoch << 40 | ++c->nonce;
    order.signal = &s;
    if (n->connected)
        node_send_orders(c, n, &order);
    else if (missed)
        hostlist_push(missed, n->name);
    return n->connected;
}

static void end_step(struct control *c, struct job *j, const struct alloc_node *a, uint32_t step_id,
                     const char *why)
{
    Pb__Terminate t = PB__TERMINATE__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    t.job_id = j->id;
    t.restarts = j->restarts;
    t.uid = j->uid;
    t.gid = j->gid;
    SET(&t, grace_sec, (uint32_t)c->conf->kill_wait_sec);
    SET(&t, step_id, step_id);
    t.why = (char *)why;
    order.terminate = &t;
    node_send_orders(c, c->cluster->nodes.data[a->node], &order);
}

static const char *step_end_reason(const struct step *s)
{
    return s->timed_out ? "TIME LIMIT" : "CANCELLED";
}

/* The order may reach a step that is still being launched, so it is repeated until its nodes report
 * the end. */
void cancel_repeat_steps(struct control *c, struct job *j)
{
    vec_foreach (&attempt_of(j)->steps, s) {
        for (size_t i = 0; i < s->nodes.len && s->ending; i++)
            if (!s->nodes.data[i].ended)
                end_step(c, j, &attempt_of(j)->alloc.data[s->nodes.data[i].at], s->id,
                         step_end_reason(s));
        if (s->ending)
            attempt_make(j)->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_STEP_MS;
    }
    if (attempt_of(j)->script_ending) {
        end_step(c, j, job_host(j), STEP_ID_BATCH, "CANCELLED");
        attempt_make(j)->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_STEP_MS;
    }
}

static void repeat_soon(struct control *c, struct job *j)
{
    int64_t again = control_mono(c) + CONTROL_REPEAT_STEP_MS;
    if (!attempt_of(j)->repeat_mono_ms || again < attempt_of(j)->repeat_mono_ms)
        attempt_make(j)->repeat_mono_ms = again;
    control_schedule(c, j);
}

bool cancel_is_pending(const struct job *j)
{
    if (attempt_of(j)->script_ending)
        return true;
    vec_foreach (&attempt_of(j)->steps, s)
        if (s->ending)
            return true;
    return false;
}

void cancel_restored(struct control *c, struct job *j)
{
    if (cancel_is_pending(j))
        repeat_soon(c, j);
}

void cancel_step(struct control *c, struct job *j, struct step *s)
{
    vec_foreach (&s->nodes, n)
        if (!n->ended)
            end_step(c, j, &attempt_of(j)->alloc.data[n->at], s->id, step_end_reason(s));
    if (!s->ending)
        job_touch(c->cluster, j);
    s->ending = true;
    repeat_soon(c, j);
}

/* The node may be disconnected, or be launching the script: the order is repeated until the script
 * has ended, like for steps. */
static void cancel_script(struct control *c, struct job *j)
{
    end_step(c, j, job_host(j), STEP_ID_BATCH, "CANCELLED");
    if (!attempt_of(j)->script_ending)
        job_touch(c->cluster, j);
    attempt_make(j)->script_ending = true;
    repeat_soon(c, j);
}

/* The processes of a suspended job that keeps its units get a signal when the job resumes. SIGCONT
 * would undo the suspension, and the next resume would undo a stop signal. */
static bool may_signal(const struct job *j, int32_t signo)
{
    bool stops_or_continues = signo == SIGCONT || signo == SIGSTOP || signo == SIGTSTP ||
                              signo == SIGTTIN || signo == SIGTTOU;
    return j->state != PB__JOB_STATE__SUSPENDED || (!attempt_is_parked(j) && !stops_or_continues);
}

/* Cancels or signals a step that the request names, or the batch script. */
static int touch_step(struct control *c, struct job *j, const Pb__JobSignal *r,
                      const Pb__StepId *id, struct hostlist *missed)
{
    if (j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring)
        return ERR_JOB_PENDING;
    if (job_is_final(j))
        return ERR_JOB_DONE;
    bool ends = !r->has_signal || r->signal == SIGKILL;
    if (!ends && !may_signal(j, r->signal))
        return ERR_TRANSITION;
    if (id->step_id == STEP_ID_BATCH) {
        if (!j->batch)
            return ERR_NO_STEP;
        if (!ends)
            return send_signal(c, j, job_host(j), r, id, 0, missed) ? 0 : ERR_NODES_DOWN;
        cancel_script(c, j);
        return 0;
    }
    struct step *s = step_find(j, id->step_id);
    if (!s)
        return ERR_NO_STEP;
    if (ends) {
        cancel_step(c, j, s);
        return 0;
    }
    bool sent = false;
    vec_foreach (&s->nodes, n)
        if (!n->ended) /* the other nodes run nothing of it */
            sent = send_signal(c, j, &attempt_of(j)->alloc.data[n->at], r, id, 0, missed) || sent;
    return sent ? 0 : ERR_NODES_DOWN;
}

/* Only the script gets the signal. */
static bool is_for_script(const Pb__JobSignal *r)
{
    return OR(r, batch_only, false) && !OR(r, full, false);
}

/* Signals the nodes on which the job may run; for the script, only its node: the other nodes would
 * keep the signal until their parts begin. */
static int signal_job(struct control *c, struct job *j, const Pb__JobSignal *r,
                      struct hostlist *missed)
{
    bool script_only = j->batch && is_for_script(r);
    bool meant = false, sent = false;
    vec_foreach (&attempt_of(j)->alloc, a) {
        if (a->released || (!a->touched && j->batch) || (script_only && a != job_host(j)))
            continue;
        meant = true;
        sent = send_signal(c, j, a, r, NULL, 0, missed) || sent;
    }
    return meant && !sent ? ERR_NODES_DOWN : 0;
}

/* Whether the request ends the job instead of signalling its processes. */
static bool ends_job(const Pb__JobSignal *r)
{
    bool script_only = OR(r, batch_only, false) || OR(r, full, false);
    return !r->has_signal || (r->signal == SIGKILL && !script_only);
}

static int touch_job(struct control *c, const struct caller *who, struct job *j,
                     const Pb__JobSignal *r, struct hostlist *missed)
{
    if (ends_job(r) && !job_set_is_leader(j) && job_set_is_whole(j) && set_waits(j))
        return ERR_NOT_WHOLE_SET;
    if (job_is_final(j)) {
        if (attempt_of(j)->requeue_after && ends_job(r)) {
            set_keep_away(c, j, who->uid);
            return 0;
        }
        return OR(r, hurry, false) && burst_hurry(c, j) ? 0 : ERR_JOB_DONE;
    }
    if (ends_job(r)) {
        if (j->burst)
            j->burst->hurry = OR(r, hurry, false);
        attempt_make(j)->cancelled_by = who->uid;
        attempt_make(j)->requeue_after = false;
        bool ran = j->state != PB__JOB_STATE__PENDING;
        finish_job(c, j, PB__JOB_STATE__CANCELLED, ran ? SIGTERM : 0, REASON_NONE, "CANCELLED");
        return 0;
    }
    if (j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring)
        return ERR_JOB_PENDING;
    if (!may_signal(j, r->signal))
        return ERR_TRANSITION;
    if (is_for_script(r) && !j->batch)
        return ERR_NO_STEP;
    int code = signal_job(c, j, r, missed);
    bool stopped = r->signal == SIGSTOP || (attempt_of(j)->stopped && r->signal != SIGCONT);
    if (code == 0 && stopped != attempt_of(j)->stopped) {
        attempt_make(j)->stopped = stopped;
        job_touch(c->cluster, j);
    }
    return code;
}

void cancel_notify(struct control *c, struct job *j, int signo)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    SET(&r, signal, signo);
    (void)signal_job(c, j, &r, NULL);
}

/* A node that does not answer now may get the signal later: the number of the signal stays the
 * same, so that no process gets it twice. */
void cancel_warn(struct control *c, struct job *j)
{
    uint64_t nonce = UINT64_C(1) << 63 | (uint64_t)j->id << 24 | j->restarts;
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    bool all = true;
    SET(&r, signal, (int32_t)j->warn_signal);
    SET(&r, batch_only, j->warn_batch);
    vec_foreach (&attempt_of(j)->alloc, a) {
        if (a->released || (j->batch && !a->touched))
            continue;
        if (!c->cluster->nodes.data[a->node]->connected)
            all = false;
        else if (!j->warn_batch || a == job_host(j))
            send_signal(c, j, a, &r, NULL, nonce, NULL);
    }
    attempt_make(j)->warned = all;
    attempt_make(j)->warn_mono_ms = all ? 0 : control_mono(c) + CONTROL_REPEAT_MS;
    job_touch(c->cluster, j);
}

static bool state_matches(const struct job *j, const Pb__JobFilter *f)
{
    bool ok = (f->n_state == 0 && !f->has_completing) ||
              (f->has_completing && f->completing && attempt_of(j)->completing);
    for (size_t i = 0; i < f->n_state; i++)
        ok = ok || f->state[i] == j->state;
    return ok;
}

/* Returns the elements of a record of a job array; if the list exceeds TASKS_BYTES, the first ones
 * and "..."; NULL: not in an array. */
static char *put_tasks(struct results *r, const struct job *j)
{
    _cleanup_str_ struct str tasks = STR_INIT;
    if (!j->array)
        return NULL;
    if (j->tasks.count)
        idset_format(&j->tasks, &tasks);
    else
        str_printf(&tasks, "%u", j->task);
    if (tasks.len > TASKS_BYTES) {
        while (tasks.data[tasks.len - 1] != ',' || tasks.len > TASKS_BYTES)
            tasks.len--;
        str_puts(&tasks, "...");
    }
    return arena_strdup(&r->arena, str_cstr(&tasks));
}

/* Uses the id that listings show; without an offset if all components of a job set are ended. */
static void note_job(struct results *out, const struct job *j, const Pb__JobSignal *r, int code,
                     struct hostlist *missed)
{
    const struct job *leader = job_set_component(j, 0); /* only the leader is in the array */
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = leader && leader->array ? leader->array->id : job_set_id(j);
    id.array_tasks = leader ? put_tasks(out, leader) : NULL;
    id.has_set_offset = j->set && !(j == leader && ends_job(r));
    id.set_offset = j->set_offset;
    note_result(out, id.job_id, &id, code, NULL, missed);
}

static void touch_matching(struct control *c, const struct caller *who, const Pb__JobSignal *r,
                           struct results *out)
{
    struct filter filter;
    struct split_list parts = {0};
    filter_init(&filter, c->cluster, r->filter);
    for (size_t i = 0; i < r->filter->n_array; i++) {
        const struct array *a = array_find(c->cluster, r->filter->array[i]->job_id);
        if (!a || !control_owns(who, array_first(a)))
            continue;
        Pb__StepId id = PB__STEP_ID__INIT;
        id.job_id = r->filter->array[i]->job_id;
        id.array_tasks = r->filter->array[i]->tasks;
        split_targets(c, &id, &parts, NULL);
    }
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        bool over = job_is_final(j) && !(attempt_of(j)->requeue_after && ends_job(r));
        if (over || !control_owns(who, j) || !state_matches(j, r->filter) ||
            !filter_matches(&filter, j))
            continue;
        out->matched++;
        _cleanup_hostlist_ struct hostlist *missed = hostlist_new();
        int code = touch_job(c, who, j, r, missed);
        if (code == ERR_NO_STEP) /* it has no script, and was not named */
            continue;
        note_job(out, j, r, code, missed);
        for (size_t k = 0; k < parts.len && code == 0; k++)
            if (parts.data[k].job_id == j->id)
                split_settle(c, &parts.data[k], true), parts.data[k].from = 0;
    }
    vec_foreach (&parts, part) /* splits that were not needed */
        split_settle(c, part, false);
    vec_done(&parts);
    filter_done(&filter);
}

static int refuse_caller(struct control *c, const struct caller *who, const struct job *j)
{
    control_log_limited(c, who->uid, LOG_LVL_INFO,
                        "refused: uid %u may not end or signal job %u of uid %u", who->uid, j->id,
                        j->uid);
    return control_shows_job(c, who, j) ? ERR_ACCESS : ERR_NO_JOB;
}

/* Elements that are cancelled by name before they start leave no record while other elements are
 * pending: the list of pending elements suffices, as in Slurm. */
static void drop_record(struct control *c, struct job *j)
{
    bool ran = j->past || attempt_of(j)->alloc.len || j->restarts;
    if (ran || j->state != PB__JOB_STATE__CANCELLED || !j->array || !j->array->pending || j->set)
        return;
    attempt_make(j)->purge_mono_ms = control_mono(c);
    control_schedule(c, j);
}

/* Cancels or signals one target: a job, or elements of an array. It succeeds if it succeeds for one
 * of them. */
static int touch_parts(struct control *c, const struct caller *who, const Pb__JobSignal *r,
                       const Pb__StepId *id, const struct split_list *parts,
                       struct hostlist *missed)
{
    int first = 0;
    bool any = false;
    vec_foreach (parts, part) {
        struct job *j = cluster_find_job(c->cluster, part->job_id);
        bool part_of_waiting =
            ends_job(r) && id->has_set_offset && j->set && job_set_is_whole(j) && set_waits(j);
        int code = id->has_step_id   ? touch_step(c, j, r, id, missed)
                   : part_of_waiting ? ERR_NOT_WHOLE_SET
                                     : touch_job(c, who, j, r, missed);
        split_settle(c, part, code == 0);
        if (code == 0 && id->array_tasks && !id->has_step_id)
            drop_record(c, j);
        any = any || code == 0;
        first = first ? first : code;
    }
    return any ? 0 : first;
}

/* Finds the records for cancelling a job, or for a step: set_is_meant_whole() is about jobs only. A
 * step without an offset is one of component 0, whose record may be lost. */
static int find_targets(struct control *c, const Pb__StepId *id, struct split_list *parts,
                        struct err *err)
{
    struct job *leader;
    if (id->has_step_id && !id->array_tasks && named_lost_leader(c, id))
        return named_component(c, id, &leader, err);
    return id->has_step_id ? split_targets(c, id, parts, err)
                           : split_whole_targets(c, id, parts, err);
}

/* Says that the job has no script, of which a request asks. */
static void refuse_script(const struct job *j, struct err *err)
{
    if (j->set)
        err_set(err, -ERR_NO_STEP, "%s: " JOB_SET_TEXT_NO_SCRIPT, err_text(ERR_NO_STEP),
                JOB_ID_TEXT(j), NAMED_SET_TEXT(j));
    else
        err_set(err, -ERR_NO_STEP, "%s: job %s has no script", err_text(ERR_NO_STEP),
                JOB_ID_TEXT(j));
}

static void touch_target(struct control *c, const struct caller *who, const Pb__JobSignal *r,
                         const Pb__StepId *id, struct results *out)
{
    struct split_list parts = {0};
    _cleanup_hostlist_ struct hostlist *missed = hostlist_new();
    bool ends = !id->has_step_id && (!r->has_signal || r->signal == SIGKILL);
    struct err err = {0};
    const struct job *j = named_any(c, id);
    bool own = j && control_owns(who, j);
    bool found = j && (!own || find_targets(c, id, &parts, &err) == 0);
    int code = ERR_NO_JOB;
    if (found && !own)
        code = refuse_caller(c, who, j);
    else if (found)
        code = touch_parts(c, who, r, id, &parts, missed);
    else if (ends && !id->array_tasks && !id->has_set_offset)
        code = aside_cancel(c, who, id->job_id, false);
    if (own && !id->has_step_id && ends_job(r) && named_lost_leader(c, id) &&
        aside_cancel(c, who, id->job_id, true) == 0) /* the leader still ran */
        code = 0;
    if (code == ERR_NO_STEP && !id->has_step_id)
        refuse_script(cluster_find_job(c->cluster, parts.data[0].job_id), &err);
    vec_done(&parts);
    out->matched += code != ERR_NO_JOB && (found || code == 0);
    bool says = (code == ERR_NO_JOB || code == ERR_NO_STEP) && err.code;
    note_result(out, id->job_id, id, code, says ? err.text : NULL, missed);
}

void control_job_signal(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobSignal *r)
{
    struct results out = {0};
    arena_init(&out.arena, 0);
    for (size_t i = 0; i < r->n_target; i++)
        touch_target(c, who, r, r->target[i], &out);
    if (r->filter)
        touch_matching(c, who, r, &out);
    Pb__JobSignalReply reply = PB__JOB_SIGNAL_REPLY__INIT;
    Pb__JobSignalReply__Result **list =
        mem_new_array(Pb__JobSignalReply__Result *, out.list.len + 1);
    for (size_t i = 0; i < out.list.len; i++)
        list[i] = &out.list.data[i];
    reply.results = list;
    reply.n_results = out.list.len;
    SET(&reply, matched, out.matched);
    c->env->reply(c->env->ctx, call, &reply.base);
    free(list);
    vec_done(&out.list);
    arena_done(&out.arena);
}
