/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exhausted descriptors, and the places where sockets are allowed. */
#include "rpc/rpc_test_server.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "rpc/server_priv.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static void send_ping(struct raw *r)
{
    struct made m;
    struct rpc_header h;

    make_request(&m, RPC_PING, &nothing.base, 0, false);
    raw_send(r, m.bytes.data, m.bytes.len);
    raw_frame(r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
    made_done(&m);
}

static bool was_refused(void *ctx)
{
    return ((struct served *)ctx)->refused > 0;
}

/* Without a free descriptor the server pauses, and continues when there is one. */
static void server_pauses_without_free_descriptors(void **state)
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
    assert_int_equal(v.refused, 1); /* reported once, not repeatedly */
    assert_non_null(strstr(v.why, strerror(EMFILE)));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    send_ping(&r);
    raw_close(&r);
    rpc_server_free(v.server);
}

/* A directory that belongs to a user is no place for a daemon's socket. */
static void socket_directory_of_a_user_is_refused(void **state)
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(server_pauses_without_free_descriptors),
        TEST(socket_directory_of_a_user_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
