/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/halt.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "slurmd/prolog.h"
#include "slurmd/report.h"
#include "slurmd/revoked.h"
#include "slurmd/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define GRACE_SEC 2 /* between SIGTSTP and SIGSTOP, unless suspend_grace_time says otherwise */
#define GRACE_SEC_MAX 600

static int64_t halt_grace_ms(const struct slurmd *d)
{
    _cleanup_free_ char *value = conf_list_value(d->conf->preempt_parameters, "suspend_grace_time");
    long sec = value ? strtol(value, NULL, 10) : GRACE_SEC;

    return (sec < 0 ? 0 : sec > GRACE_SEC_MAX ? GRACE_SEC_MAX : sec) * 1000;
}

static void send_halt_to_steps(struct job *j, int signo)
{
    vec_foreach (&j->steps, s)
        if (!(*s)->ended)
            step_halt(*s, j->note.halted, signo,
                      j->halt == HALT_SETTLING ? j->note.halt_number : 0);
}

/* Sends the final signal, which the steps confirm. */
static void settle_halt(struct job *j)
{
    j->halt = HALT_SETTLING;
    send_halt_to_steps(j, j->note.halted ? SIGSTOP : SIGCONT);
    halt_check(j);
}

static void on_halt_grace_over(void *ctx)
{
    struct job *j = ctx;

    if (j->note.halted && j->halt == HALT_GRACE && !job_is_ending(j))
        settle_halt(j);
}

static void begin_halt(struct job *j)
{
    int64_t ms = halt_grace_ms(j->d);

    j->halt = HALT_GRACE;
    if (!j->note.halted || !j->steps.len || !ms) {
        settle_halt(j);
        return;
    }
    send_halt_to_steps(j, SIGTSTP);
    if (!j->halt_timer)
        j->halt_timer = loop_timer_new(j->d->loop, on_halt_grace_over, j);
    loop_timer_set(j->halt_timer, ms);
}

void halt_check(struct job *j)
{
    if (j->halt != HALT_SETTLING || job_is_ending(j))
        return;
    vec_foreach (&j->steps, s)
        if (!(*s)->ended && (*s)->halt_number != j->note.halt_number)
            return;
    j->halt = HALT_ANSWERED;
    log_verbose("job %u: %s", j->key.id, j->note.halted ? "suspended" : "resumed");
    report_halted(j->d, j->key.id, j->key.restarts, j->note.halt_number);
}

void halt_step_did(struct step *s, uint32_t number)
{
    s->halt_number = number;
    halt_check(s->job);
}

void halt_step_begins(struct step *s)
{
    if (s->job->note.halted)
        step_halt(s, true, SIGSTOP, s->job->note.halt_number);
    else
        s->halt_number = s->job->note.halt_number;
}

static struct job *find_or_add_job(struct slurmd *d, const Pb__NodeAttempt *about)
{
    struct job *j = job_find(d, about->job_id, about->restarts);
    struct err err = {0};

    if (j || revoked_has(d->revoked, about->job_id, about->restarts))
        return j;
    if (job_new(d, about, "", &j, &err)) { /* the controller repeats the order */
        log_error("job %u cannot be suspended: %s", about->job_id, err.text);
        return NULL;
    }
    return j;
}

void halt_take(struct slurmd *d, const Pb__Halt *m, const Pb__NodeAttempt *about)
{
    struct job *j = find_or_add_job(d, about);

    if (!j || job_is_ending(j) || m->number < j->note.halt_number)
        return;
    if (m->number == j->note.halt_number) {
        if (j->halt == HALT_ANSWERED)
            j->halt = HALT_SETTLING;
        halt_check(j);
        return;
    }
    job_note(j, NOTE_HALT, m->number, m->stop);
    j->note.halt_number = m->number;
    j->note.halted = m->stop;
    begin_halt(j);
    if (!j->note.halted && j->waiting.len)
        prolog_run(j);
}

void halt_adopt(struct job *j)
{
    if (j->note.halt_number && !job_is_ending(j))
        settle_halt(j);
}
