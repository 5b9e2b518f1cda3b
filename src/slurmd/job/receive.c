/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/receive.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "proto/cast.pb-c.h"
#include "rpc/client.h"
#include "rpc/link.h"
#include "rpc/reply.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/cred.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/step/contain.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define CRED_ARENA (64u << 20)
#define LINK_FD 3
#define START_MS 30000 /* time for opening the file, which may be on a slow file system */
/* Time between SIGTERM, after which the receiver can clean up, and SIGKILL. */
#define KILL_MS 2000
#define TIMEOUT_MIN_MS 100
#define TIMEOUT_MAX_MS 3600000u
#define WAIT_MAX_MS 86400000u

static struct log_limits refusals = {.burst = 60};

struct receiver {
    struct attempt *attempt;
    pid_t pid;
    uint64_t key;  /* key of the transfer */
    uint16_t port; /* 0: not reported yet */
    uint64_t call; /* to be answered; 0: answered already */
    struct rpc_link *link;
    struct loop_timer *limit;
};

/* --- its end ---------------------------------------------------------------------------------- */

static void reply_error(struct receiver *r, int code, const char *text)
{
    if (r->call)
        rpc_reply_error(r->attempt->d->server, r->call, code, text);
    r->call = 0;
}

static void on_exit_of(void *ctx, pid_t pid, int wait_status)
{
    struct receiver *r = ctx;
    struct attempt *a = r->attempt;

    if (WIFSIGNALED(wait_status)) /* it did not report an error itself */
        reply_error(r, ERR_CLOSED, "the receiver of the file was killed");
    reply_error(r, ERR_LAUNCH, "the receiver of the file has ended");
    for (size_t i = 0; i < a->receivers.len; i++)
        if (a->receivers.data[i] == r) {
            vec_remove(&a->receivers, i);
            break;
        }
    rpc_link_free(r->link);
    loop_timer_free(r->limit);
    free(r);
    attempt_check(a);
}

static void on_limit(void *ctx)
{
    struct receiver *r = ctx;

    kill(r->pid, SIGKILL);
}

void receive_end(struct attempt *a)
{
    vec_foreach (&a->receivers, r) {
        kill((*r)->pid, SIGTERM);
        loop_timer_set((*r)->limit, KILL_MS);
    }
}

bool receive_is_ours(const struct slurmd *d, pid_t pid)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        vec_foreach (&a->receivers, r)
            if ((*r)->pid == pid)
                return true;
    return false;
}

void receive_forget(struct attempt *a)
{
    vec_foreach (&a->receivers, r) {
        rpc_link_free((*r)->link);
        loop_timer_free((*r)->limit);
        free(*r);
    }
    vec_done(&a->receivers);
}

/* --- its start -------------------------------------------------------------------------------- */

static void reply_port(struct receiver *r)
{
    Pb__CastReceiving answer = PB__CAST_RECEIVING__INIT;

    answer.port = r->port;
    answer.pid = (uint32_t)r->pid;
    rpc_reply(r->attempt->d->server, r->call, &answer.base);
    r->call = 0;
}

static void on_receive_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                               const ProtobufCMessage *body)
{
    struct receiver *r = ctx;
    const Pb__CastStarted *m = (const Pb__CastStarted *)body;

    if (h->rpc != RPC_CASTD_START || !(h->flags & RPC_FLAG_REPLY) || !r->call)
        return;
    if (!attempt_is_ending(r->attempt))
        loop_timer_set(r->limit, -1);
    if (m->code) {
        reply_error(r, m->code > 0 ? m->code : ERR_LAUNCH, m->text ? m->text : "");
        return;
    }
    r->port = (uint16_t)m->port;
    reply_port(r);
}

/* The exit status has more information. */
static void on_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct receiver *r = ctx;

    rpc_link_free(take_ptr(r->link));
}

static int spawn_receiver(const struct slurmd *d, uint32_t job_id, int fd, pid_t *pid)
{
    _cleanup_free_ char *path = mem_printf("%s-cast", d->stepd_path);
    _cleanup_free_ char *title = mem_printf("slurmstepd-cast: [%u]", job_id);
    char *const argv[] = {title, NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, d->null_fd, i);
    posix_spawn_file_actions_adddup2(&actions, fd, LINK_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, LINK_FD + 1);
    return -child_start(pid, path, &actions, true, argv, env);
}

static struct receiver *receiver_new(struct attempt *a, pid_t pid, int fd, uint64_t call)
{
    struct receiver *r = mem_new(struct receiver);
    struct rpc_link_events events = {on_receive_message, on_close, r};

    r->attempt = a;
    r->pid = pid;
    r->call = call;
    r->link = rpc_link_new(a->d->loop, fd, &events);
    r->limit = loop_timer_new(a->d->loop, on_limit, r);
    loop_timer_set(r->limit, START_MS);
    loop_child(a->d->loop, pid, on_exit_of, r);
    vec_push(&a->receivers, r);
    return r;
}

static void send_start(struct receiver *r, const Pb__CastReceive *m, const struct launch *l,
                       const struct user *user)
{
    _cleanup_arena_ struct arena arena;
    const struct slurmd *d = r->attempt->d;
    Pb__CastStart start = PB__CAST_START__INIT;
    _cleanup_free_ uint32_t *gids = mem_new_array(uint32_t, user->group_count + 1);

    for (size_t i = 0; i < user->group_count; i++)
        gids[i] = user->groups[i];
    start.file = m->file;
    start.key = m->key;
    start.node = d->name;
    start.uid = l->uid;
    start.gid = l->gid;
    start.gids = gids;
    start.n_gids = user->group_count;
    start.addr = str_starts(d->node->bcast_addr, "127.") ? (char *)d->node->bcast_addr : NULL;
    start.timeout_ms = m->timeout_ms;
    start.wait_ms = m->wait_ms;
    start.has_plain_network = true;
    start.plain_network = !conf_encrypts(d->conf);
    arena_init(&arena, 0);
    start.tmp = jobtmp_order(d, r->attempt->key.id, user, &arena);
    rpc_link_send(r->link, RPC_CASTD_START, false, 1, &start.base);
}

/* The receiver does nothing before it gets its order; by then it is in its control group. */
static int start_receiver(struct attempt *a, const struct launch *l, const struct user *user,
                          struct err *err)
{
    _cleanup_arena_ struct arena arena;
    const Pb__CastReceive *m;
    const Pb__Cred *cred;
    int pair[2], rc;
    pid_t pid;

    arena_init(&arena, 0);
    m = arena_unpack(&arena, &pb__cast_receive__descriptor, l->message.data, l->message.len);
    cred = arena_unpack(&arena, &pb__cred__descriptor, l->cred.data, l->cred.len);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -ERR_NODE_FAULT, "cannot make a socket pair: %s", strerror(errno));
    rc = spawn_receiver(a->d, a->key.id, pair[1], &pid);
    close(pair[1]);
    if (rc) {
        close(pair[0]);
        return err_set(err, -ERR_LAUNCH, "cannot run %s-cast: %s", a->d->stepd_path, strerror(-rc));
    }
    struct receiver *r = receiver_new(a, pid, pair[0], 0);
    rc = contain_add(a, cred, l->node_index, pid, err);
    if (rc) {
        kill(pid, SIGKILL);
        return rc;
    }
    r->key = l->key;
    r->call = l->call;
    send_start(r, m, l, user);
    log_verbose("a receiver of files for job %u, pid %d", a->key.id, (int)pid);
    return 0;
}

void receive_start(struct attempt *a, struct launch *l, const struct user *user)
{
    struct err err = {0};
    int rc = start_receiver(a, l, user, &err);

    if (rc)
        launch_fail(a->d, l, -rc, err.text, false);
    else
        launch_free(l);
}

/* --- the request ------------------------------------------------------------------------------ */

static int check_bounds(const struct slurmd *d, uid_t uid, struct err *err)
{
    unsigned all = 0, of_user = 0;

    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        unsigned here = (unsigned)a->receivers.len;

        for (size_t i = 0; i < a->waiting.len; i++)
            here += a->waiting.data[i]->kind == LAUNCH_RECEIVER;
        all += here;
        of_user += a->note.about->uid == uid ? here : 0;
    }
    if (of_user < RECEIVE_PER_USER && all < RECEIVE_MAX)
        return 0;
    return err_set(err, -ERR_BUSY, "%s: node %s receives %u files for user %u, %u in all",
                   err_text(ERR_BUSY), d->name, of_user, (unsigned)uid, all);
}

static int check_form(const Pb__CastReceive *m, struct err *err)
{
    if (m->file->path[0] == '/' && m->key.len == AUTH_TOKEN_SIZE &&
        m->timeout_ms >= TIMEOUT_MIN_MS && m->timeout_ms <= TIMEOUT_MAX_MS &&
        m->wait_ms <= WAIT_MAX_MS)
        return 0;
    return err_set(err, -ERR_PROTOCOL, "%s: a request for a receiver of files",
                   err_text(ERR_PROTOCOL));
}

static int check_request(struct slurmd *d, const struct rpc_request *r, struct arena *arena,
                         Pb__Cred **cred, uint32_t *index, struct err *err)
{
    const Pb__CastReceive *m = (const Pb__CastReceive *)r->body;
    int rc = launch_check_cred(d, m->cred, m->signature, CRED_PART_ANY, arena, cred, index, err);

    if (!rc)
        rc = launch_check_unallocated(*cred, err);
    if (!rc)
        rc = launch_check_not_over(d, *cred, err);
    if (rc)
        return rc;
    if (!(*cred)->cast)
        return err_set(err, -ERR_CREDENTIAL, "%s: it is not one for files",
                       err_text(ERR_CREDENTIAL));
    if (r->who.uid != (*cred)->uid && !(r->roles & RPC_WHO_ADMIN))
        return err_set(err, -ERR_CREDENTIAL, "%s: it is of user %u, the caller is user %u",
                       err_text(ERR_CREDENTIAL), (*cred)->uid, (unsigned)r->who.uid);
    return check_form(m, err);
}

/* A repeated request, through another node of the tree, is answered for the existing receiver. */
static bool is_repeat(struct slurmd *d, const Pb__Cred *cred, uint64_t key, uint64_t call)
{
    struct attempt *a = attempt_find(d, cred->job_id, cred->restarts);

    for (size_t i = 0; a && i < a->waiting.len; i++)
        if (a->waiting.data[i]->kind == LAUNCH_RECEIVER && a->waiting.data[i]->key == key) {
            launch_join(d, &a->waiting.data[i]->call, call);
            return true;
        }
    for (size_t i = 0; a && i < a->receivers.len; i++)
        if (a->receivers.data[i]->key == key) {
            launch_join(d, &a->receivers.data[i]->call, call);
            if (a->receivers.data[i]->port)
                reply_port(a->receivers.data[i]);
            return true;
        }
    return false;
}

void receive_request(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__CastReceive *m = (const Pb__CastReceive *)r->body;
    Pb__CastReceive kept = *m;
    _cleanup_arena_ struct arena arena;
    uint64_t key = launch_key_of(m->key);
    struct auth_key secret;
    struct err err = {0};
    Pb__Cred *cred;
    uint32_t index;
    int rc;

    arena_init(&arena, CRED_ARENA);
    rc = check_request(d, r, &arena, &cred, &index, &err);
    if (!rc && is_repeat(d, cred, key, r->call))
        return;
    if (!rc)
        rc = check_bounds(d, (uid_t)cred->uid, &err);
    if (!rc) /* the key in the message is readable on the wire */
        rc = auth_secret_of(&d->key, m->key.data, m->key.len, RPC_SECRET_AUDIENCE, r->who.uid,
                            &secret, &err);
    if (!rc) {
        kept.key = (ProtobufCBinaryData){sizeof(secret.mac_key), secret.mac_key};
        kept.cred = kept.signature = (ProtobufCBinaryData){0};
        rc = launch_queue(d, cred, m->cred, &kept.base, index, key, r->call, &err);
        auth_key_done(&secret);
    }
    if (!rc)
        return;
    if (log_allow_source(&refusals, r->who.uid))
        log_error("refused a receiver of files for user %u from %s: %s", (unsigned)r->who.uid,
                  r->peer, err.text);
    rpc_reply_error(d->server, r->call, -rc, err.text);
}
