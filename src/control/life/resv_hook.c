/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ResvProlog and ResvEpilog: programs of the site's that are run when a reservation begins and
 * ends, with its name as their argument. Nothing waits for them. What is under way is in the
 * reservation's record, so that each is run to its end at least once, over restarts; with a
 * reservation that is no more goes its record, and then its epilog is run once at the most.
 */
#include "control/internal.h"
#include "control/life/resv.h"

#define UNLIMITED_SEC 65534 /* as slurm.conf writes it */

static const char *path_of(const struct control *c, enum resv_hook hook)
{
    const char *path = hook == RESV_HOOK_PROLOG ? c->conf->resv_prolog : c->conf->resv_epilog;
    return c->env->run && path && *path ? path : NULL;
}

static void run(struct control *c, const struct resv *r, enum resv_hook hook)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    char *env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                   arena_printf(&arena, "SLURM_CONF=%s", c->conf->path),
                   arena_printf(&arena, "SLURM_CLUSTER_NAME=%s", c->conf->cluster_name)};
    bool prolog = hook == RESV_HOOK_PROLOG;
    m.kind = prolog ? PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG : PB__SCRIPT_KIND__SCRIPT_RESV_EPILOG;
    m.job_id = r->number;
    m.path = (char *)path_of(c, hook);
    m.argv = (char **)&r->name;
    m.n_argv = 1;
    m.env = env;
    m.n_env = sizeof env / sizeof env[0];
    if (c->conf->prolog_epilog_timeout_sec < UNLIMITED_SEC) {
        m.has_limit_sec = true;
        m.limit_sec = c->conf->prolog_epilog_timeout_sec;
    }
    c->env->run(c->env->ctx, &m);
}

static void begin(struct control *c, struct resv *r, enum resv_hook hook)
{
    if (!path_of(c, hook))
        return;
    r->hooks_due |= hook;
    run(c, r, hook);
}

void resv_hook_begin(struct control *c, struct resv *r)
{
    if (r->begun_at == r->start_at) /* before a restart */
        return;
    r->begun_at = r->start_at;
    begin(c, r, RESV_HOOK_PROLOG);
}

void resv_hook_end(struct control *c, struct resv *r)
{
    if (!r->begun_at)
        return;
    r->begun_at = 0;
    begin(c, r, RESV_HOOK_EPILOG);
}

void resv_hook_resume(struct control *c)
{
    static const enum resv_hook hooks[] = {RESV_HOOK_PROLOG, RESV_HOOK_EPILOG};
    vec_foreach (&c->cluster->resvs, at)
        for (size_t i = 0; i < 2; i++) {
            struct resv *r = *at;
            if (!(r->hooks_due & hooks[i]))
                continue;
            r->hooks_due &= ~(uint32_t)hooks[i];
            begin(c, r, hooks[i]);
            resv_changed(c, r);
        }
}

void resv_hook_ended(struct control *c, const Pb__ScriptEnded *m)
{
    bool prolog = m->kind == PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG;
    struct resv *r = NULL;
    vec_foreach (&c->cluster->resvs, at)
        if ((*at)->number == m->job_id)
            r = *at;
    if (m->wait_status)
        control_log(c, LOG_LVL_ERROR, "reservation %s: %s", r ? r->name : "that is over",
                    m->text  ? m->text
                    : prolog ? "ResvProlog failed"
                             : "ResvEpilog failed");
    if (!r)
        return;
    r->hooks_due &= ~(uint32_t)(prolog ? RESV_HOOK_PROLOG : RESV_HOOK_EPILOG);
    resv_changed(c, r);
}
