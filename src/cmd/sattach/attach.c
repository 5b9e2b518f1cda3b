/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/attach.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/step_id.h"
#include "cli/cmd.h"
#include "cmd/sattach/nodes.h"
#include "launch/feed.h"
#include "launch/proctable.h"
#include "launch/sink.h"
#include "launch/tasks.h"
#include "launch/terminal.h"

#define TWICE_MS 1000

struct attach {
    const struct options *options;
    const Pb__StepRecord *step;
    struct loop *loop;
    struct nodes *nodes;
    struct tasks *tasks;
    struct sink *sinks[2]; /* standard output and error */
    struct lines *lines[2];
    struct feed *feed;
    struct escape escape;
    bool escapes; /* standard input is a terminal: escape commands are recognised */
    struct rawtty *tty;
    uint32_t here, over;
    uint32_t known; /* number of nodes that are connected, or never will be */
    bool *is_known;
    bool leaving, failed;
    bool has_reported_file[2]; /* by stream: the user was told that it goes to files */
    bool pty;                  /* the step has a pseudo terminal */
    struct err refused;
    int64_t interrupted_ms;
};

/* --- the end ---------------------------------------------------------------------------------- */

static bool is_written(const struct attach *a)
{
    return (!a->sinks[0] || !sink_backlog(a->sinks[0])) &&
           (!a->sinks[1] || !sink_backlog(a->sinks[1]));
}

static void check_over(struct attach *a)
{
    if (a->leaving || (a->over == a->step->n_layout && is_written(a)))
        loop_stop(a->loop);
}

static void leave_step(struct attach *a)
{
    a->leaving = true;
    check_over(a);
}

/* --- output ----------------------------------------------------------------------------------- */

static void on_attach_drained(void *ctx)
{
    struct attach *a = ctx;

    for (int i = 0; i < 2; i++)
        if (a->sinks[i] && sink_backlog(a->sinks[i]) > SINK_HIGH)
            return;
    if (a->nodes)
        nodes_pause(a->nodes, false);
    check_over(a);
}

/* The reader of the output has closed it: sattach leaves the step. */
static void on_broken(void *ctx, const struct err *why)
{
    struct attach *a = ctx;

    if (why->code != -EPIPE) {
        cmd_error("%s", why->text);
        a->failed = true;
    }
    leave_step(a);
}

static void on_lines(void *ctx, const void *data, size_t len)
{
    sink_write(ctx, data, len);
}

static void open_stream(struct attach *a, int number)
{
    const struct sink_events events = {
        .on_drained = on_attach_drained, .on_broken = on_broken, .ctx = a};
    bool alone = a->step->num_tasks == 1 || a->options->filter[number] != EVERY_TASK;

    a->sinks[number - 1] = sink_of_fd(a->loop, number, number == 1 ? "stdout" : "stderr", &events);
    a->lines[number - 1] = lines_new(&(struct lines_options){
        .tasks = a->step->num_tasks,
        .label = a->options->label,
        .direct = alone || a->options->pty,
        .out = on_lines,
        .ctx = a->sinks[number - 1],
    });
}

static bool is_shown(const struct attach *a, uint32_t node, uint32_t task, uint32_t stream)
{
    return (stream == 1 || stream == 2) && nodes_has_task(a->nodes, node, task) &&
           (a->options->filter[stream] == EVERY_TASK || a->options->filter[stream] == task);
}

static void on_data(struct attach *a, uint32_t node, const Pb__IoData *m)
{
    if (!is_shown(a, node, m->task, m->stream))
        return;
    if (m->has_data && m->data.len)
        lines_add(a->lines[m->stream - 1], m->task, m->data.data, m->data.len);
    else
        lines_end(a->lines[m->stream - 1], m->task);
    if (sink_backlog(a->sinks[m->stream - 1]) > SINK_HIGH)
        nodes_pause(a->nodes, true);
}

/* Reports lost bytes at their place in the output, on standard error. */
static void on_lost(struct attach *a, uint32_t node, const Pb__IoLost *m)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (!is_shown(a, node, m->task, m->stream))
        return;
    lines_end(a->lines[m->stream - 1], m->task);
    str_printf(&line,
               "%s: %llu bytes of standard %s of task %u are left out here: they came faster than "
               "they were taken%s\n",
               cmd_name(), (unsigned long long)m->bytes, m->stream == 1 ? "output" : "error",
               m->task, a->tty ? "\r" : "");
    sink_write(a->sinks[1], line.data, line.len);
}

/* --- input ------------------------------------------------------------------------------------ */

static uint32_t input_task(const struct attach *a)
{
    return a->pty && a->options->filter[0] == EVERY_TASK ? 0 : a->options->filter[0];
}

static void send_input(struct attach *a, const void *data, size_t len)
{
    if (len && !nodes_send_input(a->nodes, input_task(a), data, len))
        feed_pause(a->feed, true);
}

/* The end of sattach's input is not sent to the tasks: their srun controls it. */
static void on_input(void *ctx, const void *data, size_t len)
{
    struct attach *a = ctx;
    _cleanup_str_ struct str rest = STR_INIT;

    if (!a->escapes) {
        send_input(a, data, len);
        return;
    }
    if (len == 0)
        escape_end(&a->escape, &rest);
    else if (escape_take(&a->escape, data, len, &rest) == ESCAPE_DETACH)
        leave_step(a);
    send_input(a, rest.data, rest.len);
}

static void on_room(void *ctx)
{
    struct attach *a = ctx;

    if (a->feed && nodes_has_room(a->nodes))
        feed_pause(a->feed, false);
}

/* /dev/null or closed: there is no input. */
static bool is_nothing(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

/* Starts when every available node is connected: earlier input would reach only some tasks. */
static void start_input(struct attach *a, uint32_t node)
{
    a->known += !a->is_known[node];
    a->is_known[node] = true;
    if (a->feed || a->here == 0 || a->known < a->step->n_layout || is_nothing(STDIN_FILENO))
        return;
    a->escapes = isatty(STDIN_FILENO);
    escape_init(&a->escape, ESCAPE_DETACH_ONLY, a->tty != NULL);
    a->feed = feed_new(a->loop, STDIN_FILENO, on_input, a);
    feed_pause(a->feed, false);
}

/* --- the terminal of task 0 ------------------------------------------------------------------- */

static void send_size(const struct attach *a)
{
    uint32_t rows, columns;

    if (a->tty && rawtty_size(&rows, &columns))
        nodes_window_size(a->nodes, rows, columns);
}

static void on_resize(void *ctx, int signo)
{
    send_size(ctx);
}

static void start_terminal(struct attach *a)
{
    if (!a->options->pty)
        return;
    if (!a->pty) {
        cmd_say("step %s has no terminal: it was not started with --pty", a->options->id_text);
        return;
    }
    a->tty = rawtty_begin();
    if (a->tty)
        loop_signal(a->loop, SIGWINCH, on_resize, a);
}

/* --- messages of nodes ------------------------------------------------------------------------ */

static void tell_file(struct attach *a, int stream, const char *file)
{
    if (!file || a->has_reported_file[stream - 1])
        return;
    a->has_reported_file[stream - 1] = true;
    cmd_say("standard %s of the tasks goes to a file on their nodes, and is not shown: %s",
            stream == 1 ? "output" : "error", file);
}

static void on_here(void *ctx, uint32_t node, const Pb__IoHello *hello)
{
    struct attach *a = ctx;

    tell_file(a, 1, hello->std_out_file);
    tell_file(a, 2, hello->std_err_file);
    if (a->here++ == 0) {
        _cleanup_free_ char *step =
            mem_printf("%s", STEP_ID_TEXT(a->step->job_id, a->step->step_id));

        a->pty = hello->has_pty && hello->pty;
        proctable_open(a->step->num_tasks, hello->program ? hello->program : "", step);
        start_terminal(a);
    }
    start_input(a, node);
}

static void on_started(struct attach *a, uint32_t node, const Pb__TasksStarted *m)
{
    const Pb__StepNode *n = a->step->layout[node];
    bool by_address = conf_list_has(cmd_conf()->launch_parameters, "mpir_use_nodeaddr");

    for (size_t i = 0; i < m->n_task && i < m->n_pid; i++)
        if (nodes_has_task(a->nodes, node, m->task[i])) {
            tasks_started(a->tasks, m->task[i]);
            proctable_put(m->task[i], by_address ? n->addr : n->node, m->pid[i]);
        }
    if (proctable_check() && a->options->debugger_test)
        proctable_tell(cmd_say);
    send_size(a); /* the step daemon accepts messages now */
}

static void on_attach_message(void *ctx, uint32_t node, unsigned rpc, const ProtobufCMessage *body)
{
    struct attach *a = ctx;
    const Pb__TaskExited *end = (const Pb__TaskExited *)body;

    switch (rpc) {
    case RPC_TASKS_STARTED:
        on_started(a, node, (const Pb__TasksStarted *)body);
        break;
    case RPC_IO_DATA:
        on_data(a, node, (const Pb__IoData *)body);
        break;
    case RPC_IO_LOST:
        on_lost(a, node, (const Pb__IoLost *)body);
        break;
    case RPC_TASK_EXITED:
        if (nodes_has_task(a->nodes, node, end->task))
            tasks_exited(a->tasks, end->task, end->exit_status);
        break;
    default:
        break;
    }
}

static void print_task_message(void *ctx, bool failed, const char *text)
{
    cmd_detail(1, "%s", text);
}

static void on_over(void *ctx, uint32_t node, const struct err *why)
{
    struct attach *a = ctx;

    if (why && why->code == -ERR_JOB_DONE) {
        a->refused = *why; /* if there are several nodes, some may be over */
    } else if (why) {
        cmd_error("Node %s: %s", a->step->layout[node]->node, why->text);
        a->failed = true;
    }
    if (++a->over < a->step->n_layout) {
        start_input(a, node);
        return;
    }
    if (!a->here && a->refused.code) {
        cmd_error("%s", a->refused.text);
        a->failed = true;
    }
    tasks_tell_ends(a->tasks, print_task_message, a);
    for (uint32_t i = 0; i < a->step->num_tasks; i++)
        for (int k = 0; k < 2; k++)
            lines_end(a->lines[k], i);
    check_over(a);
}

static int on_listed(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    *(bool *)ctx |= ((const Pb__StepList *)message)->n_steps > 0;
    return 0;
}

/* A step that ended before its nodes were asked is not waited for. */
static bool is_step_listed(void *ctx)
{
    const struct attach *a = ctx;
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    struct err err = {0};
    bool any = false;

    id.job_id = a->step->job_id;
    id.has_step_id = true;
    id.step_id = a->step->step_id;
    filter.ids = &ids;
    filter.n_ids = 1;
    return rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_listed, &any, &err) < 0 ||
           any;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void print_state_message(void *ctx, bool failed, const char *text)
{
    cmd_say("%s", text);
}

/* As in srun: one Ctrl-C prints the tasks' states, two within a second signal the tasks. */
static void on_interrupt(struct attach *a)
{
    int64_t now = loop_mono_ms();

    if (a->interrupted_ms && now - a->interrupted_ms <= TWICE_MS) {
        cmd_say("sending Ctrl-C to step %s", a->options->id_text);
        nodes_signal(a->nodes, SIGINT);
        return;
    }
    a->interrupted_ms = now;
    cmd_say("interrupt (one more within 1 sec to send it to the tasks)");
    tasks_tell_states(a->tasks, a->options->id_text, print_state_message, a);
}

static void on_attach_signal(void *ctx, int signo)
{
    struct attach *a = ctx;

    if (signo == SIGTERM || signo == SIGHUP || (!a->options->as_srun && signo == SIGINT))
        leave_step(a);
    else if (signo == SIGINT)
        on_interrupt(a);
    else
        nodes_signal(a->nodes, signo);
}

static void watch_signals(struct attach *a)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        struct sigaction now;

        /* Signals that were ignored at the start stay ignored, as under nohup. */
        if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue;
        loop_signal(a->loop, watched[i], on_attach_signal, a);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN); /* feed.h checks again when the terminal is in the foreground */
}

/* ---------------------------------------------------------------------------------------------- */

static void release_attach(struct attach *a)
{
    rawtty_end(a->tty);
    feed_free(a->feed);
    nodes_free(a->nodes);
    for (int i = 0; i < 2; i++) {
        lines_free(a->lines[i]);
        sink_free(a->sinks[i]);
    }
    tasks_free(a->tasks);
    free(a->is_known);
    loop_free(a->loop);
}

int attach_run(const struct options *o, const struct whole *whole)
{
    const Pb__StepRecord *step = &whole->step;
    struct attach a = {.options = o, .step = step, .loop = loop_new(0)};
    const struct nodes_events events = {.on_here = on_here,
                                        .on_message = on_attach_message,
                                        .on_over = on_over,
                                        .on_drained = on_room,
                                        .is_listed = is_step_listed,
                                        .ctx = &a};
    struct err err = {0};
    int status;

    a.tasks = tasks_of_layout(step->layout, step->n_layout, step->num_tasks);
    a.is_known = mem_new_array(bool, step->n_layout);
    open_stream(&a, 1);
    open_stream(&a, 2);
    if (nodes_open(a.loop, whole, &events, &a.nodes, &err) < 0) {
        cmd_error("%s", err.text);
        release_attach(&a);
        return cmd_exit_error();
    }
    watch_signals(&a);
    loop_run(a.loop);
    status = a.failed ? cmd_exit_error() : a.leaving ? 0 : tasks_exit_code(a.tasks);
    release_attach(&a);
    if (a.leaving && !a.failed)
        cmd_detail(1, "detached from step %s", o->id_text);
    return status;
}
