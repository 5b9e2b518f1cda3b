/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The faults of a plan, and the actions of users and administrators: on jobs, nodes, partitions,
 * and the controller.
 */
#include "sim/plan/draw.h"

void sim_draw_crash(struct draw *d, struct sim_item *f)
{
    f->point = draw_between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->for_ms = draw_chance(d, 70) ? draw_between(d, 10, 2000) : draw_skewed(d, 10, 120000);
    f->keep = draw_between(d, 0, 99);
    if (draw_chance(d, 20))
        f->then = draw_between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->boot = draw_chance(d, 5);
}

static void draw_clock_fault(struct draw *d, struct sim_item *f)
{
    f->value = ONE_OF(d, 3600000, -3600000, -60000, 90000, 2147483640000, 4291747200000);
}

static void draw_node_fault(struct draw *d, struct sim_item *f)
{
    static const uint8_t often[] = {SIM_FAULT_BREAK, SIM_FAULT_BREAK,  SIM_FAULT_BREAK,
                                    SIM_FAULT_KILL,  SIM_FAULT_REBOOT, SIM_FAULT_REBOOT,
                                    SIM_FAULT_STOP,  SIM_FAULT_SLOW,   SIM_FAULT_REPEAT,
                                    SIM_FAULT_LIE,   SIM_FAULT_SKEW};
    f->what = often[draw_between(d, 0, (int64_t)sizeof often - 1)];
    f->node = draw_between(d, 1, d->nodes);
    f->for_ms = draw_skewed(d, 1, f->what == SIM_FAULT_BREAK || d->storm ? 20000 : 120000);
    if (f->what == SIM_FAULT_BREAK)
        f->keep = draw_skewed(d, 0, 30000);
    if (f->what == SIM_FAULT_SLOW)
        f->value = draw_skewed(d, 10, 15000);
    if (f->what == SIM_FAULT_LIE && draw_chance(d, 70))
        f->cpus = draw_chance(d, 70) ? 1 : 64;
    if (f->what == SIM_FAULT_SKEW)
        f->value = ONE_OF(d, -3600000, -90000, 5000, 110000, 400000, 3600000);
    if (f->what == SIM_FAULT_LIE && draw_chance(d, 50))
        f->value = draw_chance(d, 70) ? draw_between(d, 1, 400) : 1000000;
}

void sim_draw_faults(struct draw *d)
{
    bool clock = draw_chance(d, 15);
    int64_t count = d->storm             ? draw_between(d, 10, 80)
                    : draw_chance(d, 10) ? 0
                                         : draw_skewed(d, 1, 40);
    unsigned crashes = (unsigned)(d->storm ? draw_between(d, 2, 15) : draw_between(d, 10, 60));
    for (int64_t i = 0; i < count; i++) {
        struct sim_item *f = add_item(d, SIM_ITEM_FAULT);
        f->at_ms = draw_between(d, 1, d->span_ms);
        if (draw_chance(d, crashes)) {
            f->what = SIM_FAULT_CRASH;
            sim_draw_crash(d, f);
        } else if (clock && draw_chance(d, 20)) {
            f->what = SIM_FAULT_CLOCK;
            draw_clock_fault(d, f);
        } else if (draw_chance(d, 10)) {
            f->what = SIM_FAULT_DISK;
            f->for_ms = draw_between(d, 1000, 20000);
            f->value = draw_between(d, 10, 2000);
        } else if (draw_chance(d, 10)) {
            f->what = SIM_FAULT_NET;
            f->for_ms = draw_skewed(d, 100, 30000);
            f->value = draw_skewed(d, 1, 10000);
            f->keep = draw_between(d, 0, 60);
        } else if (draw_chance(d, 15)) {
            f->what = SIM_FAULT_CLIENT;
            f->id = sim_draw_job_at(d, f->at_ms);
            f->value = draw_chance(d, 50);
        } else {
            draw_node_fault(d, f);
        }
    }
}

void sim_draw_controllers(struct draw *d)
{
    if (!draw_chance(d, 20))
        return;
    struct sim_item *c = add_item(d, SIM_ITEM_CTL);
    c->count = ONE_OF(d, 2, 2, 3);
    c->timeout_ms = ONE_OF(d, 1000, 2000, 5000, 10000, 30000);
    const struct sim_item ctl = *c;
    for (int64_t count = draw_between(d, 0, 12); count > 0; count--) {
        static const uint8_t often[] = {SIM_FAULT_PAUSE, SIM_FAULT_PAUSE, SIM_FAULT_CUT,
                                        SIM_FAULT_CUT,   SIM_FAULT_DOWN,  SIM_FAULT_ORDER};
        struct sim_item *f = add_item(d, SIM_ITEM_FAULT);
        f->what = often[draw_between(d, 0, (int64_t)sizeof often - 1)];
        f->at_ms = draw_between(d, 1, d->span_ms);
        f->value =
            draw_chance(d, 60) && f->what != SIM_FAULT_ORDER ? 0 : draw_between(d, 1, ctl.count);
        f->for_ms = draw_skewed(d, 10, draw_chance(d, 70) ? ctl.timeout_ms * 3 : 60000);
        if (f->what == SIM_FAULT_CUT)
            f->keep = draw_chance(d, 30) ? SIM_CUT_ALL : draw_between(d, 1, SIM_CUT_ALL);
    }
}

static void draw_job_act(struct draw *d, struct sim_item *a)
{
    static const uint8_t often[] = {
        SIM_DO_CANCEL,  SIM_DO_CANCEL,     SIM_DO_CANCEL,       SIM_DO_SIGNAL,   SIM_DO_CANCEL_STEP,
        SIM_DO_HOLD,    SIM_DO_HOLD,       SIM_DO_USER_HOLD,    SIM_DO_RELEASE,  SIM_DO_RELEASE,
        SIM_DO_REQUEUE, SIM_DO_REQUEUE,    SIM_DO_REQUEUE_HOLD, SIM_DO_LIMIT,    SIM_DO_LIMIT,
        SIM_DO_NICE,    SIM_DO_COMMENT,    SIM_DO_MOVE,         SIM_DO_PRIORITY, SIM_DO_BEGIN,
        SIM_DO_MEMORY,  SIM_DO_CONSTRAINT, SIM_DO_SUSPEND,      SIM_DO_SUSPEND,  SIM_DO_CONTINUE};
    a->what = often[draw_between(d, 0, (int64_t)sizeof often - 1)];
    a->id = sim_draw_job_at(d, a->at_ms);
    a->root = draw_chance(d, a->what == SIM_DO_SUSPEND || a->what == SIM_DO_CONTINUE ? 95 : 40);
    if (a->what == SIM_DO_CANCEL && draw_chance(d, 4))
        a->what = SIM_DO_CANCEL_USER;
    if (a->what == SIM_DO_LIMIT)
        a->value = ONE_OF(d, 1, 10, 60, 90, 600);
    else if (a->what == SIM_DO_NICE)
        a->value = draw_between(d, 0, 1000);
    else if (a->what == SIM_DO_CANCEL_STEP)
        a->value = draw_between(d, -1, 2);
    else if (a->what == SIM_DO_COMMENT)
        a->value = draw_between(d, 1, 1000000);
    else if (a->what == SIM_DO_PRIORITY)
        a->value = draw_skewed(d, 0, 5000000000 / 2);
    else if (a->what == SIM_DO_BEGIN)
        a->value = draw_between(d, -60, 600);
    else if (a->what == SIM_DO_MEMORY)
        a->value = draw_skewed(d, 1, 1500);
    else if (a->what == SIM_DO_CONSTRAINT)
        PUT(a->text, "%s", WORD(d, "red", "blue"));
    else if (a->what == SIM_DO_MOVE)
        PUT(a->name, "p%lld", (long long)draw_between(d, 1, d->parts));
}

static void draw_node_act(struct draw *d, struct sim_item *a)
{
    a->what = draw_between(d, SIM_DO_DRAIN, SIM_DO_FAIL);
    if (a->what == SIM_DO_NODE_WEIGHT)
        a->value = draw_between(d, 0, 10);
    else if (a->what == SIM_DO_NODE_FEATURES)
        PUT(a->text, "%s", WORD(d, "red", "blue", "red,blue"));
    else if (a->what == SIM_DO_NODE_COMMENT)
        PUT(a->text, "c%lld", (long long)draw_between(d, 1, 1000));
    else if (draw_chance(d, 40))
        a->what = SIM_DO_RESUME;
    PUT(a->nodes, "n%lld", (long long)draw_between(d, 1, d->nodes));
    a->root = 1;
}

static void draw_made_act(struct draw *d, struct sim_item *a)
{
    a->what = draw_chance(d, 60) ? SIM_DO_NODE_CREATE : SIM_DO_NODE_DELETE;
    PUT(a->nodes, "n%lld", (long long)draw_between(d, d->first_dynamic, d->nodes));
    a->value = draw_chance(d, 10);
    a->root = 1;
}

static void draw_part_act(struct draw *d, struct sim_item *a)
{
    a->what = draw_between(d, SIM_DO_PART_STATE, SIM_DO_PART_REMOVE);
    a->root = 1;
    PUT(a->name, "p%lld", (long long)draw_between(d, 1, d->parts + 1));
    if (a->what == SIM_DO_PART_STATE)
        PUT(a->text, "%s", WORD(d, "UP", "UP", "DOWN", "DRAIN", "INACTIVE"));
    else if (a->what == SIM_DO_PART_TIME)
        a->value = ONE_OF(d, 30, 60, 600);
    else if (a->what == SIM_DO_PART_SHARE)
        PUT(a->text, "%s", sim_draw_share(d));
    else if (a->what == SIM_DO_PART_CPUS)
        a->value = draw_between(d, 0, 6);
    sim_draw_some_nodes(d, a->nodes, sizeof a->nodes);
}

/* The opposite action somewhat later: a mistaken cancel is followed by a requeue, a useless requeue
 * by a cancel. */
static void draw_other_mind(struct draw *d, int64_t id, int64_t at_ms, enum sim_do what)
{
    struct sim_item *a = add_item(d, SIM_ITEM_DO);
    a->what = what;
    a->id = id;
    a->at_ms = at_ms + draw_skewed(d, 1, 20000);
    a->root = 1;
}

/* Cancels some jobs that wait for their begin time, and requeues them. */
void sim_draw_regrets(struct draw *d)
{
    size_t count = d->plan->items.len;
    for (size_t i = 0; i < count; i++) {
        const struct sim_item job = d->plan->items.data[i];
        if (job.kind != SIM_ITEM_JOB || !job.begin_sec || !draw_chance(d, 15))
            continue;
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_CANCEL;
        a->id = job.id;
        a->at_ms = job.at_ms + draw_skewed(d, 1, job.begin_sec * 1000);
        draw_other_mind(d, job.id, a->at_ms, SIM_DO_REQUEUE);
    }
}

void sim_draw_acts(struct draw *d)
{
    bool nodes = draw_chance(d, 50), parts = draw_chance(d, 25), files = d->files_differ;
    int64_t count = draw_skewed(d, 0, d->jobs);
    for (int64_t i = 0; i < count; i++) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->at_ms = draw_between(d, 1, d->span_ms);
        if (d->first_dynamic && draw_chance(d, 25)) {
            draw_made_act(d, a);
        } else if (nodes && draw_chance(d, 25)) {
            draw_node_act(d, a);
        } else if (parts && draw_chance(d, 25)) {
            draw_part_act(d, a);
        } else if (files && draw_chance(d, 20)) {
            a->what = draw_chance(d, 80)   ? SIM_DO_RECONFIGURE
                      : draw_chance(d, 50) ? SIM_DO_PREVIEW
                                           : SIM_DO_EDIT;
            a->value = draw_between(d, 0, SIM_FILES - 1);
            a->root = 1;
        } else {
            draw_job_act(d, a);
        }
        a->again_ms = draw_chance(d, 4);
        if (a->what == SIM_DO_CANCEL && draw_chance(d, 15))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_REQUEUE);
        else if (a->what == SIM_DO_REQUEUE && draw_chance(d, 30))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_CANCEL);
        else if (a->what == SIM_DO_SUSPEND && draw_chance(d, 70))
            draw_other_mind(d, a->id, a->at_ms, SIM_DO_CONTINUE);
    }
}

/* The controller is killed during an announcement, and somebody sets the clock meanwhile. */
static void draw_forgetting(struct draw *d, int64_t at_ms, int64_t sec)
{
    struct sim_item *f = add_item(d, SIM_ITEM_FAULT);
    f->what = SIM_FAULT_CLOCK;
    f->at_ms = at_ms + draw_skewed(d, 1, 1000 + sec * 500);
    draw_clock_fault(d, f);
    int64_t after_ms = f->at_ms + draw_skewed(d, 1, 1000 + sec * 500);
    f = add_item(d, SIM_ITEM_FAULT);
    f->what = SIM_FAULT_CRASH;
    f->at_ms = after_ms;
    sim_draw_crash(d, f);
}

/* Some shutdowns are withdrawn, others happen. */
void sim_draw_shutdowns(struct draw *d)
{
    if (!draw_chance(d, 12))
        return;
    for (int64_t count = draw_skewed(d, 1, 3); count > 0; count--) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_ANNOUNCE;
        a->at_ms = draw_between(d, 1, d->span_ms);
        a->value = ONE_OF(d, 0, 1, 5, 30, 60, 300);
        a->root = 1;
        a->again_ms = draw_chance(d, 10);
        const struct sim_item asked = *a;
        if (draw_chance(d, 25))
            draw_forgetting(d, asked.at_ms, asked.value);
        if (!draw_chance(d, 50))
            continue;
        int64_t at_ms = asked.at_ms + draw_skewed(d, 1, asked.value * 1000 + 5000);
        a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_CALL_OFF;
        a->at_ms = at_ms;
        a->root = 1;
    }
}

static void draw_shrink(struct draw *d, const struct sim_item *j)
{
    int64_t at_ms = j->at_ms + draw_skewed(d, 1, j->run_ms), nodes = j->min_nodes, id = j->id;
    struct sim_item *a = add_item(d, SIM_ITEM_DO);
    a->what = SIM_DO_SHRINK;
    a->id = id;
    a->at_ms = at_ms;
    a->value = draw_between(d, 1, nodes);
    a->root = 1;
    a->again_ms = draw_chance(d, 10);
}

/* Running jobs give nodes back. */
void sim_draw_shrinks(struct draw *d)
{
    int64_t share = draw_chance(d, 40) ? ONE_OF(d, 10, 40) : 0;
    size_t count = d->plan->items.len;
    for (size_t i = 0; i < count; i++) {
        const struct sim_item job = d->plan->items.data[i];
        if (job.kind == SIM_ITEM_JOB && !job.array && job.min_nodes > 1 &&
            draw_chance(d, (unsigned)share))
            draw_shrink(d, &job);
    }
}

/* Partitions change options that they were not drawn with. */
void sim_draw_part_acts(struct draw *d)
{
    if (!draw_chance(d, 30))
        return;
    for (int64_t count = draw_skewed(d, 1, 6); count > 0; count--) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        bool preempt = d->preempts && draw_chance(d, 70);
        a->what = preempt ? SIM_DO_PART_PREEMPT : SIM_DO_PART_SOCKET;
        a->at_ms = draw_between(d, 1, d->span_ms);
        a->root = 1;
        PUT(a->name, "p%lld", (long long)draw_between(d, 1, d->parts));
        if (preempt)
            PUT(a->text, "%s", WORD(d, "OFF", "CANCEL", "REQUEUE", "SUSPEND"));
        else
            a->value = draw_skewed(d, 0, 4);
    }
}
