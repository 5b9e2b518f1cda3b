/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole cores on a timeline where CPUs are allocated individually (CR_CPU). A timeline counts free
 * units; how many of these are whole cores depends on the units of the running jobs. Only jobs that
 * take whole cores need the answer, so it is computed for them alone.
 */
#include "cluster/job/whole_cores.h"
#include "sched/plan/timeline_priv.h"

static bool has_left_by(const struct timeline *t, const struct attempt *attempt, int64_t at)
{
    int64_t end = attempt->ends.key;
    end = end > t->calendar.now_sec ? end : t->calendar.now_sec;
    return attempt->ends.in && at != TIMELINE_NOW && end <= at;
}

/* Counts the cores of the node that are free when the jobs that end by then have ended. A core that
 * several jobs share counts as in use. */
static uint32_t count_idle_cores(const struct timeline *t, const struct node *n, uint32_t together,
                                 int64_t at)
{
    _cleanup_bitset_ struct bitset *busy = bitset_dup(n->busy);
    bool alone = n->exclusive;
    uint32_t idle = 0;
    vec_foreach (&n->holders, id) {
        const struct attempt *attempt = attempt_of(cluster_find_job(t->cluster, *id));
        if (n->use || !has_left_by(t, attempt, at))
            continue;
        vec_foreach (&attempt->alloc, a)
            if (a->node == n->index && !a->released && !a->parked) {
                bitset_andnot(busy, a->busy);
                alone = false; /* no other job has units there beside it */
            }
    }
    for (size_t first = 0; !alone && first + together <= n->units; first += together) {
        long next = bitset_next(busy, first);
        idle += next < 0 || (size_t)next >= first + together;
    }
    return idle;
}

/* Returns the cores that the job can have during the span in any case. A start now has the units
 * that are free now, and must leave the reserved cores; later, each reserved unit of other jobs may
 * be one of another core. */
static uint32_t count_sure_cores(const struct timeline *t, const struct node *n, uint32_t together,
                                 const struct timeline_span *s, int64_t from, bool reserved)
{
    int64_t at = s->from > from ? s->from : from;
    uint32_t idle = count_idle_cores(t, n, together, at), taken = reserved ? s->cores : 0;
    if (reserved && from != TIMELINE_NOW) {
        uint32_t units = s->foreseen_units > s->units ? s->foreseen_units - s->units : 0;
        taken += units > s->cores * together ? units - s->cores * together : 0;
    }
    return idle > taken ? idle - taken : 0;
}

static uint32_t count_broken(const struct timeline *t, const struct node *n, uint32_t together,
                             int64_t from, int64_t until, bool reserved)
{
    const struct timeline_node *of = &t->nodes[n->index];
    const struct timeline_span *s = &t->spans[of->first], *end = s + of->len;
    uint32_t units = t->view.units[n->index], sure = units / together;
    if (!of->len) {
        uint32_t idle = count_idle_cores(t, n, together, from);
        sure = idle < sure ? idle : sure;
    }
    for (; of->len && s < end && (s->from < until || s->from == TIMELINE_NOW); s++) {
        if (s + 1 < end && s[1].from <= from)
            continue; /* it is over by then */
        uint32_t cores = count_sure_cores(t, n, together, s, from, reserved);
        sure = cores < sure ? cores : sure;
    }
    return units - sure * together;
}

void timeline_find_broken(struct timeline *t, const struct job *j, const struct bitset *nodes,
                          int64_t from, int64_t until, bool reserved)
{
    const struct cluster *c = t->cluster;
    t->view.broken = NULL;
    if (!whole_cores_may_apply(c->conf, &j->want))
        return;
    if (!t->broken)
        t->broken = mem_new_array(uint32_t, c->nodes.len + 1);
    bitset_foreach (nodes, i) {
        const struct node *n = c->nodes.data[i];
        uint32_t together = whole_cores_units(&j->want, n->threads, n->cpus_per_unit, n->units);
        t->broken[i] = together > 1 ? count_broken(t, n, together, from, until, reserved) : 0;
    }
    t->view.broken = t->broken;
}
