/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/envlist.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/sluid.h"
#include "base/step_id.h"
#include "cluster/job/job_env.h"
#include "cluster/job/job_set_env.h"
#include "cluster/job/step_nodes.h"
#include "launch/jobenv.h"
#include "rpc/frame.h"

/* Variables that describe one job, step or task, in addition to those of cluster/job/job_env.def
 * and of the components of a job set. A '*' at the end marks a prefix. */
static const char *const of_a_job[] = {
    "PMI_*",
    "PMIX_*",
    "SLUICE_STEP",
    "SLURMD_NODENAME",
    "SLURM_ARRAY_*",
    "SLURM_CLUSTER_NAME",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPU_BIND*",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GTIDS",
    "SLURM_JOBID",
    "SLURM_JOB_*",
    "SLURM_LAUNCH_*",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NODELIST",
    "SLURM_NODE_ALIASES",
    "SLURM_PRIO_PROCESS",
    "SLURM_PROCID",
    "SLURM_RESTART_COUNT",
    "SLUICE_ATTEMPT",
    "SLURM_SRUN_*",
    "SLURM_STEP*",
    "SLURM_SUBMIT_*",
    "SLURM_TASKS_PER_NODE",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_*",
};

bool jobenv_is_of_job(const char *var, size_t name_len)
{
    for (size_t i = 0; i < sizeof(of_a_job) / sizeof(of_a_job[0]); i++) {
        size_t len = strlen(of_a_job[i]);
        bool prefix = of_a_job[i][len - 1] == '*';
        if (!strncmp(var, of_a_job[i], len - prefix) && (prefix || var[len] == '='))
            return true;
    }
    return job_env_has(var, name_len) || job_set_env_has(var, name_len);
}

void jobenv_counts(const uint32_t *counts, size_t n, struct str *out)
{
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && counts[i + same] == counts[i]; same++)
            ;
        str_printf(out, "%s%u", i > 0 ? "," : "", counts[i]);
        if (same > 1)
            str_printf(out, "(x%zu)", same);
    }
}

static void set_counts(struct envlist *e, const char *name, const uint32_t *counts, size_t n)
{
    struct str text = STR_INIT;

    jobenv_counts(counts, n, &text);
    envlist_set(e, name, str_cstr(&text));
    str_done(&text);
}

static void put_variable(void *ctx, const char *name, const char *value)
{
    envlist_replace(ctx, name, value);
}

/* Only one of the three memory variables may be set: the others of a surrounding job are removed.
 */
static void drop_other_memory(struct envlist *e, const struct Pb__JobSpec *spec)
{
    static const char *const names[] = {"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU",
                                        "SLURM_MEM_PER_NODE"};

    if (!spec->has_mem_per_cpu_mib && !spec->has_mem_per_gpu_mib && !spec->has_mem_per_node_mib)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        envlist_unset(e, names[i]);
}

/* The node list of a surrounding job does not apply to the new job. */
static void drop_other_list(struct envlist *e)
{
    if (envlist_get(e, JOB_ENV_LIST) == NULL)
        return;
    envlist_unset(e, JOB_ENV_LIST);
    envlist_unset(e, "SLURM_DISTRIBUTION");
}

static void set_requested(struct envlist *e, const struct Pb__JobSpec *spec)
{
    drop_other_memory(e, spec);
    drop_other_list(e);
    job_env_each(spec, put_variable, e);
    if (spec->alloc_host != NULL)
        envlist_set(e, "SLURM_SUBMIT_HOST", spec->alloc_host);
    if (spec->work_dir != NULL)
        envlist_set(e, "SLURM_SUBMIT_DIR", spec->work_dir);
    if (spec->user_name != NULL)
        envlist_set(e, "SLURM_JOB_USER", spec->user_name);
    if (spec->has_uid)
        envlist_setf(e, "SLURM_JOB_UID", "%u", spec->uid);
    if (spec->has_gid)
        envlist_setf(e, "SLURM_JOB_GID", "%u", spec->gid);
}

void jobenv_cluster(struct envlist *e, const struct conf *conf)
{
    const struct conf_host *first = &conf->controllers.data[0];

    envlist_setf(e, "SLURM_WORKING_CLUSTER", "%s:%s:%u:%d", conf->cluster_name,
                 first->addr != NULL ? first->addr : first->name, conf->slurmctld_port,
                 RPC_VERSION);
}

/* Removes the times of a surrounding job, if any. */
static void set_times(struct envlist *e, const struct Pb__AllocReply *alloc)
{
    envlist_unset(e, "SLURM_JOB_START_TIME");
    envlist_unset(e, "SLURM_JOB_END_TIME");
    if (alloc->has_start_at_sec)
        envlist_setf(e, "SLURM_JOB_START_TIME", "%lld", (long long)alloc->start_at_sec);
    if (alloc->has_end_at_sec)
        envlist_setf(e, "SLURM_JOB_END_TIME", "%lld", (long long)alloc->end_at_sec);
}

/* Sets the variables of one allocation, of a job or a component. */
static void set_allocation(struct envlist *e, const struct Pb__AllocReply *alloc)
{
    const struct Pb__JobSpec none = PB__JOB_SPEC__INIT;
    const struct Pb__JobSpec *spec = alloc->spec != NULL ? alloc->spec : &none;
    size_t n = alloc->n_alloc;
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, n);
    _cleanup_free_ uint32_t *tasks = mem_new_array(uint32_t, n);
    _cleanup_free_ struct job_env_node *nodes = mem_new_array(struct job_env_node, n);

    for (size_t i = 0; i < n; i++) {
        nodes[i] = JOB_ENV_NODE(alloc->alloc[i]);
        cpus[i] = nodes[i].cpus;
    }
    job_env_spread(spec, alloc->packs, nodes, n,
                   job_env_tasks(spec, alloc->has_num_tasks ? alloc->num_tasks : spec->num_tasks),
                   tasks);
    set_requested(e, spec);
    job_env_put_implied(spec, tasks, n, put_variable, e);
    envlist_setf(e, "SLURM_JOB_ID", "%u", alloc->job_id);
    envlist_replace(e, "SLURM_JOB_SLUID",
                    alloc->has_submit_at_sec ? SLUID_TEXT(alloc->job_id, alloc->submit_at_sec)
                                             : NULL);
    envlist_setf(e, "SLURM_JOBID", "%u", alloc->job_id);
    envlist_replace(e, "SLURM_JOB_NODELIST", alloc->nodes);
    envlist_replace(e, "SLURM_NODELIST", alloc->nodes);
    envlist_setf(e, "SLURM_JOB_NUM_NODES", "%zu", n);
    envlist_setf(e, "SLURM_JOB_NODES", "%zu", n);
    envlist_setf(e, "SLURM_NNODES", "%zu", n);
    set_counts(e, "SLURM_JOB_CPUS_PER_NODE", cpus, n);
    set_counts(e, "SLURM_TASKS_PER_NODE", tasks, n);
    if (alloc->partition != NULL)
        envlist_set(e, "SLURM_JOB_PARTITION", alloc->partition);
    set_times(e, alloc);
}

void jobenv_components(struct envlist *e, struct Pb__AllocReply *const *components, size_t count)
{
    struct envlist *own = mem_new_array(struct envlist, count);
    struct job_set_env *lists = mem_new_array(struct job_set_env, count);

    envlist_unset_if(e, job_set_env_has); /* of a surrounding job */
    for (size_t i = 0; i < count; i++) {
        if (components[i]->granted)
            set_allocation(&own[i], components[i]);
        else if (components[i]->job_id != 0)
            envlist_setf(&own[i], "SLURM_JOB_ID", "%u", components[i]->job_id);
        lists[i] =
            (struct job_set_env){own[i].vars.data, own[i].vars.len,
                                 components[i]->spec ? components[i]->spec->component : NULL};
    }
    if (count > 1)
        job_set_env_each(lists, count, put_variable, e);
    for (size_t i = 0; i < count; i++)
        envlist_done(&own[i]);
    free(own);
    free(lists);
}

/* What the job around this command has asked for and was given. */
static void drop_other_job(struct envlist *e, uint32_t job_id)
{
    const char *around = envlist_get(e, "SLURM_JOB_ID");
    long long id;
    if (around != NULL && (str_parse_i64(around, 1, UINT32_MAX, &id) != 0 || id != job_id))
        envlist_unset_if(e, jobenv_is_of_job);
}

void jobenv_alloc(struct envlist *e, const struct Pb__AllocReply *alloc, const struct conf *conf)
{
    size_t count = alloc->n_components + 1;
    _cleanup_free_ struct Pb__AllocReply **all = mem_new_array(struct Pb__AllocReply *, count);

    all[0] = (struct Pb__AllocReply *)alloc;
    for (size_t i = 1; i < count; i++)
        all[i] = alloc->components[i - 1];
    drop_other_job(e, alloc->job_id);
    set_allocation(e, alloc);
    jobenv_components(e, all, count);
    envlist_replace(e, "SLURM_CLUSTER_NAME", conf->cluster_name);
    envlist_replace(e, "SLURM_CONF", conf->path);
    if (alloc->n_addrs > 1 && onehost_address(alloc->addrs[0]->addr))
        for (size_t i = 0; i < ONEHOST_VARIABLES; i++)
            envlist_default(e, onehost_variables[i].name, onehost_variables[i].value);
}

bool jobenv_attempt(uint32_t job_id, uint32_t *restarts)
{
    const char *text = getenv("SLUICE_ATTEMPT"), *dot = text != NULL ? strchr(text, '.') : NULL;
    _cleanup_free_ char *job = dot != NULL ? mem_strndup(text, (size_t)(dot - text)) : NULL;
    long long id, count;

    if (job == NULL || str_parse_i64(job, 1, UINT32_MAX, &id) != 0 ||
        str_parse_i64(dot + 1, 0, UINT32_MAX, &count) != 0 || id != job_id)
        return false;
    *restarts = (uint32_t)count;
    return true;
}

bool jobenv_signalled_with(uint32_t *step_id)
{
    const char *task = getenv("SLURM_TASK_PID"), *step = getenv("SLURM_STEP_ID");
    long long pid, id = STEP_ID_BATCH;

    if (task == NULL || str_parse_i64(task, 1, INT32_MAX, &pid) != 0 || pid != getpgrp() ||
        (step != NULL && str_parse_i64(step, 0, UINT32_MAX, &id) != 0))
        return false;
    *step_id = (uint32_t)id;
    return true;
}

void jobenv_step_nodes(const struct Pb__StepReply *step, struct str *out)
{
    _cleanup_(step_nodes_done) struct step_nodes nodes;

    step_nodes_init(&nodes, step->layout, step->n_layout);
    hostlist_format(nodes.names, out);
}

void jobenv_step(struct envlist *e, const struct Pb__StepReply *step)
{
    _cleanup_(step_nodes_done) struct step_nodes nodes;
    _cleanup_str_ struct str names = STR_INIT;

    step_nodes_init(&nodes, step->layout, step->n_layout);
    size_t n = nodes.tasks.len;
    const uint32_t *tasks = nodes.tasks.data;
    hostlist_format(nodes.names, &names);
    envlist_setf(e, "SLURM_JOB_ID", "%u", step->job_id);
    envlist_setf(e, "SLURM_JOBID", "%u", step->job_id);
    envlist_replace(e, "SLURM_JOB_SLUID",
                    step->has_submit_at ? SLUID_TEXT(step->job_id, step->submit_at) : NULL);
    envlist_setf(e, "SLURM_STEP_ID", "%u", step->step_id);
    envlist_setf(e, "SLURM_STEPID", "%u", step->step_id);
    envlist_replace(e, "SLURM_STEP_NODELIST", str_cstr(&names));
    envlist_setf(e, "SLURM_STEP_NUM_NODES", "%zu", n);
    envlist_setf(e, "SLURM_STEP_NUM_TASKS", "%u", step->num_tasks);
    set_counts(e, "SLURM_STEP_TASKS_PER_NODE", tasks, n);
    envlist_setf(e, "SLURM_NTASKS", "%u", step->num_tasks);
    envlist_setf(e, "SLURM_NPROCS", "%u", step->num_tasks);
    envlist_setf(e, "SLURM_NNODES", "%zu", n);
    set_counts(e, "SLURM_TASKS_PER_NODE", tasks, n);
    envlist_replace(e, "SLURM_NODELIST", str_cstr(&names));
}
