/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults, and their repair at the end so that every job can end. */
#include <string.h>

#include "base/mem.h"
#include "sim/command/command.h"
#include "sim/controller/controller.h"
#include "sim/node/node.h"
#include "sim/world/world.h"

#define HEAL_AGAIN_MS 2000
#define SETTLE_MS 120000
#define GO_ON_MOST 20    /* maximum number of attempts to resume a job */
#define NOBODY_MS 600000 /* longer than any controller is down or paused */

static void step_clock(struct sim *s, const struct sim_item *f)
{
    s->latest_wall_ms = s->latest_wall_ms > sim_wall_ms(s) ? s->latest_wall_ms : sim_wall_ms(s);
    /* A value beyond a century in milliseconds is a date. */
    if (f->value > INT64_C(3000000000000) / 2)
        s->wall_offset_ms += f->value - sim_wall_ms(s);
    else
        s->wall_offset_ms += f->value;
}

static void strike_node(struct sim *s, const struct sim_item *f, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    int64_t until_ms = s->now_ms + f->for_ms;
    switch (f->what) {
    case SIM_FAULT_BREAK:
        s->result->breaks++;
        sim_node_break(s, index, f->for_ms, f->keep);
        break;
    case SIM_FAULT_KILL:
    case SIM_FAULT_REBOOT:
        if (!n->up)
            break;
        *(f->what == SIM_FAULT_KILL ? &s->result->kills : &s->result->reboots) += 1;
        sim_node_kill(s, index, f->what == SIM_FAULT_REBOOT, f->for_ms);
        break;
    case SIM_FAULT_STOP:
        n->stopped_until_ms = until_ms;
        sim_push(s, f->for_ms, (struct sim_event){.kind = SIM_NODE_UP, .index = index});
        break;
    case SIM_FAULT_SLOW:
        n->slow_until_ms = until_ms;
        n->slow_by_ms = f->value;
        break;
    case SIM_FAULT_REPEAT:
        n->repeat_until_ms = until_ms;
        break;
    case SIM_FAULT_FORGET:
        vec_foreach (&n->jobs, j)
            j->batch_started = j->gone = j->terminating = false;
        break;
    case SIM_FAULT_SKEW:
        n->skew_until_ms = until_ms;
        n->skew_ms = f->value;
        break;
    case SIM_FAULT_LIE:
        n->lie_until_ms = until_ms;
        n->lie_cpus = (uint32_t)f->cpus;
        n->lie_mem_mib = (uint64_t)f->value;
        sim_node_break(s, index, 0, 0);
        break;
    }
}

void sim_fault(struct sim *s, unsigned index)
{
    const struct sim_item *f = s->acts.data[index];
    if (s->quiet)
        return;
    sim_say(s, "fault %u strikes", index);
    s->result->others++;
    if (f->what == SIM_FAULT_CRASH) {
        s->crash = f;
        s->crash_point = f->point;
        s->crash_again = false;
    } else if (f->what == SIM_FAULT_CLIENT) {
        long client = sim_client_find(s, f->id);
        if (client >= 0)
            sim_client_break(s, (unsigned)client, f->value != 0);
    } else if (f->what >= SIM_FAULT_PAUSE && f->what <= SIM_FAULT_ORDER) {
        sim_lead_fault(s, f);
    } else if (f->what == SIM_FAULT_CLOCK) {
        step_clock(s, f);
    } else if (f->what == SIM_FAULT_LOSE) {
        s->disk_loses = true;
    } else if (f->what == SIM_FAULT_DISK) {
        s->slow_disk_until_ms = s->now_ms + f->for_ms;
        s->slow_disk_ms = f->value;
    } else if (f->what == SIM_FAULT_NET) {
        s->net_until_ms = s->now_ms + f->for_ms;
        s->net_late_ms = f->value;
        s->net_lost_percent = f->keep;
    } else if (f->node >= 1 && f->node <= (int64_t)s->nodes.len) {
        strike_node(s, f, (unsigned)f->node - 1);
    }
}

/* --- the end of all faults ----------------------------------------------------------------------
 */

static void do_item(struct sim *s, const struct sim_item *item)
{
    vec_push(&s->acts, item);
    sim_act(s, (unsigned)s->acts.len - 1);
}

static const struct sim_item resume_all = {
    .kind = SIM_ITEM_DO, .what = SIM_DO_RESUME, .nodes = "ALL", .root = 1};

static const struct sim_item all_on = {.kind = SIM_ITEM_DO, .what = SIM_DO_CALL_OFF, .root = 1};

/* An announced shutdown would prevent all starts. */
static void call_off(struct sim *s)
{
    if (control_is_announced(s->c->control))
        do_item(s, &all_on);
}

void sim_fault_heal(struct sim *s)
{
    s->quiet = true;
    s->crash = NULL;
    s->crash_again = false;
    s->net_until_ms = 0;
    for (unsigned i = 0; i < s->nodes.len; i++) {
        struct sim_node *n = &s->nodes.data[i];
        n->slow_until_ms = n->repeat_until_ms = n->skew_until_ms =
            0; /* stopped daemons continue at their planned time */
        if (n->lie_until_ms > s->now_ms)
            sim_node_break(s, i, 0, 0);
        n->lie_until_ms = 0;
    }
    s->mended_at_ms = s->mended_at_ms ? s->mended_at_ms : s->now_ms;
    if (s->now_ms > s->mended_at_ms + NOBODY_MS)
        sim_break(s, "nobody leads", "long after everything was mended");
    if (!s->c->control) {
        sim_push(s, HEAL_AGAIN_MS, (struct sim_event){.kind = SIM_HEAL});
        return;
    }
    s->healed_at_ms = s->now_ms;
    call_off(s);
    sim_push(s, SETTLE_MS, (struct sim_event){.kind = SIM_SETTLE});
}

/* The job waits for something that does not happen by itself: a release by an operator, or
 * resources that no longer exist. */
static bool needs_intervention(const struct sim *s, const struct sim_view *v)
{
    bool resources =
        !*v->reason || strcmp(v->reason, "Resources") == 0 || strcmp(v->reason, "Priority") == 0;
    return !resources || s->shrunk;
}

static uint64_t new_call(struct sim *s)
{
    struct sim_call call = {.owner = SIM_OF_NOBODY, .arrived = true, .life = s->c->life};
    call.arrived_ms = s->now_ms;
    call.ctl = s->c->index;
    vec_push(&s->calls, call);
    return s->calls.len;
}

/* Waiting for the end of reservations would take too long. */
static void delete_reservations(struct sim *s)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    for (size_t i = s->resvs.len; i-- > 0;) {
        Pb__ResvDelete m = PB__RESV_DELETE__INIT;
        _cleanup_free_ char *name = mem_strdup(s->resvs.data[i].name);
        m.name = name;
        control_resv_delete(s->c->control, new_call(s), &root, &m);
    }
}

static void cancel_job(struct sim *s, uint32_t job_id)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__StepId id = PB__STEP_ID__INIT, *ids[] = {&id};
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    id.job_id = job_id;
    r.target = ids;
    r.n_target = 1;
    control_job_signal(s->c->control, new_call(s), &root, &r);
}

/* Resumes a suspended job. A job whose CPUs others use waits for them, and the others wait for
 * their own resume. */
static void continue_job(struct sim *s, uint32_t job_id)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = job_id;
    r.has_resume = r.resume = true;
    control_job_suspend(s->c->control, new_call(s), &root, &r);
}

/* An action on a component applies to the whole set. */
static uint32_t get_whole_id(const Pb__JobLive *live)
{
    return live->has_set_id ? live->set_id : live->job_id;
}

static bool is_waiting(const struct sim *s, const Pb__JobLive *live, struct sim_view *v)
{
    *v = (struct sim_view){0};
    if (live->reason)
        strncpy(v->reason, live->reason, sizeof v->reason - 1);
    return live->state == PB__JOB_STATE__PENDING && needs_intervention(s, v);
}

/* Cancels sets with a component that waits for an operator, and sets that may not fit as a whole
 * even on an empty cluster: those keep their places in the queue. */
static bool cancel_sets(struct sim *s, const Pb__JobList *list, bool running)
{
    bool any = false;
    struct sim_view v;
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *live = list->jobs[i]->live;
        if (live->state != PB__JOB_STATE__PENDING || !live->has_set_id ||
            !(is_waiting(s, live, &v) || (!running && !sim_set_must_fit(s, live->set_id))))
            continue;
        cancel_job(s, live->set_id);
        any = true;
    }
    return any;
}

static void settle_list(struct sim *s, const Pb__JobList *list, bool running)
{
    if (cancel_sets(s, list, running))
        return;
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *live = list->jobs[i]->live;
        struct sim_view v;
        if (live->state == PB__JOB_STATE__SUSPENDED)
            continue_job(s, get_whole_id(live));
        if (live->state == PB__JOB_STATE__SUSPENDED && live->has_set_id && s->shrunk &&
            s->settled > GO_ON_MOST) /* its components may no longer fit together */
            cancel_job(s, live->set_id);
        if (live->state != PB__JOB_STATE__PENDING)
            continue;
        if (is_waiting(s, live, &v))
            cancel_job(s, live->job_id);
        else if (sim_wish_waits(s))
            continue;
        else if (!running)
            sim_break(s, "a job waits for nothing", "job %u, for %s", live->job_id,
                      *v.reason ? v.reason : "no reason");
    }
}

/* Long after all faults: a job that is still waiting waits for an operator, or for ever. */
void sim_fault_settle(struct sim *s)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    sim_push(s, SETTLE_MS, (struct sim_event){.kind = SIM_SETTLE});
    if (!s->c->control)
        return;
    call_off(s);             /* an announcement may have been under way for long */
    if (s->settled++ == 0) { /* first, nodes that were declared down return to service */
        do_item(s, &resume_all);
        return;
    }
    delete_reservations(s);
    while (control_list_jobs(s->c->control, &root, &filter, &cursor, 1 << 20, &out))
        ;
    const Pb__JobList *list = arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
    bool running = false;
    for (size_t i = 0; list && i < list->n_jobs; i++)
        running = running || list->jobs[i]->live->state != PB__JOB_STATE__PENDING;
    if (list)
        settle_list(s, list, running);
    str_done(&out);
    sim_ctl_turn(s);
}
