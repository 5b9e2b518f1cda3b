/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/life/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/signame.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/life/start.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/watch.h"
#include "slurmstepd/task/adopt.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/task.h"

#define ADOPTERS_MAX 8           /* daemons connected at the same time */
#define EARLY_MESSAGES_MAX 65536 /* bytes of messages for a step before it has an output */

char *control_file(const char *dir, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                   const char *suffix)
{
    return mem_printf("%s/steps/%u.%u.%u.%s", dir, job_id, restarts, step_id, suffix);
}

/* A signal during the setup of the tasks would end a child before exec and count as a failed
   launch. */
static bool keep_if_early(struct step *step, int signo, bool leader_only)
{
    if (!step_is_starting(step) || signo == SIGKILL)
        return false;
    step->early[leader_only] |= UINT64_C(1) << (signo - 1);
    return true;
}

void control_signal_early(struct step *step)
{
    for (int leader_only = 0; leader_only < 2; leader_only++)
        for (int signo = 1; signo <= 64; signo++)
            if (step->early[leader_only] >> (signo - 1) & 1)
                control_signal(step, signo, leader_only);
}

void control_signal(struct step *step, int signo, bool leader_only)
{
    if (keep_if_early(step, signo, leader_only))
        return;
    if (signo == SIGCONT && step->halted) /* suspended: only the controller resumes it */
        return;
    journal_tell(step, LOG_LVL_INFO, "signal SIG%s for %s", signame_format(signo),
                 leader_only ? "the first processes of its tasks" : "its tasks");
    if (signo == SIGKILL && !leader_only) {
        contain_signal_all(step, SIGKILL);
        return;
    }
    if (!leader_only && contain_signals_all(step)) {
        contain_signal_all(step, signo);
        return;
    }
    for (size_t i = 0; i < step->task_count; i++)
        if (step->tasks[i].pid)
            kill(leader_only ? step->tasks[i].pid : -step->tasks[i].pid, signo);
}

void control_halt(struct step *step, bool stop, int signo)
{
    if (step_is_ordered(step) || step_has_ended(step))
        return;
    step->halted = stop;
    if (step_is_starting(step)) /* its tasks stop before their first instruction */
        return;
    if (signo == SIGSTOP)
        contain_stop_all(step);
    if (signo == SIGCONT)
        contain_go_on(step);
    if (signo == SIGTSTP || signo == SIGCONT)
        contain_signal_all(step, signo);
}

/* Returns whether this delivery is a repeat; remembers it. */
static bool has_seen_delivery(struct step *step, uint64_t nonce)
{
    for (size_t i = 0; nonce && i < STEP_NONCES; i++)
        if (step->nonces[i] == nonce)
            return true;
    step->nonces[step->nonce_next++ % STEP_NONCES] = nonce;
    return false;
}

/* Messages before there is an output are kept and written later. */
static void on_say(struct step *step, const Pb__StepdSignal *m)
{
    bool early =
        step_is_starting(step) && step->early_messages.len + strlen(m->say) <= EARLY_MESSAGES_MAX;
    bool late = step_is_running(step) || step->phase == STEP_KILLING;
    if ((!early && !late) || (m->has_nonce && has_seen_delivery(step, m->nonce)))
        return;
    if (early)
        str_puts(&step->early_messages, m->say);
    else
        journal_say(step, m->say);
}

/* The tasks of a running step get it from their srun, once. A signal before they run is kept, and
 * srun has no connection yet by which it could be forwarded. */
static bool is_left_to_srun(const struct step *step, const Pb__StepdSignal *m)
{
    return m->has_forwarded && m->forwarded && !step_is_starting(step);
}

static void on_signal(struct step *step, const Pb__StepdSignal *m)
{
    if (m->say)
        on_say(step, m);
    else if (m->has_halt)
        control_halt(step, m->halt, m->signal);
    else if (m->over_memory)
        finish_over_memory(step, m->over_memory);
    else if (m->has_terminate && m->terminate)
        finish_terminate(step, m->has_grace_sec ? m->grace_sec : step->kill_wait_sec,
                         m->why ? m->why : "");
    else if (m->signal > 0 && m->signal < NSIG &&
             !(m->has_nonce && has_seen_delivery(step, m->nonce)) && !is_left_to_srun(step, m))
        control_signal(step, m->signal, m->has_batch_only && m->batch_only);
}

static void on_query(struct step *step, struct rpc_link *l, uint64_t id)
{
    Pb__StepdState m = PB__STEPD_STATE__INIT;
    uint32_t *pids = mem_new_array(uint32_t, step->task_count + 1);
    uint32_t *ranks = mem_new_array(uint32_t, step->task_count + 1);

    m.job_id = step->job_id;
    m.restarts = step->restarts;
    m.step_id = step->step_id;
    m.uid = step->uid;
    m.has_pid = true;
    m.pid = (uint32_t)step->pid;
    m.has_acctg_sec = step->has_acctg_sec;
    m.acctg_sec = step->acctg_sec;
    for (size_t i = 0; i < step->task_count; i++)
        if (step->tasks[i].pid) {
            pids[m.n_task_pid++] = (uint32_t)step->tasks[i].pid;
            ranks[m.n_task_id++] = step->tasks[i].id;
        }
    m.task_pid = pids;
    m.task_id = ranks;
    m.has_cred = true;
    m.cred.data = (uint8_t *)step->cred.data;
    m.cred.len = step->cred.len;
    rpc_link_send(l, RPC_STEPD_QUERY, true, id, &m.base);
    free(pids);
    free(ranks);
}

static void on_attach(struct step *step, struct rpc_link *l, uint64_t id, const Pb__StepdAttach *m)
{
    Pb__StepdAttached done = PB__STEPD_ATTACHED__INIT;
    struct err err = {0};

    done.code = -watch_add(step, m, &err);
    done.text = done.code ? err.text : NULL;
    rpc_link_send(l, RPC_STEPD_ATTACH, true, id, &done.base);
}

static void on_adopt(struct step *step, struct rpc_link *l, uint64_t id, const Pb__StepdAdopt *m)
{
    Pb__StepdAdopted done = PB__STEPD_ADOPTED__INIT;
    struct err err = {0};

    done.code = step->is_extern ? -adopt_take(step, m, &err) : ERR_NO_STEP;
    done.text = done.code ? err.text : NULL;
    rpc_link_send(l, RPC_STEPD_ADOPT, true, id, &done.base);
}

static void on_daemon_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                              const ProtobufCMessage *body)
{
    struct step *step = ctx;
    Pb__Empty done = PB__EMPTY__INIT;

    if (h->flags & RPC_FLAG_REPLY) {
        if (h->rpc == RPC_STEPD_ENDED && l == step->daemon)
            finish_confirmed(step);
        return;
    }
    switch (h->rpc) {
    case RPC_STEPD_START:
        if (l == step->daemon && !step->node)
            start_step(step, h->id, (const Pb__StepdStart *)body);
        break;
    case RPC_STEPD_SIGNAL:
        if (step->node)
            on_signal(step, (const Pb__StepdSignal *)body);
        rpc_link_send(l, RPC_STEPD_SIGNAL, true, h->id, &done.base);
        if (((const Pb__StepdSignal *)body)->terminate)
            finish_let_go(step);
        break;
    case RPC_STEPD_QUERY:
        if (step->node)
            on_query(step, l, h->id);
        break;
    case RPC_STEPD_ATTACH:
        if (step->node)
            on_attach(step, l, h->id, (const Pb__StepdAttach *)body);
        break;
    case RPC_STEPD_ADOPT:
        if (step->node)
            on_adopt(step, l, h->id, (const Pb__StepdAdopt *)body);
        break;
    default:
        break;
    }
}

static void on_daemon_closed(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct step *step = ctx;

    rpc_link_free(l);
    if (l == step->daemon)
        step->daemon = NULL;
    for (size_t i = 0; i < step->adopters.len; i++)
        if (step->adopters.data[i] == l) {
            vec_remove(&step->adopters, i);
            break;
        }
    if (!step->node) { /* there was no start message */
        loop_stop(step->loop);
    } else if (!step->daemon && finish_is_unconfirmed(step)) {
        finish_keep_result(step);
        finish_check(step);
    }
}

static struct rpc_link *link_to(struct step *step, int fd)
{
    struct rpc_link_events events = {on_daemon_message, on_daemon_closed, step};

    return rpc_link_new(step->loop, fd, &events);
}

void control_open(struct step *step, int fd)
{
    step->daemon = link_to(step, fd);
}

static void on_connection(void *ctx, int fd, unsigned ready)
{
    struct step *step = ctx;
    struct auth_identity who;
    int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (got < 0)
        return;
    if (step->adopters.len >= ADOPTERS_MAX || auth_peer(got, &who, NULL) ||
        (who.uid != 0 && who.uid != step->slurmd_uid)) {
        close(got);
        return;
    }
    vec_push(&step->adopters, link_to(step, got));
}

/* While this process is stopped, every daemon that starts leaves a connection in the queue. */
static int bind_and_listen(int fd, const char *path, struct err *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(addr.sun_path))
        return err_set(err, -ENAMETOOLONG,
                       "%s is too long for a socket: choose a shorter "
                       "SlurmdSpoolDir",
                       path);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, SOMAXCONN))
        return err_set(err, -errno, "cannot listen on %s: %s", path, strerror(errno));
    return 0;
}

static char *claim_file(const struct step *step)
{
    return control_file(step->dir, step->job_id, step->restarts, step->step_id, "sock");
}

static char *unclaimed_file(const struct step *step)
{
    return mem_printf("%s/steps/%d", step->dir, (int)step->pid);
}

static int report_lost_daemon(const struct step *step, struct err *err)
{
    return err_set(err, -ERR_CLOSED, "step %s: the slurmd that was to start the step has ended",
                   step->name);
}

int control_claim(struct step *step, struct err *err)
{
    _cleanup_free_ char *path = claim_file(step), *ours = unclaimed_file(step);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask;
    int rc;

    if (rpc_link_is_hung_up(step->daemon))
        return report_lost_daemon(step, err);
    if (fd < 0)
        return err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    mask = umask(0077);
    rc = bind_and_listen(fd, ours, err);
    if (rc == -EADDRINUSE && unlink(ours) == 0) /* left by an earlier process with our pid */
        rc = bind_and_listen(fd, ours, err);
    umask(mask);
    /* The socket listens before it gets its name, so a daemon that finds the name can connect. */
    if (!rc && (rc = path_rename_new(ours, path)))
        err_set(err, rc, "cannot claim step %s by %s: %s", step->name, path, strerror(-rc));
    if (rc) {
        unlink(ours);
        return rc;
    }
    step->listen_fd = take_fd(&fd);
    step->listen_watch = loop_fd_new(step->loop, step->listen_fd, LOOP_READ, on_connection, step);
    return 0;
}

int control_claim_stands(struct step *step, struct err *err)
{
    _cleanup_free_ char *path = claim_file(step), *ours = unclaimed_file(step);
    struct pollfd came = {.fd = step->listen_fd, .events = POLLIN};
    bool found;

    if (!rpc_link_is_hung_up(step->daemon) || rename(path, ours))
        return 0;
    /* The name is gone now. Another shepherd may have claimed the step meanwhile, so rename()
       cannot be used to restore it. */
    found = poll(&came, 1, 0) == 1 && link(ours, path) == 0;
    unlink(ours);
    return found ? 0 : report_lost_daemon(step, err);
}

void control_tell_ended(struct step *step, const Pb__StepdEnded *m)
{
    if (step->daemon)
        rpc_link_send(step->daemon, RPC_STEPD_ENDED, false, 0, &m->base);
    vec_foreach (&step->adopters, l)
        rpc_link_send(*l, RPC_STEPD_ENDED, false, 0, &m->base);
}

bool control_idle(const struct step *step)
{
    size_t waiting = step->daemon ? rpc_link_backlog(step->daemon) : 0;

    for (size_t i = 0; i < step->adopters.len; i++)
        waiting += rpc_link_backlog(step->adopters.data[i]);
    return !waiting;
}

void control_done(struct step *step)
{
    if (step->listen_watch)
        loop_fd_free(take_ptr(step->listen_watch));
    if (step->listen_fd >= 0)
        close(take_fd(&step->listen_fd));
    rpc_link_free(take_ptr(step->daemon));
    vec_foreach (&step->adopters, l)
        rpc_link_free(*l);
    vec_done(&step->adopters);
}
