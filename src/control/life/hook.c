/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PrologSlurmctld and EpilogSlurmctld. A job with nodes is 'configuring' until the prolog has
 * ended; an ended job is 'completing' until the epilog has ended. Both states are in its record. A
 * restart of the controller ends running scripts; they are then run again: each runs at least once
 * per attempt, never two at the same time, and none begins while a script of the previous attempt
 * still runs.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/sluid.h"
#include "base/step_id.h"
#include "control/core/facts.h"
#include "control/core/reply.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/start.h"

#define RETRY_SEC 120       /* delay before the next attempt after a failed prolog */
#define UNLIMITED_SEC 65534 /* the value in slurm.conf */

static const char *path_of(const struct control *c, enum _Pb__ScriptKind kind)
{
    const char *path = kind == PB__SCRIPT_KIND__SCRIPT_PROLOG ? c->conf->prolog_slurmctld
                                                              : c->conf->epilog_slurmctld;
    return c->env->run && path && *path ? path : NULL;
}

static void run_hook(struct control *c, struct job *j, enum _Pb__ScriptKind kind)
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
    attempt_make(j)->script = (uint8_t)kind;
    c->env->run(c->env->ctx, &m);
}

bool hook_start(struct control *c, struct job *j)
{
    if (!path_of(c, PB__SCRIPT_KIND__SCRIPT_PROLOG))
        return false;
    attempt_make(j)->configuring = true;
    job_touch(c->cluster, j);
    run_hook(c, j, PB__SCRIPT_KIND__SCRIPT_PROLOG);
    return true;
}

static void stop_hooks(struct control *c, struct job *j)
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
    attempt->configuring = attempt->rebooting = attempt->readying = false;
    attempt->epilog_due = path_of(c, PB__SCRIPT_KIND__SCRIPT_EPILOG) != NULL;
    if (attempt->script)
        stop_hooks(c, j); /* the prolog: the epilog follows when it has ended */
    else if (attempt->epilog_due)
        run_hook(c, j, PB__SCRIPT_KIND__SCRIPT_EPILOG);
}

void hook_resume(struct control *c, struct job *j)
{
    bool wants = attempt_of(j)->configuring || attempt_of(j)->epilog_due;
    enum _Pb__ScriptKind kind = attempt_of(j)->configuring ? PB__SCRIPT_KIND__SCRIPT_PROLOG
                                                           : PB__SCRIPT_KIND__SCRIPT_EPILOG;
    if (burst_is_starting(j->burst) && !job_is_final(j))
        return; /* the prolog follows after that */
    /* The epilog: the attempt has just ended because it lost its nodes. */
    if (attempt_of(j)->script)
        return;
    if (attempt_of(j)->readying && !job_is_final(j)) {
        ready_ask_again(c, j);
        return;
    }
    if (attempt_of(j)->rebooting && !job_is_final(j)) {
        boot_look(c, j);
        return;
    }
    if (!wants || (job_is_final(j) && kind == PB__SCRIPT_KIND__SCRIPT_PROLOG))
        return;
    if (path_of(c, kind)) {
        run_hook(c, j, kind);
    } else if (attempt_of(j)->configuring) { /* no longer configured */
        start_configured(c, j);
    } else {
        attempt_make(j)->epilog_due = false;
        job_touch(c->cluster, j);
    }
}

/* Requeues a batch job; ends an interactive one. */
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
        run_hook(c, j, PB__SCRIPT_KIND__SCRIPT_EPILOG);
    if (!attempt_of(j)->completing)
        return;
    finish_release_untouched(c, j); /* the prolog needed them */
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
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_BURST || m->kind == PB__SCRIPT_KIND__SCRIPT_BURST_ASK) {
        burst_ended(c, m);
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

/* --- env -----------------------------------------------------------------------------------------
 * The environment of programs that run beside the controller for a job: the variables of Slurm's
 * guide to prologs and epilogs. Nothing is inherited. */

#define PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define VARIABLES 52 /* space for all variables below */

struct list {
    char **at;
    size_t count;
    struct arena *arena;
};

static void put_hook_variable(struct list *l, const char *name, const char *value)
{
    if (value)
        l->at[l->count++] = arena_printf(l->arena, "%s=%s", name, value);
}

static void put_hook_number(struct list *l, const char *name, long long value)
{
    l->at[l->count++] = arena_printf(l->arena, "%s=%lld", name, value);
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static void put_facts(struct list *l, const Pb__JobFacts *f)
{
#define TEXT(name, member) put_hook_variable(l, name, f->member);
#define NUMBER(name, member)                                                                       \
    if (f->has_##member)                                                                           \
        put_hook_number(l, name, f->member);
#include "cluster/job/facts_env.def"
}

static void put_ends(struct list *l, const struct job *j)
{
    int status = attempt_of(j)->exit_status;
    put_hook_number(l, "SLURM_JOB_DERIVED_EC", attempt_of(j)->derived_status);
    put_hook_number(l, "SLURM_JOB_EXIT_CODE", status);
    l->at[l->count++] = arena_printf(l->arena, "SLURM_JOB_EXIT_CODE2=%d:%d",
                                     WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

size_t hook_env_make(struct control *c, struct job *j, enum _Pb__ScriptKind kind, size_t more,
                     char ***env, struct arena *arena)
{
    const Pb__JobSpec *spec = job_unpack_spec(j, arena);
    size_t plugins = spec ? spec->n_spank_env : 0;
    struct list l = {.at = arena_alloc(arena, sizeof(char *) * (VARIABLES + plugins + more)),
                     .arena = arena};
    put_hook_variable(&l, "PATH", PATH);
    put_hook_variable(&l, "SLURM_CONF", c->conf->path);
    put_hook_variable(&l, "SLURM_CLUSTER_NAME", c->conf->cluster_name);
    if (kind == PB__SCRIPT_KIND__SCRIPT_PROLOG)
        put_hook_variable(&l, "SLURM_SCRIPT_CONTEXT", "prolog_slurmctld");
    if (kind == PB__SCRIPT_KIND__SCRIPT_EPILOG)
        put_hook_variable(&l, "SLURM_SCRIPT_CONTEXT", "epilog_slurmctld");
    put_hook_number(&l, "SLURM_JOB_ID", j->id);
    put_hook_number(&l, "SLURM_JOBID", j->id);
    put_hook_number(&l, "SLURM_JOB_RESTART_COUNT", j->restarts);
    put_hook_number(&l, "SLURM_JOB_UID", j->uid);
    put_hook_number(&l, "SLURM_JOB_GID", j->gid);
    put_hook_variable(&l, "SLURM_JOB_SLUID", SLUID_TEXT(j->id, j->submit_at));
    Pb__JobFacts *facts = facts_make(c, j, arena);
    if (spec)
        facts_put_streams(c, j, spec, facts, arena);
    put_facts(&l, facts);
    if (spec) {
        put_hook_variable(&l, "SLURM_WCKEY", spec->wckey);
        for (size_t i = 0; i < plugins; i++)
            l.at[l.count++] = arena_printf(arena, "SPANK_%s", spec->spank_env[i]);
    }
    if (job_is_final(j))
        put_ends(&l, j);
    *env = l.at;
    return l.count;
}
