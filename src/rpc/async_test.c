/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls and fan-out on the loop. The daemon that mints runs on a thread and a loop of its own. */
#include "rpc/rpc_test_hosts.h"

#include "rpc/client.h"
#include "rpc/reply.h"
#include "rpc/rpc_test_minter.h"
#include "rpc/rpc_test_names.h"
#include "rpc/rpc_test_result.h"

static int teardown(void **state)
{
    minter_end();
    return world_teardown(state);
}

static void call_ping(struct rpc_test_result *r)
{
    *r = (struct rpc_test_result){0};
    rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 0, rpc_test_note_result, r);
    run_until(is_true, &r->done);
    settle();
    assert_int_equal(r->count, 1);
}

static void unreachable_controllers_are_named(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;
    char want[256];

    serve(&v, NULL);
    rpc_server_free(v.server);
    conf.slurmctld_port = (uint16_t)v.port;
    conf.controllers.len = 2;
    call_ping(&r);
    assert_int_equal(r.code, -ERR_CONNECT);
    snprintf(want, sizeof(want),
             "Unable to contact slurm controller (connect failure) (tried 127.0.0.1:%d: Connection "
             "refused; 127.0.0.2:%d: Connection refused)",
             v.port, v.port);
    assert_string_equal(r.err.text, want);
}

static void call_fails_without_a_token_daemon(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;

    serve(&v, NULL);
    unlink(socket_path);
    conf.slurmctld_port = (uint16_t)v.port;
    call_ping(&r);
    assert_int_equal(r.code, -ERR_AUTH);
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

static void call_works_locally_and_over_tcp(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;

    minter_start("n0");
    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    call_ping(&r);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.host, "here");
    assert_true(v.roles & RPC_WHO_LOCAL);
    unlink(socket_path);
    call_ping(&r);
    assert_int_equal(r.code, 0);
    assert_false(v.roles & RPC_WHO_LOCAL);
    assert_int_equal(v.who.uid, geteuid());
    rpc_server_free(v.server);
}

static void refuse_as_standby(struct served *v, const struct rpc_request *r)
{
    rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}

static void ping_kept(struct rpc_test_result *r, struct rpc_kept *kept)
{
    *r = (struct rpc_test_result){0};
    rpc_async_keep(
        rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 0, rpc_test_note_result, r),
        kept);
    run_until(is_true, &r->done);
    settle();
    assert_int_equal(r->count, 1);
}

static void keep_silent(struct served *v, const struct rpc_request *r)
{
    v->hold = true;
}

static void call_reuses_the_connection_of_the_call_before(void **state)
{
    struct rpc_kept kept = {.fd = -1};
    struct served v = {0};
    struct rpc_test_result r;
    int fd;

    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    ping_kept(&r, &kept);
    assert_int_equal(r.code, 0);
    assert_true(kept.fd >= 0);
    unlink(socket_path); /* there is no other way to the controller */
    fd = kept.fd;
    ping_kept(&r, &kept);
    assert_int_equal(r.code, 0);
    assert_true(v.roles & RPC_WHO_LOCAL);
    assert_int_equal(kept.fd, fd);
    assert_int_equal(v.requests, 2);

    kept.place++; /* now refers to another controller's socket */
    call_ping(&r);
    assert_int_not_equal(r.code, 0);
    ping_kept(&r, &kept);
    assert_int_not_equal(r.code, 0);
    rpc_kept_close(&kept);
    assert_int_equal(kept.fd, -1);
    rpc_kept_close(&kept);
    rpc_server_free(v.server);
}

/* Closed between the calls, or after it has received the second request. */
static void a_kept_connection_that_was_closed_is_replaced(void **state)
{
    struct rpc_kept kept = {.fd = -1};
    struct served first = {0}, second = {0}, third = {0};
    struct rpc_async *call;
    struct rpc_test_result r;

    serve(&first, NULL);
    ping_kept(&r, &kept);
    rpc_server_free(first.server);
    serve(&second, NULL);
    ping_kept(&r, &kept);
    assert_int_equal(r.code, 0);
    assert_int_equal(second.requests, 1);

    second.answer = keep_silent;
    r = (struct rpc_test_result){0};
    call = rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 0, rpc_test_note_result, &r);
    rpc_async_keep(call, &kept);
    run_until(is_true, &second.hold);
    assert_int_equal(kept.fd, -1);
    rpc_server_free(second.server);
    serve(&third, NULL);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, 0);
    assert_int_equal(third.requests, 1);
    rpc_kept_close(&kept);
    rpc_server_free(third.server);
}

static void a_refused_call_keeps_no_connection(void **state)
{
    struct served v = {.answer = refuse_as_standby};
    struct rpc_kept kept = {.fd = -1};
    struct rpc_test_result r;

    serve(&v, NULL);
    conf.slurmctld_port = 1;
    conf.message_timeout_sec = 1;
    ping_kept(&r, &kept);
    /* On a busy machine the time limit may expire while a refusal is on its way. */
    assert_true(r.code == -ERR_CONNECT || r.code == -ERR_TIMEOUT);
    assert_int_equal(kept.fd, -1);
    rpc_server_free(v.server);
}

/* An address that does not answer must not use up the time of the others and of the call. */
static void dead_address_leaves_time_for_the_others(void **state)
{
    struct served v = {0};
    struct rpc_test_result r;

    minter_start("n0");
    serve(&v, NULL);
    unlink(socket_path);
    struct vanishing dead = vanish_begin(v.port);
    hosts[0].addr = NAME_WITH_TWO;
    conf.slurmctld_port = (uint16_t)v.port;
    call_ping(&r);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.host, "here");
    vanish_end(&dead);
    rpc_server_free(v.server);
}

static void standby_is_passed_over_for_the_leader(void **state)
{
    struct served backup = {.answer = refuse_as_standby}, leader = {0};
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = AUDIENCE};
    struct rpc_server_events e = {.on_request = served_request, .ctx = &leader};
    struct rpc_test_result r;

    serve(&backup, NULL);
    unlink(socket_path);
    minter_start("n0");
    conf.slurmctld_port = (uint16_t)backup.port;
    conf.message_timeout_sec = 1;
    call_ping(&r);
    assert_int_equal(r.code, -ERR_CONNECT);
    assert_non_null(strstr(r.err.text, "standby"));
    assert_true(backup.requests > 2);
    leader.server = rpc_server_new(&o, &e);
    assert_int_equal(rpc_server_listen_tcp(leader.server, "127.0.0.2", (uint16_t)backup.port, NULL),
                     backup.port);
    hosts[1].addr = "127.0.0.2";
    conf.controllers.len = 2;
    call_ping(&r);
    assert_int_equal(r.code, 0);
    assert_int_equal(leader.requests, 1);
    rpc_server_free(backup.server);
    rpc_server_free(leader.server);
}

static void drop_call(struct rpc_test_result *r)
{
    *r = (struct rpc_test_result){0};
    rpc_async_controller(loop, &conf, RPC_JOB_SIGNAL, &nothing.base, 0, rpc_test_note_result, r);
    run_until(is_true, &r->done);
}

/* In the second round no controller is reached in time, or none answers: the results of the first
   round are reported. */
static void standby_then_silent(struct served *v, const struct rpc_request *r)
{
    if (v->requests == 1)
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}

static void standby_then_late(struct served *v, const struct rpc_request *r)
{
    rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
    if (v->requests == 2)
        clock_ahead_ms += 2000;
}

static void call_ends_at_its_time_limit(void **state)
{
    struct served v = {.answer = standby_then_silent};
    struct rpc_test_result r;

    serve(&v, NULL);
    conf.slurmctld_port = 1; /* only the local socket exists */
    conf.message_timeout_sec = 1;
    drop_call(&r);
    assert_int_equal(r.code, -ERR_TIMEOUT); /* it may have been executed */
    assert_non_null(strstr(r.err.text, socket_path));
    assert_non_null(strstr(r.err.text, "standby"));

    v.answer = standby_then_late;
    v.requests = 0;
    conf.controllers.len = 2; /* no process listens at the second address */
    drop_call(&r);
    assert_int_equal(r.code, -ERR_CONNECT);
    assert_non_null(strstr(r.err.text, "standby"));
    assert_non_null(strstr(r.err.text, "; 127.0.0.2:"));
    rpc_server_free(v.server);
}

static struct served *slow;
static void not_me(struct served *v, const struct rpc_request *r)
{
    Pb__PingReply ping = PB__PING_REPLY__INIT;

    ping.host = "there";
    rpc_reply(v->server, r->call, &ping.base);
    if (slow)
        rpc_reply_error(slow->server, slow->last_call, -ERR_NO_JOB, "late");
}

/* A first controller that does not answer: it has been replaced, or it is slow, or neither. */
static void hanging_first_controller_is_survived(void **state)
{
    struct served first = {.hold = true}, second = {0};
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = AUDIENCE};
    struct rpc_server_events e = {.on_request = served_request, .ctx = &second};
    struct rpc_test_result r;

    serve(&first, NULL);
    unlink(socket_path);
    minter_start("n0");
    conf.slurmctld_port = (uint16_t)first.port;
    conf.controllers.len = 2;
    conf.message_timeout_sec = 1;
    second.server = rpc_server_new(&o, &e);
    assert_int_equal(rpc_server_listen_tcp(second.server, "127.0.0.2", (uint16_t)first.port, NULL),
                     first.port);
    drop_call(&r);
    assert_int_equal(r.code, 0);
    assert_int_equal(second.requests, 2);

    slow = &first;
    second.answer = not_me;
    drop_call(&r);
    assert_int_equal(r.code, -ERR_NO_JOB);
    assert_string_equal(r.err.text, "late");
    assert_int_equal(second.requests, 3);

    slow = NULL;
    drop_call(&r);
    assert_int_equal(r.code, -ERR_TIMEOUT);
    assert_non_null(strstr(r.err.text, "(127.0.0.1:"));
    assert_non_null(strstr(r.err.text, "; 127.0.0.2:"));
    rpc_server_free(first.server);
    rpc_server_free(second.server);
}

static void answer_error(struct served *v, const struct rpc_request *r)
{
    rpc_reply_error(v->server, r->call, -ERR_NO_JOB, "job 9: no such job");
}

static void refusal_reaches_the_caller(void **state)
{
    struct served v = {.answer = answer_error};
    struct rpc_test_result r;

    serve(&v, NULL);
    call_ping(&r);
    assert_int_equal(r.code, -ERR_NO_JOB);
    assert_string_equal(r.err.text, "job 9: no such job");
    rpc_server_free(v.server);
}

static bool was_asked(void *ctx)
{
    return ((struct served *)ctx)->requests > 0;
}
static bool caller_gone(void *ctx)
{
    return ((struct served *)ctx)->gone > 0;
}

static void timed_out_and_dropped_calls_are_ended(void **state)
{
    struct served v = {.hold = true};
    struct rpc_test_result r = {0};
    struct rpc_async *a;

    serve(&v, NULL);
    rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 1, rpc_test_note_result, &r);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_TIMEOUT);

    /* A call dropped at once, and while it waits: done() is not called, and the server notices.
     * Also over TCP, where a plain end of data could come from a caller that still waits for the
     * reply. */
    minter_start("n0");
    conf.slurmctld_port = (uint16_t)v.port;
    for (int tcp = 0; tcp < 2; tcp++) {
        if (tcp)
            unlink(socket_path);
        r = (struct rpc_test_result){0};
        rpc_async_drop(rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 0,
                                            rpc_test_note_result, &r));
        v.requests = v.gone = 0;
        a = rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, RPC_WAIT_FOREVER,
                                 rpc_test_note_result, &r);
        run_until(was_asked, &v);
        rpc_async_drop(a);
        run_until(caller_gone, &v);
        settle();
        assert_false(r.done);
    }

    /* The controller closes while it handles the request. */
    v.requests = 0;
    rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, RPC_WAIT_FOREVER,
                         rpc_test_note_result, &r);
    run_until(was_asked, &v);
    rpc_server_free(v.server);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_CONNECT);
    assert_non_null(strstr(r.err.text, "(connect failure) (tried 127.0.0.1:"));
    assert_non_null(strstr(r.err.text, ": Connection closed by the other side)"));

    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    v.requests = 0;
    r = (struct rpc_test_result){0};
    rpc_async_controller(loop, &conf, RPC_JOB_SIGNAL, &nothing.base, 0, rpc_test_note_result, &r);
    run_until(was_asked, &v);
    rpc_server_free(v.server);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_CLOSED); /* it may have been executed */
    assert_non_null(strstr(r.err.text, " (slurm controller 127.0.0.1:"));
}

/* Fan-out. */

enum { NODES = 600 };

struct fanned {
    struct rpc_fanout *f;
    unsigned done, failed, free_after;
    int codes[NODES];
    unsigned counts[NODES];
    struct err err;
    size_t want;
};

static void on_node(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                    const struct err *err)
{
    struct fanned *x = ctx;

    assert_true(index < NODES);
    x->done++;
    x->counts[index]++;
    x->codes[index] = code;
    if (code) {
        x->failed++;
        x->err = *err;
    }
    if (x->done == x->free_after)
        rpc_fanout_free(x->f);
}

static bool all_done(void *ctx)
{
    struct fanned *x = ctx;

    return x->done >= x->want;
}

static const char *node_name(unsigned i)
{
    static char names[NODES][16];

    snprintf(names[i], sizeof(names[i]), "n%u", i);
    return names[i];
}

static void fan_out(struct fanned *x, const struct rpc_node_target *targets, size_t count,
                    int64_t timeout_ms)
{
    x->want = x->free_after ? x->free_after : count;
    x->f = rpc_fanout_start(loop, &conf, targets, count, RPC_NODE_STATUS, &nothing.base, timeout_ms,
                            on_node, x);
}

static void answer_status(struct served *v, const struct rpc_request *r)
{
    Pb__NodeStatus status = PB__NODE_STATUS__INIT;

    status.name = "n";
    if (!v->hold)
        rpc_reply(v->server, r->call, &status.base);
}

/* All nodes but one answer; that one is named. */
static void fan_out_names_the_node_that_fails(void **state)
{
    struct rpc_server_options bend = {.audience = "n0"};
    struct served v = {.answer = answer_status};
    struct rpc_node_target *targets = mem_new_array(struct rpc_node_target, NODES);
    struct fanned x = {0};

    minter_start("n0");
    serve(&v, &bend);
    for (unsigned i = 0; i < NODES; i++)
        targets[i] = (struct rpc_node_target){"n0", "127.0.0.1", (uint16_t)v.port};
    targets[3] = (struct rpc_node_target){"n3", "127.0.0.1", 1};
    targets[5] = (struct rpc_node_target){"n5", "127.0.0.1", (uint16_t)v.port};
    unlink(socket_path);
    fan_out(&x, targets, NODES, 0);
    run_until(all_done, &x);
    settle();
    for (unsigned i = 0; i < NODES; i++)
        assert_int_equal(x.counts[i], 1);
    assert_int_equal(x.failed, 2);
    assert_int_equal(x.codes[3], -ERR_CONNECT);
    assert_int_equal(x.codes[5], -ERR_AUTH); /* its token is not for the node that answers there */
    assert_non_null(strstr(x.err.text, x.err.code == -ERR_AUTH ? "n5" : "n3 (127.0.0.1:1)"));
    assert_int_equal(v.requests, NODES - 2);
    rpc_fanout_free(x.f);
    rpc_server_free(v.server);
    free(targets);
}

static void fan_out_without_tokens_fails(void **state)
{
    struct rpc_node_target targets[3];
    struct fanned x = {0};

    for (unsigned i = 0; i < 3; i++)
        targets[i] = (struct rpc_node_target){node_name(i), "127.0.0.1", 1};
    fan_out(&x, targets, 3, 0);
    run_until(all_done, &x);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(x.codes[i], -ERR_AUTH);
    rpc_fanout_free(x.f);

    /* Freed inside done(), with another done() still to come. */
    x = (struct fanned){.free_after = 2};
    fan_out(&x, targets, 3, 0);
    run_until(all_done, &x);
    settle();
    assert_int_equal(x.done, 2);
}

/* A single target on this host is asked over its socket, where the kernel identifies the caller;
 * other cases use TCP. */
static void fan_out_includes_this_host(void **state)
{
    struct rpc_server_options bend = {.audience = "n1"};
    struct served v = {.answer = answer_status};
    struct rpc_node_target here = {"n1", "127.0.0.1", 1, .here = true};
    _cleanup_free_ char *path = mem_printf("%s/slurmd-n1", dir);
    struct fanned x = {0};
    int fd;

    serve(&v, &bend);
    assert_int_equal(rpc_server_listen_unix(v.server, path, 0666, NULL), 0);
    fan_out(&x, &here, 1, 0);
    run_until(all_done, &x);
    assert_int_equal(x.codes[0], 0);
    assert_true(str_starts(v.peer, "local uid "));
    assert_int_equal(v.who.uid, geteuid());
    rpc_fanout_free(x.f);

    x = (struct fanned){0}; /* over an open connection, which is taken over */
    fd = rpc_net_connect_unix(path);
    assert_true(fd >= 0);
    here.fd = &fd;
    unlink(path);
    fan_out(&x, &here, 1, 0);
    assert_int_equal(fd, -1);
    run_until(all_done, &x);
    assert_int_equal(x.codes[0], 0);
    assert_true(str_starts(v.peer, "local uid "));
    rpc_fanout_free(x.f);

    /* The socket is missing: uses TCP. */
    unlink(socket_path);
    minter_start("n0");
    x = (struct fanned){0};
    here = (struct rpc_node_target){"n1", "127.0.0.1", (uint16_t)v.port, .here = true};
    fan_out(&x, &here, 1, 0);
    run_until(all_done, &x);
    assert_int_equal(x.codes[0], 0);
    assert_true(str_starts(v.peer, "127.0.0.1:"));
    rpc_fanout_free(x.f);
    rpc_server_free(v.server);
}

/* A secret comes from the daemon that will be asked next, whose connection is kept; or from any
   daemon. */
static void secrets_are_minted_for_nodes_and_the_controller(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key secret;
    int fd = -1;

    minter_start("n0");
    assert_int_equal(rpc_secret_new(&conf, "n0", token, &secret, &fd, NULL), 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rpc_secret_new(&conf, "n9", token, &secret, &fd, NULL), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(rpc_secret_new(&conf, NULL, token, &secret, NULL, NULL), 0);
}

static void fan_out_ends_at_its_time_limit(void **state)
{
    struct rpc_server_options bend = {.audience = "n0"};
    struct served v = {.answer = answer_status, .hold = true};
    struct rpc_node_target targets[4];
    struct fanned x = {0};

    minter_start("n0");
    serve(&v, &bend);
    unlink(socket_path);
    for (unsigned i = 0; i < 4; i++)
        targets[i] = (struct rpc_node_target){"n0", "127.0.0.1", (uint16_t)v.port};
    fan_out(&x, targets, 4, 1);
    run_until(all_done, &x);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(x.codes[i], -ERR_TIMEOUT);
    rpc_fanout_free(x.f);

    x = (struct fanned){0}; /* freed while targets wait */
    fan_out(&x, targets, 4, 0);
    v.requests = 0;
    run_until(was_asked, &v);
    rpc_fanout_free(x.f);
    settle();
    assert_int_equal(x.done, 0);

    v.hold = false;
    x = (struct fanned){.free_after = 1};
    fan_out(&x, targets, 4, 0);
    run_until(all_done, &x);
    settle();
    assert_int_equal(x.done, 1);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unreachable_controllers_are_named),
        TEST(call_fails_without_a_token_daemon),
        TEST(call_works_locally_and_over_tcp),
        TEST(call_reuses_the_connection_of_the_call_before),
        TEST(a_kept_connection_that_was_closed_is_replaced),
        TEST(a_refused_call_keeps_no_connection),
        TEST(dead_address_leaves_time_for_the_others),
        TEST(standby_is_passed_over_for_the_leader),
        TEST(call_ends_at_its_time_limit),
        TEST(refusal_reaches_the_caller),
        TEST(timed_out_and_dropped_calls_are_ended),
        TEST(hanging_first_controller_is_survived),
        TEST(fan_out_names_the_node_that_fails),
        TEST(fan_out_includes_this_host),
        TEST(secrets_are_minted_for_nodes_and_the_controller),
        TEST(fan_out_without_tokens_fails),
        TEST(fan_out_ends_at_its_time_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
