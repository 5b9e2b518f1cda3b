/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking client in a cluster with several controllers: which one it asks, and when it asks
   again. */
#include <poll.h>
#include <sys/un.h>

#include "rpc/reply.h"
#include "rpc/rpc_test_client.h"

static void second_controller_answers_if_the_first_is_down(void **state)
{
    struct served v = {0};

    over_tcp();
    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    conf.controllers.len = 2;
    hosts[0].addr = "127.0.0.3"; /* no process listens there */
    hosts[1].addr = "127.0.0.1";
    struct job j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void refuse_as_standby(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}

/* A second controller, at 127.0.0.2 and the first one's port. */
static void serve_second(struct served *v, const struct served *first)
{
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = AUDIENCE};
    struct rpc_server_events e = {.on_request = served_request, .on_gone = served_gone, .ctx = v};

    v->server = rpc_server_new(&o, &e);
    assert_int_equal(rpc_server_listen_tcp(v->server, "127.0.0.2", (uint16_t)first->port, NULL),
                     first->port);
    conf.slurmctld_port = (uint16_t)first->port;
    conf.controllers.len = 2;
}

static void standby_is_passed_over_for_the_leader(void **state)
{
    struct served backup = {.answer = refuse_as_standby}, leader = {0};
    struct job j = new_job();

    serve(&backup, NULL);
    conf.slurmctld_port = (uint16_t)backup.port;
    conf.message_timeout_sec = 1;
    call(&j, RPC_PING); /* no controller leads */
    assert_int_equal(j.rc, -ERR_CONNECT);
    assert_non_null(strstr(j.err.text, "standby"));
    assert_true(backup.requests > 2); /* a controller that waits to take over is asked again */
    rpc_client_free(j.client);

    serve_second(&leader, &backup);
    j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_int_equal(leader.requests, 1);
    call(&j, RPC_PING); /* straight to the leader */
    assert_int_equal(leader.requests, 2);
    rpc_client_free(j.client);
    rpc_server_free(backup.server);
    rpc_server_free(leader.server);
}

static void lead_at_third(struct served *v, const struct rpc_request *r)
{
    v->answer = r->rpc->number == RPC_PING && v->requests > 2 ? NULL : v->answer;
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}

/* A command that starts while the backup waits is answered after the takeover. */
static void standby_that_takes_over_answers_the_call(void **state)
{
    struct served v = {.answer = lead_at_third};
    struct job j = new_job();

    serve(&v, NULL);
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* The first controller hangs, the second has taken over. */
static void replaced_hanging_leader_is_left(void **state)
{
    struct served first = {.hold = true}, second = {0};

    serve(&first, NULL);
    serve_second(&second, &first);
    conf.message_timeout_sec = 2;
    for (int tcp = 0; tcp < 2; tcp++) {
        if (tcp)
            over_tcp();
        struct job j = new_job();
        unsigned before = second.requests;
        call(&j, RPC_JOB_SIGNAL);
        assert_int_equal(j.rc, 0);
        assert_int_equal(second.requests, before + 2);
        rpc_client_free(j.client);
    }
    rpc_server_free(first.server);
    rpc_server_free(second.server);
}

static struct served *slow;
static uint64_t slow_call;
static void note_call(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else
        slow_call = r->call;
}
static void not_me(struct served *v, const struct rpc_request *r)
{
    Pb__PingReply ping = PB__PING_REPLY__INIT;

    ping.host = "there";
    if (r->rpc->number == RPC_PING)
        rpc_reply(v->server, r->call, &ping.base);
    else
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
    if (slow)
        rpc_reply_error(slow->server, slow_call, -ERR_NO_JOB, "late");
}

/* The first controller is slow: the client waits for its answer and sends the request to no
   other. */
static void hanging_leader_is_awaited(void **state)
{
    struct served first = {.answer = note_call}, second = {.answer = not_me};

    serve(&first, NULL);
    serve_second(&second, &first);
    slow = &first;
    conf.message_timeout_sec = 4;
    struct job j = new_job();
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_NO_JOB);
    assert_string_equal(j.err.text, "late");
    assert_int_equal(second.requests, 1);

    slow = NULL;
    conf.message_timeout_sec = 1;
    over_tcp();
    rpc_client_free(j.client);
    j = new_job();
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_TIMEOUT);
    assert_non_null(strstr(j.err.text, "(127.0.0.1:"));
    assert_non_null(strstr(j.err.text, "; 127.0.0.2:"));
    assert_non_null(strstr(j.err.text, "standby"));
    rpc_client_free(j.client);
    rpc_server_free(first.server);
    rpc_server_free(second.server);
}

/* The first controller's answer arrives while the second is asked whether it leads: the answer is
 * used at once, whatever the second says. */
static struct loop_timer *late_ping;
static struct served *asked;
static void say_leads(void *ctx)
{
    Pb__PingReply ping = PB__PING_REPLY__INIT;

    ping.host = "there";
    ping.primary = 1;
    rpc_reply(asked->server, asked->last_call, &ping.base);
}
static void after_the_first(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number != RPC_PING) {
        rpc_reply_bytes(v->server, r->call, NULL, 0, false);
        return;
    }
    rpc_reply_error(slow->server, slow_call, -ERR_NO_JOB, "late");
    loop_timer_set(late_ping, 1);
}
static void late_answer_of_the_first_controller_counts(void **state)
{
    struct served first = {.answer = note_call}, second = {.answer = after_the_first};

    serve(&first, NULL);
    serve_second(&second, &first);
    slow = &first;
    asked = &second;
    late_ping = loop_timer_new(loop, say_leads, NULL);
    struct job j = new_job();
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_NO_JOB);
    assert_string_equal(j.err.text, "late");
    assert_int_equal(second.requests, 1);
    slow = NULL;
    rpc_client_free(j.client);
    loop_timer_free(late_ping);
    rpc_server_free(first.server);
    rpc_server_free(second.server);
}

/* The time ends while the second round requests a token: the results of the first round are
   reported. */
static void vouch_once(struct served *v, const struct rpc_request *r)
{
    static unsigned vouched;

    if (r->rpc->number != RPC_MINT)
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
    else if (vouched++ == 0)
        rpc_answer_mint(v->server, r, 60000);
}
static void call_ends_at_its_time_limit(void **state)
{
    struct served v = {.answer = vouch_once};

    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    conf.controllers.len = 2; /* no process listens at the second */
    conf.message_timeout_sec = 1;
    over_tcp();
    struct job j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_CONNECT);
    assert_non_null(strstr(j.err.text, "standby"));
    assert_non_null(strstr(j.err.text, "; 127.0.0.2:"));
    assert_int_equal(v.requests, 3); /* two for tokens */
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* A request that is refused in every round is not sent again just before the time ends: its answer
 * would come too late, and it would be unknown whether it was executed. */
static int64_t silent_from_ms;
static void refuse_until_late(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else if (loop_mono_ms() < silent_from_ms)
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}
static void no_request_is_sent_after_the_time_limit(void **state)
{
    struct served v = {.answer = refuse_until_late};
    struct job j = new_job();

    serve(&v, NULL);
    conf.message_timeout_sec = 2;
    silent_from_ms = loop_mono_ms() + 1800;
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_CONNECT);
    assert_non_null(strstr(j.err.text, "standby"));
    assert_true(v.requests > 3); /* it was asked repeatedly until then */
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* A controller that answers in the first round and not in the second may have executed the
   request. */
static void standby_then_silent(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else if (v->requests == 1)
        rpc_reply_error(v->server, r->call, -ERR_STANDBY, NULL);
}
static void standby_that_stops_answering_times_out(void **state)
{
    struct served v = {.answer = standby_then_silent};
    struct job j = new_job();

    serve(&v, NULL);
    conf.message_timeout_sec = 1;
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_TIMEOUT);
    assert_non_null(strstr(j.err.text, "standby"));
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* When a controller dies while it handles a request, a read-only request goes to the next
 * controller; a change has to be repeated by the caller. */
static void hang_up(struct served *v, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(v->server, r, 60000);
    else
        rpc_reply_error(v->server, r->call, -ERR_CLOSED, "gone");
}
static void call_moves_on_if_the_controller_dies(void **state)
{
    struct served first = {.answer = hang_up}, second = {0};

    serve(&first, NULL);
    serve_second(&second, &first);
    struct job j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_int_equal(second.requests, 1);
    rpc_client_free(j.client);
    j = new_job();
    call(&j, RPC_JOB_SIGNAL);
    assert_int_equal(j.rc, -ERR_CLOSED);
    assert_non_null(strstr(j.err.text, " (slurm controller 127.0.0.1:"));
    assert_int_equal(second.requests, 1);
    rpc_client_free(j.client);
    rpc_server_free(first.server);
    rpc_server_free(second.server);
}

/* A daemon that is ending: it reads this number of bytes of a request, and closes. */
struct ending {
    int listener;
    size_t takes;
    bool closed;
};
static void end_connection(void *ctx, int fd, unsigned ready)
{
    struct ending *e = ctx;
    char bytes[256];
    int conn = accept(fd, NULL, NULL);
    struct pollfd p = {.fd = conn, .events = POLLIN};

    assert_true(conn >= 0);
    assert_int_equal(poll(&p, 1, -1), 1); /* the request has come */
    if (e->takes)
        assert_int_equal(recv(conn, bytes, e->takes, 0), e->takes);
    e->closed = true;
    close(conn);
}
static size_t changes;
static void make_change(struct served *v, const struct rpc_request *r)
{
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;

    if (r->rpc->number == RPC_MINT) {
        rpc_answer_mint(v->server, r, 60000);
        return;
    }
    changes++;
    reply.changes = "";
    rpc_reply(v->server, r->call, &reply.base);
}

/* A change that a daemon has not read completely is sent to the next daemon; a change that it has
 * read may have been executed. */
static void connection_closed_before_the_request_was_read_moves_on(void **state)
{
    static const struct {
        size_t takes, controllers;
        int rc;
    } cases[] = {
        {0, 2, 0},
        {RPC_HEADER_SIZE - 1, 2, 0},
        {RPC_HEADER_SIZE, 2, -ERR_CLOSED}, /* it has no body */
        {0, 1, -ERR_CLOSED},               /* to be repeated when the only controller is back */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct served v = {.answer = make_change};
        struct sockaddr_un sun = {.sun_family = AF_UNIX};
        struct ending e = {.listener = socket(AF_UNIX, SOCK_STREAM, 0), .takes = cases[i].takes};
        char other[160];

        changes = 0;
        serve(&v, NULL);
        snprintf(other, sizeof(other), "%s/slurmd-n1", dir); /* makes tokens */
        assert_int_equal(rpc_server_listen_unix(v.server, other, 0666, NULL), 0);
        unlink(socket_path);
        snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", socket_path);
        assert_int_equal(bind(e.listener, (struct sockaddr *)&sun, sizeof(sun)), 0);
        assert_int_equal(listen(e.listener, 1), 0);
        struct loop_fd *watch = loop_fd_new(loop, e.listener, LOOP_READ, end_connection, &e);
        conf.slurmctld_port = (uint16_t)v.port;
        conf.controllers.len = cases[i].controllers;
        struct job j = new_job();
        call(&j, RPC_RECONFIGURE);
        assert_true(e.closed);
        assert_int_equal(j.rc, cases[i].rc);
        assert_int_equal(changes, j.rc == 0);
        loop_fd_free(watch);
        close(e.listener);
        unlink(socket_path);
        rpc_client_free(j.client);
        rpc_server_free(v.server);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(second_controller_answers_if_the_first_is_down),
        TEST(standby_is_passed_over_for_the_leader),
        TEST(standby_that_takes_over_answers_the_call),
        TEST(replaced_hanging_leader_is_left),
        TEST(hanging_leader_is_awaited),
        TEST(late_answer_of_the_first_controller_counts),
        TEST(call_ends_at_its_time_limit),
        TEST(no_request_is_sent_after_the_time_limit),
        TEST(standby_that_stops_answering_times_out),
        TEST(call_moves_on_if_the_controller_dies),
        TEST(connection_closed_before_the_request_was_read_moves_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
