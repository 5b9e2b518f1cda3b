/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/adopt.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/proc.h"
#include "rpc/reply.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/usage.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define ADOPTIONS_MAX 1000 /* unanswered adoptions per job */

/* --- answers ---------------------------------------------------------------------------------- */

static void reply_done(const struct attempt *a, uint64_t call, Pb__AdoptHow how)
{
    _cleanup_free_ char *tmp = jobtmp_namespace(a->d, a->key.id);
    Pb__AdoptReply m = PB__ADOPT_REPLY__INIT;

    m.outcome = PB__ADOPT_OUTCOME__ADOPT_DONE;
    m.has_job_id = m.has_how = true;
    m.job_id = a->key.id;
    m.how = how;
    m.tmp = tmp;
    m.conf_path = (char *)a->d->conf->path;
    rpc_reply(a->d->server, call, &m.base);
}

static void send_failure(const struct attempt *a, uint64_t call, const char *text, bool waits)
{
    Pb__AdoptReply m = PB__ADOPT_REPLY__INIT;

    if (!call)
        return;
    m.outcome = PB__ADOPT_OUTCOME__ADOPT_FAILED;
    m.has_job_id = true;
    m.job_id = a->key.id;
    m.text = (char *)text;
    m.has_waits = m.waits = waits;
    rpc_reply(a->d->server, call, &m.base);
}

static void reply_failed(const struct attempt *a, uint64_t call, const char *text)
{
    log_error("job %u: a process was not adopted: %s", a->key.id, text);
    send_failure(a, call, text, false);
}

/* --- which job -------------------------------------------------------------------------------- */

struct choice {
    VEC(struct attempt *) jobs; /* running jobs of the user on this node that are not suspended */
    uint32_t suspended;         /* id of a suspended one; 0: none */
    struct attempt *attempt;
    Pb__AdoptHow how;
};

/* A step without an allocation is not a job: its extern step would never be ended. */
static void find_jobs(const struct slurmd *d, uid_t uid, struct choice *c)
{
    for (struct attempt *a = d->attempts; a; a = a->hh.next) {
        if ((uid_t)a->note.about->uid != uid || attempt_is_ending(a) ||
            a->phase == ATTEMPT_BLOCKED || a->note.about->unallocated)
            continue;
        if (a->note.halted)
            c->suspended = a->key.id;
        else
            vec_push(&c->jobs, a);
    }
}

static bool is_newer(const struct attempt *a, const struct attempt *b)
{
    int64_t a_ms = a->note.about->known_at_ms, b_ms = b->note.about->known_at_ms;

    return a_ms != b_ms ? a_ms > b_ms : a->key.id > b->key.id;
}

static struct attempt *find_by_id(const struct choice *c, uint32_t id)
{
    vec_foreach (&c->jobs, a)
        if ((*a)->key.id == id)
            return *a;
    return NULL;
}

/* The requested job is only accepted if it belongs to the user. */
static void choose_job(struct slurmd *d, const Pb__AdoptRequest *m, struct choice *c)
{
    uint32_t origin = m->has_origin_pid ? usage_job_of(d, (pid_t)(m->origin_pid & INT32_MAX)) : 0;

    find_jobs(d, (uid_t)m->uid, c);
    if (m->has_job_id && (c->attempt = find_by_id(c, m->job_id))) {
        c->how = PB__ADOPT_HOW__ADOPT_WANTED;
    } else if (origin && (c->attempt = find_by_id(c, origin))) {
        c->how = PB__ADOPT_HOW__ADOPT_ORIGIN;
    } else if (c->jobs.len == 1) {
        c->attempt = c->jobs.data[0];
        c->how = PB__ADOPT_HOW__ADOPT_ONLY;
    } else if (m->has_newest && m->newest) {
        c->how = PB__ADOPT_HOW__ADOPT_NEWEST;
        vec_foreach (&c->jobs, a)
            if (!c->attempt || is_newer(*a, c->attempt))
                c->attempt = *a;
    }
}

static void reply_none(struct slurmd *d, uint64_t call, const struct choice *c)
{
    Pb__AdoptReply m = PB__ADOPT_REPLY__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    m.outcome = c->jobs.len ? PB__ADOPT_OUTCOME__ADOPT_UNKNOWN : PB__ADOPT_OUTCOME__ADOPT_NO_JOB;
    if (!c->jobs.len && c->suspended)
        m.text = arena_printf(&arena, "your job %u on this node is suspended", c->suspended);
    m.jobs = arena_alloc(&arena, (c->jobs.len + 1) * sizeof(*m.jobs));
    vec_foreach (&c->jobs, a) {
        Pb__AdoptJob *one = arena_alloc(&arena, sizeof(*one));
        const Pb__JobFacts *facts = (*a)->note.about->facts;

        pb__adopt_job__init(one);
        one->job_id = (*a)->key.id;
        one->nodes = facts ? facts->nodes : NULL;
        m.jobs[m.n_jobs++] = one;
    }
    rpc_reply(d->server, call, &m.base);
}

/* --- its way ---------------------------------------------------------------------------------- */

static void send_to(struct step *s, struct adoption *a)
{
    Pb__StepdAdopt m = PB__STEPD_ADOPT__INIT;

    a->sent = true;
    m.pid = (uint32_t)a->who.pid;
    m.started_ticks = a->who.started_ticks;
    rpc_link_send(s->link, RPC_STEPD_ADOPT, false, a->call, &m.base);
}

void adopt_begin(struct step *s)
{
    vec_foreach (&s->attempt->adoptions, a)
        if (!a->sent)
            send_to(s, a);
}

void adopt_fail(struct attempt *a, const char *text)
{
    while (a->adoptions.len) {
        struct adoption adoption = vec_pop(&a->adoptions);

        reply_failed(a, adoption.call, text);
    }
}

static void reply_late(struct attempt *a, const struct adoption *adoption)
{
    _cleanup_free_ char *text =
        a->phase == ATTEMPT_PROLOG
            ? mem_printf("the prolog of job %u on node %s has not ended yet: try again later",
                         a->key.id, a->d->name)
            : mem_printf("step %u.extern on node %s does not answer", a->key.id, a->d->name);

    if (a->phase == ATTEMPT_PROLOG)
        send_failure(a, adoption->call, text, true);
    else
        reply_failed(a, adoption->call, text);
}

/* Answers before the callers time out: the prolog may take long, and a shepherd may hang. */
static void on_late(void *ctx)
{
    struct attempt *a = ctx;
    int64_t now_ms = loop_mono_ms();

    while (a->adoptions.len && a->adoptions.data[0].late_ms <= now_ms) {
        struct adoption adoption = a->adoptions.data[0];

        vec_remove(&a->adoptions, 0);
        reply_late(a, &adoption);
    }
    if (a->adoptions.len)
        loop_timer_set(a->adoptions_late, a->adoptions.data[0].late_ms - now_ms);
}

static void add_adoption(struct attempt *a, struct adoption *adoption)
{
    int64_t patience_ms = a->d->conf->message_timeout_sec * 1000 / 2;

    adoption->late_ms = loop_mono_ms() + patience_ms;
    vec_push(&a->adoptions, *adoption);
    if (!a->adoptions_late)
        a->adoptions_late = loop_timer_new(a->d->loop, on_late, a);
    if (a->adoptions.len == 1)
        loop_timer_set(a->adoptions_late, patience_ms);
}

void adopt_gone(struct slurmd *d, uint64_t call)
{
    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        for (size_t i = 0; i < a->adoptions.len; i++)
            if (a->adoptions.data[i].call == call) {
                vec_remove(&a->adoptions, i);
                return;
            }
}

static void keep_adopted(struct attempt *a, const struct adoption *adoption)
{
    attempt_note(a, NOTE_ADOPTED, (int)adoption->who.pid,
                 (unsigned long long)adoption->who.started_ticks);
    vec_push(&a->note.adopted, adoption->who);
    a->note.ever_adopted = true;
    usage_is_stale(a->d);
    log_verbose("job %u: adopted process %d", a->key.id, (int)adoption->who.pid);
}

void adopt_done(struct step *s, uint64_t call, const Pb__StepdAdopted *m)
{
    struct attempt *a = s->attempt;

    for (size_t i = 0; i < a->adoptions.len; i++) {
        struct adoption adoption = a->adoptions.data[i];

        if (adoption.call != call)
            continue;
        vec_remove(&a->adoptions, i);
        if (m->code) {
            reply_failed(a, call, m->text ? m->text : err_text(m->code));
        } else {
            keep_adopted(a, &adoption);
            reply_done(a, call, adoption.how);
        }
        return;
    }
}

static bool is_here(const struct attempt *a, const struct note_adopted *who)
{
    vec_foreach (&a->note.adopted, adoption)
        if (adoption->pid == who->pid && adoption->started_ticks == who->started_ticks)
            return true;
    return false;
}

static void adopt_process(struct attempt *a, uint64_t call, pid_t pid, Pb__AdoptHow how)
{
    struct adoption adoption = {.call = call, .how = how, .who = {.pid = pid}};
    struct err err = {0};
    struct step *s;
    struct proc p = {0};

    if (a->adoptions.len >= ADOPTIONS_MAX)
        err_set(&err, -ERR_BUSY, "too many processes are being adopted");
    else if (proc_read(pid, &p))
        err_set(&err, -ESRCH, "there is no process %d", (int)pid);
    if (err.code) {
        reply_failed(a, call, err.text);
        return;
    }
    adoption.who.started_ticks = p.started_ticks;
    if (is_here(a, &adoption.who)) {
        reply_done(a, call, how);
        return;
    }
    add_adoption(a, &adoption);
    s = step_find(a, STEP_ID_EXTERN);
    if (s && s->started && !s->ended)
        send_to(s, &vec_last(&a->adoptions));
    else if (extern_begin(a, &err))
        adopt_fail(a, err.text);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t read_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

static int check_adopt_request(const struct slurmd *d, const struct rpc_request *r, struct err *err)
{
    const Pb__AdoptRequest *m = (const Pb__AdoptRequest *)r->body;

    if (r->who.uid != 0 && r->who.uid != geteuid())
        return err_set(err, -ERR_ACCESS, "%s: processes are adopted for root alone",
                       err_text(ERR_ACCESS));
    if (m->uid == 0 || m->pid <= 1 || m->pid > INT32_MAX)
        return err_set(err, -ERR_PROTOCOL, "the request names no process, or no user but root");
    if (m->pid_namespace != read_pid_namespace())
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "the process is in another pid namespace than slurmd of node %s", d->name);
    return 0;
}

void adopt_request(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__AdoptRequest *m = (const Pb__AdoptRequest *)r->body;
    struct choice c = {.attempt = NULL};
    struct err err = {0};

    if (check_adopt_request(d, r, &err)) {
        rpc_reply_error(d->server, r->call, -err.code, err.text);
        return;
    }
    choose_job(d, m, &c);
    if (!c.attempt)
        reply_none(d, r->call, &c);
    else if (m->has_dry && m->dry)
        reply_done(c.attempt, r->call, c.how);
    else
        adopt_process(c.attempt, r->call, (pid_t)m->pid, c.how);
    vec_done(&c.jobs);
}
