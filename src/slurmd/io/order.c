/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/order.h"

#include "base/arena.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/events.h"
#include "slurmd/attempt/report.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/io/uplink.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/early.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/halt.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/prolog.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static void on_end(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status, const char *text)
{
    struct slurmd *d = ctx;

    d->rebooting = false;
    if (text)
        log_error("%s: this node does not reboot", text);
}

static void run_reboot_program(struct slurmd *d)
{
    struct script script = {.what = "RebootProgram", .path = d->conf->reboot_program};

    if (d->rebooting)
        return;
    if (!d->conf->reboot_program) {
        log_error(
            "the controller orders a reboot, and RebootProgram is not set in slurm.conf here");
        return;
    }
    log_info("the controller orders a reboot: running %s", d->conf->reboot_program);
    d->rebooting = true;
    script_run(d, &script, scriptenv_health(d), on_end, d);
}
#include "base/step_id.h"

static void end_ordered_step(struct slurmd *d, const Pb__Terminate *m)
{
    struct cancelled_step key = {m->job_id, m->restarts, m->step_id};
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    struct step *s = a ? step_find(a, m->step_id) : NULL;

    if (s)
        step_terminate(s, m->has_grace_sec ? m->grace_sec : (uint32_t)d->conf->kill_wait_sec,
                       m->why);
    else
        launch_cancel(d, a, &key);
}

/* The srun that was to launch the step may have ended. */
static void on_order_look(struct slurmd *d, const Pb__StepLook *m)
{
    struct cancelled_step key = {m->job_id, m->restarts, m->step_id};
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);

    if (!a || !(step_find(a, m->step_id) || launch_waits(a, m->step_id)))
        launch_cancel(d, a, &key);
}

static Pb__JobFacts *copy_facts(const Pb__JobFacts *m)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    return pb_unpack(&pb__job_facts__descriptor, bytes.data, bytes.len);
}

/* The epilog gets the controller's current description of the job. */
static void update_about(struct attempt *a, const Pb__NodeAttempt *m)
{
    Pb__NodeAttempt *about = a->note.about;

    if (!about->facts && m->facts)
        about->facts = copy_facts(m->facts);
    if (m->has_exit_status) {
        about->has_exit_status = true;
        about->exit_status = m->exit_status;
    }
    if (m->has_derived_status) {
        about->has_derived_status = true;
        about->derived_status = m->derived_status;
    }
}

/* Copies the fields that orders of every kind have in common. */
#define COPY_ATTEMPT(about, m)                                                                     \
    ((about)->job_id = (m)->job_id, (about)->restarts = (m)->restarts, (about)->uid = (m)->uid,    \
     (about)->gid = (m)->gid, (about)->facts = (m)->facts)

/* A controller of an older version describes the attempt inside the order. */
static void make_about(const Pb__NodeOrder *o, Pb__NodeAttempt *about)
{
    pb__node_attempt__init(about);
    if (o->attempt) {
        *about = *o->attempt;
    } else if (o->terminate) {
        const Pb__Terminate *m = o->terminate;

        COPY_ATTEMPT(about, m);
        about->has_exit_status = m->has_exit_status;
        about->exit_status = m->exit_status;
        about->has_derived_status = m->has_derived_status;
        about->derived_status = m->derived_status;
    } else if (o->prepare) {
        const Pb__Prepare *m = o->prepare;

        COPY_ATTEMPT(about, m);
        about->has_cpus = m->has_cpus;
        about->cpus = m->cpus;
        about->share = m->share;
    } else if (o->halt) {
        const Pb__Halt *m = o->halt;

        COPY_ATTEMPT(about, m);
        about->has_cpus = m->has_cpus;
        about->cpus = m->cpus;
    }
}

static void on_prepare(struct slurmd *d, const Pb__Prepare *m, const Pb__NodeAttempt *about)
{
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    struct err err = {0};

    if (!a && revoked_has(d->revoked, m->job_id, m->restarts))
        return;
    if (!a && attempt_new(d, about, "", &a, &err)) {
        report_prolog_failed(d, m->job_id, m->restarts, err.text);
    } else if (!attempt_is_ending(a)) {
        extern_learn(a, about->share);
        if (m->has_contain && m->contain)
            extern_want(a); /* recorded before the prolog runs */
        prolog_run_alone(a, m->has_report && m->report);
        extern_adopt(a);
    }
}

static void on_terminate(struct slurmd *d, const Pb__Terminate *m, const Pb__NodeAttempt *about)
{
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    struct err err = {0};

    if (m->has_step_id) {
        end_ordered_step(d, m);
        return;
    }
    if (!a && revoked_has(d->revoked, m->job_id, m->restarts)) {
        report_job_gone(d, m->job_id, m->restarts, 0, NULL);
        return;
    }
    /* The attempt never ran here, so there is no note. */
    if (!a && attempt_new(d, about, "", &a, &err)) {
        log_error("job %u: a restart of this daemon may run its epilog again: %s", m->job_id,
                  err.text);
        report_trouble(d, err.text);
        a = attempt_new_unnoted(d, about);
    }
    log_debug("job %u: ordered to end it%s%s", m->job_id, m->why ? ": " : "", m->why ? m->why : "");
    update_about(a, about);
    attempt_terminate(a, m->has_grace_sec ? m->grace_sec : (uint32_t)d->conf->kill_wait_sec,
                      m->why);
}

static bool has_seen_nonce(struct attempt *a, uint64_t nonce)
{
    for (size_t i = 0; nonce && i < ATTEMPT_NONCES; i++)
        if (a->nonces[i] == nonce)
            return true;
    a->nonces[a->nonce_next++ % ATTEMPT_NONCES] = nonce;
    return false;
}

/* Whether the srun of the step forwards the signal, and the controller says so. */
static bool is_forwarded(const Pb__SignalJob *m, uint32_t step_id)
{
    for (size_t i = 0; i < m->n_forwarded; i++)
        if (m->forwarded[i] == step_id)
            return true;
    return false;
}

/* Signals the running steps. ERR_NO_STEP: there are none. */
static int signal_steps(struct attempt *a, const Pb__SignalJob *m)
{
    bool leader_only = m->has_batch_only && m->batch_only && !(m->has_full && m->full);
    int code = ERR_NO_STEP;

    vec_foreach (&a->steps, s) {
        if (!early_is_meant(m, (*s)->id) || (*s)->ended)
            continue;
        if (step_is_swamped(*s)) {
            code = ERR_BUSY;
            continue;
        }
        if (m->say)
            step_say(*s, m->say, m->nonce);
        else
            step_signal(*s, m->signal, leader_only, is_forwarded(m, (*s)->id), m->nonce);
        code = 0;
    }
    return code;
}

static void on_order_signal(struct slurmd *d, const Pb__SignalJob *m)
{
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    int code = a ? 0 : ERR_NO_JOB, kept = 0;

    if (a && !has_seen_nonce(a, m->nonce)) {
        code = signal_steps(a, m);
        if (early_keep(a, m, &kept))
            code = kept;
    }
    if (a && !m->has_step_id)
        code = 0; /* signalling a job without steps is a success */
    report_signal_done(d, m->job_id, m->nonce, code);
}

static void on_forget(struct slurmd *d, const Pb__Forget *m)
{
    for (size_t i = 0; i < m->n_job_id; i++) {
        struct attempt *a, *next;

        HASH_ITER (hh, d->attempts, a, next) {
            if (a->key.id == m->job_id[i] && a->phase == ATTEMPT_GONE &&
                !report_pending_gone(d, a->key.id, a->key.restarts))
                attempt_forget(a);
        }
    }
}

/* The controller has closed the session of this order and may have given up the job since. If it
 * has not, it repeats the order after this node has registered. */
static bool is_stale_order(const Pb__NodeOrder *o, bool closed)
{
    if (!closed || !(o->launch || o->prepare))
        return false;
    log_info("job %u is not begun: the controller has closed the session that ordered it",
             o->launch ? o->launch->job_id : o->prepare->job_id);
    return true;
}

static void handle_order(struct slurmd *d, const Pb__NodeOrder *o, bool closed)
{
    Pb__NodeAttempt about;

    if (o->has_epoch && o->epoch < d->epoch) {
        log_error("ignored an order of epoch %llu: the controller of epoch %llu has taken over",
                  (unsigned long long)o->epoch, (unsigned long long)d->epoch);
        return;
    }
    if (is_stale_order(o, closed))
        return;
    make_about(o, &about);
    if (o->halt)
        halt_take(d, o->halt, &about);
    if (o->launch)
        launch_batch(d, o->launch);
    if (o->terminate)
        on_terminate(d, o->terminate, &about);
    if (o->prepare)
        on_prepare(d, o->prepare, &about);
    if (o->look)
        on_order_look(d, o->look);
    if (o->signal)
        on_order_signal(d, o->signal);
    if (o->forget)
        on_forget(d, o->forget);
    if (o->reconfigure)
        uplink_reconfigure_any(d);
    if (o->report)
        uplink_register(d);
    if (o->reboot)
        run_reboot_program(d);
    if (o->shutdown) {
        log_info("the controller orders this daemon to stop");
        loop_stop(d->loop);
    }
}

void order_take(struct slurmd *d, const Pb__NodeOrders *orders, bool closed)
{
    for (size_t i = 0; i < orders->n_orders; i++)
        handle_order(d, orders->orders[i], closed);
}

static void forget_batch(struct slurmd *d, uint32_t job_id, uint32_t restarts)
{
    struct attempt *a = attempt_find(d, job_id, restarts);

    /* recorded first, because without its files the script would look as if it had never
       started */
    if (a && (a->note.batch == NOTE_BATCH_STARTED || a->note.batch == NOTE_BATCH_ENDED) &&
        a->phase != ATTEMPT_GONE) {
        a->note.batch = NOTE_BATCH_ACKNOWLEDGED;
        attempt_note(a, NOTE_BATCH_OVER);
    }
    step_forget_files(d, job_id, restarts, STEP_ID_BATCH);
}

static void forget_step(struct slurmd *d, const Pb__StepEnded *m)
{
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    struct note_step *known = a ? note_find_step(&a->note, m->step_id) : NULL;

    if (known && !known->over && a->phase != ATTEMPT_GONE) {
        known->over = true;
        attempt_note(a, NOTE_STEP_OVER, m->step_id);
    }
    step_forget_files(d, m->job_id, m->restarts, m->step_id);
}

static void forget_job(struct slurmd *d, uint32_t job_id, uint32_t restarts)
{
    struct attempt *a = attempt_find(d, job_id, restarts);

    if (a && a->phase == ATTEMPT_GONE)
        attempt_forget(a);
}

/* The controller has the event on disk, so the files of its subject may be removed. */
static void on_acknowledged(void *ctx, const Pb__NodeEvent *e)
{
    struct slurmd *d = ctx;
    const Pb__BatchEnded *b = e->batch_ended;

    if (e->signal_done && d->signals_reported)
        d->signals_reported--;
    if (e->step_ended)
        forget_step(d, e->step_ended);
    if (e->launched && e->launched->code)
        forget_batch(d, e->launched->job_id, e->launched->restarts);
    if (b && b->has_gone && b->gone) {
        step_forget_files(d, b->job_id, b->restarts, STEP_ID_BATCH);
        forget_job(d, b->job_id, b->restarts);
    } else if (b) {
        forget_batch(d, b->job_id, b->restarts);
    }
    if (e->job_gone)
        forget_job(d, e->job_gone->job_id, e->job_gone->restarts);
}

void order_acknowledged(struct slurmd *d, uint64_t seq)
{
    events_ack(d->events, seq, on_acknowledged, d);
}
