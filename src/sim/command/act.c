/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Actions of users and administrators by commands: scancel, scontrol. Each command sends its
 * request once, or twice if the plan says so. A command that receives no reply does not know
 * whether its request succeeded. A confirmed change is kept as a claim until somebody requests
 * another change.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "base/step_id.h"

#include "sim/command/command.h"

static enum sim_claimed claimed_by(const struct sim_item *a)
{
    switch (a->what) {
    case SIM_DO_HOLD:
    case SIM_DO_USER_HOLD:
    case SIM_DO_RELEASE:
    case SIM_DO_REQUEUE_HOLD:
        return SIM_CLAIM_HELD;
    case SIM_DO_LIMIT:
        return SIM_CLAIM_LIMIT;
    case SIM_DO_NICE:
        return SIM_CLAIM_NICE;
    case SIM_DO_PRIORITY: /* the request clears the nice value, unless it is a hold */
        return a->value ? SIM_CLAIM_NICE : SIM_CLAIMS;
    case SIM_DO_COMMENT:
        return SIM_CLAIM_COMMENT;
    case SIM_DO_CONSTRAINT:
        return SIM_CLAIM_FEATURES;
    case SIM_DO_MEMORY:
        return SIM_CLAIM_MEMORY;
    case SIM_DO_BEGIN:
        return SIM_CLAIM_BEGIN;
    case SIM_DO_MOVE:
        return SIM_CLAIM_PART;
    case SIM_DO_LICENSES:
        return SIM_CLAIM_LICENSES;
    default:
        return SIM_CLAIMS;
    }
}

static int64_t claimed_value(const struct sim_item *a)
{
    switch (a->what) {
    case SIM_DO_LIMIT:
    case SIM_DO_NICE:
    case SIM_DO_COMMENT:
    case SIM_DO_MEMORY:
        return a->value;
    case SIM_DO_BEGIN: /* relative to the planned time, whatever the clock shows at that moment */
        return INT64_C(1700000000) + (SIM_START_MS + a->at_ms) / 1000 + a->value;
    case SIM_DO_CONSTRAINT:
    case SIM_DO_LICENSES:
        return (int64_t)(intptr_t)a->text;
    case SIM_DO_MOVE:
        return (int64_t)(intptr_t)a->name;
    case SIM_DO_PRIORITY:
        return 0;
    default:
        return a->what != SIM_DO_RELEASE;
    }
}

static bool is_requeue(const struct sim_item *a)
{
    return a->what == SIM_DO_REQUEUE || a->what == SIM_DO_REQUEUE_HOLD;
}

/* Invalidates the claims that the action may change. */
static void ask_one(struct sim_client *c, const struct sim_item *a, unsigned act)
{
    enum sim_claimed claim = claimed_by(a);
    if (claim < SIM_CLAIMS) {
        c->asked[claim]++;
        c->claims[claim].is_in_force = false;
    }
    if (a->what == SIM_DO_REQUEUE || a->what == SIM_DO_SUSPEND) { /* both hold the job */
        c->asked[SIM_CLAIM_HELD]++;
        c->claims[SIM_CLAIM_HELD].is_in_force = false;
    }
    c->shrinks = c->shrinks || a->what == SIM_DO_SHRINK;
    if (is_requeue(a)) {
        c->requeues_asked += a->again_ms > 0 ? 2 : 1;
        c->cancelled = false;
        c->cancel_last = 0;
    }
    if (a->what == SIM_DO_CANCEL) {
        c->cancels_asked++;
        c->cancel_last = c->requeues_asked == c->requeues_answered ? act + 1 : 0;
    }
}

static void ask_about_job(struct sim *s, const struct sim_item *a, unsigned act)
{
    long index = a->id ? sim_client_find(s, a->id) : -1;
    if (index < 0)
        return;
    struct sim_client *c = &s->clients.data[index];
    ask_one(c, a, act);
    /* A request for the leader applies to the whole set. */
    for (size_t i = 1; i < sim_set_count(s, c); i++)
        ask_one(sim_set_component(s, c, i), a, act);
}

static bool is_announcement(const struct sim_item *a)
{
    return a->what == SIM_DO_ANNOUNCE || a->what == SIM_DO_CALL_OFF;
}

static struct sim_node *made_node(struct sim *s, const struct sim_item *a)
{
    bool makes = a->what == SIM_DO_NODE_CREATE || a->what == SIM_DO_NODE_DELETE;
    long node = makes ? sim_node_index(s, a->nodes) : -1;
    return node < 0 ? NULL : &s->nodes.data[node];
}

static void ask_made(struct sim *s, const struct sim_item *a, unsigned act)
{
    struct sim_node *n = made_node(s, a);
    if (!n)
        return;
    n->last_dynamic = SIM_MADE_UNKNOWN;
    n->made_last = n->made_asked == n->made_answered ? act + 1 : 0;
    n->made_asked += a->again_ms > 0 ? 2 : 1;
}

/* --- requests -----------------------------------------------------------------------------------
 */

/* The id of a job or of a whole array. */
static uint32_t target_job(const struct sim *s, const struct sim_item *a)
{
    long index = sim_client_find(s, a->id);
    return index >= 0 ? s->clients.data[index].job_id : 0;
}

/* Whether the action is for an array. Its elements are in records of different states, and the
 * action applies to those that allow it. */
static bool is_of_array(const struct sim *s, const struct sim_item *a)
{
    long index = a->id ? sim_client_find(s, a->id) : -1;
    return index >= 0 && s->clients.data[index].item->array;
}

/* scancel --user */
static void send_cancel_user(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    uint32_t uid = (uint32_t)s->clients.data[sim_client_find(s, a->id)].item->uid;
    filter.uid = &uid;
    filter.n_uid = 1;
    r.filter = &filter;
    sim_call(s, SIM_OF_ACT, SIM_JOB_SIGNAL, index, &s->rng, &r.base);
}

static void send_signal(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__StepId id = PB__STEP_ID__INIT, *ids[] = {&id};
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    id.job_id = target_job(s, a);
    if (a->what == SIM_DO_CANCEL_USER) {
        send_cancel_user(s, index, a);
        return;
    }
    if (a->what == SIM_DO_CANCEL_STEP)
        SET(&id, step_id, a->value < 0 ? STEP_ID_BATCH : (uint32_t)a->value);
    if (a->what == SIM_DO_SIGNAL)
        SET(&r, signal, SIGUSR1);
    r.target = ids;
    r.n_target = 1;
    sim_call(s, SIM_OF_ACT, SIM_JOB_SIGNAL, index, &s->rng, &r.base);
}

static void send_suspend(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = target_job(s, a);
    SET(&r, resume, a->what == SIM_DO_CONTINUE);
    sim_call(s, SIM_OF_ACT, SIM_JOB_SUSPEND, index, &s->rng, &r.base);
}

static void send_update(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    char text[SIM_NAME];
    r.job_id = target_job(s, a);
    switch (a->what) {
    case SIM_DO_HOLD:
        SET(&r, hold, true);
        break;
    case SIM_DO_USER_HOLD:
        SET(&r, user_hold, true);
        break;
    case SIM_DO_RELEASE:
        SET(&r, hold, false);
        break;
    case SIM_DO_REQUEUE_HOLD:
        SET(&r, hold, true);
        SET(&r, requeue, true);
        break;
    case SIM_DO_REQUEUE:
        SET(&r, requeue, true);
        break;
    case SIM_DO_LIMIT:
        r.set = &set;
        SET(&set, time_limit_sec, a->value);
        break;
    case SIM_DO_NICE:
        r.set = &set;
        SET(&set, nice, (int32_t)a->value);
        break;
    case SIM_DO_COMMENT:
        r.set = &set;
        snprintf(text, sizeof text, "c%lld", (long long)a->value);
        set.comment = text;
        break;
    case SIM_DO_PRIORITY:
        SET(&r, priority, (uint32_t)a->value);
        break;
    case SIM_DO_BEGIN:
        r.set = &set;
        SET(&set, begin_at_sec, claimed_value(a));
        break;
    case SIM_DO_MEMORY:
        r.set = &set;
        SET(&set, mem_per_node_mib, (uint64_t)a->value);
        break;
    case SIM_DO_CONSTRAINT:
        r.set = &set;
        set.features = (char *)a->text;
        break;
    case SIM_DO_LICENSES:
        r.set = &set;
        set.licenses = (char *)a->text;
        break;
    case SIM_DO_SHRINK:
        r.set = &set;
        SET(&set, min_nodes, (uint32_t)a->value);
        SET(&set, max_nodes, (uint32_t)a->value);
        break;
    default:
        r.set = &set;
        set.partition = (char *)a->name;
    }
    sim_call(s, SIM_OF_ACT, SIM_JOB_UPDATE, index, &s->rng, &r.base);
}

static void send_node_update(struct sim *s, unsigned index, const struct sim_item *a)
{
    static const char *const states[] = {
        [SIM_DO_DRAIN] = "DRAIN", [SIM_DO_RESUME] = "RESUME", [SIM_DO_UNDRAIN] = "UNDRAIN",
        [SIM_DO_DOWN] = "DOWN",   [SIM_DO_IDLE] = "IDLE",     [SIM_DO_FUTURE] = "FUTURE",
        [SIM_DO_FAIL] = "FAIL"};
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)a->nodes;
    r.state = (char *)states[a->what];
    if (a->what == SIM_DO_DRAIN || a->what == SIM_DO_DOWN || a->what == SIM_DO_FAIL)
        r.reason = (char *)"by plan";
    if (a->what == SIM_DO_NODE_WEIGHT)
        SET(&r, weight, (uint32_t)a->value);
    if (a->what == SIM_DO_NODE_FEATURES)
        r.features = (char *)a->text;
    if (a->what == SIM_DO_NODE_COMMENT)
        r.comment = (char *)a->text;
    sim_call(s, SIM_OF_ACT, SIM_NODE_UPDATE, index, &s->rng, &r.base);
}

static void send_made(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    struct str keys = STR_INIT;
    long node = sim_node_index(s, a->nodes);
    r.nodes = (char *)a->nodes;
    if (a->what == SIM_DO_NODE_DELETE)
        SET(&r, remove, true);
    else if (node >= 0 && s->nodes.data[node].item)
        sim_plan_keys(s->nodes.data[node].item, &keys);
    if (!r.has_remove) {
        str_printf(&keys, " State=%s", a->value ? "FUTURE" : "CLOUD");
        r.create = (char *)str_cstr(&keys);
    }
    sim_call(s, SIM_OF_ACT, SIM_NODE_UPDATE, index, &s->rng, &r.base);
    str_done(&keys);
}

static void send_part_update(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__PartUpdate r = PB__PART_UPDATE__INIT;
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)a->name;
    r.set = &set;
    if (a->what == SIM_DO_PART_STATE)
        set.state = (char *)a->text;
    if (a->what == SIM_DO_PART_SHARE)
        set.share = (char *)a->text;
    if (a->what == SIM_DO_PART_TIME)
        SET(&set, max_time_sec, a->value);
    if (a->what == SIM_DO_PART_CPUS)
        SET(&set, max_cpus_per_node, a->value ? (uint32_t)a->value : UINT32_MAX);
    if (a->what == SIM_DO_PART_SOCKET)
        SET(&set, max_cpus_per_socket, (uint32_t)a->value); /* 0: no limit */
    if (a->what == SIM_DO_PART_PREEMPT)
        set.preempt_mode = (char *)a->text;
    if (a->what == SIM_DO_PART_NODES || a->what == SIM_DO_PART_CREATE)
        set.nodes = (char *)a->nodes;
    if (a->what == SIM_DO_PART_CREATE)
        SET(&r, create, true);
    if (a->what == SIM_DO_PART_REMOVE)
        SET(&r, remove, true);
    sim_call(s, SIM_OF_ACT, SIM_PART_UPDATE, index, &s->rng, &r.base);
}

static void send_resv_delete(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    m.name = (char *)a->name;
    sim_call(s, SIM_OF_ACT, SIM_RESV_DELETE, index, &s->rng, &m.base);
}

/* Start is 'value' seconds from now and the duration 'for_ms'; 0: the request has no times. */
static void send_resv_update(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    _cleanup_free_ char *users = mem_printf("%lld", (long long)a->uid);
    set.name = (char *)a->name;
    m.set = &set;
    m.has_create = m.create = a->what == SIM_DO_RESV_CREATE;
    set.users = users;
    set.has_end_at = a->for_ms > 0;
    set.has_start_at = a->what == SIM_DO_RESV_CREATE && a->for_ms;
    set.licenses = *a->licenses ? (char *)a->licenses : NULL;
    set.start_at = sim_wall_ms(s) / 1000 + a->value;
    set.end_at = set.start_at + a->for_ms / 1000;
    if (a->what == SIM_DO_RESV_CREATE) {
        set.flags = (char *)a->text;
        set.has_node_count = a->id > 0;
        set.node_count = (uint32_t)a->id;
        set.gres_per_node = *a->gres ? (char *)a->gres : NULL;
        set.gres = *a->gpus ? (char *)a->gpus : NULL;
        if (!set.has_node_count && *a->nodes)
            set.nodes = (char *)a->nodes;
    }
    sim_call(s, SIM_OF_ACT, SIM_RESV_UPDATE, index, &s->rng, &m.base);
}

static void send_resv(struct sim *s, unsigned index, const struct sim_item *a)
{
    if (a->what == SIM_DO_RESV_DELETE)
        send_resv_delete(s, index, a);
    else
        send_resv_update(s, index, a);
}

static void send_announcement(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ShutdownRequest r = PB__SHUTDOWN_REQUEST__INIT;
    r.has_announce_sec = a->what == SIM_DO_ANNOUNCE;
    r.announce_sec = a->value;
    r.has_retract = r.retract = a->what == SIM_DO_CALL_OFF;
    sim_call(s, SIM_OF_ACT, SIM_ANNOUNCE, index, &s->rng, &r.base);
}

static void send_action(struct sim *s, unsigned index, const struct sim_item *a)
{
    if (a->what <= SIM_DO_CANCEL_USER)
        send_signal(s, index, a);
    else if (a->what <= SIM_DO_CONTINUE)
        send_suspend(s, index, a);
    else if (a->what <= SIM_DO_SHRINK)
        send_update(s, index, a);
    else if (a->what <= SIM_DO_FAIL)
        send_node_update(s, index, a);
    else if (a->what <= SIM_DO_NODE_DELETE)
        send_made(s, index, a);
    else if (a->what <= SIM_DO_PART_SOCKET)
        send_part_update(s, index, a);
    else if (a->what <= SIM_DO_RESV_DELETE)
        send_resv(s, index, a);
    else if (a->what == SIM_DO_COUNT)
        sim_count_send(s, index, a);
    else if (a->what <= SIM_DO_CALL_OFF)
        send_announcement(s, index, a);
    else
        sim_call(s, SIM_OF_ACT, a->what == SIM_DO_PREVIEW ? SIM_PREVIEW : SIM_RECONFIGURE, index,
                 &s->rng, NULL);
}

static void ask_announcement(struct sim *s, const struct sim_item *a, unsigned act)
{
    struct sim_announced *n = &s->announced;
    n->is = SIM_ANNOUNCED_UNKNOWN;
    n->last = n->asked == n->resolved ? act + 1 : 0;
    n->asked += a->again_ms > 0 ? 2 : 1;
}

void sim_act(struct sim *s, unsigned index)
{
    const struct sim_item *a = s->acts.data[index];
    bool of_job = a->what <= SIM_DO_SHRINK;
    if (of_job && !target_job(s, a))
        return; /* no acknowledged id yet */
    s->result->acts++;
    ask_about_job(s, a, index);
    ask_made(s, a, index);
    if (is_announcement(a))
        ask_announcement(s, a, index);
    if (a->what >= SIM_DO_RECONFIGURE)
        s->file = (unsigned)a->value % SIM_FILES;
    if (a->what == SIM_DO_EDIT)
        return;
    send_action(s, index, a);
    if (a->again_ms > 0 && a->what < SIM_DO_RECONFIGURE)
        send_action(s, index, a);
}

/* --- answers ------------------------------------------------------------------------------------
 */

/* Checks each job that the reply lists as cancelled. A job with requeue requests is checked only if
 * the action names it and was the last one. */
static void cancelled_one(struct sim *s, const Pb__JobSignalReply__Result *r, unsigned act)
{
    const struct sim_watch *w = sim_watch_find(s, r->job_id);
    struct sim_view v;
    if (!w || w->client == UINT32_MAX) {
        sim_break(s, "an answer about another job", "to a cancellation: job %u", r->job_id);
        return;
    }
    struct sim_client *c = &s->clients.data[w->client];
    if (r->code != 0 || w->purged || (c->requeues_asked && c->cancel_last != act + 1))
        return;
    if (sim_set_leader(s, c)) /* the component returns to the queue with its set */
        return;
    sim_set_cancelled(s, c);
    c->cancelled = !c->item->array;
    if (!sim_view_stored(s, r->job_id, &v) || !sim_view_is_final(v.state) || v.requeue_after)
        sim_break(s, "a cancelled job that goes on", "job %u is in state %d on disk%s", r->job_id,
                  v.state, v.requeue_after ? ", to be requeued" : "");
    c->cancelled_state = v.state;
}

static void on_cancelled(struct sim *s, const struct sim_item *a, unsigned act,
                         const struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSignalReply *r =
        arena_unpack(&arena, &pb__job_signal_reply__descriptor, e->body.data, e->body.len);
    bool one = a->what == SIM_DO_CANCEL;
    if (!r || (one && (r->n_results != 1 || r->results[0]->job_id != target_job(s, a)))) {
        sim_break(s, "an answer about another job", "to the cancellation of job %u",
                  target_job(s, a));
        return;
    }
    for (size_t i = 0; i < r->n_results; i++)
        if (one || r->results[i]->code == 0)
            cancelled_one(s, r->results[i], act);
}

/* No element may continue, unless a requeue was requested. */
static void on_array_cancelled(struct sim *s, const struct sim_client *c)
{
    for (const struct sim_watch *w = s->watches; w && !c->requeues_asked; w = w->hh.next) {
        struct sim_view v;
        if (w->array_id == c->job_id && sim_view_stored(s, w->job_id, &v) &&
            !sim_view_is_final(v.state))
            sim_break(s, "a cancelled array of which an element goes on",
                      "job %u of array %u is in state %d on disk", w->job_id, c->job_id, v.state);
    }
}

static void on_updated(struct sim *s, struct sim_client *c, const struct sim_item *a)
{
    enum sim_claimed claim = claimed_by(a);
    struct sim_view v;
    if (claim == SIM_CLAIMS || c->asked[claim] != 1)
        return; /* there were other requests, and their order is unknown here */
    c->claims[claim].is_in_force = true;
    c->claims[claim].value = claimed_value(a);
    if (sim_view_stored(s, c->job_id, &v))
        sim_check_claims(s, c, &v, "on disk");
}

/* The job on disk has at most the requested number of nodes. The exception is a job that lost a
 * node and was restarted before the reply came: a new attempt requests all nodes again. */
static void on_shrunk(struct sim *s, const struct sim_call *call, const struct sim_client *c,
                      const struct sim_item *a)
{
    const struct sim_watch *w = sim_watch_find(s, c->job_id);
    struct sim_view v;
    bool runs = w && sim_view_stored(s, c->job_id, &v) && v.state == PB__JOB_STATE__RUNNING;
    runs = runs && v.restarts == w->view.restarts && w->ran_from_ms <= call->arrived_ms;
    if (runs && !c->requeues_asked && w->shares.len > (size_t)a->value)
        sim_break(s, "a job gave nodes back and has them", "job %u: %zu of %lld", c->job_id,
                  w->shares.len, (long long)a->value);
    s->result->shrinks += runs;
}

/* The action changes a property of the node and not its state. */
static bool keeps_state(const struct sim_item *a)
{
    return a->what == SIM_DO_NODE_WEIGHT || a->what == SIM_DO_NODE_FEATURES ||
           a->what == SIM_DO_NODE_COMMENT;
}

static void on_node_updated(struct sim *s, const struct sim_item *a)
{
    struct sim_node_view v = {0};
    const struct sim_record *r = sim_store_find(s, RECORD_NODE, 0, a->nodes);
    if (r)
        sim_view_node(r, &v);
    for (size_t i = 0; i < s->acts.len; i++) { /* another request may have followed */
        const struct sim_item *other = s->acts.data[i];
        if (other != a && other->kind == SIM_ITEM_DO && strcmp(other->nodes, a->nodes) == 0 &&
            (other->what == a->what || !keeps_state(other)))
            return;
    }
    if ((a->what == SIM_DO_DRAIN && !v.drain) || (a->what == SIM_DO_FAIL && !v.fail) ||
        (a->what == SIM_DO_DOWN && !v.down) ||
        (a->what == SIM_DO_NODE_WEIGHT && v.weight != a->value) ||
        (a->what == SIM_DO_NODE_FEATURES && strcmp(v.features, a->text) != 0) ||
        (a->what == SIM_DO_NODE_COMMENT && strcmp(v.comment, a->text) != 0))
        sim_break(s, "a change of a node was answered and is not on disk", "%s", a->nodes);
}

/* Creation or deletion of a dynamic node. A deleted node may exist again if a file defines it or if
 * it registers itself. */
static void on_made(struct sim *s, const struct sim_item *a, unsigned act, bool done)
{
    struct sim_node *n = made_node(s, a);
    bool create = a->what == SIM_DO_NODE_CREATE;
    if (!n)
        return;
    n->made_answered++;
    if (!done || n->made_last != act + 1 || n->filed || (!create && n->dynamic))
        return;
    n->last_dynamic = create ? SIM_MADE_THERE : SIM_MADE_GONE;
    if (sim_view_made(s, n->name) != create)
        sim_break(s, "a node was made and is not on disk", "%s is to be %s", n->name,
                  create ? "there" : "gone");
}

static void note_requeue_answered(struct sim *s, struct sim_client *c)
{
    for (size_t i = 1; i < sim_set_count(s, c); i++)
        sim_set_component(s, c, i)->requeues_answered++;
    c->requeues_answered++;
}

static void on_announced(struct sim *s, const struct sim_item *a, unsigned act, bool done)
{
    struct sim_announced *n = &s->announced;
    n->resolved++;
    /* A repeated request may still be under way. */
    if (n->last != act + 1 || n->resolved != n->asked)
        return;
    n->is = done && a->what == SIM_DO_ANNOUNCE ? SIM_ANNOUNCED : SIM_NOT_ANNOUNCED;
    n->due_ms = n->taken_ms + a->value * 1000;
    if (a->what == SIM_DO_ANNOUNCE && !done)
        sim_break(s, "an announcement was refused", "act %u", act);
}

void sim_act_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e)
{
    const struct sim_item *a = s->acts.data[call->index];
    long index = a->id ? sim_client_find(s, a->id) : -1;
    if (index >= 0 && is_requeue(a))
        note_requeue_answered(s, &s->clients.data[index]);
    on_made(s, a, call->index, e->code == 0);
    if (is_announcement(a))
        on_announced(s, a, call->index, e->code == 0);
    if (e->code) {
        sim_say(s, "act %u is refused: %s", call->index, str_cstr(&e->body));
        return;
    }
    if (a->what == SIM_DO_COUNT)
        sim_count_answered(s, a);
    if (index >= 0)
        sim_set_check_order(s, &s->clients.data[index], a);
    bool whole = is_of_array(s, a) && a->what != SIM_DO_CANCEL_USER;
    if (whole && a->what == SIM_DO_CANCEL)
        on_array_cancelled(s, &s->clients.data[index]);
    if (whole)
        return;
    if (a->what == SIM_DO_CANCEL || a->what == SIM_DO_CANCEL_USER)
        on_cancelled(s, a, call->index, e);
    else if (a->what == SIM_DO_SHRINK && index >= 0)
        on_shrunk(s, call, &s->clients.data[index], a);
    else if (call->request == SIM_JOB_UPDATE && index >= 0)
        on_updated(s, &s->clients.data[index], a);
    else if (call->request == SIM_NODE_UPDATE && !made_node(s, a))
        on_node_updated(s, a);
}

/* The command that announced or withdrew a shutdown does not know the result. */
void sim_act_lost(struct sim *s)
{
    s->announced.resolved++;
}
