/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd-cast: receives a file on a node, for a job (sbcast, srun --bcast). slurmd starts it
 * as root with a connected socket as descriptor 3, over which it receives its order. It
 * permanently becomes the job's user before it uses any path, and listens for the node that sends
 * the file. It survives slurmd.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/become.h"
#include "base/mem.h"
#include "base/service.h"
#include "rpc/link.h"
#include "rpc/server.h"
#include "slurmstepd/cast/receiver.h"
#include "slurmstepd/task/jobtmp.h"

#define DAEMON_FD 3
#define PIECES_KEPT (16 << 20)
#define DESCRIPTORS_MAX 65536

struct castd {
    struct loop *loop;
    struct rpc_link *daemon;
    struct auth_key key;
    struct rpc_server *server;
    struct receiver *receiver;
    bool asked;
};

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct castd *d = ctx;

    receiver_session(d->receiver, s);
}

static void on_job_over(void *ctx, int signo)
{
    struct castd *d = ctx;
    struct err why = {0};

    err_set(&why, -ERR_JOB_DONE, "the job has ended");
    receiver_fail(d->receiver, &why);
}

/* Called before any path is used; also enters the per-job directories. */
static int become_job_user(const Pb__CastStart *m, struct err *err)
{
    _cleanup_free_ gid_t *groups = mem_new_array(gid_t, m->n_gids + 1);
    _cleanup_close_ int tmp_fd = -1;
    int rc = jobtmp_open(m->tmp, &tmp_fd, err);

    if (!rc)
        rc = jobtmp_enter(tmp_fd, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < m->n_gids; i++)
        groups[i] = m->gids[i];
    return become_user(m->uid, m->gid, groups, m->n_gids, err);
}

static int listen_for(struct castd *d, const Pb__CastStart *m, struct err *err)
{
    const struct rpc_server_events events = {.on_session = on_session, .ctx = d};
    const struct rpc_server_options options = {.loop = d->loop,
                                               .key = &d->key,
                                               .audience = "sbcast",
                                               .refuse_plain = true,
                                               .sessions = RECEIVER_GUESTS_MAX};

    d->server = rpc_server_new(&options, &events);
    return rpc_server_listen_tcp(d->server, m->addr, 0, err);
}

static int start_receiver(struct castd *d, const Pb__CastStart *m, struct err *err)
{
    struct cast_sink *sink;
    int rc;

    d->asked = true;
    if (m->key.len != sizeof(d->key.mac_key))
        return err_set(err, -ERR_PROTOCOL, "malformed key");
    rpc_set_encryption(!m->plain_network);
    auth_key_from_bytes(m->key.data, m->key.len, &d->key);
    rc = become_job_user(m, err);
    if (!rc)
        rc = cast_sink_open(m->file, m->node, &sink, err);
    if (rc)
        return rc;
    d->receiver = receiver_new(d->loop, m, &d->key, sink);
    rc = listen_for(d, m, err);
    if (rc >= 0)
        loop_signal(d->loop, SIGTERM, on_job_over, d);
    return rc;
}

static void on_castd_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                             const ProtobufCMessage *body)
{
    struct castd *d = ctx;
    Pb__CastStarted answer = PB__CAST_STARTED__INIT;
    struct err err = {0};
    int rc;

    if (h->rpc != RPC_CASTD_START || h->flags & RPC_FLAG_REPLY || d->asked)
        return;
    rc = start_receiver(d, (const Pb__CastStart *)body, &err);
    answer.code = rc < 0 ? -rc : 0;
    answer.text = err.text;
    answer.has_port = rc >= 0;
    answer.port = rc >= 0 ? (uint32_t)rc : 0;
    rpc_link_send(l, RPC_CASTD_START, true, h->id, &answer.base);
    if (rc < 0)
        loop_stop(d->loop);
}

/* slurmd has gone: a started transfer continues. */
static void on_castd_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct castd *d = ctx;

    rpc_link_free(take_ptr(d->daemon));
    if (!d->server)
        loop_stop(d->loop);
}

static void castd_done(struct castd *d)
{
    rpc_server_free(d->server);
    receiver_free(d->receiver);
    rpc_link_free(d->daemon);
    auth_key_done(&d->key);
    loop_free(d->loop);
}

int main(int argc, char **argv)
{
    struct castd d = {0};
    struct rpc_link_events events = {on_castd_message, on_castd_close, &d};
    struct stat st;

    if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
        puts("slurm " SLURM_VERSION);
        return 0;
    }
    if (fd_begin(DAEMON_FD + 1) || fstat(DAEMON_FD, &st) || !S_ISSOCK(st.st_mode)) {
        fputs("slurmstepd-cast: error: this program is started by slurmd, for sbcast\n", stderr);
        return 1;
    }
    dump_forbid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* write() reports the error */
    umask(077);
    fd_raise_limit(DESCRIPTORS_MAX);
    mallopt(M_MMAP_THRESHOLD, PIECES_KEPT); /* the memory of one piece is reused for the next */
    mallopt(M_TRIM_THRESHOLD, PIECES_KEPT);
    d.loop = loop_new(0);
    d.daemon = rpc_link_new(d.loop, DAEMON_FD, &events);
    loop_run(d.loop);
    castd_done(&d);
    return 0;
}
