/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/epilog.h"

#include "base/mem.h"
#include "slurmd/contain.h"
#include "slurmd/jobtmp.h"
#include "slurmd/oldscript.h"
#include "slurmd/plugins.h"
#include "slurmd/report.h"
#include "slurmd/script.h"
#include "slurmd/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

void epilog_report(struct job *j)
{
    struct slurmd *d = j->d;
    int status = j->note.epilog_status;

    contain_job_over(j);
    if (j->batch_end)
        report_batch_ended(d, j->batch_end, status == 0);
    if (!j->batch_end || status != 0)
        report_job_gone(d, j->key.id, j->key.restarts, status, j->epilog_error);
    log_verbose("job %u is over on this node", j->key.id);
}

/* The first failure is kept. */
static void keep_epilog_failure(struct job *j, int wait_status, const char *text)
{
    if (text)
        log_error("job %u: %s", j->key.id, text);
    if (!j->note.epilog_status)
        j->note.epilog_status = wait_status;
    if (!j->epilog_error)
        j->epilog_error = mem_strdup(text);
}

static void on_directories_removed(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                                   const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    keep_epilog_failure(j, wait_status, text);
    job_note(j, NOTE_GONE, j->note.epilog_status);
    job_advance(j, ATTEMPT_ON_REMOVED);
}

/* A daemon that restarts meanwhile removes them again. */
void epilog_remove(struct job *j)
{
    if (jobtmp_remove(j, on_directories_removed))
        return;
    if (j->note.epilog_begun)
        job_note(j, NOTE_GONE, j->note.epilog_status);
    job_advance(j, ATTEMPT_ON_REMOVED);
}

static void on_epilog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    keep_epilog_failure(j, wait_status, text);
    job_advance(j, ATTEMPT_ON_EPILOG_ENDED);
}

/* Noted before the epilog starts, so that it never runs twice. */
static void on_epilog_begins(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    j->note.epilog_begun = true;
    j->note.epilog_pid = pid;
    job_note(j, NOTE_EPILOG, (int)pid);
}

static void on_epilog_held(void *ctx, uint32_t job_id, uint32_t restarts, const char *text)
{
    report_held_up(ctx, job_id, restarts, text);
}

static struct script make_epilog_script(const struct job *j, const char *host)
{
    const struct slurmd *d = j->d;

    return (struct script){.what = "Epilog",
                           .path = d->conf->epilog,
                           .host = host,
                           .verb = "epilog",
                           .limit_sec = script_limit_sec(d->conf, true),
                           .job_id = j->key.id,
                           .restarts = j->key.restarts,
                           .serial = d->conf->prolog_serial,
                           .begins = on_epilog_begins,
                           .held = on_epilog_held,
                           .patience_sec = d->conf->unkillable_step_timeout_sec};
}

static void start_epilog(struct job *j, const char *host)
{
    struct slurmd *d = j->d;
    const struct script script = make_epilog_script(j, host);

    if (j->batch_end) {
        j->note.about->has_exit_status = true;
        j->note.about->exit_status = j->batch_end->exit_status;
    }
    script_run(d, &script, scriptenv_epilog(d, j->note.about), on_epilog, d);
}

/* When plugins cannot be loaded the epilog runs without them. */
static const char *find_epilog_plugins(struct job *j)
{
    const char *host = NULL;
    struct err err = {0};

    if (plugins_beside_script(j->d, &host, &err) < 0)
        log_error("job %u: its epilog runs without plugins: %s", j->key.id, err.text);
    return host;
}

void epilog_run(struct job *j)
{
    const char *host;

    if (j->note.epilog_begun) {
        const struct script script = make_epilog_script(j, NULL);

        oldscript_watch(j, &script, true, on_epilog);
        return;
    }
    host = find_epilog_plugins(j);
    if (host || j->d->conf->epilog)
        start_epilog(j, host);
    else
        job_advance(j, ATTEMPT_ON_EPILOG_ENDED);
}
