/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that contradict each other: which one is used, and which combinations are rejected. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt_priv.h"

#define AND_VARIABLE " is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"

/* Pairs of options that exclude each other. Of two sources the higher one is used; within one
 * source --hint is dropped, and other pairs are rejected, with Slurm's message if it has one. */
static const struct conflict {
    enum opt_id one, other;
    enum opt_failure how;
    const char *text; /* NULL: the message says that they are mutually exclusive */
} conflicts[] = {
    {OPT_ID_hint, OPT_ID_ntasks_per_core, 0, NULL},
    {OPT_ID_hint, OPT_ID_threads_per_core, 0, NULL},
    {OPT_ID_hint, OPT_ID_cores_per_socket, 0, NULL},
    {OPT_ID_hint, OPT_ID_sockets_per_node, 0, NULL},
    {OPT_ID_hint, OPT_ID_extra_node_info, 0, NULL},
    {OPT_ID_hint, OPT_ID_cpu_bind, 0, NULL},
    {OPT_ID_extra_node_info, OPT_ID_threads_per_core, OPT_FAIL_ERROR, NULL},
    {OPT_ID_extra_node_info, OPT_ID_ntasks_per_core, OPT_FAIL_ERROR, NULL},
    {OPT_ID_core_spec, OPT_ID_thread_spec, OPT_FAIL_ERROR, NULL},
    {OPT_ID_exclusive, OPT_ID_oversubscribe, OPT_FAIL_ERROR, NULL},
    {OPT_ID_exclusive, OPT_ID_overlap, OPT_FAIL_ERROR, NULL},
    {OPT_ID_exact, OPT_ID_whole, OPT_FAIL_ERROR, NULL},
    {OPT_ID_cpus_per_gpu, OPT_ID_cpus_per_task, OPT_FAIL_ERROR,
     "--cpus-per-gpu is mutually exclusive with --cpus-per-task"},
    {OPT_ID_ntasks_per_gpu, OPT_ID_gpus_per_task, OPT_FAIL_FATAL, "--gpus-per-task" AND_VARIABLE},
    {OPT_ID_ntasks_per_gpu, OPT_ID_gpus_per_socket, OPT_FAIL_FATAL,
     "--gpus-per-socket" AND_VARIABLE},
    {OPT_ID_ntasks_per_gpu, OPT_ID_ntasks_per_node, OPT_FAIL_FATAL,
     "--ntasks-per-node" AND_VARIABLE},
};

/* "verbose" and "quiet" do not request a binding. */
static bool is_option_given(const struct opt *o, enum opt_id id)
{
    const char *text = o->given[id];

    return opt_given(o, id) &&
           !(id == OPT_ID_cpu_bind && text && strchr("qQvV", *text) && !strchr(text, ','));
}

/* Drops --hint and the values derived from it. */
static void drop_hint(struct opt *o)
{
    o->from[OPT_ID_hint] = OPT_FROM_NONE;
    if (opt_given(o, OPT_ID_ntasks_per_socket) && !o->given[OPT_ID_ntasks_per_socket]) {
        o->from[OPT_ID_ntasks_per_socket] = OPT_FROM_NONE;
        o->ntasks_per_socket = 0;
    }
    if (!opt_given(o, OPT_ID_threads_per_core) && !opt_given(o, OPT_ID_extra_node_info))
        o->threads_per_core = 0;
}

static void drop_hint_for(struct opt *o, enum opt_id other)
{
    opt_note(o, OPT_ID_hint, "option --hint has no effect beside --%s", opt_rows[other].name);
    drop_hint(o);
}

static void drop_option(struct opt *o, enum opt_id id)
{
    const struct {
        enum opt_id id;
        uint32_t *number;
        bool *flag;
        char **text;
    } members[] = {
        {OPT_ID_core_spec, &o->core_spec, NULL, NULL},
        {OPT_ID_cores_per_socket, &o->cores_per_socket, NULL, NULL},
        {OPT_ID_cpu_bind, NULL, NULL, &o->cpu_bind},
        {OPT_ID_cpus_per_gpu, &o->cpus_per_gpu, NULL, NULL},
        {OPT_ID_cpus_per_task, &o->cpus_per_task, NULL, NULL},
        {OPT_ID_exact, NULL, &o->exact, NULL},
        {OPT_ID_exclusive, NULL, &o->exclusive, NULL},
        {OPT_ID_exclusive, NULL, &o->exclusive_user, NULL},
        {OPT_ID_exclusive, NULL, &o->exclusive_topo, NULL},
        {OPT_ID_gpus_per_socket, NULL, NULL, &o->gpus_per_socket},
        {OPT_ID_gpus_per_task, NULL, NULL, &o->gpus_per_task},
        {OPT_ID_ntasks_per_core, &o->ntasks_per_core, NULL, NULL},
        {OPT_ID_ntasks_per_gpu, &o->ntasks_per_gpu, NULL, NULL},
        {OPT_ID_ntasks_per_node, &o->ntasks_per_node, NULL, NULL},
        {OPT_ID_overlap, NULL, &o->overlap, NULL},
        {OPT_ID_oversubscribe, NULL, &o->oversubscribe, NULL},
        {OPT_ID_sockets_per_node, &o->sockets_per_node, NULL, NULL},
        {OPT_ID_thread_spec, &o->thread_spec, NULL, NULL},
        {OPT_ID_whole, NULL, &o->whole, NULL},
    };

    if (id == OPT_ID_hint)
        drop_hint(o);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].id != id)
            continue;
        if (members[i].number)
            *members[i].number = 0;
        if (members[i].flag)
            *members[i].flag = false;
        if (members[i].text)
            free(take_ptr(*members[i].text));
    }
    o->from[id] = OPT_FROM_NONE;
}

static int refuse_both(struct opt *o, const struct conflict *c, struct err *err)
{
    if (c->text)
        return opt_fail(o, c->how, 1, err, "%s", c->text);
    return opt_fail(o, c->how, 1, err, "--%s and --%s are mutually exclusive.",
                    opt_rows[c->one].name, opt_rows[c->other].name);
}

/* Two variables are no contradiction: one may be the job's and the other one the user's. */
static int settle_conflict(struct opt *o, const struct conflict *c, struct err *err)
{
    uint8_t one = o->from[c->one], other = o->from[c->other];

    if (!is_option_given(o, c->one) || !is_option_given(o, c->other))
        return 0;
    if (one != other)
        drop_option(o, one < other ? c->one : c->other);
    else if (one == OPT_FROM_ENV)
        return 0;
    else if (c->one == OPT_ID_hint)
        drop_hint_for(o, c->other);
    else
        return refuse_both(o, c, err);
    return 0;
}

/* Two variables about memory are rejected: neither of them takes precedence. */
static int check_memory_variables(struct opt *o, struct err *err)
{
    static const enum opt_id ways[] = {OPT_ID_mem, OPT_ID_mem_per_cpu, OPT_ID_mem_per_gpu};
    unsigned given = 0;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        given += opt_given(o, ways[i]);
    if (given < 2)
        return 0;
    return opt_fail(o, OPT_FAIL_FATAL, 1, err,
                    "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually "
                    "exclusive.");
}

/* Of two sources the lower one is dropped: a variable of the job, for example. */
static int check_tasks_per_core(struct opt *o, struct err *err)
{
    const uint8_t tasks = o->from[OPT_ID_ntasks_per_core];
    const uint8_t threads = o->from[OPT_ID_threads_per_core];

    if (!tasks || !threads || o->ntasks_per_core <= o->threads_per_core)
        return 0;
    if (tasks == threads && tasks != OPT_FROM_ENV)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--ntasks-per-core=%u is greater than --threads-per-core=%u",
                        o->ntasks_per_core, o->threads_per_core);
    if (threads < tasks) {
        o->threads_per_core = 0;
        o->from[OPT_ID_threads_per_core] = OPT_FROM_NONE;
    } else {
        drop_option(o, OPT_ID_ntasks_per_core);
    }
    return 0;
}

/* Rejects a range of nodes, or -N, together with a list that assigns tasks to nodes. */
static int check_nodes(struct opt *o, struct err *err)
{
    const uint8_t nodes = o->from[OPT_ID_nodes];

    if (!nodes || nodes == OPT_FROM_ENV)
        return 0;
    if (opt_given(o, OPT_ID_ntasks_per_gpu) && o->min_nodes != o->max_nodes)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--ntasks-per-gpu cannot be used with a range of nodes (-N %s)",
                        o->given[OPT_ID_nodes]);
    if (nodes == o->from[OPT_ID_distribution] && opt_is_arbitrary(o))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--nodes cannot be used with --distribution=arbitrary: the list of nodes "
                        "says how many");
    return 0;
}

static int check_times(struct opt *o, struct err *err)
{
    if (!opt_given(o, OPT_ID_begin) || !opt_given(o, OPT_ID_deadline) ||
        o->begin_at_sec < o->deadline_at_sec)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "Incompatible begin and deadline time specification");
}

/* A pseudo terminal has only one input and one output. */
static int check_terminal(struct opt *o, struct err *err)
{
    const bool redirected = o->from[OPT_ID_std_in] == OPT_FROM_ARGV ||
                            o->from[OPT_ID_std_out] == OPT_FROM_ARGV ||
                            o->from[OPT_ID_std_err] == OPT_FROM_ARGV;

    if (!o->pty || !redirected)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "--error/--input/--output are incompatible with --pty");
}

int opt_settle_conflicts(struct opt *o, struct err *err)
{
    int r = check_memory_variables(o, err);

    for (size_t i = 0; r == 0 && i < sizeof(conflicts) / sizeof(conflicts[0]); i++)
        r = settle_conflict(o, &conflicts[i], err);
    r = r == 0 ? check_tasks_per_core(o, err) : r;
    r = r == 0 ? check_nodes(o, err) : r;
    r = r == 0 ? check_times(o, err) : r;
    return r == 0 ? check_terminal(o, err) : r;
}
