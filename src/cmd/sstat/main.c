/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sstat: resource usage of running steps. The controller knows the nodes of a step; the nodes know
 * its usage.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/step_id.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cluster/job/usage.h"
#include "cmd/sstat/options.h"
#include "loop/loop.h"
#include "show/job_ids.h"
#include "show/show.h"
#include "show/usage_columns.h"

/* One step, and the replies of its nodes. */
struct asked {
    const struct options *options; /* NULL: nothing is printed */
    const Pb__StepRecord *step;
    struct arena arena;
    struct loop *loop;
    struct rpc_fanout *fanout;
    Pb__StepUsageReply **replies; /* of each node of its layout; NULL: none */
    size_t left, answered;
    Pb__Usage usage;
    struct str pids;
    struct err last; /* of a node that did not answer */
};

struct found {
    struct arena *arena;
    VEC(Pb__StepRecord *) steps;
};

static void put_step_name(const Pb__StepRecord *step, struct str *out)
{
    str_puts(out, "StepId=");
    show_put_step_id(step, out);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void print_usage(const struct asked *a, const Pb__Usage *usage, const char *nodes,
                        const char *pids)
{
    struct usage_columns_view view = {.step = a->step,
                                      .usage = usage,
                                      .nodes = nodes,
                                      .pids = pids,
                                      .first_node = a->step->layout[0]->node,
                                      .no_convert = a->options->no_convert};

    usage_columns_print(&a->options->fields, &view, cmd_out());
}

static void put_pids(const Pb__StepUsage *m, struct str *out)
{
    for (size_t i = 0; i < m->n_pid; i++)
        str_printf(out, "%s%u", out->len ? "," : "", m->pid[i]);
}

static void on_node(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                    const struct err *err)
{
    struct asked *a = ctx;
    _cleanup_str_ struct str bytes = STR_INIT;

    if (code == 0) {
        pb_pack(reply, &bytes); /* the reply is freed after this callback */
        a->replies[index] =
            arena_unpack(&a->arena, &pb__step_usage_reply__descriptor, bytes.data, bytes.len);
    } else {
        a->last = *err;
        cmd_error("slurm_job_step_stat: there was an error with the request to %s rc = %s",
                  a->step->layout[index]->node, err->text);
    }
    if (--a->left == 0)
        loop_stop(a->loop);
}

/* Takes the replies in the order of the step's nodes, not in the order of arrival. */
static void take_replies(struct asked *a)
{
    for (size_t i = 0; i < a->step->n_layout; i++) {
        const Pb__StepUsageReply *m = a->replies[i];
        const char *node = a->step->layout[i]->node;

        for (size_t k = 0; m && k < m->n_steps; k++) {
            const Pb__StepUsage *one = m->steps[k];
            _cleanup_str_ struct str pids = STR_INIT;

            if (one->step_id != a->step->step_id || !one->usage)
                continue;
            a->answered++;
            if (!a->options)
                continue;
            put_pids(one, a->options->pids ? &pids : &a->pids);
            if (a->options->pids)
                print_usage(a, one->usage, node, str_cstr(&pids));
            usage_merge(&a->usage, one->usage, node, &a->arena);
        }
    }
}

static void ask_nodes(struct asked *a)
{
    const Pb__StepRecord *step = a->step;
    struct rpc_node_target *targets = mem_new_array(struct rpc_node_target, step->n_layout);
    Pb__StepUsageRequest request = PB__STEP_USAGE_REQUEST__INIT;

    for (size_t i = 0; i < step->n_layout; i++)
        targets[i] = (struct rpc_node_target){step->layout[i]->node, step->layout[i]->addr,
                                              (uint16_t)step->layout[i]->port};
    request.job_id = step->job_id;
    request.has_step_id = true;
    request.step_id = step->step_id;
    a->replies = arena_alloc(&a->arena, step->n_layout * sizeof(*a->replies));
    a->left = step->n_layout;
    a->fanout = rpc_fanout_start(a->loop, cmd_conf(), targets, step->n_layout, RPC_STEP_USAGE,
                                 &request.base, 0, on_node, a);
    loop_run(a->loop);
    rpc_fanout_free(a->fanout);
    free(targets);
}

/* A step that has ended is not a failure. A refusal or a missing answer is. */
static int report_no_job(const struct asked *a, const char *name)
{
    if (!a->last.code || a->last.code == -ERR_NO_JOB) { /* the step ended meanwhile */
        cmd_error("%s not found running.", name);
        return 0;
    }
    cmd_error("problem getting step_layout for %s: %s", name, a->last.text);
    return 1;
}

/* Returns 1 after an error message if a node did not answer. Without options nothing else is
 * printed. */
static int show_step(const struct options *o, struct loop *loop, const Pb__StepRecord *step)
{
    int status;
    struct asked a = {
        .options = o, .step = step, .loop = loop, .usage = PB__USAGE__INIT, .pids = STR_INIT};
    _cleanup_str_ struct str name = STR_INIT;
    assert(step);

    if (!step->n_layout)
        return 0;
    arena_init(&a.arena, 0);
    ask_nodes(&a);
    take_replies(&a);
    put_step_name(step, &name);
    status = a.answered ? a.last.code != 0 : report_no_job(&a, str_cstr(&name));
    if (a.answered && o && !o->pids)
        print_usage(&a, &a.usage, step->nodes ? step->nodes : step->layout[0]->node,
                    str_cstr(&a.pids));
    str_done(&a.pids);
    arena_done(&a.arena);
    return status;
}

/* --- steps ----------------------------------------------------------------------------------- */

static int on_sstat_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct found *f = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;

    for (size_t i = 0; i < part->n_steps; i++) {
        _cleanup_str_ struct str bytes = STR_INIT;

        pb_pack(&part->steps[i]->base, &bytes);
        vec_push(&f->steps,
                 arena_unpack(f->arena, &pb__step_record__descriptor, bytes.data, bytes.len));
    }
    return 0;
}

/* The step was not requested and is not shown. The nodes are asked nevertheless, so that a user
 * without permission sees the refusal. */
static int report_no_step(struct loop *loop, const Pb__StepRecord *other)
{
    _cleanup_str_ struct str name = STR_INIT;
    int status = show_step(NULL, loop, other);

    if (status)
        return status;
    put_step_name(other, &name);
    cmd_error("job %u runs no step but %s; --allsteps shows it", other->job_id, str_cstr(&name));
    return 0;
}

/* Finds the step with the lowest number of the same job, array element or component, or NULL. */
static const Pb__StepRecord *lowest_step(const struct found *f, const Pb__StepRecord *of)
{
    const Pb__StepRecord *lowest = NULL;
    vec_foreach (&f->steps, s) {
        assert(*s);
        if ((*s)->step_id < STEP_ID_BATCH && (!lowest || (*s)->step_id < lowest->step_id) &&
            (*s)->job_id == of->job_id)
            lowest = *s;
    }
    return lowest;
}

/* Shows the step with the lowest number, for each component of a job set. The batch
 * script is shown only if requested or with --allsteps. */
static int show_steps(const struct options *o, struct loop *loop, const struct found *f,
                      const Pb__StepId *id)
{
    bool any = false;
    int status = 0;

    if (id->has_step_id || o->all_steps) {
        vec_foreach (&f->steps, s)
            status |= show_step(o, loop, *s);
        return status;
    }
    vec_foreach (&f->steps, s) {
        if (lowest_step(f, *s) != *s)
            continue;
        any = true;
        status |= show_step(o, loop, *s);
    }
    return any ? status : report_no_step(loop, f->steps.data[0]);
}

/* A job that runs no such step is not a failure; an unknown job or component is. */
static int report_no_steps(const Pb__StepId *id)
{
    _cleanup_str_ struct str name = STR_INIT;
    struct err err = {0};
    bool lacks = job_arg_lacks_component(id, &err);
    bool known = !lacks && job_arg_is_known(id);
    const char *why = known ? "" : lacks ? err.text : err_text(ERR_NO_JOB);

    job_ids_put_asked(id, &name);
    if (id->has_step_id)
        cmd_error("StepId=%s not found running%s%s", str_cstr(&name), known ? "." : ": ", why);
    else
        cmd_error("couldn't get steps for job %s%s%s", str_cstr(&name), known ? "" : ": ", why);
    return !known;
}

/* Returns 1 if something could not be shown, and a negative code if no controller answers. */
static int show_job_id(const struct options *o, struct loop *loop, Pb__StepId *id)
{
    _cleanup_arena_ struct arena arena;
    struct found found = {.arena = &arena};
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    struct err err = {0};
    int rc, status = 0;

    arena_init(&arena, 0);
    filter.ids = &id;
    filter.n_ids = 1;
    rc = rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_sstat_steps, &found, &err);
    if (rc < 0)
        cmd_line("slurm_load_job_steps error: %s", err.text);
    else if (found.steps.len)
        status = show_steps(o, loop, &found, id);
    else
        status = report_no_steps(id);
    vec_done(&found.steps);
    return rc < 0 ? rc : status;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    struct loop *loop;
    int status;

    cmd_start("sstat");
    status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    if (o.help_format) {
        usage_columns_print_names(cmd_out());
        options_done(&o);
        return cmd_flush();
    }
    loop = loop_new(0);
    if (!o.no_header)
        usage_columns_print_header(&o.fields, cmd_out());
    for (size_t i = 0; i < o.ids.len && status >= 0; i++) {
        int one = show_job_id(&o, loop, &o.ids.data[i]);
        status = one < 0 ? one : status | one;
    }
    loop_free(loop);
    options_done(&o);
    return cmd_flush() || status;
}
