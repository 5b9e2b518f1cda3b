/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sessions over abstract UNIX sockets, where they differ from TCP. */
#include "rpc/rpc_test_session.h"

/* A local reader gets all bytes that the kernel has accepted, also after the sender has closed. */
static void finishes_before_all_is_read(void **state)
{
    struct served v = {0};
    struct end here = {0}, there = {0};
    size_t sent = 0;

    serve_end(&v, &there, true);
    connect_to(&here, NULL, 0, false, RPC_WHO_KEY);
    run_until(has_opened, &here);
    run_until(has_session, &v);
    rpc_session_pause(v.session, true);
    for (; sent < 1 << 16; sent += 1 << 14)
        send_data(here.s, 1 << 14);
    settle();
    assert_int_equal(rpc_session_unread(here.s), 0);
    rpc_session_finish(here.s);
    settle();
    clock_ahead_ms += 1000000;
    run_until(has_closed, &here);
    assert_int_equal(here.why.code, 0);
    rpc_session_free(here.s);
    assert_int_equal(there.bytes, 0);
    rpc_session_pause(v.session, false);
    run_until(has_closed, &there);
    assert_int_equal(there.bytes, sent);
    rpc_server_free(v.server);
}

static void only_names_of_srun_are_abstract(void **state)
{
    static const struct {
        const char *name;
        bool good;
    } rows[] = {
        {"@sluice-0123456789abcdef0123456789abcdef", true},
        {"@sluice-0123456789abcdef0123456789abcde", false},
        {"@sluice-0123456789abcdef0123456789abcdef0", false},
        {"@sluice-0123456789ABCDEF0123456789abcdef", false},
        {"@sluice-0123456789abcdef/123456789abcdef", false},
        {"@sluicf-0123456789abcdef0123456789abcdef", false},
        {"sluice-0123456789abcdef0123456789abcdef", false},
        {"@/tmp/.X11-unix/X0", false},
        {"@", false},
        {"", false},
        {"127.0.0.1", false},
    };
    struct rpc_addr addr;
    char text[RPC_ADDR_TEXT_MAX];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(rpc_is_abstract(rows[i].name), rows[i].good);
        if (!rows[i].good)
            continue;
        assert_int_equal(rpc_net_resolve(rows[i].name, 7, true, &addr, NULL), 1);
        rpc_addr_format(&addr, text);
        assert_string_equal(text, rows[i].name);
    }
}

/* Another user listens under the name: the session sends nothing to it and tries the next target.
 * If this process is root, the other listener has another uid. */
static void socket_of_another_user_is_skipped(void **state)
{
    uid_t me = geteuid(), other = me ? me + 1 : 4711;
    struct served v = {0};
    struct end here = {0}, there = {0};
    struct rpc_session_events events = end_events(&here, 0);
    char want[128];

    locally = false;
    serve_end(&v, &there, false);
    if (!me)
        assert_int_equal(seteuid(other), 0);
    assert_int_equal(rpc_server_listen_abstract(v.server, abstract, NULL), 0);
    if (!me)
        assert_int_equal(seteuid(0), 0);
    struct rpc_target t[2] = {{abstract, 0, other + !me}, {"127.0.0.1", (uint16_t)v.port}};
    here.s = rpc_session_connect(loop, &key, "node1", t, 2, false, &events);
    run_until(has_opened, &here);
    assert_int_equal(rpc_session_target(here.s), 1);
    rpc_session_free(here.s);

    here = (struct end){0};
    here.s = rpc_session_connect(loop, &key, "node1", t, 1, false, &events);
    run_until(has_closed, &here);
    assert_int_equal(here.why.code, -ERR_CONNECT);
    snprintf(want, sizeof(want), "%s: Permission denied", abstract);
    assert_string_equal(here.why.text, want);
    rpc_session_free(here.s);

    here = (struct end){0};
    t[0].owner = me ? me : other;
    here.s = rpc_session_connect(loop, &key, "node1", t, 2, false, &events);
    run_until(has_opened, &here);
    assert_int_equal(rpc_session_target(here.s), 0);
    rpc_session_free(here.s);
    rpc_server_free(v.server);
}

/* The caller has as much time as over TCP to prove that it knows the key. */
static void unproven_caller_is_closed_after_the_timeout(void **state)
{
    struct rpc_addr addr;
    struct served v = {0};
    struct end there = {0};
    struct raw raw;
    bool pending;

    serve_end(&v, &there, true);
    assert_int_equal(rpc_net_resolve(abstract, 0, true, &addr, NULL), 1);
    raw_take(&raw, rpc_net_connect(&addr, 0, &pending));
    assert_false(pending);
    settle();
    assert_false(raw.eof);
    clock_ahead_ms += RPC_STRANGER_TIMEOUT_MS;
    run_until(raw_ended, &raw);
    assert_int_equal(v.refused, 1);
    assert_string_equal(v.why, "nothing was asked for too long");
    raw_close(&raw);
    rpc_server_free(v.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL(finishes_before_all_is_read),
        LOCAL(only_names_of_srun_are_abstract),
        LOCAL(socket_of_another_user_is_skipped),
        LOCAL(unproven_caller_is_closed_after_the_timeout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
