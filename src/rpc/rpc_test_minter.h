/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A local node daemon that mints tokens for a test, on its own thread and event loop. Include
 * after rpc_test_util.h, whose key and directory it uses, once per test program.
 */
#pragma once

#include <pthread.h>

#include "rpc/server.h"

static struct {
    pthread_t thread;
    struct loop *loop;
    struct rpc_server *server;
    char path[160];
    int stop[2];
    bool runs;
} minter;

static void minter_request(void *ctx, const struct rpc_request *r)
{
    rpc_answer_mint(minter.server, r, 60000);
}

static void minter_stop(void *ctx, int fd, unsigned ready)
{
    loop_stop(minter.loop);
}

static void *minter_run(void *arg)
{
    struct loop_fd *watch = loop_fd_new(minter.loop, minter.stop[0], LOOP_READ, minter_stop, NULL);

    loop_run(minter.loop);
    loop_fd_free(watch);
    return NULL;
}

/* Starts the minter of the node with that name. */
static void minter_start(const char *node)
{
    struct rpc_server_options o = {.key = &key, .audience = node};
    struct rpc_server_events e = {.on_request = minter_request};

    o.loop = minter.loop = loop_new(0);
    minter.server = rpc_server_new(&o, &e);
    snprintf(minter.path, sizeof(minter.path), "%s/slurmd-%s", dir, node);
    assert_int_equal(rpc_server_listen_unix(minter.server, minter.path, 0666, NULL), 0);
    assert_int_equal(pipe(minter.stop), 0);
    assert_int_equal(pthread_create(&minter.thread, NULL, minter_run, NULL), 0);
    minter.runs = true;
}

static void minter_end(void)
{
    if (!minter.runs)
        return;
    assert_int_equal(write(minter.stop[1], "x", 1), 1);
    pthread_join(minter.thread, NULL);
    rpc_server_free(minter.server);
    loop_free(minter.loop);
    close(minter.stop[0]);
    close(minter.stop[1]);
    minter.runs = false;
}
