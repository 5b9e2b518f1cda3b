/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/outer_job.h"

#include <string.h>

#include "cluster/job/job_env.h"
#include "cluster/job/job_set_env.h"

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

bool outer_job_has(const char *var, size_t name_len)
{
    for (size_t i = 0; i < sizeof(of_a_job) / sizeof(of_a_job[0]); i++) {
        size_t len = strlen(of_a_job[i]);
        bool prefix = of_a_job[i][len - 1] == '*';
        if (!strncmp(var, of_a_job[i], len - prefix) && (prefix || var[len] == '='))
            return true;
    }
    return job_env_has(var, name_len) || job_set_env_has(var, name_len);
}
