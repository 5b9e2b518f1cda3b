/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/part/part.h"
#include "cmd/srun/run/spawned.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "rpc/mint.h"

/* In an allocation, a node list sets the node count unless the command line sets it. */
static void count_named_nodes(struct part *p)
{
    struct Pb__StepSpec *step = &p->step;
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    size_t count = step->n_relative_nodes;

    if (p->opt->from[OPT_ID_nodes] == OPT_FROM_ARGV || opt_is_arbitrary(p->opt))
        return;
    if (step->nodes != NULL && hostlist_parse(step->nodes, &nodes, NULL) == 0)
        count = hostlist_count(nodes);
    if (count == 0)
        return;
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)count;
}

/* If fewer nodes follow --relative than --nodes requests, --relative wins. */
static void fit_relative(struct part *p)
{
    struct Pb__StepSpec *step = &p->step;
    const char *text = getenv("SLURM_JOB_NUM_NODES");
    long long nodes;

    if (!opt_given(p->opt, OPT_ID_relative) || !p->opt->in_job || p->opt->interactive ||
        text == NULL || str_parse_i64(text, 1, INT32_MAX, &nodes) != 0 ||
        p->opt->relative >= nodes || step->n_relative_nodes <= (size_t)(nodes - p->opt->relative))
        return;
    step->n_relative_nodes = (size_t)(nodes - p->opt->relative);
    say_info("warning: --nodes=%u: %zu nodes of the job follow --relative=%u, the step gets these",
             p->opt->min_nodes, step->n_relative_nodes, p->opt->relative);
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)step->n_relative_nodes;
}

/* Names the job and the step after the program, unless an option names them. */
static void name_specs(struct part *p)
{
    const char *name = strrchr(p->argv[0], '/');

    name = name != NULL && name[1] != '\0' ? name + 1 : p->argv[0];
    if (p->job.name == NULL)
        p->job.name = (char *)name;
    if (p->step.name == NULL)
        p->step.name = p->job.name;
    p->job.command = p->argv[0];
}

/* Without a task count, --exclusive applies only to the job: its one task gets all CPUs. */
static bool asks_for_tasks(const struct opt *o)
{
    return opt_given(o, OPT_ID_ntasks) || opt_given(o, OPT_ID_ntasks_per_node) ||
           opt_given(o, OPT_ID_ntasks_per_core) || opt_given(o, OPT_ID_ntasks_per_socket) ||
           opt_given(o, OPT_ID_ntasks_per_gpu);
}

/* The file of a stream as listings show it. NULL: srun itself handles the stream, or one task reads
 * it. */
static char *name_stream(struct part *p, const char *given)
{
    const char *dir = p->job.work_dir;

    if (given == NULL || !*given || str_case_eq(given, "all") ||
        given[strspn(given, "0123456789")] == 0)
        return NULL;
    if (str_case_eq(given, "none"))
        return (char *)"/dev/null";
    return *given == '/' || dir == NULL ? (char *)given
                                        : arena_printf(&p->setup->arena, "%s/%s", dir, given);
}

static void fill_step(struct part *p)
{
    const struct setup *s = p->setup;
    const struct Pb__JobSpec *first = &s->parts[0]->job;
    struct err err = {0};

    if (opt_to_step_spec(p->opt, &p->setup->arena, &p->step, &err) < 0)
        say_exit_with_error(err.text);
    name_specs(p);
    if (!p->step.has_oom_kill_step && conf_list_has(s->conf->task_plugin_param, "OOMKillStep"))
        p->step.has_oom_kill_step = p->step.oom_kill_step = 1;
    p->step.host = first->alloc_host;
    p->step.has_srun_pid = 1;
    p->step.srun_pid = (uint32_t)getpid();
    p->step.has_srun_uid = rpc_jwt() != NULL; /* without a token the controller knows the uid */
    p->step.srun_uid = (uint32_t)getuid();
    p->step.submit_line = first->submit_line;
    p->step.std_in = name_stream(p, p->opt->std_in);
    p->step.std_out = name_stream(p, p->opt->std_out);
    p->step.std_err = name_stream(p, p->opt->std_err);
    p->step.has_request_id = 1;
    p->step.request_id = first->request_id;
    if (p->step.has_job_id) {
        p->step.has_restarts = jobenv_attempt(p->step.job_id, &p->step.restarts);
        p->step.has_srun_in_step = p->step.has_restarts && !p->opt->ignored_signals &&
                                   jobenv_signalled_with(&p->step.srun_in_step);
        fit_relative(p);
        count_named_nodes(p);
    } else if (opt_given(p->opt, OPT_ID_relative) && !p->opt->interactive && !p->opt->no_allocate &&
               s->order == NULL) {
        fprintf(stderr, "srun: fatal: --relative option invalid for job allocation request\n");
        exit(1);
    } else if (s->order == NULL) {
        /* The job may get more nodes than these, and the step has all of them. */
        if (!opt_is_arbitrary(p->opt) && !p->opt->no_allocate)
            p->step.nodes = NULL;
        p->step.has_exact = 1;
        p->step.exact =
            p->opt->exact || opt_given(p->opt, OPT_ID_cpus_per_task) || p->opt->cpus_per_gpu ||
            (p->opt->exclusive && p->opt->exclusive_is_exact && asks_for_tasks(p->opt) &&
             !conf_list_has(s->conf->launch_parameters, "srun_exclusive_allocation"));
    }
    if (s->order != NULL && spawned_fill_step(s->order, &p->setup->arena, &p->step, &err) < 0)
        say_exit_with_error(err.text);
}

void part_make_specs(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    for (size_t i = 0; i < s->part_count; i++) {
        pb__job_spec__init(&s->parts[i]->job);
        pb__step_spec__init(&s->parts[i]->step);
        opt_to_job_spec(s->parts[i]->opt, &s->parts[i]->job);
    }
    if (origin_fill_set(&s->arena, argc, argv, s->opt->chdir, &s->parts[0]->job,
                        part_list_jobs(s) + 1, s->part_count - 1, &err) < 0)
        say_exit_with_error(err.text);
    for (size_t i = 0; i < s->part_count; i++) {
        struct part *p = s->parts[i];

        if (i > 0 && origin_work_dir(&s->arena, p->opt->chdir, &p->job.work_dir, &err) < 0)
            say_exit_with_error(err.text);
        fill_step(p);
    }
}
