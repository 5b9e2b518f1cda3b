/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/salloc/run.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cli/opt.h"
#include "cmd/salloc/session.h"
#include "launch/alloc.h"
#include "launch/jobenv.h"
#include "launch/messages.h"
#include "rpc/client.h"

#define BELL_AFTER_MS 10000
#define REPORT_MS 5000
#define RETRY_MS 200

extern char **environ;

struct run {
    struct loop *loop;
    const struct conf *conf;
    const struct run_options *options;
    struct Pb__AllocRequest ask;
    struct alloc *alloc;
    struct session *session;
    struct envlist env;
    sigset_t ignored; /* when salloc was started */
    struct rpc_async *watch, *report;
    struct loop_timer *watch_timer, *report_timer;
    int64_t asked_at_ms, queued_at_ms, give_up_at_ms;
    uint64_t seen; /* the last message to us */
    uint32_t job_id;
    int exit_code, wait_status;
    bool queued, configuring, granted, revoked, interrupted, ending;
    bool told_away; /* that the release waits for the controller */
};

static void print_message(const struct run *run, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* level -1 is an error. */
static void print_message(const struct run *run, int level, const char *fmt, ...)
{
    struct str line = STR_INIT;
    va_list ap;

    if (level > run->options->verbose)
        return;
    str_puts(&line, level < 0 ? "salloc: error: " : "salloc: ");
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    str_putc(&line, '\n');
    messages_write(&line, "\n");
    str_done(&line);
}

/* Messages that nobody reads end neither the command nor the allocation. */
static void on_messages_drained(void *ctx)
{
    (void)ctx;
}

static void on_messages_broken(void *ctx, const struct err *why)
{
    (void)ctx;
    (void)why;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void send_report(struct run *run);

static void on_reported(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct run *run = ctx;

    (void)reply;
    run->report = NULL;
    print_message(run, 2, "debug:  the controller answers to the release: %s",
                  code < 0 ? err->text : "done");
    if (code < 0 && alloc_is_transient(code) && loop_mono_ms() < run->give_up_at_ms) {
        if (!run->told_away)
            print_message(
                run, 0,
                "The controller is away, the release waits for it up to %lld seconds, or until a "
                "signal (%s)",
                (long long)run->conf->slurmctld_timeout_sec, err->text);
        run->told_away = true;
        loop_timer_set(run->report_timer, RETRY_MS);
        return;
    }
    if (code < 0 && code != -ERR_JOB_DONE && code != -ERR_NO_JOB)
        print_message(run, -1, "The allocation %u was not released: %s; \"scancel %u\" does it",
                      run->job_id, err->text, run->job_id);
    loop_stop(run->loop);
}

static void on_report_timer(void *ctx)
{
    send_report(ctx);
}

static void send_report(struct run *run)
{
    struct Pb__JobComplete m = PB__JOB_COMPLETE__INIT;

    m.job_id = run->job_id;
    m.has_exit_status = 1;
    m.exit_status = run->wait_status;
    run->report = rpc_async_controller(run->loop, run->conf, RPC_JOB_COMPLETE, &m.base, REPORT_MS,
                                       on_reported, run);
}

static void release_allocation(struct run *run)
{
    if (run->ending)
        return;
    run->ending = true;
    loop_timer_set(run->watch_timer, -1);
    if (run->watch != NULL)
        rpc_async_drop(run->watch);
    run->watch = NULL;
    if (run->revoked) {
        loop_stop(run->loop);
        return;
    }
    print_message(run, 0, "Relinquishing job allocation %u", run->job_id);
    run->give_up_at_ms = loop_mono_ms() + run->conf->slurmctld_timeout_sec * 1000;
    send_report(run);
}

/* Ended by a signal of the keyboard or the terminal is a normal end, as with a shell. */
static int exit_of_command(int wait_status)
{
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    switch (WTERMSIG(wait_status)) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGKILL:
        return 0;
    default:
        return 1;
    }
}

static void on_command_end(void *ctx, int wait_status)
{
    struct run *run = ctx;

    run->wait_status = wait_status;
    run->exit_code = exit_of_command(wait_status);
    print_message(run, 2, "debug:  command \"%s\" has ended with status 0x%04x",
                  run->options->argv[0], (unsigned)wait_status);
    if (WIFSIGNALED(wait_status))
        print_message(run, 1, "Command \"%s\" was terminated by signal %d", run->options->argv[0],
                      WTERMSIG(wait_status));
    release_allocation(run);
}

/* --- while the command runs ------------------------------------------------------------------- */

static void send_watch(void *ctx);

static void on_job_end(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct run *run = ctx;
    const struct Pb__JobEnd *end = (const struct Pb__JobEnd *)reply;
    int signo = run->options->kill_signal;

    run->watch = NULL;
    if (code < 0 && alloc_is_transient(code)) {
        loop_timer_set(run->watch_timer, RETRY_MS);
        return;
    }
    if (run->ending)
        return;
    if (code < 0 && code != -ERR_NO_JOB) { /* nothing is known of the job */
        print_message(run, 0, "The end of job %u will not be noticed: %s", run->job_id, err->text);
        return;
    }
    if (code == 0 && end->notice != NULL) {
        _cleanup_str_ struct str text = STR_INIT;

        text_escape_n(end->notice, strlen(end->notice), &text);
        print_message(run, 0, "%s", str_cstr(&text));
        run->seen = end->notice_number;
        send_watch(run);
        return;
    }
    run->revoked = true;
    if (code == 0 && end->state == PB__JOB_STATE__TIMEOUT)
        print_message(run, 0,
                      "Job %u has exceeded its time limit and its allocation has been revoked.",
                      run->job_id);
    else
        print_message(run, 0, "Job allocation %u has been revoked.", run->job_id);
    if (signo == OPT_KILL_AS_FITS)
        signo = isatty(STDIN_FILENO) ? SIGHUP : SIGTERM;
    if (signo != 0)
        session_signal(run->session, signo);
}

static void send_watch(void *ctx)
{
    struct run *run = ctx;
    struct Pb__JobIdRequest m = PB__JOB_ID_REQUEST__INIT;

    m.job_id = run->job_id;
    m.has_notices_seen = m.has_of_job = m.of_job = 1;
    m.notices_seen = run->seen;
    run->watch = rpc_async_controller(run->loop, run->conf, RPC_JOB_WAIT_END, &m.base,
                                      RPC_WAIT_FOREVER, on_job_end, run);
}

static void start_command(struct run *run)
{
    print_message(run, 2, "debug:  running command \"%s\"", run->options->argv[0]);
    struct session_options o = {.argv = run->options->argv,
                                .env = envlist_argv(&run->env),
                                .work_dir = run->options->work_dir,
                                .ignored = &run->ignored,
                                .terminal = isatty(STDIN_FILENO)};
    struct err err = {0};

    if (session_start(run->loop, &o, on_command_end, run, &run->session, &err) < 0) {
        print_message(run, -1, "Unable to run the command: %s", err.text);
        run->exit_code = 1;
        run->wait_status = 1 << 8;
        release_allocation(run);
        return;
    }
    send_watch(run);
}

/* --- the allocation --------------------------------------------------------------------------- */

static void ring_bell(const struct run *run)
{
    enum run_bell bell = run->options->bell;
    bool late = run->queued && loop_mono_ms() - run->queued_at_ms >= BELL_AFTER_MS;

    if (isatty(STDOUT_FILENO) && (bell == RUN_BELL_ALWAYS || (bell == RUN_BELL_LATE && late)))
        path_write_all(STDOUT_FILENO, "\a", 1);
}

static void tell_component(const struct run *run, const struct Pb__AllocReply *reply)
{
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, reply->n_alloc);
    char limit[TIME_TEXT_MAX];
    struct str counts = STR_INIT;

    for (size_t i = 0; i < reply->n_alloc; i++)
        cpus[i] = reply->alloc[i]->cpus;
    jobenv_counts(cpus, reply->n_alloc, &counts);
    print_message(run, 1, "Node list %s, CPUs per node %s, time limit %s, partition %s",
                  reply->nodes != NULL ? reply->nodes : "", str_cstr(&counts),
                  time_format_limit(
                      reply->has_time_limit_sec ? reply->time_limit_sec : TIME_UNLIMITED, limit),
                  reply->partition != NULL ? reply->partition : "");
    str_done(&counts);
}

static void tell_details(const struct run *run, const struct Pb__AllocReply *reply)
{
    tell_component(run, reply);
    for (size_t i = 0; i < reply->n_components; i++)
        tell_component(run, reply->components[i]);
}

static void on_queued(void *ctx, const struct Pb__AllocReply *reply)
{
    struct run *run = ctx;

    run->job_id = reply->job_id;
    run->queued = true;
    run->queued_at_ms = loop_mono_ms();
    if (run->options->job->hold)
        print_message(run, 0, ALLOC_HELD);
    else if (alloc_notice(reply->reason) != NULL)
        print_message(run, 0, "%s", alloc_notice(reply->reason));
    if (reply->message)
        print_message(run, 0, "%s", reply->message);
    print_message(run, 0, "Pending job allocation %u", reply->job_id);
    print_message(run, 0, "job %u queued and waiting for resources", reply->job_id);
}

static void tell_granted(struct run *run, const struct Pb__AllocReply *reply)
{
    run->job_id = reply->job_id;
    if (run->queued)
        print_message(run, 0, "job %u has been allocated resources", reply->job_id);
    if (reply->message != NULL)
        print_message(run, 0, "%s", reply->message);
    print_message(run, 0, "Granted job allocation %u", reply->job_id);
    if (run->options->on_granted != NULL)
        run->options->on_granted(run->options->ctx, reply->job_id);
    print_message(run, 2, "debug:  the controller answers after %lld ms, for %zu nodes",
                  (long long)(loop_mono_ms() - run->asked_at_ms), reply->n_alloc);
    tell_details(run, reply);
}

static void on_configuring(void *ctx, const struct Pb__AllocReply *reply)
{
    struct run *run = ctx;

    run->configuring = true;
    tell_granted(run, reply);
    print_message(run, 0, "Waiting for resource configuration");
}

static void on_granted(void *ctx, const struct Pb__AllocReply *reply)
{
    struct run *run = ctx;

    if (!run->configuring)
        tell_granted(run, reply);
    run->granted = true;
    print_message(run, 0, "Nodes %s are ready for job", reply->nodes != NULL ? reply->nodes : "");
    for (size_t i = 0; i < reply->n_components; i++)
        print_message(run, 0, "Nodes %s are ready for job", reply->components[i]->nodes);
    ring_bell(run);
    if (run->options->no_shell) {
        loop_stop(run->loop);
        return;
    }
    envlist_load_all(&run->env, environ);
    jobenv_alloc(&run->env, reply, run->conf);
    start_command(run);
}

static void on_failed(void *ctx, uint32_t job_id, const struct err *why)
{
    struct run *run = ctx;

    run->exit_code = opt_exit_status("SLURM_EXIT_ERROR", 1);
    if (why->code == -ERR_NODES_BUSY && run->options->immediate_ms >= 0)
        run->exit_code = opt_exit_status("SLURM_EXIT_IMMEDIATE", run->exit_code);
    if (run->interrupted) {
        if (job_id != 0)
            print_message(run, 0, "Job allocation %u has been revoked.", job_id);
        print_message(run, -1, "Job aborted due to signal");
    } else {
        print_message(run, -1, "Job submit/allocate failed: %s", why->text);
        if (run->configuring)
            print_message(run, 0, "Job allocation %u has been revoked.", job_id);
    }
    loop_stop(run->loop);
}

static void on_lost(void *ctx, const struct err *why)
{
    print_message(ctx, 0, "The controller is away, the request is repeated until it answers (%s)",
                  why->text);
}

/* Not before it is told what is waited for: the signal that ended the command can be ours as well.
 */
static void on_signal_at_end(struct run *run, int signo)
{
    if (!run->told_away || signo == SIGUSR1 || signo == SIGUSR2)
        return;
    print_message(run, -1,
                  "The allocation %u was not released: interrupted; \"scancel %u\" does it",
                  run->job_id, run->job_id);
    loop_stop(run->loop);
}

static void on_salloc_signal(void *ctx, int signo)
{
    struct run *run = ctx;

    if (signo == SIGPIPE) /* nobody reads what we say: that ends neither command nor allocation */
        return;
    if (!run->granted) {
        run->interrupted = true;
        alloc_give_up(run->alloc);
        return;
    }
    if (run->ending) {
        on_signal_at_end(run, signo);
        return;
    }
    if (run->session == NULL)
        return;
    if (signo == SIGTERM)
        session_signal(run->session, signo);
    if (signo != SIGHUP)
        return;
    session_signal(run->session, SIGHUP);
    run->wait_status = SIGHUP;
    release_allocation(run);
}

static void tell_backoff(const char *why)
{
    const struct run_options told = {.verbose = 1};
    const struct run run = {.options = &told};

    print_message(&run, 1, "%s: waiting, then asking again", why);
}

/* A shell without job control has what it starts in the background ignore SIGINT and SIGQUIT: they
 * end the waiting all the same. The command ignores what salloc was started with as ignored. */
static void watch_signal(struct run *run, int signo)
{
    struct sigaction now;
    bool is_ignored = sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN;

    if (is_ignored)
        sigaddset(&run->ignored, signo);
    if (!is_ignored || signo == SIGINT || signo == SIGQUIT)
        loop_signal(run->loop, signo, on_salloc_signal, run);
}

int run_to_end(const struct conf *conf, const struct run_options *options)
{
    static const int watched[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
    struct run run = {.conf = conf, .options = options, .loop = loop_new(0)};
    struct alloc_events events = {.on_queued = on_queued,
                                  .on_configuring = on_configuring,
                                  .on_granted = on_granted,
                                  .on_failed = on_failed,
                                  .on_lost = on_lost,
                                  .ctx = &run};

    messages_queue(
        run.loop, "salloc",
        &(struct sink_events){.on_drained = on_messages_drained, .on_broken = on_messages_broken});
    if (options->verbose > 0)
        rpc_on_backoff(tell_backoff);
    if (!options->no_shell && isatty(STDIN_FILENO))
        session_wait_foreground();
    sigemptyset(&run.ignored);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        watch_signal(&run, watched[i]);
    run.watch_timer = loop_timer_new(run.loop, send_watch, &run);
    run.report_timer = loop_timer_new(run.loop, on_report_timer, &run);
    pb__alloc_request__init(&run.ask);
    run.ask.spec = options->job;
    run.ask.components = options->components;
    run.ask.n_components = options->component_count;
    run.asked_at_ms = loop_mono_ms();
    print_message(&run, 2, "debug:  asking the controller of cluster %s for an allocation",
                  conf->cluster_name);
    run.alloc = alloc_start(run.loop, conf, &run.ask,
                            options->immediate_ms > 0 ? options->immediate_ms : -1, &events);
    loop_run(run.loop);
    messages_finish(SESSION_LAST_WORDS_MS);
    alloc_free(run.alloc);
    if (run.watch != NULL)
        rpc_async_drop(run.watch);
    if (run.report != NULL)
        rpc_async_drop(run.report);
    loop_timer_free(run.watch_timer);
    loop_timer_free(run.report_timer);
    envlist_done(&run.env);
    loop_free(run.loop);
    session_free(run.session); /* after the loop, whose signals know it */
    return run.exit_code;
}
