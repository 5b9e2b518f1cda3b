/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/halt.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "slurmd/attempt/report.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/job/prolog.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define GRACE_SEC 2 /* seconds between SIGTSTP and SIGSTOP, unless suspend_grace_time is set */
#define GRACE_SEC_MAX 600

static int64_t halt_grace_ms(const struct slurmd *d)
{
    _cleanup_free_ char *value = conf_list_value(d->conf->preempt_parameters, "suspend_grace_time");
    long sec = value ? strtol(value, NULL, 10) : GRACE_SEC;

    return (sec < 0 ? 0 : sec > GRACE_SEC_MAX ? GRACE_SEC_MAX : sec) * 1000;
}

static void send_halt_to_steps(struct attempt *a, int signo)
{
    vec_foreach (&a->steps, s)
        if (!(*s)->ended)
            step_halt(*s, a->note.halted, signo,
                      a->halt == HALT_SETTLING ? a->note.halt_number : 0);
}

/* Sends the final signal, which the steps confirm. */
static void settle_halt(struct attempt *a)
{
    a->halt = HALT_SETTLING;
    send_halt_to_steps(a, a->note.halted ? SIGSTOP : SIGCONT);
    halt_check(a);
}

static void on_halt_grace_over(void *ctx)
{
    struct attempt *a = ctx;

    if (a->note.halted && a->halt == HALT_GRACE && !attempt_is_ending(a))
        settle_halt(a);
}

static void begin_halt(struct attempt *a)
{
    int64_t ms = halt_grace_ms(a->d);

    a->halt = HALT_GRACE;
    if (!a->note.halted || !a->steps.len || !ms) {
        settle_halt(a);
        return;
    }
    send_halt_to_steps(a, SIGTSTP);
    if (!a->halt_timer)
        a->halt_timer = loop_timer_new(a->d->loop, on_halt_grace_over, a);
    loop_timer_set(a->halt_timer, ms);
}

void halt_check(struct attempt *a)
{
    if (a->halt != HALT_SETTLING || attempt_is_ending(a))
        return;
    vec_foreach (&a->steps, s)
        if (!(*s)->ended && (*s)->halt_number != a->note.halt_number)
            return;
    a->halt = HALT_ANSWERED;
    log_verbose("job %u: %s", a->key.id, a->note.halted ? "suspended" : "resumed");
    report_halted(a->d, a->key.id, a->key.restarts, a->note.halt_number);
}

void halt_step_did(struct step *s, uint32_t number)
{
    s->halt_number = number;
    halt_check(s->attempt);
}

void halt_step_begins(struct step *s)
{
    if (s->attempt->note.halted)
        step_halt(s, true, SIGSTOP, s->attempt->note.halt_number);
    else
        s->halt_number = s->attempt->note.halt_number;
}

static struct attempt *find_or_add_job(struct slurmd *d, const Pb__NodeAttempt *about)
{
    struct attempt *a = attempt_find(d, about->job_id, about->restarts);
    struct err err = {0};

    if (a || revoked_has(d->revoked, about->job_id, about->restarts))
        return a;
    if (attempt_new(d, about, "", &a, &err)) { /* the controller repeats the order */
        log_error("job %u cannot be suspended: %s", about->job_id, err.text);
        return NULL;
    }
    return a;
}

void halt_take(struct slurmd *d, const Pb__Halt *m, const Pb__NodeAttempt *about)
{
    struct attempt *a = find_or_add_job(d, about);

    if (!a || attempt_is_ending(a) || m->number < a->note.halt_number)
        return;
    if (m->number == a->note.halt_number) {
        if (a->halt == HALT_ANSWERED)
            a->halt = HALT_SETTLING;
        halt_check(a);
        return;
    }
    attempt_note(a, NOTE_HALT, m->number, m->stop);
    a->note.halt_number = m->number;
    a->note.halted = m->stop;
    begin_halt(a);
    if (!a->note.halted && a->waiting.len)
        prolog_run(a);
}

void halt_adopt(struct attempt *a)
{
    if (a->note.halt_number && !attempt_is_ending(a))
        settle_halt(a);
}
