/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/prolog.h"

#include <assert.h>

#include "base/mem.h"
#include "slurmd/launch.h"
#include "slurmd/oldscript.h"
#include "slurmd/plugins.h"
#include "slurmd/report.h"
#include "slurmd/script.h"
#include "slurmd/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static void start_waiting_launches(struct job *j)
{
    uint64_t *numbers = mem_new_array(uint64_t, j->waiting.len + 1);
    size_t count = 0;

    /* launch_go() may remove the launch from the list */
    vec_foreach (&j->waiting, l)
        numbers[count++] = (*l)->number;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < j->waiting.len; n++)
            if (j->waiting.data[n]->number == numbers[i]) {
                launch_go(j->d, j->waiting.data[n]);
                break;
            }
    free(numbers);
}

void prolog_fail_waiting(struct job *j, int code, const char *text, bool drain)
{
    while (j->waiting.len) {
        struct launch *l = vec_pop(&j->waiting);

        launch_fail(j->d, l, code, text, drain);
    }
}

static bool has_waiting_launch(const struct job *j)
{
    vec_foreach (&j->waiting, l)
        if ((*l)->kind != LAUNCH_EXTERN) /* this daemon's own: nobody waits for its answer */
            return true;
    return false;
}

/* Waiting launches are answered with the failure; without any, it is reported to the controller. */
static void fail_prolog(struct job *j, const char *text)
{
    j->prolog_error = mem_strdup(text);
    if (j->note.prepared && !has_waiting_launch(j))
        report_prolog_failed(j->d, j->key.id, j->key.restarts, text);
    job_advance(j, ATTEMPT_ON_PROLOG_FAILED);
}

static void on_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    if (text) {
        log_error("job %u: %s", job_id, text);
        fail_prolog(j, text);
    } else {
        job_note(j, NOTE_PROLOG_DONE);
        job_advance(j, ATTEMPT_ON_PROLOG_SUCCEEDED);
    }
    job_check(j);
}

/* Its exit status is unknown, so the prolog runs again unless it exceeded its time limit. */
static void on_old_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                          const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    if (text) {
        log_error("job %u: %s", job_id, text);
        fail_prolog(j, text);
    } else {
        job_advance(j, ATTEMPT_ON_PROLOG_LOST);
    }
    job_check(j);
}

/* Noted before the prolog starts, so that a restarted daemon does not run it a second time beside
 * the first. */
static void on_prolog_begins(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (j)
        job_note(j, NOTE_PROLOG, (int)pid);
}

static void on_prolog_held(void *ctx, uint32_t job_id, uint32_t restarts, const char *text)
{
    report_held_up(ctx, job_id, restarts, text);
}

static struct script make_prolog_script(const struct job *j, const char *host)
{
    const struct slurmd *d = j->d;

    return (struct script){.what = "Prolog",
                           .path = d->conf->prolog,
                           .host = host,
                           .verb = "prolog",
                           .limit_sec = script_limit_sec(d->conf, false),
                           .job_id = j->key.id,
                           .restarts = j->key.restarts,
                           .serial = d->conf->prolog_serial,
                           .begins = on_prolog_begins,
                           .held = on_prolog_held,
                           .patience_sec = d->conf->unkillable_step_timeout_sec};
}

static void start_prolog(struct job *j, const char *host)
{
    struct slurmd *d = j->d;
    const struct script script = make_prolog_script(j, host);

    job_advance(j, ATTEMPT_ON_PROLOG_BEGINS);
    script_run(d, &script, scriptenv_prolog(d, j->note.about), on_prolog, d);
}

/* host: the program that runs plugins and the prolog; NULL: the prolog runs alone. */
static bool is_prolog_due(struct job *j, const char **host)
{
    struct err err = {0};

    if (j->phase != ATTEMPT_NEW)
        return false;
    if (plugins_beside_script(j->d, host, &err) < 0) {
        log_error("job %u: %s", j->key.id, err.text);
        fail_prolog(j, err.text);
        return false;
    }
    return *host || j->d->conf->prolog;
}

static void answer_prepare(struct job *j)
{
    if (j->tells_prepared)
        report_prepared(j->d, j->key.id, j->key.restarts);
    j->tells_prepared = false;
}

void prolog_run(struct job *j)
{
    const char *host = NULL;
    bool due = is_prolog_due(j, &host);

    if (j->phase == ATTEMPT_PROLOG)
        return;
    assert(!job_is_ending(j));
    if (j->phase == ATTEMPT_BLOCKED) {
        prolog_fail_waiting(j, ERR_LAUNCH, j->prolog_error, true);
        job_check_left(j);
    } else if (due) {
        start_prolog(j, host);
    } else {
        answer_prepare(j);
        if (!j->note.halted)
            start_waiting_launches(j);
    }
}

void prolog_run_alone(struct job *j, bool tell)
{
    if (j->note.prepared && !tell)
        return;
    j->tells_prepared = j->tells_prepared || tell;
    if (!j->note.prepared)
        job_note(j, NOTE_PREPARED);
    j->note.prepared = true;
    prolog_run(j);
}

void prolog_adopt(struct job *j)
{
    if (j->phase == ATTEMPT_PROLOG || j->phase == ATTEMPT_ENDING_PROLOG) {
        const struct script script = make_prolog_script(j, NULL);

        oldscript_watch(j, &script, false, on_old_prolog);
    } else if (j->note.prepared && j->phase == ATTEMPT_NEW) {
        prolog_run(j);
    }
}
