/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job sets: some jobs of a drawn plan become components of others. A separate random stream draws
 * the sets, so the plan of a seed without sets stays unchanged. */
#include "sim/plan/draw.h"

#define OWN_STREAM UINT64_C(0x5e75)

static void draw_set_act(struct draw *d, const struct sim_item *leader, int64_t components)
{
    static const uint8_t often[] = {
        SIM_DO_CANCEL,  SIM_DO_CANCEL,  SIM_DO_SIGNAL,    SIM_DO_CANCEL_STEP, SIM_DO_SUSPEND,
        SIM_DO_SUSPEND, SIM_DO_HOLD,    SIM_DO_USER_HOLD, SIM_DO_RELEASE,     SIM_DO_REQUEUE_HOLD,
        SIM_DO_REQUEUE, SIM_DO_REQUEUE, SIM_DO_LIMIT,     SIM_DO_PRIORITY,    SIM_DO_COMMENT};
    int64_t at_ms =
        leader->at_ms + draw_skewed(d, 1, draw_chance(d, 50) ? leader->run_ms + 1000 : 60000);
    int64_t id = leader->id + (draw_chance(d, 50) ? 0 : draw_between(d, 1, components));
    struct sim_item *a = add_item(d, SIM_ITEM_DO);
    a->what = often[draw_between(d, 0, (int64_t)sizeof often - 1)];
    a->at_ms = at_ms;
    a->id = id;
    a->root = draw_chance(d, 80);
    a->again_ms = draw_chance(d, 4);
    a->value = a->what == SIM_DO_CANCEL_STEP ? draw_between(d, -1, 2) : draw_between(d, 1, 600);
    if (a->what != SIM_DO_SUSPEND && !draw_chance(d, 20))
        return;
    bool suspends = a->what == SIM_DO_SUSPEND;
    a = add_item(d, SIM_ITEM_DO);
    a->what = suspends ? SIM_DO_CONTINUE : SIM_DO_REQUEUE;
    a->at_ms = at_ms + draw_skewed(d, 1, 20000);
    a->id = id;
    a->root = 1;
}

/* A modest request: it fits on any node, beside the other components or alone. */
static void draw_modest(struct draw *d, struct sim_item *j)
{
    struct sim_item modest;
    sim_plan_item(&modest, SIM_ITEM_JOB);
    modest.id = j->id;
    modest.at_ms = j->at_ms;
    modest.what = SIM_JOB_BATCH;
    modest.uid = j->uid;
    modest.component_of = j->component_of;
    modest.limit_sec = j->limit_sec;
    modest.run_ms = j->run_ms;
    modest.requeue = j->requeue;
    modest.steps = j->steps;
    modest.step_ms = j->step_ms;
    modest.tasks = draw_chance(d, 50);
    modest.held = j->held && draw_chance(d, 30);
    *j = modest;
}

/* Clears the options of a component that only an independent job may have. */
static void draw_component(struct draw *d, struct sim_item *j, const struct sim_item *leader)
{
    j->what = SIM_JOB_BATCH;
    j->component_of = leader->id;
    j->uid = leader->uid;
    j->array = j->throttle = j->after = j->waits = j->immediate = j->dies_ms = j->again_ms = 0;
    j->depend[0] = 0;
    j->begin_sec = draw_chance(d, 10) ? j->begin_sec : 0;
    j->requeue = leader->requeue;
    j->step_ms = draw_skewed(d, 1, 20000);
    if (draw_chance(d, 80))
        memcpy(j->resv, leader->resv, sizeof j->resv);
    if (draw_chance(d, 90))
        j->licenses[0] = 0;
    if (draw_chance(d, 60))
        draw_modest(d, j);
}

static void draw_set(struct draw *d, size_t at, int64_t components)
{
    struct sim_item *items = d->plan->items.data, *leader = &items[at];
    bool modest = draw_chance(d, 30);
    leader->array = leader->throttle = 0;
    if (draw_chance(d, 50)) {
        leader->steps = draw_skewed(d, 1, 6);
        leader->step_ms = draw_skewed(d, 1, 20000);
    }
    if (modest)
        draw_modest(d, leader);
    for (int64_t i = 1; i <= components; i++) {
        draw_component(d, &items[at + (size_t)i], leader);
        if (modest)
            draw_modest(d, &items[at + (size_t)i]);
    }
    const struct sim_item own = *leader;
    for (int64_t acts = draw_chance(d, 50) ? draw_skewed(d, 1, 4) : 0; acts > 0; acts--)
        draw_set_act(d, &own, components);
}

/* The number of jobs directly after the leader in the plan, at most 'most'. */
static int64_t count_behind(const struct draw *d, size_t at, int64_t most)
{
    int64_t n = 0;
    while (n < most && at + (size_t)n + 1 < d->plan->items.len &&
           d->plan->items.data[at + (size_t)n + 1].kind == SIM_ITEM_JOB)
        n++;
    return n;
}

/* Priority of sets in the queue, and the planner's two modes; only if the plan has no other
 * SchedulerParameters. */
static void draw_planning(struct draw *d)
{
    static const char *const rules[] = {"", ",bf_hetjob_prio=min", ",bf_hetjob_prio=max",
                                        ",bf_hetjob_immediate"};
    vec_foreach (&d->plan->items, item)
        if (strstr(item->text, "SchedulerParameters="))
            return;
    if (!draw_chance(d, 40))
        return;
    bool two = draw_chance(d, 60);
    add_conf(d, "SchedulerParameters=%s%s", two ? "hetjob_two_mode,bf_interval=5" : "defer",
             rules[draw_between(d, 0, 3)]);
}

void sim_plan_draw_sets(struct sim_plan *p, uint64_t seed)
{
    struct draw d = {.plan = p, .rng = {seed ^ OWN_STREAM << 40}};
    sim_plan_draw(p, seed);
    int64_t share = ONE_OF(&d, 10, 30, 60);
    size_t count = p->items.len;
    for (size_t at = 0; at < count; at++) {
        int64_t most = draw_skewed(&d, 1, draw_chance(&d, 10) ? 12 : 3);
        int64_t components = count_behind(&d, at, most);
        const struct sim_item *j = &p->items.data[at];
        if (j->kind != SIM_ITEM_JOB || j->what != SIM_JOB_BATCH || !components ||
            !draw_chance(&d, (unsigned)share))
            continue;
        draw_set(&d, at, components);
        at += (size_t)components;
    }
    draw_planning(&d);
}
