/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tally on disk. Each process has an entry in 'procs': pid, parent, uid, start, flags, step,
 * task and its counters, own and waited, as one number each. Flag 1: it is the shepherd. Step and
 * task: 0 for none, otherwise its index plus 1 in 'steps' and in the step's 'tasks'.
 */
#include <string.h>

#include "base/mem.h"
#include "base/pb.h"
#include "slurmd/usage/tally.h"

#define FIELDS (7 + 2 * SNAPSHOT_COUNTERS)
#define CREDITS (2 * SNAPSHOT_COUNTERS)
#define STEPS_MAX 100000
#define COUNTERS(k) for (int k = 0; k < SNAPSHOT_COUNTERS; k++)

/* --- out ------------------------------------------------------------------------------------- */

static uint64_t index_of(const struct tally *t, const struct tally_step *step)
{
    for (size_t i = 0; i < t->steps.len; i++)
        if (t->steps.data[i] == step)
            return i + 1;
    return 0;
}

static void pack_procs(const struct tally *t, struct arena *arena, Pb__UsageState *m)
{
    m->procs = arena_alloc(arena, (t->procs.len + 1) * FIELDS * sizeof(uint64_t));
    vec_foreach (&t->procs, p) {
        uint64_t *at = m->procs + m->n_procs;

        *at++ = (uint64_t)p->pid;
        *at++ = (uint64_t)p->parent;
        *at++ = p->uid;
        *at++ = p->started_ticks;
        *at++ = p->is_shepherd;
        *at++ = p->step ? index_of(t, p->step) : 0;
        *at++ = p->task == TALLY_NO_TASK ? 0 : (uint64_t)p->task + 1;
        memcpy(at, p->own, sizeof(p->own));
        memcpy(at + SNAPSHOT_COUNTERS, p->waited, sizeof(p->waited));
        m->n_procs += FIELDS;
    }
}

static Pb__Usage *pack_use(const struct tally_use *u, struct arena *arena)
{
    Pb__Usage *m = arena_alloc(arena, sizeof(*m));

    pb__usage__init(m);
    SET(m, user_usec, u->sum[SNAPSHOT_USER]);
    SET(m, sys_usec, u->sum[SNAPSHOT_SYS]);
    SET(m, pages, u->sum[SNAPSHOT_PAGES]);
    SET(m, read_bytes, u->sum[SNAPSHOT_READ]);
    SET(m, write_bytes, u->sum[SNAPSHOT_WRITE]);
    SET(m, rss_kib, u->rss_kib);
    SET(m, vsize_kib, u->vsize_kib);
    SET(m, max_rss_kib, u->max_rss_kib);
    SET(m, max_vsize_kib, u->max_vsize_kib);
    SET(m, rss_kib_sec, u->rss_kib_sec);
    SET(m, vsize_kib_sec, u->vsize_kib_sec);
    return m;
}

static uint64_t *pack_credit(const struct tally_pool *pool, struct arena *arena, size_t *count)
{
    uint64_t *list = arena_alloc(arena, CREDITS * sizeof(*list));

    memcpy(list, pool->credit, sizeof(pool->credit));
    memcpy(list + SNAPSHOT_COUNTERS, pool->old_credit, sizeof(pool->old_credit));
    *count = CREDITS;
    return list;
}

static Pb__UsageStepState *pack_step(const struct tally_step *s, struct arena *arena)
{
    Pb__UsageStepState *m = arena_alloc(arena, sizeof(*m));

    pb__usage_step_state__init(m);
    m->job_id = s->job_id;
    m->restarts = s->restarts;
    m->step_id = s->step_id;
    m->usage = pack_use(&s->use, arena);
    m->credit = pack_credit(&s->pool, arena, &m->n_credit);
    m->tasks = arena_alloc(arena, (s->tasks.len + 1) * sizeof(*m->tasks));
    vec_foreach (&s->tasks, task) {
        Pb__UsageTaskState *one = arena_alloc(arena, sizeof(*one));

        pb__usage_task_state__init(one);
        one->task = task->rank;
        one->usage = pack_use(&task->use, arena);
        m->tasks[m->n_tasks++] = one;
    }
    return m;
}

static void pack_rows(const struct tally_row *rows, size_t count, struct arena *arena,
                      Pb__UsageState *m)
{
    for (size_t i = 0; i < count; i++) {
        Pb__NodeUsageRow *row = arena_alloc(arena, sizeof(*row));

        pb__node_usage_row__init(row);
        row->uid = rows[i].uid;
        if (rows[i].job_id)
            SET(row, job_id, rows[i].job_id);
        row->usage = pack_use(&rows[i].use, arena);
        m->rows[m->n_rows++] = row;
    }
}

static uint64_t *const *times_of(Pb__NodeTime *m, uint64_t *out[TALLY_TIMES])
{
    out[0] = &m->user_usec;
    out[1] = &m->sys_usec;
    out[2] = &m->kernel_usec;
    out[3] = &m->stolen_usec;
    out[4] = &m->idle_usec;
    out[5] = &m->wait_usec;
    out[6] = &m->down_usec;
    return out;
}

void tally_pack(const struct tally *t, const char *boot, int64_t wall_sec, struct str *out)
{
    Pb__UsageState m = PB__USAGE_STATE__INIT;
    Pb__NodeTime time = PB__NODE_TIME__INIT;
    uint64_t *times[TALLY_TIMES];
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    m.boot = (char *)boot;
    m.at_mono_ms = t->at_ms;
    SET(&m, since, t->since_sec);
    SET(&m, at_wall_sec, wall_sec);
    time.has_user_usec = time.has_sys_usec = time.has_kernel_usec = time.has_stolen_usec =
        time.has_idle_usec = time.has_wait_usec = time.has_down_usec = true;
    times_of(&time, times);
    for (int i = 0; i < TALLY_TIMES; i++)
        *times[i] = t->time_usec[i];
    m.time = &time;
    m.cpu_ticks = (uint64_t *)t->cpu_ticks;
    m.n_cpu_ticks = SNAPSHOT_CPU_STATES;
    pack_procs(t, &arena, &m);
    m.rows = arena_alloc(&arena, (t->users.len + t->jobs.len + 1) * sizeof(*m.rows));
    pack_rows(t->users.data, t->users.len, &arena, &m);
    pack_rows(t->jobs.data, t->jobs.len, &arena, &m);
    m.steps = arena_alloc(&arena, (t->steps.len + 1) * sizeof(*m.steps));
    vec_foreach (&t->steps, s)
        m.steps[m.n_steps++] = pack_step(*s, &arena);
    m.credit = pack_credit(&t->outside, &arena, &m.n_credit);
    SET(&m, period, t->period);
    if (t->collected.len) {
        SET(&m, collected, ((ProtobufCBinaryData){t->collected.len, (uint8_t *)t->collected.data}));
        SET(&m, collected_period, t->collected_period);
    }
    pb_pack(&m.base, out);
}

/* --- in -------------------------------------------------------------------------------------- */

static void unpack_use(const Pb__Usage *m, struct tally_use *u)
{
    if (!m)
        return;
    u->sum[SNAPSHOT_USER] = m->user_usec;
    u->sum[SNAPSHOT_SYS] = m->sys_usec;
    u->sum[SNAPSHOT_PAGES] = m->pages;
    u->sum[SNAPSHOT_READ] = m->read_bytes;
    u->sum[SNAPSHOT_WRITE] = m->write_bytes;
    u->rss_kib = m->rss_kib;
    u->vsize_kib = m->vsize_kib;
    u->max_rss_kib = m->max_rss_kib;
    u->max_vsize_kib = m->max_vsize_kib;
    u->rss_kib_sec = m->rss_kib_sec;
    u->vsize_kib_sec = m->vsize_kib_sec;
}

static void unpack_credit(const uint64_t *list, size_t count, struct tally_pool *pool)
{
    if (count != CREDITS)
        return;
    memcpy(pool->credit, list, sizeof(pool->credit));
    memcpy(pool->old_credit, list + SNAPSHOT_COUNTERS, sizeof(pool->old_credit));
}

static void unpack_steps(struct tally *t, const Pb__UsageState *m)
{
    for (size_t i = 0; i < m->n_steps && i < STEPS_MAX; i++) {
        const Pb__UsageStepState *from = m->steps[i];
        struct tally_step *s = mem_new(struct tally_step);

        s->job_id = from->job_id;
        s->restarts = from->restarts;
        s->step_id = from->step_id;
        unpack_use(from->usage, &s->use);
        unpack_credit(from->credit, from->n_credit, &s->pool);
        for (size_t k = 0; k < from->n_tasks; k++) {
            struct tally_task task = {.rank = from->tasks[k]->task};

            unpack_use(from->tasks[k]->usage, &task.use);
            vec_push(&s->tasks, task);
        }
        vec_push(&t->steps, s);
    }
}

static void unpack_rows(struct tally *t, const Pb__UsageState *m)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        struct tally_row row = {.uid = m->rows[i]->uid, .job_id = m->rows[i]->job_id};

        unpack_use(m->rows[i]->usage, &row.use);
        if (row.job_id)
            vec_push(&t->jobs, row);
        else if (t->users.len <= TALLY_USERS_MAX)
            vec_push(&t->users, row);
    }
}

/* They are searched by bisection, so data out of order is rejected. */
static void unpack_procs(struct tally *t, const Pb__UsageState *m)
{
    for (size_t i = 0; i + FIELDS <= m->n_procs; i += FIELDS) {
        const uint64_t *at = m->procs + i;
        struct tally_proc p = {.pid = (pid_t)at[0],
                               .parent = (pid_t)at[1],
                               .uid = (uid_t)at[2],
                               .started_ticks = at[3],
                               .is_shepherd = at[4] == 1,
                               .task = TALLY_NO_TASK};

        if (at[5] && at[5] <= t->steps.len)
            p.step = t->steps.data[at[5] - 1];
        if (p.step && at[6] && at[6] <= p.step->tasks.len)
            p.task = (uint32_t)at[6] - 1;
        memcpy(p.own, at + 7, sizeof(p.own));
        memcpy(p.waited, at + 7 + SNAPSHOT_COUNTERS, sizeof(p.waited));
        if (p.pid <= 0 || (t->procs.len && vec_last(&t->procs).pid >= p.pid))
            return;
        vec_push(&t->procs, p);
    }
}

/* Counts the down time: from the last look to the start of this boot. */
static void count_down_time(struct tally *t, const Pb__UsageState *m, int64_t wall_sec,
                            int64_t up_sec, uint32_t cpus)
{
    int64_t off = m->has_at_wall_sec ? wall_sec - up_sec - m->at_wall_sec : 0;

    if (off > 0)
        t->time_usec[6] += (uint64_t)off * 1000000 * cpus;
}

/* The message is sent unchanged. */
static void unpack_collected(struct tally *t, const Pb__UsageState *m)
{
    Pb__NodeUsage *whole = m->collected.len ? pb_unpack(&pb__node_usage__descriptor,
                                                        m->collected.data, m->collected.len)
                                            : NULL;

    if (!whole)
        return;
    str_append(&t->collected, m->collected.data, m->collected.len);
    pb__node_usage__free_unpacked(whole, NULL);
}

struct tally *tally_unpack(const void *data, size_t len, const char *boot, int64_t wall_sec,
                           int64_t up_sec)
{
    Pb__UsageState *m = pb_unpack(&pb__usage_state__descriptor, data, len);
    uint64_t *times[TALLY_TIMES];
    struct tally *t;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (!m)
        return NULL;
    t = tally_new(m->has_since ? m->since : wall_sec);
    t->began = true;
    t->period = m->has_period ? m->period : 1;
    t->collected_period = m->collected_period;
    unpack_collected(t, m);
    if (m->time) {
        times_of(m->time, times);
        for (int i = 0; i < TALLY_TIMES; i++)
            t->time_usec[i] = *times[i];
    }
    unpack_rows(t, m);
    if (!strcmp(m->boot, boot)) {
        t->at_ms = m->at_mono_ms;
        unpack_steps(t, m);
        unpack_procs(t, m);
        unpack_credit(m->credit, m->n_credit, &t->outside);
        if (m->n_cpu_ticks == SNAPSHOT_CPU_STATES)
            memcpy(t->cpu_ticks, m->cpu_ticks, sizeof(t->cpu_ticks));
    } else {
        count_down_time(t, m, wall_sec, up_sec, cpus > 0 ? (uint32_t)cpus : 1);
    }
    pb__usage_state__free_unpacked(m, NULL);
    return t;
}
