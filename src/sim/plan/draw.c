/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans drawn from a seed. Small worlds with many simultaneous events find more faults than large
 * ones, so counts are skewed to the small; every feature is in some plans and missing in others.
 */
#include "sim/plan/draw.h"

static void draw_plan(struct sim_plan *p, uint64_t seed, bool toruses)
{
    struct draw d = {.plan = p, .rng = {seed}, .toruses = toruses};
    p->seed = seed;
    p->share = seed % 2 ? 1 + (int64_t)(seed / 2 % 8) * 100 : 0; /* as with a long queue */
    d.storm = draw_chance(&d, 25);
    d.files_differ = draw_chance(&d, 35) && !toruses;
    d.jobs = draw_skewed(&d, 5, 150);
    d.span_ms =
        d.jobs * (d.storm ? ONE_OF(&d, 1000, 3000) : ONE_OF(&d, 300, 1000, 3000, 10000, 30000));
#define DRAW(name) sim_draw_##name(&d);
#include "sim/plan/draw.def"
}

void sim_plan_draw(struct sim_plan *p, uint64_t seed)
{
    draw_plan(p, seed, false);
}

void sim_plan_draw_toruses(struct sim_plan *p, uint64_t seed)
{
    draw_plan(p, seed, true);
}

/* --- worlds of one kind -------------------------------------------------------------------------
 */

#define SIMPLE_SPAN_MS 120000

static void draw_simple_fault(struct draw *d, int64_t at_ms)
{
    struct sim_item *f = add_item(d, SIM_ITEM_FAULT);
    f->at_ms = at_ms;
    f->node = draw_between(d, 1, d->nodes);
    if (draw_chance(d, 35)) {
        f->what = SIM_FAULT_CRASH;
        sim_draw_crash(d, f);
    } else if (draw_chance(d, 40)) {
        f->what = draw_chance(d, 20) ? SIM_FAULT_REBOOT : SIM_FAULT_KILL;
        f->for_ms = draw_between(d, 100, 90000);
    } else {
        f->what = SIM_FAULT_BREAK;
        f->for_ms = draw_between(d, 0, 2000);
        f->keep = draw_between(d, 0, 2000);
    }
}

void sim_plan_draw_simple(struct sim_plan *p, uint64_t seed, const struct sim_size *size)
{
    struct draw d = {.plan = p, .rng = {seed}, .nodes = size->nodes, .jobs = size->jobs};
    p->seed = seed;
    add_conf(&d, "SelectTypeParameters=CR_Core_Memory");
    add_conf(&d, "ReturnToService=2");
    add_conf(&d, "SlurmdTimeout=60");
    add_conf(&d, "KillWait=2");
    struct sim_item *n = add_item(&d, SIM_ITEM_NODE);
    n->id = 1;
    n->count = size->nodes;
    n->cores = size->cpus;
    n->mem_mib = 8000 + 200 * (int64_t)size->cpus;
    struct sim_item *part = add_item(&d, SIM_ITEM_PART);
    PUT(part->name, "main");
    PUT(part->nodes, "ALL");
    PUT(part->text, "Default=YES");
    for (unsigned i = 1; i <= size->jobs; i++) {
        struct sim_item *j = add_item(&d, SIM_ITEM_JOB);
        j->id = i;
        j->at_ms = draw_between(&d, 0, SIMPLE_SPAN_MS);
        j->what = draw_chance(&d, 80) ? SIM_JOB_BATCH : SIM_JOB_SRUN;
        j->min_nodes = draw_between(&d, 1, size->nodes > 4 ? 4 : size->nodes);
        j->tasks = j->min_nodes * draw_between(&d, 1, size->cpus);
        j->mem_cpu_mib = 100;
        j->limit_sec = draw_chance(&d, 20) ? 10 : 600;
        j->run_ms = draw_between(&d, 1, 20000);
        j->step_ms = j->run_ms;
    }
    for (int64_t at_ms = 1000; at_ms < SIMPLE_SPAN_MS * 2; at_ms += 1000)
        if (rng_chance(&d.rng, size->fault_per_mille))
            draw_simple_fault(&d, at_ms);
}
