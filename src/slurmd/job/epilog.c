/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/epilog.h"

#include "base/mem.h"
#include "slurmd/attempt/report.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/job/oldscript.h"
#include "slurmd/node/plugins.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"
#include "slurmd/step/contain.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

void epilog_report(struct attempt *a)
{
    struct slurmd *d = a->d;
    int status = a->note.epilog_status;

    contain_job_over(a);
    if (a->batch_end)
        report_batch_ended(d, a->batch_end, status == 0);
    if (!a->batch_end || status != 0)
        report_job_gone(d, a->key.id, a->key.restarts, status, a->epilog_error);
    log_verbose("job %u is over on this node", a->key.id);
}

/* The first failure is kept. */
static void keep_epilog_failure(struct attempt *a, int wait_status, const char *text)
{
    if (text)
        log_error("job %u: %s", a->key.id, text);
    if (!a->note.epilog_status)
        a->note.epilog_status = wait_status;
    if (!a->epilog_error)
        a->epilog_error = mem_strdup(text);
}

static void on_directories_removed(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                                   const char *text)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (!a)
        return;
    keep_epilog_failure(a, wait_status, text);
    attempt_note(a, NOTE_GONE, a->note.epilog_status);
    attempt_advance(a, ATTEMPT_ON_REMOVED);
}

/* If the daemon restarts meanwhile, the next daemon removes the directories again. */
void epilog_remove(struct attempt *a)
{
    if (jobtmp_remove(a, on_directories_removed))
        return;
    if (a->note.epilog_begun)
        attempt_note(a, NOTE_GONE, a->note.epilog_status);
    attempt_advance(a, ATTEMPT_ON_REMOVED);
}

static void on_epilog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (!a)
        return;
    keep_epilog_failure(a, wait_status, text);
    attempt_advance(a, ATTEMPT_ON_EPILOG_ENDED);
}

/* Noted before the epilog starts, so that it never runs twice. */
static void on_epilog_begins(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid)
{
    struct attempt *a = attempt_find(ctx, job_id, restarts);

    if (!a)
        return;
    a->note.epilog_begun = true;
    a->note.epilog_pid = pid;
    attempt_note(a, NOTE_EPILOG, (int)pid);
}

static void on_epilog_held(void *ctx, uint32_t job_id, uint32_t restarts, const char *text)
{
    report_held_up(ctx, job_id, restarts, text);
}

static struct script make_epilog_script(const struct attempt *a, const char *host)
{
    const struct slurmd *d = a->d;

    return (struct script){.what = "Epilog",
                           .path = d->conf->epilog,
                           .host = host,
                           .verb = "epilog",
                           .limit_sec = script_limit_sec(d->conf, true),
                           .job_id = a->key.id,
                           .restarts = a->key.restarts,
                           .serial = d->conf->prolog_serial,
                           .begins = on_epilog_begins,
                           .held = on_epilog_held,
                           .patience_sec = d->conf->unkillable_step_timeout_sec};
}

static void start_epilog(struct attempt *a, const char *host)
{
    struct slurmd *d = a->d;
    const struct script script = make_epilog_script(a, host);

    if (a->batch_end) {
        a->note.about->has_exit_status = true;
        a->note.about->exit_status = a->batch_end->exit_status;
        a->note.about->has_derived_status = true;
    }
    script_run(d, &script, scriptenv_epilog(d, a->note.about), on_epilog, d);
}

/* When plugins cannot be loaded the epilog runs without them. */
static const char *find_epilog_plugins(struct attempt *a)
{
    const char *host = NULL;
    struct err err = {0};

    if (plugins_beside_script(a->d, &host, &err) < 0)
        log_error("job %u: its epilog runs without plugins: %s", a->key.id, err.text);
    return host;
}

void epilog_run(struct attempt *a)
{
    const char *host;

    if (a->note.epilog_begun) {
        const struct script script = make_epilog_script(a, NULL);

        oldscript_watch(a, &script, true, on_epilog);
        return;
    }
    host = find_epilog_plugins(a);
    if (host || a->d->conf->epilog)
        start_epilog(a, host);
    else
        attempt_advance(a, ATTEMPT_ON_EPILOG_ENDED);
}
