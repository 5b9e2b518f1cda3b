/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many callers there may be, who they are counted as, and what happens when descriptors run
 * out. */
#include "rpc/rpc_test_server.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "rpc/seal.h"
#include "rpc/server_priv.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static void ping(struct raw *r, bool local)
{
    struct made m;
    struct rpc_header h;

    make_request(&m, RPC_PING, &nothing.base, 0, !local);
    raw_send(r, m.bytes.data, m.bytes.len);
    raw_frame(r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
    made_done(&m);
}

/* One more caller: served, or turned away with a word. */
static void one_more(struct served *v, bool local, bool welcome, struct raw *r)
{
    struct err err;

    v->refused = 0;
    if (local)
        raw_take(r, rpc_net_connect_unix(socket_path));
    else
        raw_tcp(r, v->port);
    if (welcome) {
        ping(r, local);
        return;
    }
    raw_refused(r, -ERR_BUSY, &err);
    assert_non_null(strstr(err.text, "too many connections"));
    run_until(raw_ended, r);
    assert_int_equal(v->refused, 1);
    raw_close(r);
}

static void per_peer(void **state)
{
    for (int local = 0; local < 2; local++) {
        struct served v = {0};
        struct raw first, second, third, other;
        const unsigned pretend = RPC_CONNECTIONS_PER_PEER - 2;

        serve(&v, NULL);
        one_more(&v, local, true, &first);
        /* As if it had that many more. */
        assert_int_equal(HASH_COUNT(v.server->peers), 1);
        v.server->peers->connections += pretend;
        one_more(&v, local, true, &second);
        one_more(&v, local, false, &third);
        one_more(&v, !local, true, &other); /* somebody else is not touched by it */
        raw_close(&second);
        settle();
        one_more(&v, local, true, &third);
        v.server->callers->peer->connections -= pretend;
        raw_close(&first);
        raw_close(&third);
        raw_close(&other);
        settle();
        assert_null(v.server->peers);
        assert_int_equal(v.server->caller_count, 0);
        rpc_server_free(v.server);
    }
}

static void in_all(void **state)
{
    struct served v = {0};
    struct raw first, second;

    serve(&v, NULL);
    v.server->caller_count = RPC_CONNECTIONS_MAX - 1;
    one_more(&v, true, true, &first);
    one_more(&v, true, false, &second);
    one_more(&v, false, false, &second);
    raw_close(&first);
    settle();
    assert_int_equal(v.server->caller_count, RPC_CONNECTIONS_MAX - 1);
    one_more(&v, false, true, &second);
    v.server->caller_count -= RPC_CONNECTIONS_MAX - 1;
    raw_close(&second);
    settle();
    rpc_server_free(v.server);
}

static bool was_refused(void *ctx)
{
    return ((struct served *)ctx)->refused > 0;
}

/* Without a free descriptor it rests, and goes on when there is one. */
static void no_descriptors(void **state)
{
    struct served v = {0};
    struct rlimit before, tight;
    struct raw r;
    int probe;

    serve(&v, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    raw_take(&r, rpc_net_connect_unix(socket_path)); /* waits in the listener's queue */
    probe = dup(0);
    assert_true(probe >= 0);
    close(probe);
    tight = before;
    tight.rlim_cur = (rlim_t)probe;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    run_until(was_refused, &v);
    settle();
    assert_int_equal(v.refused, 1); /* told once, not in a circle */
    assert_non_null(strstr(v.why, strerror(EMFILE)));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    ping(&r, true);
    raw_close(&r);
    rpc_server_free(v.server);
}

/* A directory that belongs to a user is no place for a daemon's socket. */
static void socket_directory(void **state)
{
    struct served v = {0};
    char theirs[120], path[140];
    struct err err = {0};

    if (geteuid() != 0)
        skip();
    serve(&v, NULL);
    snprintf(theirs, sizeof(theirs), "%s/theirs", dir);
    snprintf(path, sizeof(path), "%s/s", theirs);
    assert_int_equal(mkdir(theirs, 0755), 0);
    assert_int_equal(chown(theirs, 4711, 4711), 0);
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0666, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "uid 4711"));
    assert_int_equal(chown(theirs, 900, 900), 0); /* SlurmUser's */
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0666, &err), 0);
    rpc_server_free(v.server);
    rmdir(theirs);
}

/* A session counts as its caller, and is forgotten with it. */
static void sessions_count(void **state)
{
    struct rpc_header h = {
        .version = RPC_VERSION, .flags = RPC_FLAG_SESSION, .body_len = sizeof(struct rpc_hello)};
    struct served v = {0};
    struct rpc_hello hello;
    _cleanup_str_ struct str out = STR_INIT;
    struct raw r;

    serve(&v, NULL);
    rpc_hello_make("n1", &hello);
    rpc_frame_append(&out, &h, NULL, &hello);
    raw_tcp(&r, v.port);
    raw_send(&r, out.data, out.len);
    raw_frame(&r, &h, NULL);
    assert_int_equal(v.server->caller_count, 1);
    assert_int_equal(v.server->peers->connections, 1);
    raw_close(&r);
    settle();
    assert_int_equal(v.server->caller_count, 0);
    assert_null(v.server->peers);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(per_peer),         TEST(in_all),         TEST(no_descriptors),
        TEST(socket_directory), TEST(sessions_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
