/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks combinations of options, and converts the options to the messages of a job and a step. */
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/pb.h"
#include "cli/opt_priv.h"

/* A job cannot have 0 nodes. From the environment, and for a step, 0 is ignored. */
static int check_node_count(struct opt *o, struct err *err)
{
    static const char *const failures[] = {[OPT_SRUN] = "Unable to allocate resources",
                                           [OPT_SBATCH] = "Batch job submission failed",
                                           [OPT_SALLOC] = "Job submit/allocate failed"};

    if (!opt_given(o, OPT_ID_nodes) || o->min_nodes)
        return 0;
    if (o->from[OPT_ID_nodes] != OPT_FROM_ENV && !opt_given(o, OPT_ID_jobid) && !o->no_allocate)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "%s: %s: -N %s", failures[o->command],
                        err_text(ERR_NODE_COUNT), o->given[OPT_ID_nodes]);
    o->from[OPT_ID_nodes] = OPT_FROM_NONE;
    o->max_nodes = 0;
    return 0;
}

static void reduce_nodes_to_tasks(struct opt *o)
{
    if (!opt_given(o, OPT_ID_ntasks) || !opt_given(o, OPT_ID_nodes) || o->ntasks >= o->min_nodes)
        return;
    /* A node count inherited from the allocation is only a default. */
    if (o->from[OPT_ID_nodes] != OPT_FROM_ENV)
        str_printf(&o->notes, "Warning: can't run %u processes on %u nodes, setting nnodes to %u\n",
                   o->ntasks, o->min_nodes, o->ntasks);
    o->min_nodes = o->max_nodes = o->ntasks;
}

/* Two contradicting task counts of a step, of which one often comes from the allocation: the total
 * is used. The controller refuses a new job with such counts. */
static void note_more_tasks_than_per_node(struct opt *o)
{
    uint64_t most = (uint64_t)o->max_nodes * o->ntasks_per_node;
    if (o->command != OPT_SRUN || !opt_given(o, OPT_ID_jobid) || !opt_given(o, OPT_ID_ntasks) ||
        !opt_given(o, OPT_ID_nodes) || !opt_given(o, OPT_ID_ntasks_per_node) || o->ntasks <= most)
        return;
    str_printf(&o->notes,
               "Warning: can't honor --ntasks-per-node set to %u which doesn't match the requested "
               "tasks %u with the number of requested nodes %u. Ignoring --ntasks-per-node.\n",
               o->ntasks_per_node, o->ntasks, o->max_nodes);
    o->ntasks_per_node = 0;
    o->from[OPT_ID_ntasks_per_node] = OPT_FROM_NONE;
}

/* -Z: runs on named nodes; ignores the job in which srun runs. */
static int check_unallocated(struct opt *o, struct err *err)
{
    if (o->from[OPT_ID_jobid] == OPT_FROM_ARGV || o->batch || o->allocate)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--no-allocate: a step is of an allocation, or of none");
    if (!o->nodelist)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "must specify a node list with -Z, --no-allocate.");
    static const enum opt_id inherited[] = {OPT_ID_jobid,  OPT_ID_nodes,
                                            OPT_ID_ntasks, OPT_ID_ntasks_per_node,
                                            OPT_ID_mem,    OPT_ID_mem_per_cpu};
    for (size_t i = 0; o->in_job && i < sizeof(inherited) / sizeof(inherited[0]); i++)
        if (o->from[inherited[i]] == OPT_FROM_ENV)
            o->from[inherited[i]] = OPT_FROM_NONE;
    if (!opt_given(o, OPT_ID_ntasks))
        o->ntasks = 0;
    if (!opt_given(o, OPT_ID_nodes))
        o->min_nodes = o->max_nodes = 0;
    o->in_job = false;
    return 0;
}

int opt_finish(struct opt *o, struct err *err)
{
    if (o->from[OPT_ID_verbose] == OPT_FROM_ARGV && o->from[OPT_ID_quiet] == OPT_FROM_ARGV)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "don't specify both --verbose (-v) and --quiet (-Q)");
    if (o->command == OPT_SRUN && opt_given(o, OPT_ID_jobid) &&
        o->from[OPT_ID_job_name] == OPT_FROM_ENV) {
        /* A step does not inherit the job's name. */
        free(o->job_name);
        o->job_name = NULL;
        o->from[OPT_ID_job_name] = OPT_FROM_NONE;
    }
    if (o->no_allocate && check_unallocated(o, err) < 0)
        return -ERR_PARSE;
    if (check_node_count(o, err) < 0)
        return -ERR_PARSE;
    if (o->from[OPT_ID_relative] == OPT_FROM_ARGV && !o->interactive &&
        (o->from[OPT_ID_nodelist] == OPT_FROM_ARGV || o->from[OPT_ID_exclude] == OPT_FROM_ARGV))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "--relative and --%s are mutually exclusive.",
                        o->from[OPT_ID_nodelist] == OPT_FROM_ARGV ? "nodelist" : "exclude");
    opt_inherit_list(o);
    if (opt_fit_task_cpus(o, err) < 0 || opt_settle_conflicts(o, err) < 0 ||
        opt_count_tasks_of_cores(o, err) < 0 || opt_check_binding(o, err) < 0)
        return -ERR_PARSE;
    int r = opt_is_arbitrary(o) ? opt_fit_arbitrary(o, err) : opt_fit_nodelist(o, err);
    if (r < 0)
        return r;
    opt_prefer_gres(o);
    const struct opt_lists node = {o->gres, o->gpus_per_node, "--gres", "--gpus-per-node"};
    const struct opt_lists task = {o->tres_per_task, o->gpus_per_task, "--tres-per-task",
                                   "--gpus-per-task"};
    r = opt_join_gres(o, &node, &o->node_gres, err);
    r = r < 0 ? r : opt_join_gres(o, &task, &o->task_gres, err);
    if (r < 0)
        return r;
    if (opt_check_gpus(o, err) < 0)
        return -ERR_PARSE;
    opt_count_tasks_of_gpus(o);
    reduce_nodes_to_tasks(o);
    note_more_tasks_than_per_node(o);
    if (!opt_given(o, OPT_ID_ntasks) && opt_given(o, OPT_ID_ntasks_per_node) &&
        opt_given(o, OPT_ID_nodes) && o->min_nodes == o->max_nodes) {
        uint64_t tasks = (uint64_t)o->min_nodes * o->ntasks_per_node;
        if (tasks > INT32_MAX)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err, "%u nodes with %u tasks each are too many",
                            o->min_nodes, o->ntasks_per_node);
        o->ntasks = (uint32_t)tasks;
    }
    return opt_count_licenses(o, err);
}

/* has_ is set if the option is given; strings are set if they are not NULL. */
#define PUT(field, id, value)                                                                      \
    do {                                                                                           \
        if (opt_given(o, OPT_ID_##id)) {                                                           \
            spec->has_##field = 1;                                                                 \
            spec->field = (value);                                                                 \
        }                                                                                          \
    } while (0)
#define PUT_TRUE(field)                                                                            \
    do {                                                                                           \
        if (o->field)                                                                              \
            spec->has_##field = spec->field = 1;                                                   \
    } while (0)
#define PUT_NUMBER(field, value)                                                                   \
    do {                                                                                           \
        if (value) {                                                                               \
            spec->has_##field = 1;                                                                 \
            spec->field = (value);                                                                 \
        }                                                                                          \
    } while (0)

/* Options that map directly to fields. */
static void put_fields(const struct opt *o, Pb__JobSpec *spec)
{
    for (size_t i = 0; i < opt_row_count; i++) {
        size_t at = opt_rows[i].offset - offsetof(struct opt, job);
        if (opt_rows[i].offset < offsetof(struct opt, job) || at >= sizeof o->job ||
            !opt_given(o, opt_rows[i].id))
            continue;
        pb_each_field (&pb__job_spec__descriptor, f) {
            if (f->offset != at)
                continue;
            memcpy((char *)spec + at, (const char *)&o->job + at, pb_value_size(f));
            if (f->quantifier_offset)
                *(protobuf_c_boolean *)((char *)spec + f->quantifier_offset) = 1;
        }
    }
}

static void put_strings(const struct opt *o, Pb__JobSpec *spec)
{
    spec->name = o->job_name;
    spec->partition = o->partition;
    spec->reservation = o->reservation && *o->reservation ? o->reservation : NULL;
    spec->batch_features = o->batch_host && *o->batch_host ? o->batch_host : NULL;
    spec->req_nodes = o->nodelist;
    spec->exc_nodes = o->exclude;
    spec->network = o->network && *o->network ? o->network : NULL;
    spec->cpu_freq = o->cpu_freq;
    spec->licenses = o->licenses;
    spec->mail_type = o->mail_type;
    spec->signal = o->signal;
    spec->distribution = o->distribution;
    spec->mem_bind = o->command == OPT_SRUN ? NULL : o->mem_bind;
    spec->std_in = o->std_in;
    spec->std_out = o->std_out;
    spec->std_err = o->std_err;
    spec->burst_buffer = o->job.burst_buffer; /* from --bb or --bbf */
}

static void put_gres(const struct opt *o, Pb__JobSpec *spec)
{
    spec->gpu_bind = o->gpu_bind;
    spec->tres_bind = o->tres_bind;
    spec->gres_flags = o->gres_flags;
    spec->gpu_freq = o->gpu_freq;
    spec->gres = o->node_gres;
    spec->gpus_per_node = o->gpus_per_node;
    spec->tres_per_job = o->gpus;
    spec->tres_per_task = o->task_gres;
    spec->tres_per_socket = o->gpus_per_socket;
    PUT_NUMBER(cpus_per_gpu, o->cpus_per_gpu);
    PUT_NUMBER(ntasks_per_gpu, o->ntasks_per_gpu);
    PUT(mem_per_gpu_mib, mem_per_gpu, o->mem_per_gpu_mib);
}

/* The allowed node counts; NULL if the options fix the node count. */
static char *node_counts(const struct opt *o)
{
    return opt_given(o, OPT_ID_nodes) && o->min_nodes < o->max_nodes ? o->node_counts : NULL;
}

void opt_to_job_spec(const struct opt *o, Pb__JobSpec *spec)
{
    put_fields(o, spec);
    put_strings(o, spec);
    put_gres(o, spec);
    PUT(oom_kill_step, oom_kill_step, o->oom_kill_step);
    spec->acctg_freq = o->acctg_freq && *o->acctg_freq ? o->acctg_freq : NULL;
    if (spec->acctg_freq && o->acctg_sec >= 0)
        PUT(acctg_sec, acctg_freq, (uint32_t)o->acctg_sec);
    PUT(wait_all_nodes, wait_all_nodes, o->wait_all_nodes);
    PUT(open_append, open_mode, o->open_append);
    PUT(kill_invalid_dep, kill_invalid_dep, o->kill_invalid_dep);
    PUT(min_nodes, nodes, o->min_nodes);
    PUT(max_nodes, nodes, o->max_nodes);
    spec->job_size_str = node_counts(o);
    PUT_NUMBER(num_tasks, o->ntasks);
    PUT(cpus_per_task, cpus_per_task, o->cpus_per_task);
    PUT(ntasks_per_node, ntasks_per_node, o->ntasks_per_node);
    PUT(ntasks_per_socket, ntasks_per_socket, o->ntasks_per_socket);
    PUT(ntasks_per_core, ntasks_per_core, o->ntasks_per_core);
    PUT_NUMBER(threads_per_core, o->threads_per_core);
    PUT_NUMBER(sockets_per_node, o->sockets_per_node);
    PUT_NUMBER(cores_per_socket, o->cores_per_socket);
    PUT_NUMBER(core_spec, o->core_spec);
    PUT_NUMBER(thread_spec, o->thread_spec);
    PUT_TRUE(exclusive_user);
    PUT_TRUE(exclusive_topo);
    PUT(mem_per_node_mib, mem, o->mem_per_node_mib);
    PUT(mem_per_cpu_mib, mem_per_cpu, o->mem_per_cpu_mib);
    PUT(time_limit_sec, time, o->time_limit_sec);
    PUT(begin_at_sec, begin, o->begin_at_sec);
    PUT(deadline_at_sec, deadline, o->deadline_at_sec);
    PUT(nice, nice, o->nice);
    PUT(priority, priority, o->priority);
    PUT_TRUE(exclusive);
    PUT_TRUE(oversubscribe);
    PUT_TRUE(overcommit);
    PUT_TRUE(hold);
    PUT_TRUE(no_kill);
    PUT_TRUE(immediate);
    PUT_NUMBER(req_switches, o->switches);
    PUT_NUMBER(wait_switch_sec, o->switches_sec);
    PUT_TRUE(spread);
    if (o->from[OPT_ID_uid]) {
        spec->has_uid = spec->has_gid = 1;
        spec->uid = o->uid;
        spec->gid = o->gid_of_uid;
    }
    PUT(gid, gid, o->gid);
    PUT(requeue, requeue, true);
    PUT(requeue, no_requeue, false);
}

/* "[0-5]": indexes into the job's nodes. */
static int put_relative_list(const struct opt *o, struct arena *arena, Pb__StepSpec *spec,
                             struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    int r = hostlist_parse(o->nodelist, &list, err);
    if (r < 0)
        return r;
    size_t count = hostlist_count(list);
    spec->relative_nodes = arena_alloc(arena, (count + 1) * sizeof(uint32_t));
    if (!spec->relative_nodes)
        return err_set(err, -ERR_LIMIT, "--nodelist=%s: too many nodes", o->nodelist);
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < count; i++) {
        long long index;
        r = str_parse_i64(hostlist_nth(list, i, name), 0, INT32_MAX, &index);
        if (r < 0)
            return err_set(err, r, "--nodelist=%s: '%s' is not the index of a node", o->nodelist,
                           name);
        spec->relative_nodes[spec->n_relative_nodes++] = (uint32_t)index;
    }
    return 0;
}

/* -r N: the nodes from node N on, as many as the step has. */
static int put_relative(const struct opt *o, struct arena *arena, Pb__StepSpec *spec,
                        struct err *err)
{
    uint32_t count = o->min_nodes && o->from[OPT_ID_nodes] != OPT_FROM_ENV ? o->min_nodes : 1;
    if (count > HOSTLIST_COUNT_MAX)
        return err_set(err, -ERR_LIMIT, "--nodes=%u is too many", count);
    spec->relative_nodes = arena_alloc(arena, (count + (size_t)1) * sizeof(uint32_t));
    if (!spec->relative_nodes)
        return err_set(err, -ERR_LIMIT, "--nodes=%u: too many nodes", count);
    for (uint32_t i = 0; i < count; i++)
        spec->relative_nodes[spec->n_relative_nodes++] = o->relative + i;
    return 0;
}

int opt_to_step_spec(const struct opt *o, struct arena *arena, Pb__StepSpec *spec, struct err *err)
{
    PUT(job_id, jobid, o->job_id);
    spec->name = o->job_name;
    PUT_NUMBER(num_tasks, o->ntasks);
    PUT(min_nodes, nodes, o->min_nodes);
    PUT(max_nodes, nodes, o->max_nodes);
    spec->job_size_str = node_counts(o);
    PUT(cpus_per_task, cpus_per_task, o->cpus_per_task);
    PUT(ntasks_per_node, ntasks_per_node, o->ntasks_per_node);
    PUT(mem_per_node_mib, mem, o->mem_per_node_mib);
    PUT(mem_per_cpu_mib, mem_per_cpu, o->mem_per_cpu_mib);
    PUT_NUMBER(threads_per_core, o->threads_per_core);
    PUT(time_limit_sec, time, o->time_limit_sec);
    PUT_TRUE(overlap);
    PUT_TRUE(overcommit);
    PUT_TRUE(immediate);
    PUT_TRUE(whole);
    PUT_TRUE(interactive);
    if (o->exact || o->exclusive || opt_given(o, OPT_ID_cpus_per_task) || o->cpus_per_gpu)
        spec->has_exact = spec->exact = 1;
    spec->exc_nodes = o->exclude;
    spec->distribution = o->distribution;
    spec->network = o->network && *o->network ? o->network : NULL;
    spec->cpu_freq = o->cpu_freq;
    spec->tres_bind = o->tres_bind;
    spec->gres = o->node_gres;
    spec->tres_per_step = o->gpus;
    spec->tres_per_task = o->task_gres;
    PUT_NUMBER(cpus_per_gpu, o->cpus_per_gpu);
    PUT_NUMBER(ntasks_per_gpu, o->ntasks_per_gpu);
    PUT(oom_kill_step, oom_kill_step, o->oom_kill_step);
    PUT_NUMBER(resv_ports, o->resv_ports);
    if (o->nodelist && *o->nodelist == '[')
        return put_relative_list(o, arena, spec, err);
    spec->nodes = o->nodelist;
    return opt_given(o, OPT_ID_relative) ? put_relative(o, arena, spec, err) : 0;
}

int opt_check_clusters(const char *list, const char *own, struct err *err)
{
    if (!list || !*list || str_case_eq(list, "all") || str_eq(list, own))
        return 0;
    return err_set(err, -ERR_NOT_SUPPORTED,
                   "No cluster '%s' known: this configuration describes cluster '%s' only", list,
                   own);
}
