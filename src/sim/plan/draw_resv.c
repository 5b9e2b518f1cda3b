/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations of drawn plans, changes of them, and jobs that request them. */
#include "sim/plan/draw.h"

struct sim_item *sim_draw_add_resv(struct draw *d, char kind, int64_t number)
{
    struct sim_item *r = add_item(d, SIM_ITEM_DO);
    r->what = SIM_DO_RESV_CREATE;
    r->at_ms = draw_skewed(d, 1, d->span_ms);
    r->root = 1;
    PUT(r->name, "%c%lld", kind, (long long)number);
    r->uid = 1000 + draw_between(d, 0, 2);
    r->value = draw_skewed(d, 0, 120);
    r->for_ms = 1000 * draw_between(d, 5, 400);
    return r;
}

static void draw_resv(struct draw *d, int64_t number)
{
    struct sim_item *r = sim_draw_add_resv(d, 'r', number);
    r->id = draw_chance(d, 40) ? draw_skewed(d, 1, d->nodes < 4 ? d->nodes : 4) : 0;
    sim_draw_some_nodes(d, r->nodes, sizeof r->nodes);
    PUT(r->text, "%s", WORD(d, "", "", "HOURLY", "FLEX", "MAINT", "OVERLAP", "MAGNETIC"));
    if (draw_chance(d, 75))
        PUT(r->text, ",IGNORE_JOBS");
    if (draw_chance(d, 30))
        PUT(r->text, ",%s", WORD(d, "NO_HOLD_JOBS_AFTER", "PURGE_COMP=1"));
    if (r->id && draw_chance(d, 40))
        PUT(r->text, ",%s", WORD(d, "REPLACE", "REPLACE_DOWN", "STATIC_ALLOC"));
    else if (draw_chance(d, 10))
        PUT(r->text, ",TIME_FLOAT");
    const struct sim_item made = *r;
    if (!draw_chance(d, 50))
        return;
    r = add_item(d, SIM_ITEM_DO);
    *r = made;
    r->what = draw_chance(d, 50) ? SIM_DO_RESV_CHANGE : SIM_DO_RESV_DELETE;
    r->at_ms += draw_skewed(d, 1, 200000);
    r->uid = 1000 + draw_between(d, 0, 2);
}

const struct sim_item *sim_draw_find_resv(struct draw *d, const struct sim_item *j)
{
    const struct sim_item *found = NULL;
    vec_foreach (&d->plan->items, r)
        if (r->kind == SIM_ITEM_DO && r->what == SIM_DO_RESV_CREATE && r->at_ms < j->at_ms &&
            (!r->for_ms || r->at_ms + r->value * 1000 + r->for_ms > j->at_ms) &&
            !strstr(r->text, "FLOAT") && (r->uid == j->uid || draw_chance(d, 5)) &&
            (!r->for_ms || j->limit_sec * 1000 <= r->for_ms || draw_chance(d, 5)))
            found = r;
    return found;
}

/* Reserved nodes, and jobs that request the reservations. */
void sim_draw_reservations(struct draw *d)
{
    if (!draw_chance(d, 30))
        return;
    int64_t count = draw_skewed(d, 1, 4), share = draw_between(d, 5, 50);
    for (int64_t i = 1; i <= count; i++)
        draw_resv(d, i);
    vec_foreach (&d->plan->items, j) {
        const struct sim_item *r = j->kind == SIM_ITEM_JOB ? sim_draw_find_resv(d, j) : NULL;
        if (r && draw_chance(d, (unsigned)share))
            PUT(j->resv, "%s", r->name);
    }
}

/* A request that is rarely rejected: for one node with GPUs, or for all nodes with GPUs. */
static void draw_early_resv(struct draw *d, int64_t number, int64_t node)
{
    struct sim_item *r = sim_draw_add_resv(d, 'g', number);
    r->at_ms = draw_between(d, 0, d->span_ms / 8);
    r->value = 0;
    r->for_ms = d->span_ms + 1000 * draw_between(d, 60, 600);
    PUT(r->text, "%sIGNORE_JOBS", WORD(d, "", "", "FLEX,", "MAGNETIC,"));
    if (draw_chance(d, 50)) {
        PUT(r->nodes, "n%lld", (long long)node);
        PUT(r->gres, "gpu:1");
    } else
        PUT(r->gpus, "%s", WORD(d, "gpu:1", "gpu:2"));
}

/* Reservations that start early and last, and more jobs with GPUs at the same time: otherwise a job
 * hardly ever meets reserved devices. */
static void draw_gres_rivals(struct draw *d)
{
    int64_t node = 0;
    vec_foreach (&d->plan->items, i) {
        if (i->kind == SIM_ITEM_NODE && strstr(i->gres, "gpu"))
            node = i->id;
        if (i->kind == SIM_ITEM_JOB && !*i->gres && !*i->gpus && !*i->task_gres &&
            draw_chance(d, 50))
            PUT(i->gres, "%s", WORD(d, "gpu:1", "gpu:1", "gpu:2"));
    }
    for (int64_t i = node ? draw_between(d, 1, 3) : 0; i > 0; i--)
        draw_early_resv(d, i, node);
}

/* Some reservations keep generic resources of their nodes; jobs that want some request these
 * reservations. */
void sim_draw_gres_reservations(struct draw *d)
{
    bool some = false;
    vec_foreach (&d->plan->items, n)
        some = some || (n->kind == SIM_ITEM_NODE && *n->gres && !strstr(n->gres, "shard"));
    if (!some || !draw_chance(d, 60))
        return;
    vec_foreach (&d->plan->items, r) {
        if (r->kind != SIM_ITEM_DO || r->what != SIM_DO_RESV_CREATE || *r->licenses ||
            !draw_chance(d, 60))
            continue;
        if (draw_chance(d, 70))
            PUT(r->gres, "%s", WORD(d, "gpu:1", "gpu:2", "gpu:a:1", "gpu:b:1", "nic:2"));
        else
            PUT(r->gpus, "%s", WORD(d, "gpu:1", "gpu:2", "gpu:3", "gpu:b:2", "nic:4"));
    }
    draw_gres_rivals(d);
    vec_foreach (&d->plan->items, j) {
        bool may = j->kind == SIM_ITEM_JOB && *j->gres && !*j->resv;
        const struct sim_item *r = may ? sim_draw_find_resv(d, j) : NULL;
        if (r && draw_chance(d, 40))
            PUT(j->resv, "%s", r->name);
    }
}
