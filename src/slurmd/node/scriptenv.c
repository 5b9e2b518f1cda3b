/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/scriptenv.h"

#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sluid.h"
#include "base/vec.h"

struct names {
    VEC(char *) list;
};

static void put_script_variable(struct names *n, const char *name, const char *value)
{
    if (value)
        vec_push(&n->list, mem_printf("%s=%s", name, value));
}

static void put_script_number(struct names *n, const char *name, long long value)
{
    vec_push(&n->list, mem_printf("%s=%lld", name, value));
}

static void put_status(struct names *n, const char *name, int status)
{
    vec_push(&n->list, mem_printf("%s=%d:%d", name, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                  WIFSIGNALED(status) ? WTERMSIG(status) : 0));
}

#define PATH "/usr/sbin:/usr/bin:/sbin:/bin"

static void put_where(struct names *n, const struct slurmd *d)
{
    put_script_variable(n, "SLURM_CONF", d->conf->path);
    put_script_variable(n, "SLURM_CLUSTER_NAME", d->conf->cluster_name);
    put_script_variable(n, "SLURMD_NODENAME", d->name);
}

static void put_base(struct names *n, const struct slurmd *d)
{
    put_script_variable(n, "PATH", PATH);
    put_where(n, d);
}

static void put_facts(struct names *n, const Pb__JobFacts *f)
{
#define TEXT(name, member) put_script_variable(n, name, f->member);
#define NUMBER(name, member)                                                                       \
    if (f->has_##member)                                                                           \
        put_script_number(n, name, f->member);
#include "cluster/job/facts_env.def"
    put_script_variable(n, "SLURM_NODELIST", f->nodes);
    if (f->has_num_tasks)
        put_script_number(n, "SLURM_NTASKS", f->num_tasks);
    for (size_t i = 0; i < f->n_spank_env; i++) /* their names never collide with ours */
        if (strchr(f->spank_env[i], '='))
            vec_push(&n->list, mem_printf("SPANK_%s", f->spank_env[i]));
}

static void put_job_variables(struct names *n, const Pb__NodeAttempt *about)
{
    put_script_number(n, "SLURM_JOB_ID", about->job_id);
    put_script_number(n, "SLURM_JOBID", about->job_id);
    put_script_number(n, "SLURM_JOB_RESTART_COUNT", about->restarts);
    put_script_number(n, "SLURM_JOB_UID", about->uid);
    put_script_number(n, "SLURM_UID", about->uid);
    put_script_number(n, "SLURM_JOB_GID", about->gid);
    if (about->facts && about->facts->has_submit_at)
        put_script_variable(n, "SLURM_JOB_SLUID",
                            SLUID_TEXT(about->job_id, about->facts->submit_at));
    if (about->facts)
        put_facts(n, about->facts);
}

static char **finish_list(struct names *n)
{
    vec_push(&n->list, NULL);
    return n->list.data;
}

char **scriptenv_prolog(const struct slurmd *d, const Pb__NodeAttempt *about)
{
    struct names n = {0};

    put_base(&n, d);
    put_script_variable(&n, "SLURM_SCRIPT_CONTEXT", "prolog_slurmd");
    put_job_variables(&n, about);
    return finish_list(&n);
}

char **scriptenv_epilog(const struct slurmd *d, const Pb__NodeAttempt *about)
{
    struct names n = {0};

    put_base(&n, d);
    put_script_variable(&n, "SLURM_SCRIPT_CONTEXT", "epilog_slurmd");
    put_job_variables(&n, about);
    if (about->has_exit_status) {
        put_script_number(&n, "SLURM_JOB_EXIT_CODE", about->exit_status);
        put_status(&n, "SLURM_JOB_EXIT_CODE2", about->exit_status);
    }
    if (about->has_derived_status)
        put_script_number(&n, "SLURM_JOB_DERIVED_EC", about->derived_status);
    return finish_list(&n);
}

char **scriptenv_unkillable(const struct slurmd *d, const Pb__NodeAttempt *about, uint32_t step_id)
{
    struct names n = {0};

    put_base(&n, d);
    put_job_variables(&n, about);
    put_script_number(&n, "SLURM_STEP_ID", step_id);
    return finish_list(&n);
}

char **scriptenv_health(const struct slurmd *d)
{
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *path = mem_printf(PATH ":%s/bin", prefix);
    struct names n = {0};

    put_script_variable(&n, "PATH", path);
    put_where(&n, d);
    return finish_list(&n);
}

char **scriptenv_add(char **env, char *var)
{
    size_t count = 0;

    while (env[count])
        count++;
    env = mem_realloc(env, (count + 2) * sizeof(*env));
    env[count] = var;
    env[count + 1] = NULL;
    return env;
}

void scriptenv_free(char **env)
{
    for (char **p = env; p && *p; p++)
        free(*p);
    free(env);
}
