/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PrologSlurmctld and EpilogSlurmctld. A job with its nodes is 'configuring' until the prolog has
 * ended; one that has ended is 'completing' until the epilog has. Both are in its record, so that
 * after a restart, when what ran has been ended with the controller, the script is run again: each
 * runs at least once for an attempt, never two at a time, and none of an attempt begins while one
 * of the attempt before goes on.
 */
#include <signal.h>

#include "control/internal.h"

#define RETRY_SEC 120       /* an attempt whose prolog failed is not followed by the next at once */
#define UNLIMITED_SEC 65534 /* as slurm.conf writes it */

static const char *path_of(const struct control *c, enum _Pb__ScriptKind kind)
{
    const char *path = kind == PB__SCRIPT_KIND__SCRIPT_PROLOG ? c->conf->prolog_slurmctld
                                                              : c->conf->epilog_slurmctld;
    return c->env->run && path && *path ? path : NULL;
}

static void run(struct control *c, struct job *j, enum _Pb__ScriptKind kind)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    m.kind = kind;
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.path = (char *)path_of(c, kind);
    m.n_env = hook_env_make(c, j, kind, 0, &m.env, &arena);
    if (c->conf->prolog_epilog_timeout_sec < UNLIMITED_SEC) {
        m.has_limit_sec = true;
        m.limit_sec = c->conf->prolog_epilog_timeout_sec;
    }
    attempt_make(j)->script = kind;
    c->env->run(c->env->ctx, &m);
}

bool hook_start(struct control *c, struct job *j)
{
    if (!path_of(c, PB__SCRIPT_KIND__SCRIPT_PROLOG))
        return false;
    attempt_make(j)->configuring = true;
    job_touch(c->cluster, j);
    run(c, j, PB__SCRIPT_KIND__SCRIPT_PROLOG);
    return true;
}

static void stop(struct control *c, struct job *j)
{
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    m.kind = (enum _Pb__ScriptKind)attempt_of(j)->script;
    m.job_id = j->id;
    m.restarts = j->restarts;
    c->env->stop(c->env->ctx, &m);
}

void hook_job_ended(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    struct attempt *attempt = attempt_make(j);
    attempt->configuring = attempt->readying = false;
    attempt->epilog_due = path_of(c, PB__SCRIPT_KIND__SCRIPT_EPILOG) != NULL;
    if (attempt->script)
        stop(c, j); /* the prolog: the epilog follows when it is over */
    else if (attempt->epilog_due)
        run(c, j, PB__SCRIPT_KIND__SCRIPT_EPILOG);
}

void hook_resume(struct control *c, struct job *j)
{
    bool wants = attempt_of(j)->configuring || attempt_of(j)->epilog_due;
    enum _Pb__ScriptKind kind = attempt_of(j)->configuring ? PB__SCRIPT_KIND__SCRIPT_PROLOG
                                                           : PB__SCRIPT_KIND__SCRIPT_EPILOG;
    if (attempt_of(j)->script) /* the epilog: it was ended just now, for it had lost its nodes */
        return;
    if (attempt_of(j)->readying && !job_is_final(j)) {
        ready_ask_again(c, j);
        return;
    }
    if (!wants || (job_is_final(j) && kind == PB__SCRIPT_KIND__SCRIPT_PROLOG))
        return;
    if (path_of(c, kind)) {
        run(c, j, kind);
    } else if (attempt_of(j)->configuring) { /* the configuration has it no more */
        start_configured(c, j);
    } else {
        attempt_make(j)->epilog_due = false;
        job_touch(c->cluster, j);
    }
}

/* Back to the queue, for what a batch script is; what a person waits for is over. */
static void prolog_failed(struct control *c, struct job *j, const char *text)
{
    control_log_limited(c, j->uid, LOG_LVL_ERROR, "job %u: %s", j->id, text);
    free(j->reason_detail);
    j->reason_detail = mem_strdup(text);
    finish_requeue_later(c, j, RETRY_SEC);
    uint64_t call = j->alloc_call;
    j->alloc_call = 0;
    if (call)
        control_refuse_code(c, call, ERR_JOB_DONE, text);
    finish_job(c, j,
               attempt_of(j)->requeue_after ? PB__JOB_STATE__FAILED : PB__JOB_STATE__CANCELLED,
               attempt_of(j)->requeue_after ? 1 << 8 : SIGKILL, REASON_JOB_LAUNCH_FAILURE, NULL);
}

static void prolog_ended(struct control *c, struct job *j, const Pb__ScriptEnded *m)
{
    if (!job_is_final(j) && attempt_of(j)->configuring && m->wait_status == 0)
        start_configured(c, j);
    else if (!job_is_final(j) && attempt_of(j)->configuring)
        prolog_failed(c, j, m->text ? m->text : "PrologSlurmctld failed");
    else if (attempt_of(j)->epilog_due)
        run(c, j, PB__SCRIPT_KIND__SCRIPT_EPILOG);
    if (!attempt_of(j)->completing)
        return;
    finish_release_untouched(c, j); /* they were the prolog's */
    finish_clean(c, j);
}

static void epilog_ended(struct control *c, struct job *j, const Pb__ScriptEnded *m)
{
    if (m->wait_status)
        control_log_limited(c, j->uid, LOG_LVL_ERROR, "job %u: %s", j->id,
                            m->text ? m->text : "EpilogSlurmctld failed");
    attempt_make(j)->epilog_due = false;
    job_touch(c->cluster, j);
    finish_clean(c, j);
}

void control_script_ended(struct control *c, const Pb__ScriptEnded *m)
{
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG ||
        m->kind == PB__SCRIPT_KIND__SCRIPT_RESV_EPILOG) {
        resv_hook_ended(c, m);
        return;
    }
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_TRIGGER) {
        trigger_ended(c, m);
        return;
    }
    struct job *j = cluster_find_job(c->cluster, m->job_id);
    if (!j || j->restarts != m->restarts || attempt_of(j)->script != (int)m->kind)
        return;
    attempt_make(j)->script = 0;
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_PROLOG)
        prolog_ended(c, j, m);
    else
        epilog_ended(c, j, m);
}
