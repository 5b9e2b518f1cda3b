/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking client, on a thread of its own against servers on the loop. */
#pragma once

#include "rpc/rpc_test_hosts.h"

#include <pthread.h>

#include "rpc/client.h"

/* A call made by the thread and its result; the main thread makes the assertions. */
struct job {
    void (*run)(struct job *j);
    struct rpc_client *client;
    enum rpc_number rpc;
    const ProtobufCMessage *request;
    int64_t timeout_ms;
    int rc;
    struct err err;
    char host[64]; /* of the reply to a PING */
    unsigned parts, stop_at;
    int pipe[2];
    bool done;
};

static void job_ready(void *ctx, int fd, unsigned ready)
{
    ((struct job *)ctx)->done = true;
}
static void *job_thread(void *arg)
{
    struct job *j = arg;

    j->run(j);
    if (write(j->pipe[1], "x", 1) < 0)
        abort();
    return NULL;
}
static void run_job(struct job *j)
{
    pthread_t thread;
    struct loop_fd *watch;

    j->done = false;
    j->rc = 1;
    j->err = (struct err){0};
    j->host[0] = '\0';
    assert_int_equal(pipe(j->pipe), 0);
    watch = loop_fd_new(loop, j->pipe[0], LOOP_READ, job_ready, j);
    assert_int_equal(pthread_create(&thread, NULL, job_thread, j), 0);
    run_until(is_true, &j->done);
    pthread_join(thread, NULL);
    loop_fd_free(watch);
    close(j->pipe[0]);
    close(j->pipe[1]);
}

static void do_call(struct job *j)
{
    struct arena arena;
    ProtobufCMessage *reply = NULL;

    arena_init(&arena, 0);
    j->rc = rpc_call(j->client, j->rpc, j->request, j->timeout_ms, &arena, &reply, &j->err);
    if (j->rc == 0 && j->rpc == RPC_PING)
        snprintf(j->host, sizeof(j->host), "%s", ((Pb__PingReply *)reply)->host);
    arena_done(&arena);
}

static int on_part(void *ctx, const ProtobufCMessage *part, struct err *err)
{
    struct job *j = ctx;

    j->parts++;
    return j->parts == j->stop_at ? err_set(err, -ERR_GENERIC, "enough") : 0;
}
static void do_stream(struct job *j)
{
    j->parts = 0;
    j->rc = rpc_call_stream(j->client, j->rpc, j->request, on_part, j, &j->err);
}

/* Makes one call with the client, from connecting to the reply. */
static void call(struct job *j, enum rpc_number rpc)
{
    j->run = do_call;
    j->rpc = rpc;
    if (!j->request)
        j->request = &nothing.base;
    run_job(j);
}

static void over_tcp(void)
{
    setenv("SLUICE_NO_LOCAL_SOCKET", "1", 1);
}

static struct job new_job(void)
{
    return (struct job){.client = rpc_client_new(&conf)};
}
