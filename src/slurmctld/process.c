/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include "slurmctld/process.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/diag.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/job_comp.h"
#include "slurmctld/core/names.h"
#include "slurmctld/dispatch.h"
#include "slurmctld/env.h"
#include "slurmctld/http.h"
#include "slurmctld/jwt.h"
#include "slurmctld/lead/backup.h"
#include "slurmctld/node/node_dynamic.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/payload.h"
#include "slurmctld/node/send.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/node/summon.h"
#include "slurmctld/reload.h"
#include "slurmctld/script/scripts.h"
#include "slurmctld/submit/submit_env.h"
#include "slurmctld/submit/submit_wait.h"
#include "slurmctld/unnamed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/port.h"

/* Threads: commits; record reads and configuration reads; lookups of host names and of users. Each
 * has its own lane, so that a hung name service blocks no other worker. */
#define WORKERS 5

/* End of a turn: input has been applied; plans, commits, and releases output. */

static void on_turn(void *ctx)
{
    struct ctld *c = ctx;
    if (!c->control)
        return;
    c->turns++;
    control_turn(c->control);
    dispatch_announced(c);
    outbox_turn(c->outbox);
    send_queue_read(c);
}

static void on_durable(void *ctx)
{
    struct ctld *c = ctx;
    if (c->closed) /* no caller is left */
        return;
    c->commits++;
    if (c->scripts)
        scripts_renew(c->scripts, c->commit_began_ms);
    outbox_durable(c->outbox);
    send_queue_read(c);
    if (c->trims > 0) {
        c->trims--;
        malloc_trim(0);
    }
}

static bool is_changed(void *ctx)
{
    return !store_batch_empty(((struct ctld *)ctx)->batch);
}

static void on_commit(void *ctx)
{
    struct ctld *c = ctx;
    struct store_batch *batch = take_ptr(c->batch);
    c->batch = store_batch_new();
    c->commit_began_ms = loop_mono_ms();
    store_commit(c->store, batch, on_durable, c);
}

/* Delay of a commit that no caller waits for, so that it is combined with other changes. */
#define DEFER_COMMIT_MS 5

static void on_defer(void *ctx)
{
    struct ctld *c = ctx;
    loop_timer_set(c->defer, DEFER_COMMIT_MS);
}

static void on_defer_over(void *ctx)
{
    outbox_hurry(((struct ctld *)ctx)->outbox);
}

/* Returns freed memory of jobs to the system, which the C library otherwise keeps because other
 * records lie between. The effort is not worthwhile if fewer than TRIM_JOBS jobs, or fewer than
 * a quarter of the peak, have gone. The batch that deletes the records is equally large: it is the
 * batch being collected, after the one being committed. */
#define TRIM_JOBS 500
#define TRIM_COMMITS 2

static void give_back_memory(struct ctld *c)
{
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_stats(c->control, &stats);
    size_t jobs = stats.jobs;
    if (jobs > c->jobs_peak)
        c->jobs_peak = jobs;
    if (c->jobs_peak - jobs < TRIM_JOBS || c->jobs_peak - jobs < c->jobs_peak / 4)
        return;
    malloc_trim(0);
    c->trims = TRIM_COMMITS;
    c->jobs_peak = jobs;
}

static void on_wake(void *ctx)
{
    struct ctld *c = ctx;
    control_tick(c->control);
    give_back_memory(c);
}

/* Events. */

static void on_gone(void *ctx, uint64_t call)
{
    struct ctld *c = ctx;
    backup_call_gone(c, call);
    unnamed_drop(c, call);
    submit_wait_drop(c, call);
    answers_forget(c->answers, call);
    dispatch_drop_listing(c, call);
    if (c->control)
        control_call_gone(c->control, call);
}

static void on_refused(void *ctx, const char *peer, const char *why)
{
    static struct log_limits limits = {.burst = 60};
    if (log_allow_source(&limits, log_source(peer)))
        log_error("refused: %s: %s", peer, why);
}

static void log_connections(const struct ctld *c)
{
    struct rpc_server_counts n = rpc_server_count(c->server);
    log_info("SIGPROF: %u connections of users, %u of callers who are not known yet, %u requests "
             "without an answer",
             n.users, n.strangers, n.calls);
}

static void on_signal(void *ctx, int signo)
{
    struct ctld *c = ctx;
    struct err err = {0};
    switch (signo) {
    case SIGHUP:
        log_info("SIGHUP: reading the configuration again");
        if (c->control)
            reload_start(c, 0, false);
        else
            backup_reload(c, &err);
        break;
    case SIGUSR2:
        files_reopen_log(c);
        job_comp_close(c);
        log_info("SIGUSR2: the log was opened again");
        break;
    case SIGPROF:
        log_connections(c);
        break;
    case SIGTERM:
    case SIGINT:
    case SIGQUIT:
        log_info("SIG%s: stopping", sigabbrev_np(signo));
        stop_begin(c);
        break;
    default:
        log_debug("SIG%s is ignored", sigabbrev_np(signo));
    }
}

static void on_signals(void *ctx, int fd, unsigned events)
{
    struct signalfd_siginfo came;
    while (read(fd, &came, sizeof(came)) == sizeof(came))
        on_signal(ctx, (int)came.ssi_signo);
}

/* Signals stay blocked and pending until they are read: when this process executes itself again,
 * no signal ends it or is lost. */
static int take_signals(struct ctld *c, struct err *err)
{
    sigset_t ours;
    sigemptyset(&ours);
    static const int handled[] = {SIGTERM, SIGINT,  SIGQUIT, SIGHUP, SIGUSR2,
                                  SIGUSR1, SIGALRM, SIGXCPU, SIGPROF};
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        sigaddset(&ours, handled[i]);
    c->signal_fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
    if (c->signal_fd < 0)
        return err_set(err, -errno, "signalfd: %s", strerror(errno));
    sigprocmask(SIG_BLOCK, &ours, NULL);
    c->signals = loop_fd_new(c->loop, c->signal_fd, LOOP_READ, on_signals, c);
    return 0;
}

static void on_names(void *ctx)
{
    struct ctld *c = ctx;
    unnamed_continue(c);
    if (c->server)
        rpc_server_users_known(c->server);
}

int process_open(struct ctld *c, struct conf *conf, size_t me, struct err *err)
{
    char host[256] = "localhost";
    if (gethostname(host, sizeof(host) - 1) == 0)
        c->host = mem_strdup(host);
    c->name = mem_strdup(conf->controllers.data[me].name);
    c->conf = conf;
    c->boot_at_sec = loop_wall_ms() / 1000;
    c->loop = loop_new(WORKERS);
    c->names = names_new(c->loop, on_names, c);
    names_set_max_age(c->names, conf->group_update_time_sec * 1000);
    c->payloads = payload_cache_new(CTLD_PAYLOAD_CACHE);
    c->send_queues = send_queues_new();
    c->batch = store_batch_new();
    c->outbox = outbox_new(&(struct outbox_ops){.send = send_item,
                                                .changed = is_changed,
                                                .commit = on_commit,
                                                .defer = on_defer,
                                                .ctx = c});
    c->answers = answers_new(c);
    c->diag = diag_new();
    c->wake = loop_timer_new(c->loop, on_wake, c);
    c->defer = loop_timer_new(c->loop, on_defer_over, c);
    c->dispatch = dispatch_request;
    env_init(&c->env, c);
    loop_on_turn(c->loop, on_turn, c);
    return take_signals(c, err);
}

static bool is_in_digits(const char *addr)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, addr, bytes) == 1 || inet_pton(AF_INET6, addr, bytes) == 1;
}

static void tell_port_in_use(const char *why)
{
    log_error("SlurmctldPort: %s", why);
}

/* Listens at the address in brackets if it is an address of this host, because two controllers on
 * one host use the same port. A name may resolve to a part of the host's addresses only (often
 * 127.0.1.1), and an address may belong to a router in front: then it listens at all addresses. */
static int listen_port(struct ctld *c, const struct conf_host *me, uint16_t port, struct err *err)
{
    int rc = -EADDRNOTAVAIL;
    if (me->in_brackets && is_in_digits(me->own_addr))
        rc = rpc_port_listen(c->server, me->own_addr, port, tell_port_in_use, err);
    if (rc == -EADDRNOTAVAIL)
        rc = rpc_port_listen(c->server, NULL, port, tell_port_in_use, err);
    return rc < 0 ? err_prefix(err, "SlurmctldPort") : 0;
}

int process_listen(struct ctld *c, struct err *err)
{
    const struct conf *conf = ctld_conf(c);
    const struct conf_host *me = ctld_me(c);
    struct rpc_server_options options = {
        .loop = c->loop,
        .key = &c->key,
        .audience = "slurmctld",
        .admin_uid = conf->slurm_uid,
        .node_uid = conf->slurmd_uid,
    };
    struct rpc_server_events events = {
        .on_request = dispatch_request,
        .on_gone = on_gone,
        .on_drained = dispatch_continue_listing,
        .on_session = nodes_accept,
        .on_refused = on_refused,
        .on_http = conf_offers_http(conf) ? http_answer : NULL,
        .ctx = c,
    };
    rpc_set_encryption(conf_encrypts(conf));
    c->server = rpc_server_new(&options, &events);
    jwt_accept(c);
    ctld_limit_requests(c);
    for (unsigned port = conf->slurmctld_port;
         port <= conf->slurmctld_port || port <= conf->slurmctld_port_last; port++) {
        int rc = listen_port(c, me, (uint16_t)port, err);
        if (rc < 0)
            return rc;
    }
    _cleanup_free_ char *name = conf_socket_controller(me);
    int rc = rpc_server_listen_here(c->server, conf, name, err);
    if (rc > 0)
        log_info("the local socket is in %s: SlurmUser %s cannot write to %s",
                 conf->socket_dirs[rc], conf->slurm_user, conf->socket_dirs[0]);
    return rc < 0 ? rc : 0;
}

void process_run(struct ctld *c)
{
    on_turn(c); /* for changes made by control_start() */
    loop_run(c->loop);
}

void process_close(struct ctld *c)
{
    c->closed = true;
    job_comp_close(c);
    backup_close(c);
    summon_end(c);
    stop_drop_peers(c);
    dispatch_drop_listings(c);
    unnamed_drop_all(c);
    submit_env_done(c);
    node_dynamic_done(c);
    nodes_forget(c);
    scripts_free(c->scripts);
    scripts_free(c->programs);
    store_close(
        take_ptr(c->store)); /* before the port is closed, which makes a successor take the lead */
    rpc_server_free(c->server);
    http_done(c);
    control_free(c->control);
    conf_free(c->conf);
    answers_free(c->answers);
    diag_free(c->diag);
    outbox_free(c->outbox);
    store_batch_free(c->batch);
    payload_cache_free(c->payloads);
    send_queues_free(c->send_queues);
    names_free(c->names);
    loop_timer_free(c->wake);
    loop_timer_free(c->defer);
    loop_timer_free(c->stop_timer);
    loop_timer_free(c->gather);
    loop_timer_free(c->watch);
    auth_signer_free(c->signer);
    auth_key_done(&c->key);
    auth_jwt_key_done(&c->jwt_key);
    if (c->signals) {
        loop_fd_free(c->signals);
        close(c->signal_fd);
    }
    loop_free(c->loop);
    conf_report_done(&c->warned);
    free(c->conf_path);
    free(c->host);
    free(c->name);
    free(c->successor);
}
