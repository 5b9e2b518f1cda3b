/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmd"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/step_id.h"
#include "base/str.h"
#include "rpc/reply.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/hw.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/memory.h"
#include "slurmd/usage/pids.h"
#include "slurmd/usage/tally.h"
#include "slurmd/usage/usage.h"

#define DEPTH_MAX 10000 /* ancestors per process; pids may be reused during the search */

static bool is_adopted(const struct attempt *a, pid_t pid)
{
    struct proc p;

    vec_foreach (&a->note.adopted, adopted)
        if (adopted->pid == pid)
            return !proc_read(pid, &p) && p.started_ticks == adopted->started_ticks;
    return false;
}

/* Returns the job that this process or one of its ancestors was adopted into; NULL: none. */
static struct attempt *find_adopter(const struct slurmd *d, pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        for (struct attempt *a = d->attempts; a; a = a->hh.next)
            if (is_adopted(a, pid))
                return a;
        pid = pids_parent(pid);
    }
    return NULL;
}

/* Adds the adopted processes to a snapshot of all processes; after the snapshot, removes the ended
   ones. */
static void collect_adopted(struct slurmd *d, struct snapshot *s)
{
    vec_clear(&s->adopted);
    for (struct attempt *a = d->attempts; a; a = a->hh.next) {
        const struct step *step = step_find(a, STEP_ID_EXTERN);
        struct cgroup_pids in = {0};

        if (!step || step->pid <= 0)
            continue;
        vec_foreach (&a->note.adopted, adopted) {
            adopted->looked = true;
            vec_push(&s->adopted,
                     ((struct snapshot_adopted){adopted->pid, adopted->started_ticks, step->pid}));
        }
        contain_pids(a, STEP_ID_EXTERN, &in);
        vec_foreach (&in.list, pid)
            vec_push(&s->adopted, ((struct snapshot_adopted){*pid, 0, step->pid}));
        vec_done(&in.list);
    }
}

static bool is_adopted_alive(const struct snapshot *s, const struct note_adopted *a)
{
    const struct snapshot_proc *p = snapshot_find(s, a->pid);

    return p && p->started_ticks == a->started_ticks;
}

/* Adds the adopted processes to a snapshot of all processes; after the snapshot, removes the ended
   ones. */
static void forget_ended_adopted(struct slurmd *d, const struct snapshot *s)
{
    for (struct attempt *a = d->attempts; a && !s->cut; a = a->hh.next)
        for (size_t i = a->note.adopted.len; i-- > 0;) {
            const struct note_adopted *adopted = &a->note.adopted.data[i];

            if (adopted->looked && !is_adopted_alive(s, adopted))
                vec_remove(&a->note.adopted, i);
        }
}

unsigned usage_kill_adopted(const struct attempt *a, struct str *left)
{
    unsigned count = 0;

    vec_foreach (&a->note.adopted, adopted) {
        _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, adopted->pid, 0);
        struct proc p;

        if (handle < 0 || proc_read(adopted->pid, &p) ||
            p.started_ticks != adopted->started_ticks || p.state == 'Z' ||
            syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
            continue;
        if (!count++)
            proc_describe(adopted->pid, left);
    }
    return count;
}

#define FILE_MAX (64u << 20)
#define PIDS_FRESH_MS 100 /* maximum age of reported processes, in milliseconds */
#define FRESH_MS 1000     /* maximum age of reported values, in milliseconds */

struct usage {
    struct slurmd *d;
    struct tally *tally;
    struct loop_timer *timer;
    struct snapshot snapshot; /* used by the worker thread while 'looking' */
    VEC(pid_t) roots;         /* the same */
    bool armed, looking, closing, changed, told_cut;
    int64_t armed_sec;
    bool is_repeat;       /* this look is for a step that started during the last one */
    bool stale;           /* a step has a process that no look has seen */
    bool confirms_memory; /* this look confirms the excess memory that the last one has found */
    VEC(struct answer) answers;
};

static void reply_all(struct usage *u);
static void begin_usage_look(struct usage *u);

/* --- the file -------------------------------------------------------------------------------- */

static char *file_of(const struct slurmd *d)
{
    return mem_printf("%s/usage", d->spool);
}

/* Returns the part of the incarnation that changes with each boot. */
static char *boot_of(const struct slurmd *d)
{
    return mem_strndup(d->incarnation, strcspn(d->incarnation, ":"));
}

static int save_books(struct usage *u)
{
    static struct log_limit limit = {.burst = 5};
    _cleanup_free_ char *path = file_of(u->d), *boot = boot_of(u->d);
    _cleanup_str_ struct str bytes = STR_INIT;
    struct err err = {0};

    tally_pack(u->tally, boot, loop_wall_ms() / 1000, &bytes);
    if (!path_write_file(path, bytes.data, bytes.len, 0600, &err))
        u->changed = false;
    else if (log_allow(&limit))
        log_error("%s; after a restart figures of use may be smaller", err.text);
    return err.code;
}

int usage_open(struct slurmd *d, struct err *err)
{
    struct usage *u = mem_new(struct usage);
    _cleanup_free_ char *path = file_of(d), *boot = boot_of(d);
    _cleanup_str_ struct str text = STR_INIT;
    int64_t now_sec = loop_wall_ms() / 1000;
    int rc = path_read_file(path, FILE_MAX, &text, err);

    u->d = d;
    d->usage = u;
    if (!rc)
        u->tally = tally_unpack(text.data, text.len, boot, now_sec, hw_up_sec());
    if (rc != -ENOENT && !path_is_shortage(rc) && !u->tally) {
        _cleanup_free_ char *aside = mem_printf("%s/damaged.usage", d->spool);

        log_error("%s is damaged: it is set aside as %s, and counting starts at zero", path, aside);
        rename(path, aside);
    }
    if (!u->tally)
        u->tally = tally_new(now_sec);
    return path_is_shortage(rc) ? rc : 0;
}

/* --- what control groups count ---------------------------------------------------------------- */

static struct attempt *find_counted(struct slurmd *d, const struct tally_step *s)
{
    return d->contain && d->conf->cgroup.gather && s->shepherd
               ? attempt_find(d, s->job_id, s->restarts)
               : NULL;
}

static void read_counted_memory(struct slurmd *d, struct tally *t)
{
    vec_foreach (&t->steps, at) {
        struct tally_step *s = *at;
        struct attempt *a = find_counted(d, s);

        s->counted = a && contain_memory(a, s->step_id, &s->counted_kib);
    }
}

static void read_counted_time(struct slurmd *d, const struct tally_step *s, Pb__Usage *m)
{
    struct attempt *a = find_counted(d, s);

    if (a)
        contain_time(a, s->step_id, m);
}

/* --- looks ----------------------------------------------------------------------------------- */

static void on_look(void *ctx) /* on a worker thread */
{
    struct usage *u = ctx;

    snapshot_read(&u->snapshot, u->roots.data, u->roots.len);
}

static void on_looked(void *ctx)
{
    struct usage *u = ctx;

    u->looking = false;
    if (u->closing)
        return;
    if (u->snapshot.cut && !u->told_cut) {
        u->told_cut = true;
        log_error("there are more than %d processes: what the others use is not counted",
                  SNAPSHOT_PROCESSES_MAX);
    }
    read_counted_memory(u->d, u->tally);
    tally_take(u->tally, &u->snapshot);
    forget_ended_adopted(u->d, &u->snapshot);
    save_books(u);
    u->confirms_memory = memory_check(u->d, u->tally, &u->snapshot) && !u->confirms_memory;
    /* Only once, because further steps may start all the time. */
    u->is_repeat = u->stale && u->answers.len && !u->is_repeat;
    if (u->is_repeat)
        begin_usage_look(u);
    else
        reply_all(u);
    if (u->confirms_memory)
        begin_usage_look(u);
}

static void begin_usage_look(struct usage *u)
{
    if (u->looking)
        return;
    u->looking = true;
    u->stale = false;
    vec_clear(&u->roots);
    vec_foreach (&u->tally->steps, s)
        if ((*s)->shepherd)
            vec_push(&u->roots, (*s)->shepherd);
    collect_adopted(u->d, &u->snapshot);
    loop_work_post(u->d->loop, 0, on_look, on_looked, u);
}

/* Returns the shortest interval required by the running steps; 0: none runs, or periodic looks are
   disabled. */
static int64_t interval_sec(const struct usage *u)
{
    int64_t least = 0;

    vec_foreach (&u->tally->steps, at) {
        const struct tally_step *s = *at;
        int64_t sec = s->has_every ? s->every_sec : u->d->conf->job_acct_gather_sec;
        if (sec && (!least || sec < least))
            least = sec;
    }
    return least;
}

/* Looks are taken only while steps run, so that an idle node stays idle. */
static void arm_timer(struct usage *u)
{
    int64_t sec = interval_sec(u);

    if (!u->timer || !sec || (u->armed && u->armed_sec <= sec))
        return;
    u->armed = true;
    u->armed_sec = sec;
    loop_timer_set(u->timer, sec * 1000);
}

static void on_usage_timer(void *ctx)
{
    struct usage *u = ctx;

    u->armed = false;
    if (u->tally->steps.len)
        begin_usage_look(u);
    arm_timer(u);
}

void usage_rearm(struct slurmd *d)
{
    struct usage *u = d->usage;

    if (!u || !u->timer)
        return;
    loop_timer_set(u->timer, -1);
    u->armed = false;
    arm_timer(u);
}

static bool is_fresh(const struct usage *u, int64_t ms)
{
    return u->tally->began && !u->stale && loop_mono_ms() - u->tally->at_ms < ms;
}

void usage_beat(struct slurmd *d)
{
    if (!is_fresh(d->usage, FRESH_MS))
        begin_usage_look(d->usage);
}

/* Drops steps of the file that ended before this daemon started, and were reported. */
static void forget_ended(struct usage *u)
{
    for (size_t i = u->tally->steps.len; i-- > 0;) {
        struct tally_step *s = u->tally->steps.data[i];
        struct attempt *a = attempt_find(u->d, s->job_id, s->restarts);

        if (!a || !step_find(a, s->step_id)) {
            tally_end_step(u->tally, s, 0, NULL, false);
            tally_drop_step(u->tally, s);
        }
    }
    for (size_t i = u->tally->jobs.len; i-- > 0 && i < u->tally->jobs.len;)
        usage_job_forgotten(u->d, u->tally->jobs.data[i].job_id);
}

void usage_begin(struct slurmd *d)
{
    struct usage *u = d->usage;

    u->timer = loop_timer_new(d->loop, on_usage_timer, u);
    forget_ended(u);
    begin_usage_look(u);
    arm_timer(u);
}

void usage_close(struct slurmd *d)
{
    struct usage *u = d->usage;

    if (!u)
        return;
    u->closing = true;
    loop_timer_free(take_ptr(u->timer));
    if (u->changed)
        save_books(u);
}

void usage_done(struct slurmd *d)
{
    struct usage *u = take_ptr(d->usage);

    if (!u)
        return;
    tally_free(u->tally);
    snapshot_done(&u->snapshot);
    vec_done(&u->roots);
    vec_done(&u->answers);
    free(u);
}

/* --- steps and jobs -------------------------------------------------------------------------- */

void usage_step_runs(const struct attempt *a, uint32_t step_id, pid_t shepherd,
                     const uint32_t *pids, size_t pid_count, const uint32_t *ranks,
                     size_t rank_count)
{
    struct usage *u = a->d->usage;
    _cleanup_free_ uint32_t *numbers = mem_new_array(uint32_t, pid_count + 1);
    static const uint32_t nobody[1];

    /* All usage of the extern step belongs to one task, as in Slurm. */
    if (step_id == STEP_ID_EXTERN) {
        pids = nobody;
        pid_count = 1;
    }
    for (size_t i = 0; i < pid_count; i++)
        numbers[i] = rank_count == pid_count ? ranks[i] : (uint32_t)i;
    tally_set_step(u->tally, a->key.id, a->key.restarts, step_id, shepherd, pids, numbers,
                   pid_count);
    u->stale = true;
    arm_timer(u);
}

void usage_step_every(const struct attempt *a, uint32_t step_id, uint32_t sec)
{
    struct usage *u = a->d->usage;
    struct tally_step *s = tally_find_step(u->tally, a->key.id, a->key.restarts, step_id);

    if (!s)
        return;
    s->has_every = true;
    s->every_sec = sec;
    arm_timer(u);
}

Pb__Usage *usage_step_ended(const struct attempt *a, const Pb__StepdEnded *m, struct arena *arena)
{
    struct usage *u = a->d->usage;
    Pb__Usage *all = arena_alloc(arena, sizeof(*all));
    const Pb__Usage *said = m->usage;
    struct tally_step *s = tally_find_step(u->tally, m->job_id, m->restarts, m->step_id);
    /* Processes of an extern step are not reaped by its shepherd. */
    bool left = (m->has_unkillable && m->unkillable) || m->step_id == STEP_ID_EXTERN;

    pb__usage__init(all);
    if (said) { /* only scalars, because shepherds set no other field */
        *all = *said;
        all->n_most = all->n_least = 0;
    }
    if (!s) {
        tally_set_step(u->tally, m->job_id, m->restarts, m->step_id, 0, NULL, NULL, 0);
        s = tally_find_step(u->tally, m->job_id, m->restarts, m->step_id);
    }
    if (said) {
        uint64_t used[SNAPSHOT_COUNTERS] = {[SNAPSHOT_USER] = said->user_usec,
                                            [SNAPSHOT_SYS] = said->sys_usec,
                                            [SNAPSHOT_PAGES] = said->pages,
                                            [SNAPSHOT_READ] = said->read_bytes,
                                            [SNAPSHOT_WRITE] = said->write_bytes};

        tally_end_step(u->tally, s, (uid_t)a->note.about->uid, used, left);
    } else {
        tally_end_step(u->tally, s, (uid_t)a->note.about->uid, NULL, left);
    }
    tally_view_step(s, arena, all);
    tally_drop_step(u->tally, s);
    u->changed = true;
    return all;
}

void usage_job_forgotten(struct slurmd *d, uint32_t job_id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->key.id == job_id)
            return;
    tally_drop_job(d->usage->tally, job_id);
    d->usage->changed = true;
}

void usage_is_stale(struct slurmd *d)
{
    d->usage->stale = true;
}

static void reply_step(struct usage *u, const struct answer *a)
{
    Pb__StepUsageReply m = PB__STEP_USAGE_REPLY__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    m.steps = arena_alloc(&arena, (u->tally->steps.len + 1) * sizeof(*m.steps));
    vec_foreach (&u->tally->steps, at) {
        const struct tally_step *s = *at;
        Pb__StepUsage *one;

        if (s->job_id != a->job_id || (a->one_step && s->step_id != a->step_id))
            continue;
        one = arena_alloc(&arena, sizeof(*one));
        pb__step_usage__init(one);
        one->step_id = s->step_id;
        one->usage = arena_alloc(&arena, sizeof(*one->usage));
        pb__usage__init(one->usage);
        read_counted_time(u->d, s, one->usage);
        tally_view_step(s, &arena, one->usage);
        one->pid = arena_alloc(&arena, (u->tally->procs.len + 1) * sizeof(*one->pid));
        vec_foreach (&u->tally->procs, p)
            if (p->step == s && !p->is_shepherd)
                one->pid[one->n_pid++] = (uint32_t)p->pid;
        m.steps[m.n_steps++] = one;
    }
    rpc_reply(u->d->server, a->call, &m.base);
}

static void view_node(const struct usage *u, struct arena *arena, Pb__NodeUsage *m)
{
    m->name = u->d->name;
    m->has_now = m->has_free_mem_mib = m->has_cpu_load_centi = true;
    m->now = loop_wall_ms() / 1000;
    hw_load(&m->free_mem_mib, &m->cpu_load_centi);
    tally_view_node(u->tally, arena, m);
}

/* Keeps the period until it is acknowledged, so that a lost answer loses nothing: the same period
   is sent again. */
static int collect_period(struct usage *u, struct arena *arena)
{
    struct tally *t = u->tally;
    Pb__NodeUsage m = PB__NODE_USAGE__INIT;
    int rc;

    if (t->collected.len)
        return 0;
    view_node(u, arena, &m);
    pb_pack(&m.base, &t->collected);
    t->collected_period = t->period;
    tally_begin_period(t, m.now);
    rc = save_books(u);
    if (rc)
        u->changed = true;
    return rc;
}

static void reply_collected(struct usage *u, const struct answer *a)
{
    struct tally *t = u->tally;
    _cleanup_arena_ struct arena arena;
    int rc;

    arena_init(&arena, 0);
    rc = collect_period(u, &arena);
    if (rc)
        rpc_reply_error(u->d->server, a->call, -rc, "what was counted cannot be written down");
    else
        rpc_reply_bytes(u->d->server, a->call, t->collected.data, t->collected.len, false);
}

static void reply_node(struct usage *u, const struct answer *a)
{
    Pb__NodeUsage m = PB__NODE_USAGE__INIT;
    _cleanup_arena_ struct arena arena;
    size_t kept = 0;

    arena_init(&arena, 0);
    view_node(u, &arena, &m);
    for (size_t i = 0; i < m.n_rows; i++)
        if (m.rows[i]->uid == a->uid || (a->all && (a->all_jobs || !m.rows[i]->job_id)))
            m.rows[kept++] = m.rows[i];
    m.n_rows = kept;
    rpc_reply(u->d->server, a->call, &m.base);
}

static void reply_pids(struct usage *u, const struct answer *a)
{
    Pb__NodePidsRequest ask = PB__NODE_PIDS_REQUEST__INIT;
    Pb__NodePids m = PB__NODE_PIDS__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    ask.has_job_id = a->one_job;
    ask.job_id = a->job_id;
    ask.has_step_id = a->one_step;
    ask.step_id = a->step_id;
    pids_view(u->tally, &ask, &arena, &m);
    if (!a->all)
        pids_hide(u->d, a->uid, &m);
    rpc_reply(u->d->server, a->call, &m.base);
}

static void reply_all(struct usage *u)
{
    if (u->changed)
        save_books(u);
    vec_foreach (&u->answers, a) {
        if (a->pids)
            reply_pids(u, a);
        else if (a->job_id)
            reply_step(u, a);
        else if (a->collect)
            reply_collected(u, a);
        else
            reply_node(u, a);
    }
    vec_clear(&u->answers);
}

bool usage_may_wait(const struct answer *waiting, size_t count, uid_t uid, struct err *err)
{
    size_t own = 0;

    for (size_t i = 0; i < count; i++)
        own += waiting[i].uid == uid;
    if (count >= USAGE_ANSWERS_MAX)
        return !err_set(err, -ERR_BUSY, "%s: %zu questions about usage wait for an answer",
                        err_text(ERR_BUSY), count);
    if (own >= USAGE_ANSWERS_PER_USER)
        return !err_set(err, -ERR_BUSY,
                        "%s: %zu questions of user %u about usage wait for an answer",
                        err_text(ERR_BUSY), own, (unsigned)uid);
    return true;
}

static void queue_question(struct usage *u, const struct answer *a)
{
    struct err err = {0};

    if (!usage_may_wait(u->answers.data, u->answers.len, a->uid, &err)) {
        rpc_reply_error(u->d->server, a->call, -err.code, err.text);
        return;
    }
    vec_push(&u->answers, *a);
    if (is_fresh(u, a->pids ? PIDS_FRESH_MS : FRESH_MS) && !u->looking)
        reply_all(u);
    else
        begin_usage_look(u);
}

static bool may_see_all(const struct rpc_request *r)
{
    return r->roles & (RPC_WHO_ADMIN | RPC_WHO_OPERATOR);
}

static void refuse_question(struct slurmd *d, const struct rpc_request *r, int code)
{
    static struct log_limits refusals = {.burst = 60};

    if (log_allow_source(&refusals, r->who.uid))
        log_error("refused: uid %u (%s): %s: %s", (unsigned)r->who.uid, r->peer, r->rpc->name,
                  err_text(ERR_ACCESS));
    rpc_reply_error(d->server, r->call, code, NULL);
}

void usage_answer_step(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__StepUsageRequest *m = (const Pb__StepUsageRequest *)r->body;
    struct answer answer = {.call = r->call,
                            .uid = r->who.uid,
                            .job_id = m->job_id,
                            .step_id = m->step_id,
                            .one_step = m->has_step_id};
    const struct attempt *a = d->attempts;

    while (a && a->key.id != m->job_id)
        a = a->hh.next;
    if (!a)
        rpc_reply_error(d->server, r->call, ERR_NO_JOB, NULL);
    else if (r->who.uid != (uid_t)a->note.about->uid && !may_see_all(r))
        refuse_question(d, r, conf_is_private(d->conf, "jobs") ? ERR_NO_JOB : ERR_ACCESS);
    else
        queue_question(d->usage, &answer);
}

uint32_t usage_job_of(struct slurmd *d, pid_t pid)
{
    const struct tally_step *s = pids_find(d->usage->tally, pid, pids_parent);
    const struct attempt *a = s ? NULL : find_adopter(d, pid);

    return s ? s->job_id : a ? a->key.id : 0;
}

/* The step of a single process is found without a snapshot. */
static void reply_pid(struct slurmd *d, const struct rpc_request *r, pid_t pid)
{
    const struct tally_step *s = pids_find(d->usage->tally, pid, pids_parent);
    const struct attempt *adopter = s ? NULL : find_adopter(d, pid);
    Pb__StepPids one = PB__STEP_PIDS__INIT, *steps = &one;
    Pb__NodePids m = PB__NODE_PIDS__INIT;

    if (s || adopter) {
        one.job_id = s ? s->job_id : adopter->key.id;
        one.step_id = s ? s->step_id : STEP_ID_EXTERN;
        m.steps = &steps;
        m.n_steps = 1;
    }
    if (!may_see_all(r))
        pids_hide(d, r->who.uid, &m);
    rpc_reply(d->server, r->call, &m.base);
}

void usage_answer_pids(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__NodePidsRequest *m = (const Pb__NodePidsRequest *)r->body;
    struct answer a = {.call = r->call,
                       .uid = r->who.uid,
                       .all = may_see_all(r),
                       .pids = true,
                       .one_job = m->has_job_id,
                       .job_id = m->job_id,
                       .one_step = m->has_step_id,
                       .step_id = m->step_id};

    if (m->has_pid)
        reply_pid(d, r, (pid_t)(m->pid & INT32_MAX));
    else
        queue_question(d->usage, &a);
}

/* The collected period is acknowledged. */
static int forget_collected(struct usage *u, uint64_t period)
{
    struct tally *t = u->tally;

    if (!t->collected.len || period != t->collected_period)
        return 0;
    str_clear(&t->collected);
    return save_books(u);
}

void usage_answer_node(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__NodeUsageRequest *m = (const Pb__NodeUsageRequest *)r->body;
    struct answer a = {.call = r->call,
                       .uid = r->who.uid,
                       .collect = m->has_collect && m->collect,
                       .all = may_see_all(r) || !conf_is_private(d->conf, "usage"),
                       .all_jobs = may_see_all(r) || !conf_is_private(d->conf, "jobs")};

    if ((a.collect || m->has_have) && !(r->roles & RPC_WHO_ADMIN))
        refuse_question(d, r, ERR_ACCESS);
    else if (m->has_have && forget_collected(d->usage, m->have))
        rpc_reply_error(d->server, r->call, EIO, "what was counted cannot be written down");
    else
        queue_question(d->usage, &a);
}
