/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/tally.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define COUNTERS(k) for (int k = 0; k < SNAPSHOT_COUNTERS; k++)

struct tally *tally_new(int64_t since_sec)
{
    struct tally *t = mem_new(struct tally);

    t->since_sec = since_sec;
    t->period = 1;
    return t;
}

static void step_free(struct tally_step *s)
{
    vec_done(&s->tasks);
    free(s);
}

void tally_free(struct tally *t)
{
    if (!t)
        return;
    vec_foreach (&t->steps, s)
        step_free(*s);
    vec_done(&t->steps);
    vec_done(&t->procs);
    vec_done(&t->users);
    vec_done(&t->jobs);
    vec_done(&t->ended);
    str_done(&t->collected);
    free(t);
}

/* --- steps and their ends -------------------------------------------------------------------- */

struct tally_step *tally_find_step(const struct tally *t, uint32_t job_id, uint32_t restarts,
                                   uint32_t step_id)
{
    vec_foreach (&t->steps, s)
        if ((*s)->job_id == job_id && (*s)->restarts == restarts && (*s)->step_id == step_id)
            return *s;
    return NULL;
}

static void set_task(struct tally_step *s, pid_t pid, uint32_t rank)
{
    struct tally_task task = {.rank = rank, .pid = pid};

    vec_foreach (&s->tasks, t)
        if (t->rank == rank) {
            t->pid = pid;
            return;
        }
    vec_push(&s->tasks, task);
}

void tally_set_step(struct tally *t, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                    pid_t shepherd, const uint32_t *pids, const uint32_t *ranks, size_t count)
{
    struct tally_step *s = tally_find_step(t, job_id, restarts, step_id);

    if (!s) {
        s = mem_new(struct tally_step);
        s->job_id = job_id;
        s->restarts = restarts;
        s->step_id = step_id;
        vec_push(&t->steps, s);
    }
    s->shepherd = shepherd;
    for (size_t i = 0; i < count; i++)
        set_task(s, (pid_t)pids[i], ranks[i]);
}

/* Returns the row of a user, or of a user in a job. */
static struct tally_row *row_of(struct tally *t, uid_t uid, uint32_t job_id)
{
    struct tally_row fresh = {.uid = uid, .job_id = job_id};

    if (job_id) {
        vec_foreach (&t->jobs, r)
            if (r->job_id == job_id && r->uid == uid)
                return r;
        vec_push(&t->jobs, fresh);
        return &vec_last(&t->jobs);
    }
    vec_foreach (&t->users, r)
        if (r->uid == uid)
            return r;
    if (t->users.len >= TALLY_USERS_MAX && uid != TALLY_OTHERS)
        return row_of(t, TALLY_OTHERS, 0);
    vec_push(&t->users, fresh);
    return &vec_last(&t->users);
}

static void add_counters(struct tally *t, uid_t uid, struct tally_step *s, uint32_t task,
                         int counter, uint64_t amount)
{
    if (!amount)
        return;
    row_of(t, uid, 0)->use.sum[counter] += amount;
    if (!s)
        return;
    row_of(t, uid, s->job_id)->use.sum[counter] += amount;
    s->use.sum[counter] += amount;
    if (task < s->tasks.len)
        s->tasks.data[task].use.sum[counter] += amount;
}

/* All processes of the step were reaped and are in its shepherd's count; accounts them as if a
   look had seen that. */
static void settle_step(struct tally *t, struct tally_step *s, const uint64_t *used)
{
    size_t kept = 0;
    bool seen = false;

    for (size_t i = 0; i < t->procs.len; i++) {
        struct tally_proc *p = &t->procs.data[i];

        if (p->step == s && !p->is_shepherd)
            continue;
        if (p->step == s) {
            seen = true;
            COUNTERS(k)
            p->waited[k] = used[k] > p->waited[k] ? used[k] : p->waited[k];
        }
        t->procs.data[kept++] = *p;
    }
    t->procs.len = kept;
    COUNTERS(k)
    t->outside.credit[k] += seen ? 0 : used[k];
    vec_push(&t->ended, s->shepherd);
}

void tally_end_step(struct tally *t, struct tally_step *s, uid_t uid,
                    const uint64_t used[SNAPSHOT_COUNTERS], bool left)
{
    uint32_t task = s->tasks.len == 1 ? 0 : TALLY_NO_TASK;

    if (used)
        COUNTERS(k)
    add_counters(t, uid, s, task, k, used[k] > s->use.sum[k] ? used[k] - s->use.sum[k] : 0);
    if (used && !left)
        settle_step(t, s, used);
    vec_foreach (&t->procs, p)
        if (p->step == s) {
            p->step = NULL;
            p->is_shepherd = false;
        }
    s->shepherd = 0;
}

void tally_drop_step(struct tally *t, struct tally_step *s)
{
    vec_foreach (&t->procs, p)
        if (p->step == s)
            p->step = NULL;
    for (size_t i = 0; i < t->steps.len; i++)
        if (t->steps.data[i] == s) {
            vec_remove(&t->steps, i);
            break;
        }
    step_free(s);
}

void tally_drop_job(struct tally *t, uint32_t job_id)
{
    for (size_t i = t->jobs.len; i-- > 0;)
        if (t->jobs.data[i].job_id == job_id)
            vec_remove(&t->jobs, i);
}

/* --- a look ---------------------------------------------------------------------------------- */

/* The state of one look. */
struct look {
    struct tally *t;
    const struct snapshot *s;
    VEC(struct tally_proc) procs; /* as seen now, in the snapshot's order, without ignored ones */
    uint64_t (*direct)[SNAPSHOT_COUNTERS]; /* per process: credits from its own children */
    uint64_t (*growth)[SNAPSHOT_COUNTERS]; /* per process: growth of its reaped children's count */
    uint64_t ticks_per_sec;
};

static int compare_pid(const void *a, const void *b)
{
    pid_t x = ((const struct tally_proc *)a)->pid, y = ((const struct tally_proc *)b)->pid;

    return (x > y) - (x < y);
}

static struct tally_proc *find_process(const struct tally_proc *list, size_t count, pid_t pid)
{
    struct tally_proc key = {.pid = pid};

    return count ? bsearch(&key, list, count, sizeof(key), compare_pid) : NULL;
}

/* Finds the same process, not a later one with the same pid. */
static struct tally_proc *find_same(const struct tally_proc *list, size_t count,
                                    const struct tally_proc *p)
{
    struct tally_proc *found = find_process(list, count, p->pid);

    return found && found->started_ticks == p->started_ticks ? found : NULL;
}

static struct tally_step *step_under(const struct tally *t, pid_t shepherd)
{
    vec_foreach (&t->steps, s)
        if (shepherd && (*s)->shepherd == shepherd)
            return *s;
    return NULL;
}

static uint32_t task_of(const struct tally_step *s, const struct snapshot_proc *p)
{
    for (size_t i = 0; i < s->tasks.len; i++)
        if (s->tasks.data[i].pid && s->tasks.data[i].pid == p->top)
            return (uint32_t)i;
    for (size_t i = 0; i < s->tasks.len; i++) /* an orphan keeps the session of its task */
        if (s->tasks.data[i].pid && s->tasks.data[i].pid == p->session)
            return (uint32_t)i;
    return s->tasks.len == 1 ? 0 : TALLY_NO_TASK;
}

/* Counters never decrease; if one seems to, the earlier value is kept. */
static void not_below(uint64_t now[SNAPSHOT_COUNTERS], const uint64_t then[SNAPSHOT_COUNTERS])
{
    COUNTERS(k)
    now[k] = now[k] > then[k] ? now[k] : then[k];
}

static bool is_ended(const struct tally *t, pid_t shepherd)
{
    vec_foreach (&t->ended, e)
        if (*e == shepherd)
            return true;
    return false;
}

static void identify_process(struct look *l, const struct snapshot_proc *seen)
{
    struct tally *t = l->t;
    struct tally_proc p = {.pid = seen->pid,
                           .parent = seen->parent,
                           .uid = seen->uid,
                           .task = TALLY_NO_TASK,
                           .started_ticks = seen->started_ticks};
    const struct tally_proc *old = find_same(t->procs.data, t->procs.len, &p);

    if (seen->root && seen->root != seen->pid && is_ended(t, seen->root))
        return; /* it was counted when its step ended, during this look */
    memcpy(p.own, seen->own, sizeof(p.own));
    memcpy(p.waited, seen->waited, sizeof(p.waited));
    p.step = step_under(t, seen->root);
    p.is_shepherd = p.step && seen->root == seen->pid;
    if (!p.step && old && old->step && !old->is_shepherd) { /* it outlives its shepherd */
        p.step = old->step;
        p.task = old->task;
    } else if (p.step && !p.is_shepherd) {
        p.task = task_of(p.step, seen);
        if (p.task == TALLY_NO_TASK && old && old->step == p.step)
            p.task = old->task;
    }
    if (old) {
        not_below(p.own, old->own);
        not_below(p.waited, old->waited);
    }
    vec_push(&l->procs, p);
}

/* Returns the nearest known living ancestor, in whose reaped children's count the usage will
   appear. */
static struct tally_proc *heir_of(const struct look *l, const struct tally_proc *p)
{
    const struct tally *t = l->t;

    for (size_t i = 0; i < t->procs.len; i++) {
        const struct tally_proc *parent = find_process(t->procs.data, t->procs.len, p->parent);
        struct tally_proc *lives = parent ? find_same(l->procs.data, l->procs.len, parent) : NULL;

        if (!parent || lives)
            return lives;
        p = parent;
    }
    return NULL;
}

static struct tally_pool *pool_of(struct tally *t, const struct tally_proc *p, bool as_child)
{
    return p->step && !(as_child && p->is_shepherd) ? &p->step->pool : &t->outside;
}

/* Returns the pool in which the usage of an ended process will appear as growth. A process adopted
 * into a step is reaped by a parent outside the step. */
static struct tally_pool *pool_for(struct tally *t, const struct tally_proc *p,
                                   const struct tally_proc *heir)
{
    bool outside = p->step && !p->is_shepherd && heir && !heir->step;

    return outside ? &t->outside : pool_of(t, p, true);
}

static void credit_ended(struct look *l)
{
    struct tally *t = l->t;

    for (size_t i = 0; i < t->procs.len; i++) {
        const struct tally_proc *p = &t->procs.data[i];
        struct tally_proc *heir;

        if (find_same(l->procs.data, l->procs.len, p))
            continue;
        heir = heir_of(l, p);
        COUNTERS(k)
        {
            pool_for(t, p, heir)->credit[k] += p->own[k] + p->waited[k];
            if (heir)
                l->direct[heir - l->procs.data][k] += p->own[k] + p->waited[k];
        }
        if (heir && heir->is_shepherd && !p->is_shepherd)
            heir->task = p->task; /* later growth there was used by this task */
    }
}

/* For processes that were running before the very first look, only later usage is counted. */
static void count_growth(struct look *l)
{
    struct tally *t = l->t;

    for (size_t i = 0; i < l->procs.len; i++) {
        struct tally_proc *p = &l->procs.data[i];
        const struct tally_proc *old = find_same(t->procs.data, t->procs.len, p);
        struct tally_step *s = p->is_shepherd ? NULL : p->step;
        bool since_birth = t->began || p->step;

        COUNTERS(k)
        {
            uint64_t own = old ? old->own[k] : since_birth ? 0 : p->own[k];
            uint64_t waited = old ? old->waited[k] : since_birth ? 0 : p->waited[k];

            add_counters(t, p->uid, s, p->task, k, p->own[k] - own);
            l->growth[i][k] = p->waited[k] - waited;
            pool_of(t, p, false)->growth[k] += l->growth[i][k];
        }
    }
}

/* Distributes the growth of a pool that no credit explains among the processes where it was
   found. */
static void share_out(struct look *l, struct tally_pool *pool, int k)
{
    struct tally *t = l->t;
    uint64_t credit = pool->credit[k] + pool->old_credit[k], weight = 0, left;
    uint64_t grown = pool->growth[k], over = credit > grown ? credit - grown : 0;

    pool->old_credit[k] = over < pool->credit[k] ? over : pool->credit[k];
    pool->credit[k] = pool->growth[k] = 0;
    left = grown > credit ? grown - credit : 0;
    for (int pass = 0; pass < 2 && left; pass++)
        for (size_t i = 0; i < l->procs.len; i++) {
            struct tally_proc *p = &l->procs.data[i];
            uint64_t own = l->growth[i][k], part;

            if (pool_of(t, p, false) != pool || own <= l->direct[i][k])
                continue;
            own -= l->direct[i][k];
            if (pass == 0) {
                weight += own;
                continue;
            }
            part = (uint64_t)((unsigned __int128)left * own / weight);
            weight -= own;
            left -= part;
            add_counters(t, p->uid, p->step, p->task, k, part);
        }
}

static void add_current(struct tally_use *u, const struct snapshot_proc *p, int64_t ms)
{
    u->now_processes++;
    u->now_rss += p->rss_kib;
    u->now_vsize += p->vsize_kib;
    u->now_rss_kib_ms += p->rss_kib * (uint64_t)ms;
    u->now_vsize_kib_ms += p->vsize_kib * (uint64_t)ms;
}

/* Returns how long the process has had its present size: since the last look, or since its
   start. */
static int64_t age_ms(const struct look *l, const struct tally_proc *p)
{
    int64_t since = l->s->at_ms - l->t->at_ms;
    int64_t age = l->s->at_ms - (int64_t)(p->started_ticks * 1000 / l->ticks_per_sec);

    if (!l->t->began || since < 0)
        since = p->step ? age : 0;
    return age < 0 ? 0 : age < since ? age : since;
}

static void measure_memory(struct look *l)
{
    struct tally *t = l->t;

    for (size_t i = 0; i < l->procs.len; i++) {
        const struct tally_proc *p = &l->procs.data[i];
        const struct snapshot_proc *seen = snapshot_find(l->s, p->pid);
        int64_t ms = age_ms(l, p);

        add_current(&row_of(t, p->uid, 0)->use, seen, ms);
        if (!p->step || p->is_shepherd)
            continue;
        add_current(&row_of(t, p->uid, p->step->job_id)->use, seen, ms);
        add_current(&p->step->use, seen, ms);
        if (p->task < p->step->tasks.len)
            add_current(&p->step->tasks.data[p->task].use, seen, ms);
    }
}

static void close_use(struct tally_use *u, bool keep_last)
{
    if (u->now_processes || !keep_last) { /* an ended task shows its last values */
        u->rss_kib = u->now_rss;
        u->vsize_kib = u->now_vsize;
    }
    u->processes = u->now_processes;
    u->max_rss_kib = u->now_rss > u->max_rss_kib ? u->now_rss : u->max_rss_kib;
    u->max_vsize_kib = u->now_vsize > u->max_vsize_kib ? u->now_vsize : u->max_vsize_kib;
    u->rss_kib_sec += u->now_rss_kib_ms / 1000;
    u->vsize_kib_sec += u->now_vsize_kib_ms / 1000;
    u->now_rss = u->now_vsize = u->now_rss_kib_ms = u->now_vsize_kib_ms = 0;
    u->now_processes = 0;
}

/* The kernel's total is more exact than the sum over processes, which share pages. With several
 * tasks the total does not tell the share of each. */
static void use_counted(struct tally_step *s)
{
    if (!s->counted)
        return;
    s->use.now_rss = s->counted_kib;
    if (s->tasks.len == 1)
        s->tasks.data[0].use.now_rss = s->counted_kib;
    s->counted = false;
}

static void close_all(struct tally *t)
{
    vec_foreach (&t->users, r)
        close_use(&r->use, false);
    vec_foreach (&t->jobs, r)
        close_use(&r->use, false);
    vec_foreach (&t->steps, s) {
        use_counted(*s);
        close_use(&(*s)->use, true);
        vec_foreach (&(*s)->tasks, task)
            close_use(&task->use, true);
    }
}

/* The kernel's order: user, nice, system, idle, iowait, irq, softirq, steal. */
static void count_time(struct tally *t, const struct snapshot *s, uint64_t ticks_per_sec)
{
    static const int to[SNAPSHOT_CPU_STATES] = {0, 0, 1, 4, 5, 2, 2, 3};

    for (int i = 0; i < SNAPSHOT_CPU_STATES; i++) {
        uint64_t was = t->began ? t->cpu_ticks[i] : s->cpu_ticks[i];

        if (s->cpu_ticks[i] > was)
            t->time_usec[to[i]] += (s->cpu_ticks[i] - was) * 1000000 / ticks_per_sec;
        if (s->cpu_ticks[i] > t->cpu_ticks[i])
            t->cpu_ticks[i] = s->cpu_ticks[i];
    }
    t->cpus = s->cpus;
}

void tally_take(struct tally *t, const struct snapshot *s)
{
    struct look l = {.t = t, .s = s, .ticks_per_sec = (uint64_t)sysconf(_SC_CLK_TCK)};

    vec_foreach (&s->procs, p)
        identify_process(&l, p);
    l.direct = mem_alloc((l.procs.len + 1) * sizeof(*l.direct));
    l.growth = mem_alloc((l.procs.len + 1) * sizeof(*l.growth));
    credit_ended(&l);
    count_growth(&l);
    COUNTERS(k)
    {
        share_out(&l, &t->outside, k);
        vec_foreach (&t->steps, step)
            share_out(&l, &(*step)->pool, k);
    }
    measure_memory(&l);
    close_all(t);
    count_time(t, s, l.ticks_per_sec);
    free(l.direct);
    free(l.growth);
    vec_done(&t->procs);
    memcpy(&t->procs, &l.procs, sizeof(t->procs));
    vec_clear(&t->ended);
    t->at_ms = s->at_ms;
    t->began = true;
}

static bool clear_use(struct tally_use *u)
{
    memset(u->sum, 0, sizeof(u->sum));
    u->rss_kib_sec = u->vsize_kib_sec = 0;
    u->max_rss_kib = u->rss_kib;
    u->max_vsize_kib = u->vsize_kib;
    return u->processes;
}

void tally_begin_period(struct tally *t, int64_t now_sec)
{
    for (size_t i = t->users.len; i-- > 0;)
        if (!clear_use(&t->users.data[i].use))
            vec_remove(&t->users, i);
    for (size_t i = t->jobs.len; i-- > 0;)
        if (!clear_use(&t->jobs.data[i].use))
            vec_remove(&t->jobs, i);
    memset(t->time_usec, 0, sizeof(t->time_usec));
    t->since_sec = now_sec;
    t->period++;
}
