/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/prolog.h"

#include <assert.h>

#include "base/mem.h"
#include "slurmd/attempt/report.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/oldscript.h"
#include "slurmd/node/plugins.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static void start_waiting_launches(struct attempt *a)
{
    uint64_t *numbers = mem_new_array(uint64_t, a->waiting.len + 1);
    size_t count = 0;

    /* launch_go() may remove the launch from the list */
    vec_foreach (&a->waiting, l)
        numbers[count++] = (*l)->number;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < a->waiting.len; n++)
            if (a->waiting.data[n]->number == numbers[i]) {
                launch_go(a->d, a->waiting.data[n]);
                break;
            }
    free(numbers);
}

void prolog_fail_waiting(struct attempt *a, int code, const char *text, bool drain)
{
    while (a->waiting.len) {
        struct launch *l = vec_pop(&a->waiting);

        launch_fail(a->d, l, code, text, drain);
    }
}

static bool has_waiting_launch(const struct attempt *a)
{
    vec_foreach (&a->waiting, l)
        /* Requested by the daemon itself, so there is no caller to answer. */
        if ((*l)->kind != LAUNCH_EXTERN)
            return true;
    return false;
}

/* Waiting launches are answered with the failure; without any, it is reported to the controller. */
static void fail_prolog(struct attempt *a, const char *text)
{
    a->prolog_error = mem_strdup(text);
    if (a->note.prepared && !has_waiting_launch(a))
        report_prolog_failed(a->d, a->key.id, a->key.restarts, text);
    attempt_advance(a, ATTEMPT_ON_PROLOG_FAILED);
}

/* text: why it failed; NULL: it did not. is_known: its exit status is known; otherwise it runs
 * again. */
static void end_prolog(struct attempt *a, const char *text, bool is_known)
{
    if (text) {
        log_error("job %u: %s", a->key.id, text);
        fail_prolog(a, text);
    } else if (is_known) {
        attempt_note(a, NOTE_PROLOG_DONE);
        attempt_advance(a, ATTEMPT_ON_PROLOG_SUCCEEDED);
    } else {
        attempt_advance(a, ATTEMPT_ON_PROLOG_LOST);
    }
    attempt_check(a);
}

static void on_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (a)
        end_prolog(a, text, true);
}

/* Its exit status is unknown, so the prolog runs again unless it exceeded its time limit. */
static void on_old_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                          const char *text)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (a)
        end_prolog(a, text, false);
}

/* Noted before the prolog starts, so that a restarted daemon does not run it a second time beside
 * the first. */
static void on_prolog_begins(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (a)
        attempt_note(a, NOTE_PROLOG, (int)pid);
}

static void on_prolog_held(void *ctx, uint32_t job_id, uint32_t restarts, const char *text)
{
    report_held_up(ctx, job_id, restarts, text);
}

static struct script make_prolog_script(const struct attempt *a, const char *host)
{
    const struct slurmd *d = a->d;

    return (struct script){.what = "Prolog",
                           .path = d->conf->prolog,
                           .host = host,
                           .verb = "prolog",
                           .limit_sec = script_limit_sec(d->conf, false),
                           .job_id = a->key.id,
                           .restarts = a->key.restarts,
                           .serial = d->conf->prolog_serial,
                           .begins = on_prolog_begins,
                           .held = on_prolog_held,
                           .patience_sec = d->conf->unkillable_step_timeout_sec};
}

static void start_prolog(struct attempt *a, const char *host)
{
    struct slurmd *d = a->d;
    const struct script script = make_prolog_script(a, host);

    attempt_advance(a, ATTEMPT_ON_PROLOG_BEGINS);
    script_run(d, &script, scriptenv_prolog(d, a->note.about), on_prolog, d);
}

/* host: the program that runs plugins and the prolog; NULL: the prolog runs alone. */
static bool is_prolog_due(struct attempt *a, const char **host)
{
    struct err err = {0};

    if (a->phase != ATTEMPT_NEW)
        return false;
    if (plugins_beside_script(a->d, host, &err) < 0) {
        log_error("job %u: %s", a->key.id, err.text);
        fail_prolog(a, err.text);
        return false;
    }
    return *host || a->d->conf->prolog;
}

static void reply_prepared(struct attempt *a)
{
    if (a->tells_prepared)
        report_prepared(a->d, a->key.id, a->key.restarts);
    a->tells_prepared = false;
}

void prolog_run(struct attempt *a)
{
    const char *host = NULL;
    bool due = is_prolog_due(a, &host);

    if (a->phase == ATTEMPT_PROLOG)
        return;
    assert(!attempt_is_ending(a));
    if (a->phase == ATTEMPT_BLOCKED) {
        prolog_fail_waiting(a, ERR_LAUNCH, a->prolog_error, true);
        attempt_check_left(a);
    } else if (due) {
        start_prolog(a, host);
    } else {
        reply_prepared(a);
        if (!a->note.halted)
            start_waiting_launches(a);
    }
}

void prolog_run_alone(struct attempt *a, bool tell)
{
    if (a->note.prepared && !tell)
        return;
    a->tells_prepared = a->tells_prepared || tell;
    if (!a->note.prepared)
        attempt_note(a, NOTE_PREPARED);
    a->note.prepared = true;
    prolog_run(a);
}

void prolog_adopt(struct attempt *a)
{
    if (a->phase == ATTEMPT_PROLOG || a->phase == ATTEMPT_ENDING_PROLOG) {
        const struct script script = make_prolog_script(a, NULL);

        oldscript_watch(a, &script, false, on_old_prolog);
    } else if (a->note.prepared && a->phase == ATTEMPT_NEW) {
        prolog_run(a);
    }
}
