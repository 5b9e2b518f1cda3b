/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SlurmctldPrimaryOnProg and SlurmctldPrimaryOffProg: a site's programs that follow the lead, to
 * move an address for example. Nothing waits for them. They have a helper of their own: what the
 * controller before is still ending must not keep them.
 */
#define LOG_ROOM "slurmctld"
#include <sys/wait.h>

#include "base/arena.h"
#include "slurmctld/ctld.h"
#include "slurmctld/script/scripts.h"

#define PATH_VARIABLE "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

static const char *key_of(Pb__ScriptKind kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_LEAD_ON ? "SlurmctldPrimaryOnProg"
                                                   : "SlurmctldPrimaryOffProg";
}

static void on_ended(void *ctx, const Pb__ScriptEnded *m)
{
    if (m->wait_status || m->text)
        log_error("%s: %s", key_of(m->kind), m->text ? m->text : "it failed");
    else
        log_info("%s has ended well", key_of(m->kind));
}

void program_run(struct ctld *c, bool leads)
{
    const struct conf *conf = ctld_conf(c);
    const char *path = leads ? conf->slurmctld_primary_on_prog : conf->slurmctld_primary_off_prog;
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    uint32_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    struct scripts_options options = {.loop = c->loop, .on_ended = on_ended, .ctx = c};
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    if (!path || !*path || !c->runs_scripts)
        return;
    char *env[] = {(char *)PATH_VARIABLE, arena_printf(&arena, "SLURM_CONF=%s", conf->path),
                   arena_printf(&arena, "SLURM_CLUSTER_NAME=%s", conf->cluster_name),
                   arena_printf(&arena, "SLURMCTLD_HOST=%s", c->name)};
    m.kind = leads ? PB__SCRIPT_KIND__SCRIPT_LEAD_ON : PB__SCRIPT_KIND__SCRIPT_LEAD_OFF;
    m.path = (char *)path;
    m.env = env;
    m.n_env = sizeof(env) / sizeof(env[0]);
    m.owner = owners;
    m.n_owner = 2;
    log_info("running %s: %s", key_of(m.kind), path);
    if (!c->programs)
        c->programs = scripts_new(&options);
    scripts_run(c->programs, &m);
}
