/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts the tally to messages. */
#include <string.h>

#include "base/pb.h"
#include "slurmd/usage/tally.h"

#define KINDS 6
/* Keeps a larger value that is already in the message. */
#define RAISE(m, field, value)                                                                     \
    SET(m, field, !(m)->has_##field || (m)->field < (value) ? (value) : (m)->field)

static uint64_t mark_of(const struct tally_use *u, int kind)
{
    switch (kind) {
    case PB__USAGE_KIND__USAGE_CPU_USEC:
        return u->sum[SNAPSHOT_USER] + u->sum[SNAPSHOT_SYS];
    case PB__USAGE_KIND__USAGE_RSS_KIB:
        return u->max_rss_kib;
    case PB__USAGE_KIND__USAGE_VSIZE_KIB:
        return u->max_vsize_kib;
    case PB__USAGE_KIND__USAGE_PAGES:
        return u->sum[SNAPSHOT_PAGES];
    case PB__USAGE_KIND__USAGE_READ_BYTES:
        return u->sum[SNAPSHOT_READ];
    default:
        return u->sum[SNAPSHOT_WRITE];
    }
}

/* Returns the first of equal ones. */
static const struct tally_task *view_extreme(const struct tally_step *s, int kind, bool least)
{
    const struct tally_task *best = s->tasks.data;

    vec_foreach (&s->tasks, t) {
        uint64_t a = mark_of(&t->use, kind), b = mark_of(&best->use, kind);

        if (least ? a < b : a > b)
            best = t;
    }
    return best;
}

static Pb__UsageMark *new_mark(struct arena *arena, const struct tally_task *t, int kind)
{
    Pb__UsageMark *m = arena_alloc(arena, sizeof(*m));

    pb__usage_mark__init(m);
    m->kind = (enum _Pb__UsageKind)kind;
    m->value = mark_of(&t->use, kind);
    SET(m, task, t->rank);
    return m;
}

/* The kernel's peak of the largest process is more exact than any look; with a single task the
 * peak belongs to that task. */
static void raise_single(const Pb__Usage *m, Pb__UsageMark *mark)
{
    uint64_t value = mark->kind == PB__USAGE_KIND__USAGE_CPU_USEC      ? m->user_usec + m->sys_usec
                     : mark->kind == PB__USAGE_KIND__USAGE_RSS_KIB     ? m->max_rss_kib
                     : mark->kind == PB__USAGE_KIND__USAGE_PAGES       ? m->pages
                     : mark->kind == PB__USAGE_KIND__USAGE_READ_BYTES  ? m->read_bytes
                     : mark->kind == PB__USAGE_KIND__USAGE_WRITE_BYTES ? m->write_bytes
                                                                       : 0;

    mark->value = mark->value > value ? mark->value : value;
}

static void view_tasks(const struct tally_step *s, struct arena *arena, Pb__Usage *m)
{
    uint64_t rss = 0, vsize = 0;

    vec_foreach (&s->tasks, t) {
        rss += t->use.rss_kib;
        vsize += t->use.vsize_kib;
    }
    SET(m, rss_kib, rss);
    SET(m, vsize_kib, vsize);
    SET(m, tasks, (uint32_t)s->tasks.len);
    m->most = arena_alloc(arena, KINDS * sizeof(*m->most));
    m->least = arena_alloc(arena, KINDS * sizeof(*m->least));
    for (int kind = 0; kind < KINDS; kind++) {
        Pb__UsageMark *most = new_mark(arena, view_extreme(s, kind, false), kind);
        Pb__UsageMark *least = new_mark(arena, view_extreme(s, kind, true), kind);

        if (s->tasks.len == 1) {
            raise_single(m, most);
            raise_single(m, least);
        }
        m->most[m->n_most++] = most;
        m->least[m->n_least++] = least;
        if (kind == PB__USAGE_KIND__USAGE_RSS_KIB)
            RAISE(m, max_rss_kib, most->value);
        if (kind == PB__USAGE_KIND__USAGE_VSIZE_KIB)
            RAISE(m, max_vsize_kib, most->value);
    }
}

static void view_sums(const struct tally_use *u, Pb__Usage *m)
{
    RAISE(m, user_usec, u->sum[SNAPSHOT_USER]);
    RAISE(m, sys_usec, u->sum[SNAPSHOT_SYS]);
    RAISE(m, pages, u->sum[SNAPSHOT_PAGES]);
    RAISE(m, read_bytes, u->sum[SNAPSHOT_READ]);
    RAISE(m, write_bytes, u->sum[SNAPSHOT_WRITE]);
    SET(m, rss_kib_sec, u->rss_kib_sec);
    SET(m, vsize_kib_sec, u->vsize_kib_sec);
}

void tally_view_step(const struct tally_step *s, struct arena *arena, Pb__Usage *m)
{
    view_sums(&s->use, m);
    if (s->tasks.len == 1 || (s->tasks.len && s->use.max_vsize_kib))
        view_tasks(s, arena, m);
}

static Pb__NodeUsageRow *view_row(const struct tally_row *r, struct arena *arena)
{
    Pb__NodeUsageRow *m = arena_alloc(arena, sizeof(*m));

    pb__node_usage_row__init(m);
    m->uid = r->uid;
    if (r->job_id)
        SET(m, job_id, r->job_id);
    SET(m, processes, r->use.processes);
    m->usage = arena_alloc(arena, sizeof(*m->usage));
    pb__usage__init(m->usage);
    view_sums(&r->use, m->usage);
    SET(m->usage, rss_kib, r->use.rss_kib);
    SET(m->usage, vsize_kib, r->use.vsize_kib);
    SET(m->usage, max_rss_kib, r->use.max_rss_kib);
    SET(m->usage, max_vsize_kib, r->use.max_vsize_kib);
    return m;
}

static Pb__NodeTime *view_time(const struct tally *t, struct arena *arena)
{
    Pb__NodeTime *m = arena_alloc(arena, sizeof(*m));

    pb__node_time__init(m);
    SET(m, user_usec, t->time_usec[0]);
    SET(m, sys_usec, t->time_usec[1]);
    SET(m, kernel_usec, t->time_usec[2]);
    SET(m, stolen_usec, t->time_usec[3]);
    SET(m, idle_usec, t->time_usec[4]);
    SET(m, wait_usec, t->time_usec[5]);
    SET(m, down_usec, t->time_usec[6]);
    return m;
}

void tally_view_node(const struct tally *t, struct arena *arena, Pb__NodeUsage *m)
{
    SET(m, since, t->since_sec);
    SET(m, cpus, t->cpus);
    SET(m, period, t->period);
    m->time = view_time(t, arena);
    m->rows = arena_alloc(arena, (t->users.len + t->jobs.len + 1) * sizeof(*m->rows));
    vec_foreach (&t->users, r)
        m->rows[m->n_rows++] = view_row(r, arena);
    vec_foreach (&t->jobs, r)
        m->rows[m->n_rows++] = view_row(r, arena);
}
