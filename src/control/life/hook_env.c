/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs that run beside the controller are told of a job: the variables of Slurm's guide
 * to prologs and epilogs. Nothing is inherited. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/pattern.h"
#include "base/step_id.h"
#include "control/core/facts.h"
#include "control/internal.h"

#define PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define VARIABLES 52 /* room for all that follow */

struct list {
    char **at;
    size_t count;
    struct arena *arena;
};

static void put(struct list *l, const char *name, const char *value)
{
    if (value)
        l->at[l->count++] = arena_printf(l->arena, "%s=%s", name, value);
}

static void put_number(struct list *l, const char *name, long long value)
{
    l->at[l->count++] = arena_printf(l->arena, "%s=%lld", name, value);
}

/* --- the paths of its streams
 * --------------------------------------------------------------------- */

/* As the script's shepherd has it. */
static void put_path(struct list *l, const char *name, const struct control *c, const struct job *j,
                     const Pb__JobSpec *spec, const char *pattern)
{
    const struct pattern_values v = {
        .job_id = j->id,
        .step_id = STEP_ID_BATCH,
        .array_id = j->array ? j->array->id : j->id,
        .array_task = j->array ? j->task : PATTERN_NO_ARRAY,
        .has_restarts = true,
        .restarts = j->restarts,
        .node = attempt_of(j)->alloc.len ? c->cluster->nodes.data[job_host(j)->node]->name : NULL,
        .user = spec->user_name,
        .job_name = spec->name,
    };
    _cleanup_str_ struct str out = STR_INIT, path = STR_INIT;

    if (pattern_expand(pattern, &v, &out, NULL))
        return; /* its script will not begin */
    if (*str_cstr(&out) != '/' && spec->work_dir)
        str_printf(&path, "%s/", spec->work_dir);
    str_puts(&path, str_cstr(&out));
    put(l, name, str_cstr(&path));
}

static void put_streams(struct list *l, const struct control *c, const struct job *j,
                        const Pb__JobSpec *spec)
{
    const char *out = spec->std_out ? spec->std_out
                      : !j->batch   ? NULL
                      : j->array    ? "slurm-%A_%a.out"
                                    : "slurm-%j.out";
    const char *errors = spec->std_err ? spec->std_err : out;
    if (errors)
        put_path(l, "SLURM_JOB_STDERR", c, j, spec, errors);
    put_path(l, "SLURM_JOB_STDIN", c, j, spec, spec->std_in ? spec->std_in : "/dev/null");
    if (out)
        put_path(l, "SLURM_JOB_STDOUT", c, j, spec, out);
}

/* --- the rest
 * --------------------------------------------------------------------------------------- */

static void put_facts(struct list *l, const Pb__JobFacts *f)
{
    if (f->has_array_job_id) {
        put_number(l, "SLURM_ARRAY_JOB_ID", f->array_job_id);
        put_number(l, "SLURM_ARRAY_TASK_ID", f->array_task_id);
        put_number(l, "SLURM_ARRAY_TASK_COUNT", f->array_count);
        put_number(l, "SLURM_ARRAY_TASK_MAX", f->array_max);
        put_number(l, "SLURM_ARRAY_TASK_MIN", f->array_min);
        put_number(l, "SLURM_ARRAY_TASK_STEP", f->array_step);
    }
    put(l, "SLURM_JOB_ACCOUNT", f->account);
    put(l, "SLURM_JOB_COMMENT", f->comment);
    put(l, "SLURM_JOB_CONSTRAINTS", f->constraints);
    put(l, "SLURM_JOB_CPUS_PER_NODE", f->cpus_per_node);
    if (f->has_end_at)
        put_number(l, "SLURM_JOB_END_TIME", f->end_at);
    put(l, "SLURM_JOB_EXCLUSIVE", f->exclusive);
    put(l, "SLURM_JOB_EXTRA", f->extra);
    put(l, "SLURM_JOB_GROUP", f->group_name);
    put(l, "SLURM_JOB_LICENSES", f->licenses);
    put(l, "SLURM_JOB_NAME", f->job_name);
    put(l, "SLURM_JOB_NODELIST", f->nodes);
    put_number(l, "SLURM_JOB_NUM_NODES", f->num_nodes);
    put(l, "SLURM_JOB_OVERSUBSCRIBE", f->oversubscribe);
    put(l, "SLURM_JOB_PARTITION", f->partition);
    put(l, "SLURM_JOB_QOS", f->qos);
    put(l, "SLURM_JOB_RESERVATION", f->reservation);
    if (f->has_start_at)
        put_number(l, "SLURM_JOB_START_TIME", f->start_at);
    put(l, "SLURM_JOB_USER", f->user_name);
    put(l, "SLURM_JOB_WORK_DIR", f->work_dir);
}

static void put_ends(struct list *l, const struct job *j)
{
    int status = attempt_of(j)->exit_status;
    put_number(l, "SLURM_JOB_DERIVED_EC", attempt_of(j)->derived_status);
    put_number(l, "SLURM_JOB_EXIT_CODE", status);
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
    put(&l, "PATH", PATH);
    put(&l, "SLURM_CONF", c->conf->path);
    put(&l, "SLURM_CLUSTER_NAME", c->conf->cluster_name);
    if (kind == PB__SCRIPT_KIND__SCRIPT_PROLOG)
        put(&l, "SLURM_SCRIPT_CONTEXT", "prolog_slurmctld");
    if (kind == PB__SCRIPT_KIND__SCRIPT_EPILOG)
        put(&l, "SLURM_SCRIPT_CONTEXT", "epilog_slurmctld");
    put_number(&l, "SLURM_JOB_ID", j->id);
    put_number(&l, "SLURM_JOBID", j->id);
    put_number(&l, "SLURM_JOB_RESTART_COUNT", j->restarts);
    put_number(&l, "SLURM_JOB_UID", j->uid);
    put_number(&l, "SLURM_JOB_GID", j->gid);
    put_facts(&l, facts_make(c, j, arena));
    if (spec) {
        put(&l, "SLURM_WCKEY", spec->wckey);
        put_streams(&l, c, j, spec);
        for (size_t i = 0; i < plugins; i++)
            l.at[l.count++] = arena_printf(arena, "SPANK_%s", spec->spank_env[i]);
    }
    if (job_is_final(j))
        put_ends(&l, j);
    *env = l.at;
    return l.count;
}
