/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/across.h"
#include "cmd/srun/run/background.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/copy.h"
#include "cmd/srun/run/ends.h"
#include "cmd/srun/run/exchange.h"
#include "cmd/srun/run/finish.h"
#include "cmd/srun/run/hook.h"
#include "cmd/srun/run/input.h"
#include "cmd/srun/run/launch.h"
#include "cmd/srun/run/output.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/request.h"
#include "cmd/srun/run/signals.h"
#include "cmd/srun/run/spawned.h"
#include "cmd/srun/run/spawns.h"
#include "cmd/srun/run/terminal.h"
#include "cmd/srun/run/x11.h"
#include "launch/jobenv.h"
#include "launch/messages.h"
#include "launch/proctable.h"
#include "launch/tasks.h"
#include "proto/io.pb-c.h"
#include "rpc/client.h"

static void begin_debugger(const struct run *run)
{
    /* As the tasks will find it, when this host has the same programs. */
    _cleanup_free_ char *program = program_find(run->commands[0].argv[0], run->options->work_dir);
    _cleanup_free_ char *step = mem_printf("%u.%u", run->job_id, run->step_id);

    proctable_open(run->step->num_tasks, program, step);
}

/* Of the tasks of a node, once for each; returns true when the table is whole, and the debugger has
 * let it go on: the tasks may. */
static bool mpir_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started)
{
    const struct Pb__StepNode *n = run->step->layout[node];
    bool by_address = conf_list_has(run->conf->launch_parameters, "mpir_use_nodeaddr");

    if (!proctable_is_open())
        begin_debugger(run);
    for (size_t i = 0; i < started->n_task && i < started->n_pid && i < n->n_task_ids; i++)
        if (started->task[i] == n->task_ids[i]) /* shepherds keep the order */
            proctable_put(started->task[i], by_address ? n->addr : n->node, started->pid[i]);
    return proctable_check();
}

#define PATIENCE_MORE_SEC 2 /* beyond KillWait */

static void stop_run(struct run *run)
{
    run->phase = RUN_OVER;
    loop_stop(run->loop);
}

/* --- the end ---------------------------------------------------------------------------------- */

static int wait_status_of(const struct run *run)
{
    int status = run->tasks != NULL ? tasks_worst_status(run->tasks) : 0;

    return status != 0 ? status : (run->exit_code & 0xff) << 8;
}

/* A job of our own ends with the report; spawned steps continue in it. */
static void report_run_end(struct run *run)
{
    if (!run->own_job || !spawns_left(run->spawns))
        finish_report(run->finish, wait_status_of(run));
}

/* The nodes are clean. The report and the last output are sent at the same time. */
static void begin_end(struct run *run)
{
    run->phase = RUN_ENDING;
    loop_timer_set(run->limit_timer, -1);
    if (!run->hurried)
        loop_timer_set(run->abort_timer, -1);
    if (run->input != NULL)
        input_stop(run->input);
    if (run->output != NULL)
        for (uint32_t i = 0; i < tasks_count(run->tasks); i++)
            output_task_end(run->output, i);
    terminal_free(run->terminal);
    run->terminal = NULL;
    ends_all(run->ends);
    if (run->launch != NULL)
        hook_run(run, run->options->epilog, "epilog_srun");
    report_run_end(run);
}

static void check_over(struct run *run)
{
    if (run->phase == RUN_ENDING && run->reported && !spawns_left(run->spawns) &&
        (run->output == NULL || output_is_empty(run->output)) && messages_are_empty())
        stop_run(run);
}

static void on_said(void *ctx)
{
    check_over(ctx);
}

static void on_unsaid(void *ctx, const struct err *why)
{
    (void)why; /* nobody can be told */
    check_over(ctx);
}

static void on_reported(struct run *run)
{
    run->reported = true;
    check_over(run);
}

static void on_output_drained(struct run *run)
{
    if (run->peers != NULL)
        peers_pause(run->peers, false);
    check_over(run);
}

/* Like a program in a pipe without a reader; tasks that do not mind run on, unread. */
static void on_output_broken(struct run *run)
{
    run->output_broken = true;
    if (run->peers != NULL && run->phase == RUN_RUNNING)
        peers_signal(run->peers, SIGPIPE);
}

/* The tasks continue, but the step must not be reported as successful. */
static void on_output_lost(struct run *run, const struct err *why)
{
    say_error("%s; what the tasks write there from now on is lost", why->text);
    run_at_least(run, 1);
}

static void on_spawns_over(struct run *run)
{
    if (run->phase != RUN_ENDING)
        return;
    report_run_end(run);
    check_over(run);
}

static void force_end(struct run *run)
{
    if (run->phase == RUN_ENDING) {
        stop_run(run);
        return;
    }
    say_info("forcing job termination");
    run_at_least(run, 1);
    if (run->output != NULL)
        output_drop(run->output);
    begin_end(run);
}

static void on_abort_timer(void *ctx)
{
    struct run *run = ctx;

    if (run->phase == RUN_RUNNING) {
        say_error("Timed out waiting for job step to complete");
        run_at_least(run, 1);
        begin_end(run);
    }
    if (run->hurried && run->output != NULL && !output_is_empty(run->output)) {
        output_drop(run->output);
        say_error("Timed out waiting for a reader; what nobody has read of the output is lost");
        run_at_least(run, 1);
    }
    check_over(run);
}

static void abort_step(struct run *run, const char *why)
{
    int64_t patience = run->conf->kill_wait_sec + PATIENCE_MORE_SEC;

    if (run->aborting || run->phase != RUN_RUNNING)
        return;
    run->aborting = true;
    spawned_broken(run->spawned, run->exit_code);
    spawns_signal(run->spawns, SIGTERM);
    if (run->copy != NULL) { /* nothing runs yet */
        copy_free(take_ptr(run->copy));
        run_at_least(run, 1);
        begin_end(run);
        return;
    }
    say_info("Job step aborted: Waiting up to %lld seconds for job step to finish.",
             (long long)patience);
    peers_kill(run->peers, why);
    loop_timer_set(run->abort_timer, patience * 1000);
}

static int on_step_part(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__StepList *list = (const Pb__StepList *)message;
    bool *changed = ctx;
    for (size_t i = 0; i < list->n_steps; i++)
        *changed = *changed || (list->steps[i]->has_limit_changed && list->steps[i]->limit_changed);
    return 0;
}

/* scontrol update StepId=: then the controller ends the step. A controller that does not answer has
 * changed nothing. */
static bool limit_was_changed(const struct run *run)
{
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids[] = {&id};
    struct err err = {0};
    bool changed = false;
    if (run->options->no_allocate)
        return false;
    id.job_id = run->job_id;
    id.has_step_id = true;
    id.step_id = run->step_id;
    filter.ids = ids;
    filter.n_ids = 1;
    struct rpc_client *client = rpc_client_new(run->conf);
    (void)rpc_call_stream(client, RPC_STEP_LIST, &filter.base, on_step_part, &changed, &err);
    rpc_client_free(client);
    return changed;
}

static void on_limit_timer(void *ctx)
{
    struct run *run = ctx;
    char date[TIME_TEXT_MAX];
    struct str nodes = STR_INIT;

    if (limit_was_changed(run))
        return;
    jobenv_step_nodes(run->step, &nodes);
    say_error("*** STEP %s ON %s CANCELLED AT %s DUE TO TIME LIMIT ***",
              STEP_ID_TEXT(run->job_id, run->step_id), str_cstr(&nodes),
              time_format_date(loop_wall_ms() / 1000, "Unknown", date));
    str_done(&nodes);
    run_at_least(run, 1);
    abort_step(run, NULL);
}

static void start_limit(struct run *run)
{
    const struct Pb__StepSpec *spec = run->options->step;

    if (!run->own_job && spec->has_time_limit_sec && spec->time_limit_sec < TIME_UNLIMITED)
        loop_timer_set(run->limit_timer, spec->time_limit_sec * 1000);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void record_node_end(struct run *run, uint32_t node, int wait_status)
{
    const struct Pb__StepNode *n = run->step->layout[node];
    bool lost = false;

    if (run->phase != RUN_RUNNING || run->node_over[node])
        return;
    run->node_over[node] = true;
    x11_node_gone(run->x11, node);
    for (size_t i = 0; i < n->n_task_ids; i++)
        lost |= tasks_lost(run->tasks, n->task_ids[i], wait_status);
    if (lost && !run->aborting)
        say_debug("%s has ended without a word about some of its tasks", n->node);
    if (--run->nodes_left == 0)
        begin_end(run);
}

static void on_node_done(struct run *run, uint32_t node)
{
    record_node_end(run, node, SIGKILL);
}

/* The step is being ended: a node that its tasks never reached, or that has gone before it told of
 * their ends, has done no more than that. */
static void node_ended(struct run *run, uint32_t node, const struct err *why)
{
    say_debug("%s: %s", run->step->layout[node]->node, why->text);
    peers_drop(run->peers, node);
    record_node_end(run, node, SIGTERM);
}

static void on_launch_failed(struct run *run, uint32_t node, const struct err *why)
{
    if (run->phase != RUN_RUNNING || run->node_over[node])
        return;
    if (why->code == -ERR_NOT_BEGUN) { /* for another node, which is told */
        say_debug("%s: %s", run->step->layout[node]->node, why->text);
        peers_drop(run->peers, node);
        record_node_end(run, node, 1 << 8);
        return;
    }
    if (run->aborting) {
        node_ended(run, node, why);
        return;
    }
    say_error("Task launch for %s failed on node %s: %s", run->step_name,
              run->step->layout[node]->node, why->text);
    if (!run->launch_failed)
        say_error("Application launch failed: %s", err_text(why->code));
    run->launch_failed = true;
    run_at_least(run, 1);
    peers_drop(run->peers, node);
    if (run->nodes_left > 1)
        abort_step(run, NULL);
    record_node_end(run, node, 1 << 8);
}

static void on_node_lost(struct run *run, uint32_t node, const struct err *why)
{
    const struct Pb__StepNode *n = run->step->layout[node];
    bool unfinished = false;

    if (run->phase != RUN_RUNNING || run->node_over[node])
        return;
    if (run->aborting) {
        node_ended(run, node, why);
        return;
    }
    for (size_t i = 0; i < n->n_task_ids; i++)
        unfinished |= !tasks_is_over(run->tasks, n->task_ids[i]);
    if (unfinished) {
        say_error("Node failure on %s: %s", n->node, why->text);
        run_at_least(run, 1);
        spawned_broken(run->spawned, run->exit_code);
    }
    peers_drop(run->peers, node);
    if (unfinished && run->nodes_left > 1 && !run->options->no_kill)
        abort_step(run, NULL);
    record_node_end(run, node, SIGKILL);
}

/* The controller has given it up, and the job with it; its session may stay open for ever. */
static void on_node_failed(struct run *run, const char *name)
{
    if (run->phase != RUN_RUNNING)
        return;
    say_error("Node failure on %s", name);
    run_at_least(run, 1);
    abort_step(run, NULL);
    for (uint32_t i = 0; i < run->step->n_layout; i++) {
        if (!str_eq(run->step->layout[i]->node, name) || run->node_over[i])
            continue;
        peers_drop(run->peers, i);
        record_node_end(run, i, SIGKILL);
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void on_srun_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started)
{
    say_verbose("launch/slurm: _task_start: Node %s, %zu tasks started",
                run->step->layout[node]->node, started->n_task);
    for (size_t i = 0; i < started->n_task; i++)
        tasks_started(run->tasks, started->task[i]);
    if (!mpir_started(run, node, started))
        return;
    if (run->options->debugger_test)
        proctable_tell(say_info);
    if (proctable_is_debugged())
        peers_signal(run->peers, SIGCONT);
}

static void on_srun_failed(struct run *run, const struct Pb__TaskFailed *failed)
{
    if (run->phase != RUN_RUNNING || !tasks_failed(run->tasks, failed->task, failed->code))
        return;
    say_stepd_error("%s", failed->text);
    ends_task(run->ends, true);
}

static void on_exited(struct run *run, uint32_t node, const struct Pb__TaskExited *exited)
{
    if (run->phase != RUN_RUNNING || !tasks_exited(run->tasks, exited->task, exited->exit_status))
        return;
    say_debug("%s: task %u has ended with status 0x%x", run->step->layout[node]->node, exited->task,
              (unsigned)exited->exit_status);
    ends_task(run->ends, exited->exit_status != 0);
    exchange_task_ended(run->exchange, node, exited->task);
}

/* --- messages --------------------------------------------------------------------------------- */

static void on_all_here(struct run *run)
{
    input_start(run->input);
}

static void on_backlog(struct run *run, bool full)
{
    input_pause(run->input, full);
}

static void on_output(struct run *run, uint32_t node, const struct Pb__IoData *m)
{
    if (run_owns(run, node, m->task))
        output_data(run->output, m->task, m->stream, m->data.data, m->data.len);
    if (output_is_full(run->output))
        peers_pause(run->peers, true);
}

static void on_srun_message(struct run *run, uint32_t node, const struct rpc_info *rpc,
                            const ProtobufCMessage *body)
{
    if (exchange_message(run->exchange, node, rpc->number, body))
        return;
    switch (rpc->number) {
    case RPC_IO_DATA:
        on_output(run, node, (const struct Pb__IoData *)body);
        break;
    case RPC_TASKS_STARTED:
        on_srun_started(run, node, (const struct Pb__TasksStarted *)body);
        break;
    case RPC_TASK_FAILED:
        if (run_owns(run, node, ((const struct Pb__TaskFailed *)body)->task))
            on_srun_failed(run, (const struct Pb__TaskFailed *)body);
        break;
    case RPC_TASK_EXITED:
        if (run_owns(run, node, ((const struct Pb__TaskExited *)body)->task))
            on_exited(run, node, (const struct Pb__TaskExited *)body);
        break;
    case RPC_TUNNEL_DATA:
        x11_message(run->x11, node, (const struct Pb__TunnelData *)body);
        break;
    default:
        say_debug("%s: unexpected message %s", run->step->layout[node]->node, rpc->name);
    }
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void begin_tasks(struct run *run)
{
    const struct Pb__StepReply *step = run->step;

    run->tasks = tasks_of_layout(step->layout, step->n_layout, step->num_tasks);
    run->ends = ends_new(run);
    run->exchange = exchange_new(run);
    run->node_over = mem_new_array(bool, step->n_layout);
    run->nodes_left = (uint32_t)step->n_layout;
}

static int prepare_parts(struct run *run, struct err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < run_count_parts(run); i++) {
        const struct run_options *o = run_part_options(run, i);

        if (o->before_launch != NULL)
            rc = o->before_launch(o->ctx, run->step, run->commands[i].argc, run->commands[i].argv,
                                  err);
    }
    return rc;
}

/* Nothing runs yet, and nothing will. */
static void give_up(struct run *run, const struct err *why)
{
    if (why != NULL)
        say_error("%s", why->text);
    run_at_least(run, 1);
    begin_end(run);
}

static void launch_run(struct run *run)
{
    struct err err = {0};

    if (command_join(run, &err) < 0) {
        give_up(run, &err);
        return;
    }
    if (run->options->pty)
        run->terminal = terminal_start(run);
    if (!hook_run(run, run->options->prolog, "prolog_srun")) {
        err_set(&err, -ERR_LAUNCH, "%s is cancelled: its prolog failed", run->step_name);
        give_up(run, &err);
        return;
    }
    run->launch = launch_start(run);
    start_limit(run);
}

static void on_copied(struct run *run, bool all)
{
    copy_free(take_ptr(run->copy));
    if (all) {
        launch_run(run);
        return;
    }
    give_up(run, NULL);
}

/* The only component of the step is in its name; a step of several components has the id of all. */
static void name_step(struct run *run)
{
    const struct Pb__StepSpec *spec = run->options->step;
    bool in_one = spec->has_set_offset && spec->n_parts == 0;
    char offset[16] = "";

    if (in_one)
        snprintf(offset, sizeof(offset), "+%u", spec->set_offset);
    snprintf(run->step_name, sizeof(run->step_name), "StepId=%u%s%s", run->job_id, offset,
             strchr(STEP_ID_TEXT(run->job_id, run->step_id), '.'));
}

static void on_srun_step(struct run *run)
{
    struct err err = {0};

    run->step_id = run->step->step_id;
    name_step(run);
    run->phase = RUN_RUNNING;
    run->finish = finish_watch(run);
    begin_tasks(run);
    report_allocation(run);
    if (command_make(run, &err) < 0 || output_open(run, &run->output, &err) < 0 ||
        input_open(run, &run->input, &err) < 0 || peers_open(run, &run->peers, &err) < 0 ||
        prepare_parts(run, &err) < 0) {
        give_up(run, &err);
        return;
    }
    if (!copy_is_wanted(run)) {
        launch_run(run);
        return;
    }
    run->copy = copy_start(run);
    if (run->copy == NULL)
        on_copied(run, false);
}

static void on_srun_refused(struct run *run, int exit_code)
{
    run_at_least(run, exit_code);
    if (run->own_job && run->job_id != 0 && run->alloc != NULL) { /* a job without a step */
        run->finish = finish_watch(run);
        run->phase = RUN_ENDING;
        finish_report(run->finish, exit_code << 8);
        return;
    }
    stop_run(run);
}

static const struct run_events events = {
    .step = on_srun_step,
    .refused = on_srun_refused,
    .copied = on_copied,
    .launch_failed = on_launch_failed,
    .node_lost = on_node_lost,
    .node_done = on_node_done,
    .all_here = on_all_here,
    .backlog = on_backlog,
    .node_here = terminal_tell_node,
    .message = on_srun_message,
    .background = background_ask,
    .spawns_over = on_spawns_over,
    .output_drained = on_output_drained,
    .output_broken = on_output_broken,
    .output_lost = on_output_lost,
    .node_failed = on_node_failed,
    .reported = on_reported,
    .abort = abort_step,
    .force = force_end,
};

static void free_parts(struct run *run)
{
    terminal_free(run->terminal);
    x11_free(run->x11);
    finish_free(run->finish);
    copy_free(run->copy);
    launch_free(run->launch);
    peers_free(run->peers);
    input_free(run->input);
    output_free(run->output);
    request_free(run->request);
    signals_free(run->signals);
    exchange_free(run->exchange);
    spawns_free(run->spawns);
    spawned_free(run->spawned);
    across_free(run->across);
    ends_free(run->ends);
    tasks_free(run->tasks);
    free(run->node_over);
    loop_timer_free(run->limit_timer);
    loop_timer_free(run->abort_timer);
    rpc_kept_close(&run->controller);
    arena_done(&run->arena);
    loop_free(run->loop);
}

int run_to_end(const struct conf *conf, const struct run_options *options)
{
    struct run run = {.on = &events,
                      .conf = conf,
                      .options = options,
                      .loop = loop_new_coarse(),
                      .controller = {.fd = -1}};
    struct err err = {0};
    int code;

    arena_init(&run.arena, 0);
    messages_queue(
        run.loop, "srun",
        &(struct sink_events){.on_drained = on_said, .on_broken = on_unsaid, .ctx = &run});
    run.limit_timer = loop_timer_new(run.loop, on_limit_timer, &run);
    run.abort_timer = loop_timer_new(run.loop, on_abort_timer, &run);
    if (options->x11 != NULL && x11_open(&run, options->x11, &run.x11, &err) < 0) {
        say_error("%s", err.text);
        run.exit_code = 1;
    } else {
        run.signals = signals_start(&run);
        run.across = across_new(&run);
        run.spawns = spawns_new(&run);
        run.spawned = spawned_open(&run);
        run.request = request_start(&run);
        do
            loop_run(run.loop);
        while (background_pass(&run));
    }
    spawned_finish(run.spawned);
    code = run.tasks != NULL ? tasks_exit_code(run.tasks) : 0;
    if (code < run.exit_code)
        code = run.exit_code;
    messages_finish(-1);
    free_parts(&run);
    return code;
}
