/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "base/envlist.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/sluid.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "cluster/job/job_env.h"
#include "cluster/job/job_set_env.h"
#include "cluster/job/step_nodes.h"
#include "slurmstepd/env/gpus.h"
#include "slurmstepd/env/vars.h"
#include "slurmstepd/step/step.h"

void vars_format_counts(const uint32_t *counts, size_t nodes, struct str *out)
{
    for (size_t i = 0, run; i < nodes; i += run) {
        for (run = 1; i + run < nodes && counts[i + run] == counts[i]; run++)
            ;
        str_printf(out, "%s%u", i ? "," : "", counts[i]);
        if (run > 1)
            str_printf(out, "(x%zu)", run);
    }
}

struct block {
    uint32_t first, nodes, tasks;
};

/* Whether the sequence consists of repetitions of its first 'period' blocks. */
static bool has_period(const struct block *b, size_t count, size_t period)
{
    if (count % period)
        return false;
    for (size_t i = period; i < count; i++)
        if (memcmp(&b[i], &b[i - period], sizeof(b[i])) != 0)
            return false;
    return true;
}

void vars_format_mapping(const uint32_t *node_of, size_t tasks, struct str *out)
{
    VEC(struct block) blocks = {0};
    size_t period = 1;

    for (size_t i = 0, run; i < tasks; i += run) {
        for (run = 1; i + run < tasks && node_of[i + run] == node_of[i]; run++)
            ;
        if (blocks.len && vec_last(&blocks).tasks == run &&
            vec_last(&blocks).first + vec_last(&blocks).nodes == node_of[i])
            vec_last(&blocks).nodes++;
        else
            vec_push(&blocks, ((struct block){node_of[i], 1, (uint32_t)run}));
    }
    while (period < blocks.len && !has_period(blocks.data, blocks.len, period))
        period++;
    str_puts(out, "(vector");
    for (size_t i = 0; i < period && i < blocks.len; i++)
        str_printf(out, ",(%u,%u,%u)", blocks.data[i].first, blocks.data[i].nodes,
                   blocks.data[i].tasks);
    str_putc(out, ')');
    vec_done(&blocks);
}

static void put_task_number(struct envlist *env, const char *name, uint64_t value)
{
    envlist_setf(env, name, "%llu", (unsigned long long)value);
}

static void put_if(struct envlist *env, const char *name, bool given, uint64_t value)
{
    if (given)
        put_task_number(env, name, value);
}

/* Sets a value under its current and its former name. */
static void put_both(struct envlist *env, const char *name, const char *former, const char *value)
{
    envlist_set(env, name, value);
    envlist_set(env, former, value);
}

static void put_both_numbers(struct envlist *env, const char *name, const char *former,
                             uint64_t value)
{
    put_task_number(env, name, value);
    put_task_number(env, former, value);
}

static void put_counts(struct envlist *env, const char *name, const uint32_t *counts, size_t n)
{
    _cleanup_str_ struct str text = STR_INIT;

    vars_format_counts(counts, n, &text);
    envlist_set(env, name, str_cstr(&text));
}

/* Sets the variables that every process of a job needs, even if the submitter passed on none. */
static void put_user(struct envlist *env, const Pb__StepdStart *start)
{
    envlist_default(env, "USER", start->user_name);
    envlist_default(env, "LOGNAME", start->user_name);
    envlist_default(env, "HOME", start->home);
    envlist_default(env, "SHELL", start->shell);
    envlist_default(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    envlist_default(env, "TMPDIR", "/tmp");
}

/* Sets the variables of the job array, and removes those of another array task that has submitted
   this job. */
static void put_array(struct envlist *env, const Pb__JobFacts *f)
{
    static const char *const names[] = {"SLURM_ARRAY_JOB_ID",     "SLURM_ARRAY_TASK_ID",
                                        "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MAX",
                                        "SLURM_ARRAY_TASK_MIN",   "SLURM_ARRAY_TASK_STEP"};
    bool is = f && f->has_array_job_id;
    const uint32_t values[] = {is ? f->array_job_id : 0, is ? f->array_task_id : 0,
                               is ? f->array_count : 0,  is ? f->array_max : 0,
                               is ? f->array_min : 0,    is ? f->array_step : 0};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        envlist_unset(env, names[i]);
        put_if(env, names[i], is, values[i]);
    }
}

/* The nodes of a job and its CPUs on each. */
struct share {
    struct hostlist *hosts;
    VEC(uint32_t) cpus;
};

static void free_share(struct share *s)
{
    hostlist_free(s->hosts);
    vec_done(&s->cpus);
}

static void add_share(struct share *s, Pb__NodeShare *const *nodes, size_t count)
{
    bool first = s->cpus.len == 0;

    for (size_t i = 0; i < count; i++) {
        long at = first ? -1 : hostlist_find(s->hosts, nodes[i]->node);

        if (at >= 0) {
            s->cpus.data[at] += JOB_ENV_USABLE_CPUS(nodes[i]);
            continue;
        }
        hostlist_push(s->hosts, nodes[i]->node);
        vec_push(&s->cpus, JOB_ENV_USABLE_CPUS(nodes[i]));
    }
}

/* For a step of several parts: the nodes of all of their jobs as one list, in the same order on
 * every node. */
static void add_shares(struct share *s, const Pb__Cred *cred)
{
    if (!cred->n_parts)
        add_share(s, cred->job_nodes, cred->n_job_nodes);
    for (size_t i = 0; i < cred->n_parts; i++)
        add_share(s, cred->parts[i]->job_nodes, cred->parts[i]->n_job_nodes);
}

static void put_share(struct envlist *env, const struct share *s)
{
    _cleanup_str_ struct str names = STR_INIT;

    hostlist_format(s->hosts, &names);
    envlist_set(env, "SLURM_JOB_NODELIST", str_cstr(&names));
    put_task_number(env, "SLURM_JOB_NUM_NODES", s->cpus.len);
    put_task_number(env, "SLURM_JOB_NODES", s->cpus.len);
    put_counts(env, "SLURM_JOB_CPUS_PER_NODE", s->cpus.data, s->cpus.len);
}

/* Set even if the environment of the submitter was not passed on. */
static void put_component_id(struct envlist *env, const Pb__JobFacts *f, uint32_t job_id)
{
    if (!f || !f->has_set_id)
        return;
    _cleanup_free_ char *name = mem_printf("SLURM_JOB_ID" JOB_SET_ENV_GROUP "%u", f->set_offset);
    put_task_number(env, name, job_id);
    put_task_number(env, JOB_SET_ENV_SIZE, f->set_count);
}

static void put_component_ids(struct envlist *env, const Pb__Cred *cred)
{
    put_component_id(env, cred->facts, cred->job_id);
    for (size_t i = 0; i < cred->n_parts; i++)
        put_component_id(env, cred->parts[i]->facts, cred->parts[i]->job_id);
}

/* Sets the job's allocation from the credential. */
static void put_allocation(struct envlist *env, const Pb__StepdStart *start, const Pb__Cred *cred)
{
    struct share all = {hostlist_new(), {0}};

    add_shares(&all, cred);
    put_both_numbers(env, "SLURM_JOB_ID", "SLURM_JOBID", step_set_id_of(cred));
    put_share(env, &all);
    put_task_number(env, "SLURM_JOB_UID", cred->uid);
    put_task_number(env, "SLURM_JOB_GID", cred->gid);
    envlist_set(env, "SLURM_JOB_USER", start->user_name);
    if (cred->facts && cred->facts->has_submit_at)
        envlist_set(env, "SLURM_JOB_SLUID",
                    SLUID_TEXT(step_set_id_of(cred), cred->facts->submit_at));
    /* Without a job the number only makes the run unique. */
    put_if(env, "SLURM_RESTART_COUNT", cred->restarts > 0 && !cred->unallocated, cred->restarts);
    free_share(&all);
}

/* Sets the location of the node in the network of the job's partition. */
static void put_topology(struct envlist *env, const Pb__StepdStart *start,
                         const Pb__JobFacts *facts)
{
    const char *network = facts ? facts->topology : NULL;
    const char *address = network ? NULL : start->topology_addr;
    const char *pattern = network ? NULL : start->topology_pattern;

    for (size_t i = 0; network && i < start->n_topologies; i++)
        if (str_eq(start->topologies[i]->topology, network)) {
            address = start->topologies[i]->address;
            pattern = start->topologies[i]->pattern;
        }
    envlist_set(env, "SLURM_TOPOLOGY_ADDR", address ? address : start->node);
    envlist_set(env, "SLURM_TOPOLOGY_ADDR_PATTERN", address && pattern ? pattern : "node");
}

/* Sets the cluster, the node, and the number of restarts of the job. */
static void put_place(struct envlist *env, const Pb__StepdStart *start, const Pb__Cred *cred)
{
    envlist_set(env, "SLURM_CLUSTER_NAME", start->cluster);
    envlist_set(env, "SLURM_CONF", start->conf_path);
    envlist_set(env, "SLURMD_NODENAME", start->node);
    put_topology(env, start, cred->facts);
    put_array(env, cred->facts);
    envlist_setf(env, "SLUICE_ATTEMPT", "%u.%u", step_set_id_of(cred), cred->restarts);
}

/* For memory binding it also sets sbatch's own names. */
static void put_batch_variable(void *ctx, const char *name, const char *value)
{
    const char *bind = str_starts(name, "SLURM_MEM_BIND") ? name + strlen("SLURM") : NULL;

    envlist_set(ctx, name, value);
    if (!bind || str_eq(bind, "_MEM_BIND_SORT"))
        return;
    _cleanup_free_ char *own = mem_printf("SBATCH%s", bind);
    envlist_set(ctx, own, value);
}

/* Sets the number of GPU shards on this node. */
static void put_shards(struct envlist *env, Pb__GresAlloc *const *gres, size_t count)
{
    uint64_t shards = 0;

    for (size_t i = 0; i < count; i++)
        shards += str_eq(gres[i]->name, "shard") ? gres[i]->count : 0;
    if (shards)
        put_task_number(env, "SLURM_SHARDS_ON_NODE", shards);
    else
        envlist_unset(env, "SLURM_SHARDS_ON_NODE");
}

static void put_spec(struct envlist *env, const Pb__JobSpec *spec)
{
    job_env_each(spec, put_batch_variable, env);
    envlist_default(env, "SLURM_SUBMIT_DIR", spec->work_dir);
    envlist_default(env, "SLURM_SUBMIT_HOST", spec->alloc_host);
}

/* The credential of a repeated launch is newer. */
static int64_t started_at(const Pb__Cred *cred)
{
    const Pb__JobFacts *f = cred->facts;

    return f && f->has_start_at ? f->start_at : cred->issued_at_ms / 1000;
}

static void put_times(struct envlist *env, const Pb__LaunchBatch *batch, const Pb__Cred *cred)
{
    int64_t start = started_at(cred);

    put_task_number(env, "SLURM_JOB_START_TIME", (uint64_t)start);
    if (batch->has_time_limit_sec && batch->time_limit_sec > 0 &&
        batch->time_limit_sec < TIME_UNLIMITED - start)
        put_task_number(env, "SLURM_JOB_END_TIME", (uint64_t)(start + batch->time_limit_sec));
}

static void put_job_tasks(struct envlist *env, const Pb__LaunchBatch *batch, const Pb__Cred *cred)
{
    const Pb__JobSpec *spec = batch->spec;
    size_t count = cred->n_job_nodes;
    _cleanup_free_ struct job_env_node *nodes = mem_new_array(struct job_env_node, count + 1);
    _cleanup_free_ uint32_t *counts = mem_new_array(uint32_t, count + 1);
    uint32_t tasks = job_env_tasks(spec, batch->has_num_tasks ? batch->num_tasks : spec->num_tasks);

    for (size_t i = 0; i < count; i++)
        nodes[i] = JOB_ENV_NODE(cred->job_nodes[i]);
    job_env_spread(spec, batch->packs, nodes, count, tasks, counts);
    job_env_put_implied(spec, counts, count, put_batch_variable, env);
    put_counts(env, "SLURM_TASKS_PER_NODE", counts, count);
}

/* Sets the variables of the job, which do not depend on the node. */
static void put_batch_job(struct envlist *env, const Pb__StepdStart *start,
                          const Pb__LaunchBatch *batch, const Pb__Cred *cred)
{
    put_allocation(env, start, cred);
    put_spec(env, batch->spec);
    put_times(env, batch, cred);
    put_job_tasks(env, batch, cred);
    envlist_set(env, "SLURM_JOB_PARTITION", batch->partition);
    envlist_set(env, "SLURM_NODELIST", envlist_get(env, "SLURM_JOB_NODELIST"));
    put_task_number(env, "SLURM_NNODES", cred->n_job_nodes);
}

/* Sets the variables of a component as if it were a batch job. */
static void put_component(struct envlist *env, const Pb__StepdStart *start, const Pb__Cred *leader,
                          const Pb__AllocReply *component)
{
    Pb__JobSpec none = PB__JOB_SPEC__INIT;
    Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
    Pb__Cred cred = PB__CRED__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;
    size_t count = component->n_alloc;
    _cleanup_free_ Pb__NodeShare *shares = mem_new_array(Pb__NodeShare, count + 1);
    _cleanup_free_ Pb__NodeShare **list = mem_new_array(Pb__NodeShare *, count + 1);

    for (size_t i = 0; i < count; i++) {
        pb__node_share__init(&shares[i]);
        shares[i].node = component->alloc[i]->node;
        shares[i].cpus = component->alloc[i]->cpus;
        shares[i].has_usable_cpus = component->alloc[i]->has_usable_cpus;
        shares[i].usable_cpus = component->alloc[i]->usable_cpus;
        shares[i].gres = component->alloc[i]->gres;
        shares[i].n_gres = component->alloc[i]->n_gres;
        list[i] = &shares[i];
    }
    cred.job_id = component->job_id;
    cred.uid = leader->uid;
    cred.gid = leader->gid;
    cred.restarts = leader->restarts;
    cred.issued_at_ms = component->start_at_sec * 1000;
    cred.job_nodes = list;
    cred.n_job_nodes = count;
    facts.has_submit_at = component->has_submit_at_sec;
    facts.submit_at = component->submit_at_sec;
    cred.facts = &facts;
    batch.spec = component->spec ? component->spec : &none;
    batch.partition = component->partition;
    batch.has_num_tasks = component->has_num_tasks;
    batch.num_tasks = component->num_tasks;
    batch.packs = component->packs;
    batch.has_time_limit_sec = component->has_time_limit_sec;
    batch.time_limit_sec = component->time_limit_sec;
    put_batch_job(env, start, &batch, &cred);
}

static void put_variable(void *ctx, const char *name, const char *value)
{
    envlist_set(ctx, name, value);
}

/* Returns the number of variables that were left out. */
static size_t put_components(struct envlist *env, const Pb__StepdStart *start,
                             const Pb__LaunchBatch *batch, const Pb__Cred *cred)
{
    static const char *const submitted[] = {"SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST"};
    size_t count = batch->n_components, left_out;
    struct envlist *own = mem_new_array(struct envlist, count + 1);
    struct job_set_env *lists = mem_new_array(struct job_set_env, count + 1);

    for (size_t i = 0; i < count; i++) {
        const Pb__AllocReply *component = batch->components[i];

        for (size_t k = 0; k < sizeof(submitted) / sizeof(submitted[0]); k++)
            envlist_set(&own[i], submitted[k], envlist_get(env, submitted[k]));
        if (component->granted)
            put_component(&own[i], start, cred, component);
        else if (component->job_id)
            put_task_number(&own[i], "SLURM_JOB_ID", component->job_id);
        lists[i] = (struct job_set_env){own[i].vars.data, own[i].vars.len,
                                        component->spec ? component->spec->component : NULL};
    }
    left_out = job_set_env_each(lists, count, put_variable, env);
    for (size_t i = 0; i < count; i++)
        envlist_done(&own[i]);
    free(own);
    free(lists);
    return left_out;
}

size_t vars_batch(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchBatch *batch,
                  const Pb__Cred *cred)
{
    envlist_unset_if(env, job_set_env_has); /* of another job that has submitted this one */
    put_user(env, start);
    put_place(env, start, cred);
    put_batch_job(env, start, batch, cred);
    gpus_put(env, start, false);
    if (cred->n_job_nodes)
        put_shards(env, cred->job_nodes[0]->gres, cred->job_nodes[0]->n_gres);
    put_task_number(env, "SLURM_CPUS_ON_NODE",
                    cred->n_job_nodes ? JOB_ENV_USABLE_CPUS(cred->job_nodes[0]) : 0);
    put_task_number(env, "SLURM_NODEID", 0);
    envlist_set(env, "ENVIRONMENT", "BATCH");
    /* The submitter's HOSTNAME is another host; a step keeps the value of srun or of the
       script. */
    envlist_set(env, "HOSTNAME", start->node_host ? start->node_host : start->node);
    if (cred->n_job_nodes > 1 && onehost_address(start->node_addr))
        for (size_t i = 0; i < ONEHOST_VARIABLES; i++)
            envlist_default(env, onehost_variables[i].name, onehost_variables[i].value);
    envlist_unset(env, "SLURM_STEP_ID"); /* of a step that has submitted this job */
    envlist_unset(env, "SLURM_STEPID");
    envlist_unset(env, "SLUICE_STEP");
    return batch->n_components > 1 ? put_components(env, start, batch, cred) : 0;
}

/* Sets the step's nodes, tasks and this node's part of them. */
static void put_layout(struct envlist *env, const Pb__StepdStart *start, const Pb__Cred *cred)
{
    _cleanup_(step_nodes_done) struct step_nodes nodes;
    _cleanup_str_ struct str names = STR_INIT, per_node = STR_INIT;
    uint32_t tasks = 0;

    step_nodes_init(&nodes, cred->nodes, cred->n_nodes);
    vec_foreach (&nodes.tasks, count)
        tasks += *count;
    hostlist_format(nodes.names, &names);
    vars_format_counts(nodes.tasks.data, nodes.tasks.len, &per_node);
    envlist_set(env, "SLURM_STEP_NODELIST", str_cstr(&names));
    envlist_default(env, "SLURM_NODELIST", envlist_get(env, "SLURM_JOB_NODELIST"));
    put_both_numbers(env, "SLURM_STEP_NUM_NODES", "SLURM_NNODES", nodes.tasks.len);
    put_task_number(env, "SLURM_STEP_NUM_TASKS", tasks);
    put_both_numbers(env, "SLURM_NTASKS", "SLURM_NPROCS", tasks);
    put_both(env, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", str_cstr(&per_node));
    put_both_numbers(env, "SLURM_STEP_ID", "SLURM_STEPID", cred->step_id);
    if (start->node_index >= cred->n_nodes)
        return;
    const Pb__StepNode *here = cred->nodes[start->node_index];
    put_task_number(env, "SLURM_NODEID", (uint64_t)hostlist_find(nodes.names, here->node));
    put_task_number(env, "SLURM_CPUS_ON_NODE", here->cpus);
}

/* Replaces the ports of the step in which srun was started. */
static void put_ports(struct envlist *env, const Pb__Cred *cred)
{
    _cleanup_str_ struct str ports = STR_INIT;

    envlist_unset(env, "SLURM_STEP_RESV_PORTS");
    step_ports_format(cred->resv_ports, cred->n_resv_ports, &ports);
    if (cred->n_resv_ports)
        envlist_set(env, "SLURM_STEP_RESV_PORTS", str_cstr(&ports));
}

/* The variables that srun --preserve-env passes on unchanged. */
static const char *const preserved[] = {"SLURM_JOB_NUM_NODES",  "SLURM_NNODES", "SLURM_NTASKS",
                                        "SLURM_TASKS_PER_NODE", "SLURM_NPROCS", "SLURM_NODELIST"};
#define PRESERVED_COUNT (sizeof(preserved) / sizeof(preserved[0]))

void vars_step(struct envlist *env, const Pb__StepdStart *start, const Pb__LaunchTasks *launch,
               const Pb__Cred *cred)
{
    const char *host = launch->n_io_addr ? launch->io_addr[0] : NULL;
    char *given[PRESERVED_COUNT] = {NULL};

    for (size_t i = 0; launch->preserve_env && i < PRESERVED_COUNT; i++)
        given[i] = mem_strdup(envlist_get(env, preserved[i]));
    put_user(env, start);
    put_place(env, start, cred);
    put_allocation(env, start, cred);
    put_component_ids(env, cred);
    put_layout(env, start, cred);
    put_ports(env, cred);
    envlist_unset(env, "SLUICE_STEP"); /* of the login session in which srun was started */
    gpus_put(env, start, true);
    const Pb__StepNode *here = cred->nodes[start->node_index];
    put_shards(env, here->gres, here->n_gres);
    envlist_default(env, "SLURM_JOB_NAME", launch->job_name);
    envlist_default(env, "SLURM_JOB_PARTITION", launch->partition);
    envlist_default(env, "SLURM_JOB_ACCOUNT", launch->account);
    put_both(env, "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST", host);
    put_both_numbers(env, "SLURM_SRUN_COMM_PORT", "SLURM_STEP_LAUNCHER_PORT", launch->io_port);
    for (size_t i = 0; i < PRESERVED_COUNT; i++) {
        if (given[i])
            envlist_set(env, preserved[i], given[i]);
        else if (launch->preserve_env)
            envlist_unset(env, preserved[i]);
        free(given[i]);
    }
}

void vars_task(struct envlist *env, uint32_t rank, uint32_t local, int pid, const uint32_t *ids,
               size_t count)
{
    _cleanup_str_ struct str all = STR_INIT;

    for (size_t i = 0; i < count; i++)
        str_printf(&all, "%s%u", i ? "," : "", ids[i]);
    put_task_number(env, "SLURM_PROCID", rank);
    put_task_number(env, "SLURM_LOCALID", local);
    put_task_number(env, "SLURM_TASK_PID", (uint64_t)pid);
    envlist_set(env, "SLURM_GTIDS", str_cstr(&all));
    envlist_default(env, "SLURM_PRIO_PROCESS", "0");
}
