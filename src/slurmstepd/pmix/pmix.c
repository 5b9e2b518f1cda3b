/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/pmix/pmix.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/envlist.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/path.h"
#include "rpc/link.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/task/child.h"
#include "slurmstepd/task/task.h"
#include "slurmstepd/task/wipe.h"

/* Milliseconds for its last answer; a stopped server does not block the step. */
#define LEFT_MS 5000
/* Milliseconds; libpmix starts within 100 ms on a node that is not overloaded. */
#define READY_MS 60000
/* Bytes queued for the server; libpmix reads available bytes at once. */
#define UNREAD_MAX (64u << 20)
#define QUESTIONS_MAX 65536 /* unanswered names */

/* A name request of the server to srun. srun's request ids have fewer bits than those of a
   link. */
struct question {
    UT_hash_handle hh;
    uint32_t id;
    uint64_t link_id;
    uint32_t said; /* id used with srun */
};

struct pmix {
    struct rpc_link *link; /* NULL: closed */
    pid_t pid;
    char *top; /* our directory, which the user may only traverse */
    char *dir; /* the user's directory */
    struct loop_timer *patience;
    bool ready, asked, answered; /* see pmix_asks() */
    bool was_deaf;
    struct arena arena;
    Pb__PmixStarted *answer; /* has the environments of the tasks */
    struct question *questions;
    uint32_t next_id;
};

bool pmix_wanted(const struct step *step)
{
    const char *kind = step->launch ? step->launch->mpi : NULL;

    return kind && str_starts(kind, "pmix");
}

static void abort_start(struct step *step, int code, const char *text)
{
    loop_timer_set(step->pmix->patience, -1);
    step->life->fail_start(step, code, text);
}

/* The tasks have lost their server and would wait for each other forever. */
static void handle_server_loss(struct step *step, const char *why)
{
    _cleanup_free_ char *text = mem_printf("the PMIx server of this node %s", why);

    if (!step->pmix->ready) {
        abort_start(step, ERR_LAUNCH, text);
    } else if (step->phase == STEP_RUNNING && step->left) {
        srun_abort(step, 1, text, true);
        step->life->terminate(step, step->kill_wait_sec, NULL);
    }
}

static void on_pmix_ended(void *ctx, pid_t pid, int wait_status)
{
    struct step *step = ctx;
    _cleanup_free_ char *why = WIFSIGNALED(wait_status)
                                   ? mem_printf("was ended by signal %d", WTERMSIG(wait_status))
                                   : mem_printf("has ended with code %d", WEXITSTATUS(wait_status));

    step->pmix->pid = 0;
    handle_server_loss(step, step->pmix->was_deaf ? "does not read what it is told" : why);
    step->life->check(step);
}

/* Sends to the server, which the user may have stopped. */
static void send_to_server(struct step *step, enum rpc_number rpc, bool reply, uint64_t id,
                           const ProtobufCMessage *m)
{
    struct pmix *p = step->pmix;

    if (!p || !p->link)
        return;
    if (rpc_link_backlog(p->link) <= UNREAD_MAX) {
        rpc_link_send(p->link, rpc, reply, id, m);
        return;
    }
    rpc_link_free(take_ptr(p->link));
    p->was_deaf = true;
    if (p->pid > 0)
        kill(p->pid, SIGKILL); /* its end is reported separately */
}

static void on_left(struct step *step)
{
    step->pmix->answered = true;
    loop_timer_set(step->pmix->patience, -1);
    step->life->check(step);
}

static void on_patience(void *ctx)
{
    struct step *step = ctx;

    if (step->pmix->asked)
        on_left(step);
    else
        handle_server_loss(step, "is not ready after a minute");
}

bool pmix_asks(struct step *step)
{
    struct pmix *p = step->pmix;
    Pb__Empty m = PB__EMPTY__INIT;

    if (!p || !p->ready || !p->link || p->answered || step->phase != STEP_RUNNING)
        return false;
    if (!p->asked) {
        p->asked = true;
        loop_timer_set(p->patience, LEFT_MS);
        rpc_link_send(p->link, RPC_PMIXD_LEFT, false, 0, &m.base);
    }
    return true;
}

/* The server, or a program of the user in its place, may send without limit. */
static void pause_without_space(struct step *step)
{
    if (step->pmix->link && !srun_has_room(step))
        rpc_link_pause(step->pmix->link, true);
}

void pmix_drained(struct step *step)
{
    if (step->pmix && step->pmix->link)
        rpc_link_pause(step->pmix->link, false);
}

static void on_started(struct step *step, const Pb__PmixStarted *m)
{
    struct pmix *p = step->pmix;
    _cleanup_str_ struct str bytes = STR_INIT;

    if (p->ready || !step_is_starting(step) || step->fail_code)
        return;
    if (m->code) {
        abort_start(step, m->code > 0 ? m->code : ERR_LAUNCH, m->text ? m->text : "no PMIx here");
        return;
    }
    pb_pack(&m->base, &bytes);
    p->answer = arena_unpack(&p->arena, &pb__pmix_started__descriptor, bytes.data, bytes.len);
    if (!p->answer || p->answer->n_env != step->task_count) {
        abort_start(step, ERR_LAUNCH, "the PMIx server of this node serves other tasks");
        return;
    }
    p->ready = true;
    loop_timer_set(p->patience, -1);
    task_start_all(step);
}

static void on_pmix_name(struct step *step, uint64_t link_id, const Pb__NameRequest *m)
{
    struct pmix *p = step->pmix;
    Pb__NameRequest sent = *m;
    struct question *q;

    if (HASH_COUNT(p->questions) >= QUESTIONS_MAX) {
        Pb__NameReply refused = PB__NAME_REPLY__INIT;

        refused.id = m->id;
        send_to_server(step, RPC_PMIXD_NAME, true, link_id, &refused.base);
        return;
    }
    q = mem_new(struct question);
    q->id = ++p->next_id;
    q->link_id = link_id;
    q->said = m->id;
    HASH_ADD(hh, p->questions, id, sizeof(q->id), q);
    sent.id = q->id;
    srun_name(step, &sent);
}

void pmix_name_done(struct step *step, const Pb__NameReply *m)
{
    struct pmix *p = step->pmix;
    Pb__NameReply sent = *m;
    struct question *q;

    HASH_FIND(hh, p->questions, &m->id, sizeof(m->id), q);
    if (!q)
        return;
    sent.id = q->said;
    send_to_server(step, RPC_PMIXD_NAME, true, q->link_id, &sent.base);
    HASH_DEL(p->questions, q);
    free(q);
}

static void on_pmix_abort(struct step *step, const Pb__KvsAbort *m)
{
    srun_abort(step, m->exit_code, m->text, m->has_broken && m->broken);
    step->life->terminate(step, step->kill_wait_sec, NULL);
}

static void on_pmix_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                            const ProtobufCMessage *body)
{
    struct step *step = ctx;
    bool reply = h->flags & RPC_FLAG_REPLY;

    if (h->rpc == RPC_PMIXD_START && reply)
        on_started(step, (const Pb__PmixStarted *)body);
    else if (h->rpc == RPC_PMIXD_LEFT && reply && step->pmix->asked && !step->pmix->answered)
        on_left(step);
    else if (h->rpc == RPC_PMIXD_SPAWN && reply)
        srun_begun(step);
    else if (reply || !step->pmix->ready)
        return;
    else if (h->rpc == RPC_PMIXD_SPAWN)
        srun_spawn(step, (const Pb__Spawn *)body);
    else if (h->rpc == RPC_PMIXD_FENCE)
        srun_pmix(step, RPC_PMIX_FENCE, body);
    else if (h->rpc == RPC_PMIXD_GET)
        srun_pmix(step, RPC_PMIX_GET, body);
    else if (h->rpc == RPC_PMIXD_GOT)
        srun_pmix(step, RPC_PMIX_GOT, body);
    else if (h->rpc == RPC_PMIXD_EVENT)
        srun_pmix(step, RPC_PMIX_EVENT, body);
    else if (h->rpc == RPC_PMIXD_NAME)
        on_pmix_name(step, h->id, (const Pb__NameRequest *)body);
    else if (h->rpc == RPC_PMIXD_ABORT)
        on_pmix_abort(step, (const Pb__KvsAbort *)body);
    pause_without_space(step);
}

/* Its exit status has more information and follows. */
static void on_pmix_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct step *step = ctx;

    step->pmix->link = NULL;
    rpc_link_free(l);
    step->life->check(step);
}

void pmix_fence_done(struct step *step, const Pb__PmixFence *m)
{
    send_to_server(step, RPC_PMIXD_FENCE, false, 0, &m->base);
}

void pmix_event(struct step *step, const Pb__PmixEvent *m)
{
    send_to_server(step, RPC_PMIXD_EVENT, false, 0, &m->base);
}

void pmix_get(struct step *step, const Pb__PmixGet *m)
{
    send_to_server(step, RPC_PMIXD_GET, false, 0, &m->base);
}

void pmix_got(struct step *step, const Pb__PmixGot *m)
{
    send_to_server(step, RPC_PMIXD_GOT, false, 0, &m->base);
}

/* Whether several node daemons run on one host, as started by 'sluice up': then the name of all
 * but one differs from the host name. */
static bool shares_host(const struct step *step)
{
    const char *name = step->start->node_host ? step->start->node_host : step->node;
    size_t len = strcspn(name, ".");
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof(host) - 1);
    return strcspn(host, ".") != len || strncmp(host, name, len) != 0;
}

/* Open MPI names the shared memory of tasks by their host and their number on the node, so tasks
 * of two nodes on one host would collide. A separate directory for each node avoids that. */
static void keep_apart(const struct step *step, struct envlist *env)
{
    if (str_eq(envlist_get(env, onehost_variables[0].name), onehost_variables[0].value))
        envlist_unset(env, onehost_variables[0].name); /* each node has its own shared memory */
    envlist_default(env, "OMPI_MCA_btl_vader_backing_directory", step->pmix->dir);
    /* Open MPI 5 and later */
    envlist_default(env, "OMPI_MCA_btl_sm_backing_directory", step->pmix->dir);
}

void pmix_spawned(struct step *step, const Pb__Spawned *m)
{
    send_to_server(step, RPC_PMIXD_SPAWN, true, 0, &m->base);
}

void pmix_put_env(const struct task *t, struct envlist *env)
{
    const Pb__PmixEnv *mine = t->step->pmix->answer->env[t->local];

    for (size_t i = 0; i < mine->n_var; i++) {
        char *eq = strchr(mine->var[i], '=');
        _cleanup_free_ char *name =
            eq ? mem_strndup(mine->var[i], (size_t)(eq - mine->var[i])) : NULL;

        if (name && *name)
            envlist_set(env, name, eq + 1);
    }
    if (shares_host(t->step))
        keep_apart(t->step, env);
}

static void send_order(struct step *step)
{
    const Pb__Cred *cred = step->granted;
    const Pb__SpawnOrigin *from = step->launch->spawned;
    Pb__PmixStart m = PB__PMIX_START__INIT;
    uint32_t set_id = step_set_id_of(cred);
    _cleanup_free_ char *nspace = mem_printf("slurm.pmix.%u.%u", set_id, step->step_id);
    _cleanup_free_ char *job = mem_printf("%u", set_id);
    _cleanup_free_ Pb__PmixNode *nodes = mem_new_array(Pb__PmixNode, cred->n_nodes);
    _cleanup_free_ Pb__PmixNode **list = mem_new_array(Pb__PmixNode *, cred->n_nodes);
    long long major;

    for (size_t i = 0; i < cred->n_nodes; i++) {
        pb__pmix_node__init(&nodes[i]);
        nodes[i].name = cred->nodes[i]->node;
        nodes[i].task = cred->nodes[i]->task_ids;
        nodes[i].n_task = cred->nodes[i]->n_task_ids;
        list[i] = &nodes[i];
    }
    m.nspace = nspace;
    m.job = job;
    m.step = step->step_id;
    if (from) {
        m.has_parent_step = m.has_parent_task = true;
        m.parent_step = from->step_id;
        m.parent_task = from->task;
        m.app_tasks = from->tasks;
        m.n_app_tasks = from->n_tasks;
    }
    m.dir = step->pmix->dir;
    m.node = step->node_index;
    m.nodes = list;
    m.n_nodes = cred->n_nodes;
    m.has_major = str_starts(step->launch->mpi, "pmix_v") &&
                  !str_parse_i64(step->launch->mpi + strlen("pmix_v"), 1, 99, &major);
    m.major = m.has_major ? (uint32_t)major : 0;
    rpc_link_send(step->pmix->link, RPC_PMIXD_START, false, 1, &m.base);
}

/* The parent directory is ours, so that all files of the user can be removed, however deep. */
static int make_dirs(struct step *step, struct err *err)
{
    const char *top = step->pmix->top, *dir = step->pmix->dir;

    wipe_tree_whole(top); /* left by a killed shepherd */
    if (mkdir(top, 0711) || chmod(top, 0711) || mkdir(dir, 0700) ||
        (geteuid() == 0 && lchown(dir, step->uid, step->gid)))
        return err_set(err, -ERR_NODE_FAULT, "cannot make %s: %s", dir, strerror(errno));
    return 0;
}

static int start_server(struct step *step, struct err *err)
{
    struct rpc_link_events events = {on_pmix_message, on_pmix_close, step};
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *path =
        mem_printf("%s/sbin/slurmstepd-pmix", prefix ? prefix : "/usr/local");
    int pair[2];

    if (access(path, X_OK))
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "--mpi=pmix needs %s: %s; it is there when libpmix-dev was where this "
                       "installation was built",
                       path, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    step->pmix->pid = fork();
    if (step->pmix->pid == 0)
        child_run_server(step, path, pair[1]);
    close(pair[1]);
    if (step->pmix->pid < 0) {
        close(pair[0]);
        return err_set(err, -errno, "cannot start another process: %s", strerror(errno));
    }
    loop_child(step->loop, step->pmix->pid, on_pmix_ended, step);
    step->pmix->link = rpc_link_new(step->loop, pair[0], &events);
    return 0;
}

void pmix_start(struct step *step)
{
    struct pmix *p = mem_new(struct pmix);
    struct err err = {0};
    int rc;

    step->pmix = p;
    arena_init(&p->arena, RPC_BODY_MAX);
    p->patience = loop_timer_new(step->loop, on_patience, step);
    p->top = mem_printf("%s/pmix.%u.%u", step->dir, step->job_id, step->step_id);
    p->dir = mem_printf("%s/d", p->top);
    rc = make_dirs(step, &err);
    if (!rc)
        rc = start_server(step, &err);
    if (rc) {
        abort_start(step, -rc, err.text);
        return;
    }
    loop_timer_set(p->patience, READY_MS);
    send_order(step);
}

void pmix_done(struct step *step)
{
    struct pmix *p = take_ptr(step->pmix);
    struct question *q, *next;

    if (!p)
        return;
    rpc_link_free(p->link);
    if (p->pid > 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    }
    HASH_ITER (hh, p->questions, q, next) {
        HASH_DEL(p->questions, q);
        free(q);
    }
    wipe_tree_whole(p->top);
    loop_timer_free(p->patience);
    arena_done(&p->arena);
    free(p->top);
    free(p->dir);
    free(p);
}
