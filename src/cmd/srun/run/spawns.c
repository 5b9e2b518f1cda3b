/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/spawns.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/envlist.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/across.h"
#include "cmd/srun/run/exchange.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "rpc/link.h"

#define QUESTIONS_MAX 65536 /* maximum number of unanswered name requests */
#define LOW_FD 16           /* inherited descriptors are moved above their final numbers */

extern char **environ;

/* One spawned step. It is over when its srun has ended and all its messages have been read. */
struct spawn {
    struct spawns *all;
    struct spawn *next;
    pid_t pid; /* 0: ended */
    int wait_status;
    struct rpc_link *link; /* NULL: closed */
    uint32_t node, id;     /* of the requesting task */
    uint32_t number;       /* of the link */
    bool begun, answered;
};

/* A name request of a spawned step. */
struct question {
    UT_hash_handle hh;
    uint32_t id; /* own request id */
    struct spawn *from;
    uint64_t link_id;
};

struct spawns {
    struct run *run;
    struct spawn *list;
    unsigned count;
    struct question *questions;
    uint32_t next_id, next_number;
};

struct spawns *spawns_new(struct run *run)
{
    struct spawns *s = mem_new(struct spawns);

    s->run = run;
    return s;
}

static void drop_questions(struct spawns *s, const struct spawn *from)
{
    struct question *q, *next;

    HASH_ITER (hh, s->questions, q, next) {
        if (from != NULL && q->from != from)
            continue;
        HASH_DEL(s->questions, q);
        free(q);
    }
}

static void spawn_free(struct spawn *p)
{
    struct spawn **at = &p->all->list;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->all->count--;
    drop_questions(p->all, p);
    across_on_gone(p->all->run->across, p->number);
    rpc_link_free(p->link);
    free(p);
}

void spawns_free(struct spawns *s)
{
    if (s == NULL)
        return;
    spawns_signal(s, SIGTERM);
    while (s->list != NULL)
        spawn_free(s->list);
    free(s);
}

bool spawns_left(const struct spawns *s)
{
    return s != NULL && s->list != NULL;
}

void spawns_signal(struct spawns *s, int signo)
{
    for (struct spawn *p = s != NULL ? s->list : NULL; p != NULL; p = p->next)
        if (p->pid > 0)
            kill(p->pid, signo);
}

bool spawns_send(struct spawns *s, uint32_t number, enum rpc_number rpc, const ProtobufCMessage *m)
{
    for (struct spawn *p = s->list; p != NULL; p = p->next)
        if (p->number == number && p->link != NULL) {
            rpc_link_send(p->link, rpc, false, 0, m);
            return true;
        }
    return false;
}

void spawns_send_all(struct spawns *s, enum rpc_number rpc, const ProtobufCMessage *m)
{
    for (struct spawn *p = s->list; p != NULL; p = p->next)
        spawns_send(s, p->number, rpc, m);
}

static void refuse_spawn(struct spawns *s, uint32_t node, uint32_t id, const struct err *why)
{
    Pb__Spawned m = PB__SPAWNED__INIT;

    m.id = id;
    m.code = -why->code;
    m.text = (char *)why->text;
    say_error("Unable to spawn: %s", why->text);
    peers_send(s->run->peers, node, RPC_SPAWNED, &m.base);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void apply_exit_code(struct run *run, int exit_code)
{
    run_at_least(run, exit_code);
    if (exit_code != 0 && run->options->kill_on_bad_exit && !run->options->no_kill)
        run->on->abort(run, NULL);
}

/* If the step has not started, its request fails; the program has to handle that. */
static void check_over(struct spawn *p)
{
    struct spawns *s = p->all;
    struct err why = {0};

    if (p->pid > 0 || p->link != NULL)
        return;
    if (!p->answered) {
        err_set(&why, -ERR_LAUNCH, "the srun of the new step has ended with status %d",
                status_of(p->wait_status));
        refuse_spawn(s, p->node, p->id, &why);
    }
    if (p->begun)
        apply_exit_code(s->run, status_of(p->wait_status));
    spawn_free(p);
    if (s->list == NULL)
        s->run->on->spawns_over(s->run);
}

static void on_spawned_exit(void *ctx, pid_t pid, int wait_status)
{
    struct spawns *s = ctx;

    for (struct spawn *p = s->list; p != NULL; p = p->next)
        if (p->pid == pid) {
            p->pid = 0;
            p->wait_status = wait_status;
            check_over(p);
            return;
        }
}

/* --- messages of the spawned srun ------------------------------------------------------------- */

static void on_spawned(struct spawn *p, const Pb__Spawned *m)
{
    Pb__Spawned sent = *m;

    if (p->answered)
        return;
    p->answered = true;
    p->begun = m->code == 0;
    sent.id = p->id;
    peers_send(p->all->run->peers, p->node, RPC_SPAWNED, &sent.base);
}

static void on_name(struct spawn *p, uint64_t link_id, const Pb__NameRequest *m)
{
    struct spawns *s = p->all;
    Pb__NameRequest sent = *m;
    struct question *q;

    if (HASH_COUNT(s->questions) >= QUESTIONS_MAX) {
        Pb__NameReply refused = PB__NAME_REPLY__INIT;

        refused.id = m->id;
        rpc_link_send(p->link, RPC_PMIXD_NAME, true, link_id, &refused.base);
        return;
    }
    q = mem_new(struct question);
    q->id = sent.id = ++s->next_id;
    q->from = p;
    q->link_id = link_id;
    HASH_ADD(hh, s->questions, id, sizeof(q->id), q);
    exchange_name(s->run->exchange, EXCHANGE_SPAWNED, &sent);
}

void spawns_name_reply(struct spawns *s, const Pb__NameReply *reply)
{
    struct question *q;

    HASH_FIND(hh, s->questions, &reply->id, sizeof(reply->id), q);
    if (q == NULL)
        return;
    if (q->from->link != NULL)
        rpc_link_send(q->from->link, RPC_PMIXD_NAME, true, q->link_id, &reply->base);
    HASH_DEL(s->questions, q);
    free(q);
}

/* The requesting task would wait for ever. */
static void on_broken(struct run *run, const Pb__KvsAbort *why)
{
    if (run->phase != RUN_RUNNING || run->aborting)
        return;
    say_error("%s has spawned a step that ends: %s", run->step_name,
              why->text != NULL ? why->text : "");
    run_abort_with(run, why->exit_code);
}

static void on_spawns_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                              const ProtobufCMessage *body)
{
    struct spawn *p = ctx;
    bool reply = h->flags & RPC_FLAG_REPLY;

    (void)l;
    if (h->rpc == RPC_PMIXD_SPAWN && reply)
        on_spawned(p, (const Pb__Spawned *)body);
    else if (h->rpc == RPC_PMIXD_NAME && !reply)
        on_name(p, h->id, (const Pb__NameRequest *)body);
    else if (h->rpc == RPC_PMIXD_FENCE)
        across_on_fence(p->all->run->across, p->number, (const Pb__PmixFence *)body);
    else if (h->rpc == RPC_PMIXD_GET)
        across_get(p->all->run->across, (const Pb__PmixGet *)body);
    else if (h->rpc == RPC_PMIXD_GOT)
        across_got(p->all->run->across, (const Pb__PmixGot *)body);
    else if (h->rpc == RPC_PMIXD_ABORT && !reply)
        on_broken(p->all->run, (const Pb__KvsAbort *)body);
}

static void on_spawns_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct spawn *p = ctx;

    (void)why;
    p->link = NULL;
    rpc_link_free(l);
    check_over(p);
}

/* --- the start -------------------------------------------------------------------------------- */

static int write_order(const struct run *run, const Pb__Spawn *m, struct err *err)
{
    Pb__SpawnOrder order = PB__SPAWN_ORDER__INIT;
    _cleanup_str_ struct str bytes = STR_INIT;
    _cleanup_close_ int fd = memfd_create("spawn", MFD_CLOEXEC);
    int above = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOW_FD);

    order.spawn = (Pb__Spawn *)m;
    order.job_id = run->job_id;
    order.step_id = run->step_id;
    order.has_restarts = run->step->has_restarts;
    order.restarts = run->step->restarts;
    order.mpi = (char *)run->options->mpi;
    pb_pack(&order.base, &bytes);
    if (above < 0 || path_write_all(above, bytes.data, bytes.len) < 0 ||
        lseek(above, 0, SEEK_SET) < 0) {
        err_set(err, -errno, "cannot write an order for another srun: %s", strerror(errno));
        if (above >= 0)
            close(above);
        return err->code;
    }
    return above;
}

/* Starts the same program with the same options; the order has the differences. Ctrl-C goes to this
 * srun, which forwards its effect. */
static int start_program(const struct run *run, int link_fd, int order_fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    struct envlist env = {0};
    sigset_t every, none;
    int code;

    sigfillset(&every);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, link_fd, SPAWNED_LINK_FD);
    posix_spawn_file_actions_adddup2(&files, order_fd, SPAWNED_ORDER_FD);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETPGROUP);
    envlist_load_all(&env, environ);
    envlist_set(&env, SPAWNED_VARIABLE, "1");
    code = posix_spawn(pid, "/proc/self/exe", &files, &attr, run->options->self_argv,
                       envlist_argv(&env));
    envlist_done(&env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

static int start_spawn(struct spawn *p, const Pb__Spawn *m, struct err *err)
{
    const struct rpc_link_events events = {on_spawns_message, on_spawns_close, p};
    struct run *run = p->all->run;
    _cleanup_close_ int order = write_order(run, m, err), theirs = -1;
    int pair[2], code;

    if (order < 0)
        return order;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, LOW_FD);
    close(pair[1]);
    code = theirs < 0 ? errno : start_program(run, theirs, order, &p->pid);
    if (code != 0) {
        close(pair[0]);
        return err_set(err, -code, "cannot start another srun: %s", strerror(code));
    }
    loop_child(run->loop, p->pid, on_spawned_exit, p->all);
    p->link = rpc_link_new(run->loop, pair[0], &events);
    return 0;
}

static int check_spawn(const struct spawns *s, struct err *err)
{
    const struct run *run = s->run;

    if (run->phase != RUN_RUNNING || run->aborting)
        return err_set(err, -ERR_LAUNCH, "the step is about to end");
    if (run->options->no_allocate)
        return err_set(err, -ERR_NOT_SUPPORTED, "a step of no job has no further ones");
    if (s->count >= SPAWNS_MAX)
        return err_set(err, -ERR_LIMIT, "%d spawned steps run already", SPAWNS_MAX);
    return 0;
}

void spawns_ask(struct spawns *s, uint32_t node, const Pb__Spawn *m)
{
    struct err err = {0};
    struct spawn *p;

    if (check_spawn(s, &err) < 0) {
        refuse_spawn(s, node, m->id, &err);
        return;
    }
    p = mem_new(struct spawn);
    p->all = s;
    p->node = node;
    p->id = m->id;
    p->number = s->next_number++;
    p->next = s->list;
    s->list = p;
    s->count++;
    if (start_spawn(p, m, &err) < 0) {
        refuse_spawn(s, node, m->id, &err);
        spawn_free(p);
    }
}
