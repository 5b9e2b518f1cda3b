/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Helpers shared by the tests of this module: an event loop that runs until a condition holds, a
 * movable clock, and a raw socket. Include once per test program.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "proto/common.pb-c.h"
#include "rpc/frame.h"
#include "rpc/net.h"
#include "rpc/rpc.h"

#define GUARD_MS 20000 /* time limit of each wait in a test */
#define AUDIENCE "slurmctld"

static struct loop *loop;
static struct auth_key key;
static char dir[64], socket_path[100];

/* Offset added to the clock of all deadlines (linked with --wrap=loop_mono_ms). */
static int64_t clock_ahead_ms;
int64_t __real_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void)
{
    return __real_loop_mono_ms() + clock_ahead_ms;
}

static bool (*until)(void *);
static void *until_ctx;
static bool guard_hit;

static void on_turn(void *ctx)
{
    if (until && until(until_ctx))
        loop_stop(loop);
}

static void on_guard(void *ctx)
{
    guard_hit = true;
    loop_stop(loop);
}

/* Runs the loop until the condition is true. */
static void run_until(bool (*condition)(void *), void *ctx)
{
    struct loop_timer *guard = loop_timer_new(loop, on_guard, NULL);

    loop_timer_set(guard, GUARD_MS);
    until = condition;
    until_ctx = ctx;
    if (!condition(ctx))
        loop_run(loop);
    until = NULL;
    loop_timer_free(guard);
    assert_false(guard_hit);
}

/* Runs all events that are ready, and their consequences. */
static void on_settled(void *ctx)
{
    if (--*(int *)ctx == 0)
        loop_stop(loop);
}
static bool never(void *ctx)
{
    return *(int *)ctx == 0;
}
static void settle(void)
{
    int turns = 0;

    for (int i = 0; i < 20; i++) {
        struct loop_timer *t = loop_timer_new(loop, on_settled, &turns);
        turns = 1;
        loop_timer_set(t, 0);
        run_until(never, &turns);
        loop_timer_free(t);
    }
}

static bool is_true(void *ctx)
{
    return *(bool *)ctx;
}

/* A raw socket that collects its input. */
struct raw {
    int fd;
    struct loop_fd *watch;
    struct str in;
    bool eof;
    size_t want; /* number of bytes to wait for */
};

static void raw_ready(void *ctx, int fd, unsigned ready)
{
    struct raw *r = ctx;
    char buf[65536];
    ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

    if (n > 0)
        str_append(&r->in, buf, (size_t)n);
    else if (n == 0 || errno != EAGAIN) {
        r->eof = true;
        loop_fd_events(r->watch, 0);
    }
}

static void raw_take(struct raw *r, int fd)
{
    assert_true(fd >= 0);
    *r = (struct raw){.fd = fd};
    r->watch = loop_fd_new(loop, fd, LOOP_READ, raw_ready, r);
}

/* Connects without encryption, so the servers of the test accept plain frames from here on. */
static void raw_tcp(struct raw *r, int port)
{
    struct rpc_addr a;
    bool pending;
    int fd;

    assert_int_equal(rpc_net_resolve("127.0.0.1", (uint16_t)port, true, &a, NULL), 1);
    rpc_set_encryption(false);
    fd = rpc_net_connect(&a, 0, &pending);
    raw_take(r, fd);
}

static void raw_close(struct raw *r)
{
    loop_fd_free(r->watch);
    close(r->fd);
    str_done(&r->in);
}

static void raw_send(struct raw *r, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = send(r->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            assert_int_equal(errno, EAGAIN);
            settle();
            continue;
        }
        p += n;
        len -= (size_t)n;
    }
}

static bool raw_has(void *ctx)
{
    struct raw *r = ctx;

    return r->eof || r->in.len >= r->want;
}

static bool raw_ended(void *ctx)
{
    return ((struct raw *)ctx)->eof;
}

/* Reads the next frame and appends its body to *body. */
static void raw_frame(struct raw *r, struct rpc_header *h, struct str *body)
{
    r->want = RPC_HEADER_SIZE;
    run_until(raw_has, r);
    assert_true(r->in.len >= r->want);
    assert_int_equal(rpc_header_unpack((uint8_t *)r->in.data, RPC_BODY_MAX, h, NULL), 0);
    r->want = RPC_HEADER_SIZE + h->token_len + h->body_len;
    run_until(raw_has, r);
    assert_true(r->in.len >= r->want);
    if (body)
        str_append(body, r->in.data + RPC_HEADER_SIZE + h->token_len, h->body_len);
    str_consume(&r->in, r->want);
}

/* Asserts that the next frame is a refusal with this code. */
static void raw_refused(struct raw *r, int code, struct err *err)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_header h;
    struct err why;

    raw_frame(r, &h, &body);
    assert_int_equal(h.flags & RPC_FLAG_ERROR, RPC_FLAG_ERROR);
    assert_int_equal(rpc_error_unpack(body.data, body.len, &why), code);
    if (err)
        *err = why;
}

/* The pieces of a valid request over TCP, which a test may corrupt before it sends them. */
struct made {
    struct rpc_header header;
    uint8_t token[AUTH_TOKEN_SIZE];
    struct str body;
    struct str bytes;
};

static void seal_request(struct made *m, uid_t uid)
{
    struct auth_identity who = {.uid = uid, .gid = uid, .host = "test"};
    uint8_t hash[AUTH_HASH_SIZE];

    m->header.body_len = (uint32_t)m->body.len;
    if (m->header.token_len) {
        rpc_frame_hash(&m->header, m->body.data, hash);
        auth_token_mint(&key, &who, AUDIENCE, hash, loop_wall_ms(), 60000, m->token);
    }
    str_clear(&m->bytes);
    rpc_frame_append(&m->bytes, &m->header, m->token, m->body.data);
}

static void make_request(struct made *m, enum rpc_number rpc, const ProtobufCMessage *body,
                         uid_t uid, bool with_token)
{
    *m = (struct made){.header = {.version = RPC_VERSION,
                                  .rpc = (uint16_t)rpc,
                                  .token_len = with_token ? AUTH_TOKEN_SIZE : 0,
                                  .id = 77}};
    pb_pack(body, &m->body);
    seal_request(m, uid);
}

static void made_done(struct made *m)
{
    str_done(&m->body);
    str_done(&m->bytes);
}

/* The environment of a test. */
static int world_setup(void **state)
{
    auth_key_from_bytes("the key of the test's own cluster", 33, &key);
    snprintf(dir, sizeof(dir), "/tmp/rpc_test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(socket_path, sizeof(socket_path), "%s/slurmctld", dir);
    loop = loop_new(1);
    loop_on_turn(loop, on_turn, NULL);
    guard_hit = false;
    clock_ahead_ms = 0;
    rpc_set_encryption(true);
    return 0;
}

static int world_teardown(void **state)
{
    loop_free(loop);
    unlink(socket_path);
    return rmdir(dir);
}
