/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs of a plan, their dependencies, and their partitions. */
#include "sim/plan/draw.h"

int64_t sim_draw_job_at(struct draw *d, int64_t at_ms)
{
    int64_t there = at_ms * (d->jobs + 1) / d->span_ms; /* jobs submitted by then */
    there = there < 1 ? 1 : there > d->jobs ? d->jobs : there;
    return draw_between(d, there > 12 ? there - 12 : 1, there);
}

static void draw_shape(struct draw *d, struct sim_item *j)
{
    if (draw_chance(d, 60))
        j->tasks = draw_skewed(d, 1, 12);
    if (draw_chance(d, 40))
        j->min_nodes = draw_skewed(d, 1, d->nodes < 6 ? d->nodes : 6);
    if (draw_chance(d, 15) && j->min_nodes)
        j->max_nodes = j->min_nodes + draw_skewed(d, 0, 4);
    if (draw_chance(d, 20))
        j->cpus_per_task = draw_skewed(d, 1, 4);
    if (draw_chance(d, 40))
        j->mem_cpu_mib = draw_skewed(d, 1, 300);
    else if (draw_chance(d, 30))
        j->mem_node_mib = draw_skewed(d, 1, 1000);
    j->exclusive = draw_chance(d, 8);
    j->shares = draw_chance(d, 30);
    j->contiguous = draw_chance(d, 5);
    if (draw_chance(d, 10))
        PUT(j->features, "%s", WORD(d, "red", "blue"));
    if (draw_chance(d, 6))
        sim_draw_some_nodes(d, j->required, sizeof j->required);
    if (draw_chance(d, 6))
        sim_draw_some_nodes(d, j->excluded, sizeof j->excluded);
    if (d->parts > 1 && draw_chance(d, 50))
        PUT(j->name, "p%lld", (long long)draw_between(d, 1, d->parts));
}

static void draw_life(struct draw *d, struct sim_item *j)
{
    j->limit_sec = ONE_OF(d, 1, 5, 30, 60, 60, 120, 300);
    j->run_ms =
        draw_chance(d, 20) ? draw_between(d, 1, 200) : draw_skewed(d, 1, j->limit_sec * 1200);
    j->exit_code = draw_chance(d, 10) ? draw_between(d, 1, 3) : 0;
    j->begin_sec = draw_chance(d, 6) ? draw_skewed(d, 1, 600) : 0;
    j->held = draw_chance(d, 5);
    j->requeue = d->storm && draw_chance(d, 70) ? 1
                 : draw_chance(d, 30)           ? draw_between(d, 1, 2)
                                                : 0;
    j->no_kill = draw_chance(d, 8);
    j->waits = draw_chance(d, 15);
    j->stubborn = draw_chance(d, 10);
    j->nice = draw_chance(d, 10) ? draw_between(d, 0, 100) : 0;
    j->launch_fails = draw_chance(d, 2);
    j->prolog_fails = draw_chance(d, 1);
    j->epilog_fails = draw_chance(d, 1);
    j->again_ms = draw_chance(d, 5);
    if (draw_chance(d, 8))
        PUT(j->signal, "%s", WORD(d, "USR1@10", "B:USR1@2", "USR2"));
}

static void draw_job(struct draw *d, int64_t id)
{
    struct sim_item *j = add_item(d, SIM_ITEM_JOB);
    j->id = id;
    j->at_ms = d->span_ms * id / (d->jobs + 1);
    j->what = draw_chance(d, 70) ? SIM_JOB_BATCH : draw_between(d, SIM_JOB_ALLOC, SIM_JOB_SRUN);
    j->uid = 1000 + draw_between(d, 0, 2);
    draw_shape(d, j);
    draw_life(d, j);
    if (j->what == SIM_JOB_BATCH ? draw_chance(d, d->storm ? 60 : 20) : draw_chance(d, 80)) {
        j->steps = draw_skewed(d, 1, 5);
        j->step_ms = draw_skewed(d, 1, 20000);
        j->step_tasks = draw_chance(d, 50) ? draw_skewed(d, 1, 6) : 0;
        j->overlap = draw_chance(d, 20);
    }
    if (j->what == SIM_JOB_BATCH)
        return;
    j->run_ms = draw_skewed(d, 1, 20000);
    j->immediate = draw_chance(d, 5);
    j->dies_ms = draw_chance(d, 15) ? draw_skewed(d, 1, 20000) : 0;
}

void sim_draw_jobs(struct draw *d)
{
    for (int64_t i = 1; i <= d->jobs; i++)
        draw_job(d, i);
}

/* Some jobs depend on one that was submitted shortly before. */
void sim_draw_dependencies(struct draw *d)
{
    int64_t share = draw_chance(d, 40) ? ONE_OF(d, 5, 20, 80) : 0;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || j->id < 2 || !draw_chance(d, (unsigned)share))
            continue;
        j->after = draw_between(d, j->id > 10 ? j->id - 10 : 1, j->id - 1);
        PUT(j->depend, "%s", WORD(d, "after", "afterany", "afterok", "afterok", "afternotok"));
    }
}

/* Arrays, some of which depend on others; aftercorr links elements of the same index. */
void sim_draw_arrays(struct draw *d)
{
    int64_t share = draw_chance(d, 35) ? ONE_OF(d, 10, 30, 70) : 0;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || j->what != SIM_JOB_BATCH || !draw_chance(d, (unsigned)share))
            continue;
        j->array = draw_skewed(d, 1, 12);
        j->throttle = draw_chance(d, 20) ? draw_between(d, 1, 4) : 0;
        j->waits = 0;
        if (j->id < 2 || !draw_chance(d, 60))
            continue;
        j->after = draw_between(d, j->id > 5 ? j->id - 5 : 1, j->id - 1);
        *j->depend = 0;
        PUT(j->depend, "%s", WORD(d, "aftercorr", "aftercorr", "aftercorr", "afterok"));
    }
}

void sim_draw_licenses(struct draw *d)
{
    if (!draw_chance(d, 25))
        return;
    d->licenses = true;
    add_conf(d, "Licenses=a:%lld,b:%lld", (long long)draw_between(d, 1, 6),
             (long long)draw_between(d, 1, 3));
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || !draw_chance(d, 40))
            continue;
        if (draw_chance(d, 70))
            PUT(j->licenses, "a:%lld", (long long)draw_between(d, 1, 4));
        else
            PUT(j->licenses, j->id % 2 ? "b,a:%lld" : "b|a:%lld", (long long)draw_between(d, 1, 2));
    }
}

void sim_draw_bursts(struct draw *d)
{
    if (!draw_chance(d, 20))
        return;
    add_conf(d, "BurstBufferType=burst_buffer/lua");
    vec_foreach (&d->plan->items, j)
        if (j->kind == SIM_ITEM_JOB && j->array && !j->immediate && j->id % 3 == 0)
            PUT(j->burst, "%s", j->id % 2 ? "any" : "pool");
        else if (j->kind == SIM_ITEM_JOB && !j->array && !j->immediate && draw_chance(d, 40))
            PUT(j->burst, "%s", WORD(d, "any", "pool"));
}

/* Jobs that list several partitions, or are moved to several. */
void sim_draw_several(struct draw *d)
{
    if (d->parts < 2 || !draw_chance(d, 50))
        return;
    vec_foreach (&d->plan->items, j) {
        bool moves = j->kind == SIM_ITEM_DO && j->what == SIM_DO_MOVE;
        if ((j->kind != SIM_ITEM_JOB && !moves) || !draw_chance(d, 40))
            continue;
        int64_t first = draw_between(d, 1, d->parts), second = draw_between(d, 1, d->parts);
        j->name[0] = 0;
        PUT(j->name, "p%lld,p%lld%s", (long long)first, (long long)second,
            draw_chance(d, 20) ? ",p1" : "");
    }
}
