/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Callers that have shut down their sending side, and callers that are gone. */
#include "rpc/reply.h"
#include "rpc/rpc_test_server.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

static bool was_asked(void *ctx)
{
    return ((struct served *)ctx)->requests > 0;
}
static bool caller_gone(void *ctx)
{
    return ((struct served *)ctx)->gone > 0;
}

static void raw_open(struct raw *r, const struct served *v, bool local)
{
    if (local)
        raw_take(r, rpc_net_connect_unix(socket_path));
    else
        raw_tcp(r, v->port);
}

static bool both_asked(void *ctx)
{
    return ((struct served *)ctx)->requests == 2;
}

/* Two requests and a part of a third, then the caller's end of data: it gets both replies however
 * late, and then the end. */
static void half_closed_caller_gets_its_replies(void **state)
{
    for (int local = 0; local < 2; local++) {
        struct served v = {.hold = true};
        struct raw r;
        struct made m;
        struct rpc_header h;

        serve(&v, NULL);
        raw_open(&r, &v, local);
        for (unsigned id = 1; id <= 3; id++) {
            make_request(&m, RPC_STATS, &nothing.base, 0, !local);
            m.header.id = id;
            seal_request(&m, 0);
            raw_send(&r, m.bytes.data, id < 3 ? m.bytes.len : 10);
            made_done(&m);
        }
        shutdown(r.fd, SHUT_WR);
        run_until(both_asked, &v);
        settle();
        clock_ahead_ms += RPC_STALL_TIMEOUT_MS; /* the same time as for any waiting caller */
        settle();
        assert_int_equal(v.gone, 0);
        assert_false(r.eof);
        rpc_reply_bytes(v.server, v.last_call - 1, NULL, 0, false);
        raw_frame(&r, &h, NULL);
        assert_int_equal(h.id, 1);
        settle();
        assert_false(r.eof);
        rpc_reply_bytes(v.server, v.last_call, NULL, 0, false);
        raw_frame(&r, &h, NULL);
        assert_int_equal(h.id, 2);
        run_until(raw_ended, &r);
        assert_int_equal(r.in.len, 0);
        assert_int_equal(v.gone, 0);
        assert_int_equal(v.refused, 0);
        raw_close(&r);
        rpc_server_free(v.server);
    }
}

/* A pipeline of replies larger than the socket's buffer arrives completely. */
static void half_closed_pipeline_is_answered_in_order(void **state)
{
    enum { COUNT = 60, PART = 100000 };
    for (int local = 0; local < 2; local++) {
        struct served v = {.hold = true};
        static char part[PART];
        struct raw r;
        struct made m;

        serve(&v, NULL);
        raw_open(&r, &v, local);
        loop_fd_events(r.watch, 0);
        make_request(&m, RPC_JOB_LIST, &nothing.base, 0, !local);
        raw_send(&r, m.bytes.data, m.bytes.len);
        shutdown(r.fd, SHUT_WR);
        run_until(was_asked, &v);
        settle();
        for (int i = 0; i < COUNT; i++)
            rpc_reply_bytes(v.server, v.last_call, part, PART, i + 1 < COUNT);
        settle();
        clock_ahead_ms += RPC_STALL_PRESSED_MS; /* a slow reader has as much time as before */
        settle();
        loop_fd_events(r.watch, LOOP_READ);
        for (int i = 0; i < COUNT; i++) {
            struct rpc_header h;
            raw_frame(&r, &h, NULL);
            assert_int_equal(h.body_len, PART);
        }
        run_until(raw_ended, &r);
        assert_int_equal(r.in.len, 0);
        raw_close(&r);
        made_done(&m);
        rpc_server_free(v.server);
    }
}

/* A gone caller is not a half-closed one: a local caller that closes after its requests, and a TCP
 * caller that is reset, wait for nothing. */
static void half_closed_caller_that_disconnects_is_dropped(void **state)
{
    for (int local = 0; local < 2; local++) {
        struct served v = {.hold = true};
        struct raw r;
        struct made m;

        serve(&v, NULL);
        raw_open(&r, &v, local);
        make_request(&m, RPC_STATS, &nothing.base, 0, !local);
        raw_send(&r, m.bytes.data, m.bytes.len);
        shutdown(r.fd, SHUT_WR);
        run_until(was_asked, &v);
        settle();
        assert_int_equal(v.gone, 0);
        rpc_net_reset_on_close(r.fd);
        raw_close(&r);
        run_until(caller_gone, &v);
        made_done(&m);
        rpc_server_free(v.server);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(half_closed_caller_gets_its_replies),
        TEST(half_closed_pipeline_is_answered_in_order),
        TEST(half_closed_caller_that_disconnects_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
