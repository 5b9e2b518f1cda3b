/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/str.h"
#include "cli/export.h"
#include "launch/origin.h"
#include "launch/outer_job.h"

/* Almost every program needs these; --export=NIL and --export-file keep them. */
static const char *const always[] = {"HOME", "LOGNAME", "PATH", "SHELL", "USER", "SLURM_CONF"};

static void drop_outer_job(struct envlist *e)
{
    if (!envlist_get(e, "SLURM_JOB_ID") && !envlist_get(e, "SLURM_JOBID"))
        return;
    envlist_unset_if(e, outer_job_has);
}

void environment_keep_needed(struct envlist *e, char *const *from)
{
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        size_t len = strlen(always[i]);
        for (char *const *var = from; *var; var++)
            if (!strncmp(*var, always[i], len) && (*var)[len] == '=')
                envlist_default(e, always[i], *var + len + 1);
    }
}

bool environment_of_user(const struct opt *o)
{
    const char *export_env = o->export_env;
    bool needs_none =
        export_takes_all(export_env) || !*export_env || str_case_eq(export_env, "NIL");
    return opt_given(o, OPT_ID_get_user_env) || !needs_none;
}

void environment_make(struct envlist *e, const struct opt *o, char *const *from, const char *host,
                      const char *cwd)
{
    export_variables(e, o->export_env, from, true);
    drop_outer_job(e);
    origin_forget_mask(e);
    if (!environment_of_user(o)) /* otherwise the user's shell on the node sets them */
        environment_keep_needed(e, from);
    envlist_replace(e, "SLURM_SUBMIT_DIR", cwd);
    envlist_replace(e, "SLURM_SUBMIT_HOST", host);
    envlist_setf(e, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    if (o->export_env)
        envlist_set(e, "SLURM_EXPORT_ENV", o->export_env);
    if (opt_given(o, OPT_ID_open_mode))
        envlist_set(e, "SLURM_OPEN_MODE", o->open_append ? "a" : "t");
}
