/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocking client, on a thread of its own against a server on the loop. */
#include "rpc/reply.h"
#include "rpc/rpc_test_client.h"

#include "rpc/rpc_test_names.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/un.h>

#include "proto/job.pb-c.h"

static void unreachable_controller_is_named(void **state)
{
    struct served v = {0};
    char want[256];

    serve(&v, NULL);
    rpc_server_free(v.server);
    conf.slurmctld_port = (uint16_t)v.port;
    conf.controllers.len = 2;
    for (int tcp = 0; tcp < 2; tcp++) {
        if (tcp)
            over_tcp();
        struct job j = new_job();
        call(&j, RPC_PING);
        assert_int_equal(j.rc, -ERR_CONNECT);
        assert_int_equal(j.err.code, -ERR_CONNECT);
        snprintf(want, sizeof(want),
                 "Unable to contact slurm controller (connect failure) (tried 127.0.0.1:%d: "
                 "Connection refused; 127.0.0.2:%d: Connection refused)",
                 v.port, v.port);
        assert_string_equal(j.err.text, want);
        rpc_client_free(j.client);
    }
}

static void unknown_host_is_reported(void **state)
{
    struct job j = new_job();

    hosts[0].addr = "no such host";
    conf.slurmctld_port = 6817;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_CONNECT);
    assert_non_null(strstr(j.err.text, "no such host:6817: "));
    rpc_client_free(j.client);
}

/* An address that does not answer leaves the others, and the call, their time. */
static void dead_address_leaves_time_for_the_others(void **state)
{
    struct served v = {0};
    struct job j = new_job();
    char other[160];

    serve(&v, NULL);
    snprintf(other, sizeof(other), "%s/slurmd-n1", dir);
    assert_int_equal(rpc_server_listen_unix(v.server, other, 0666, NULL), 0);
    unlink(socket_path);
    struct vanishing dead = vanish_begin(v.port);
    hosts[0].addr = NAME_WITH_TWO;
    conf.slurmctld_port = (uint16_t)v.port;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_string_equal(j.host, "here");
    vanish_end(&dead);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void call_fails_without_a_token_daemon(void **state)
{
    struct served v = {0};
    struct job j = new_job();
    char empty[96];

    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    snprintf(empty, sizeof(empty), "%s/none", dir);
    conf.socket_dirs[0] = empty;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_AUTH);
    assert_non_null(strstr(j.err.text, empty));
    assert_non_null(strstr(j.err.text, "start slurmd"));
    assert_int_equal(v.requests, 0);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void call_over_the_local_socket_succeeds(void **state)
{
    struct served v = {0};
    struct job j = new_job();

    serve(&v, NULL); /* no TCP port in conf: only the socket can answer */
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_string_equal(j.host, "here");
    assert_int_equal(v.who.uid, geteuid());
    assert_true(v.roles & RPC_WHO_LOCAL);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void call_over_tcp_succeeds(void **state)
{
    struct served v = {0};
    char first[128];

    over_tcp();
    struct job j = new_job();
    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_string_equal(j.host, "here");
    assert_int_equal(v.who.uid, geteuid());
    assert_false(v.roles & RPC_WHO_LOCAL);
    assert_memory_equal(v.peer, "127.0.0.1:", 10);
    snprintf(first, sizeof(first), "%s", v.peer);
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_string_equal(v.peer, first); /* the same connection, another token */
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* Another user may have created a socket first: a socket of an untrusted server is used neither
 * for requests nor for tokens. */
static void socket_of_another_user_is_not_used(void **state)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct job j = new_job();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (geteuid() != 0)
        skip();
    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", socket_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    assert_int_equal(seteuid(4711), 0); /* the kernel reports this uid as the listener's */
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(seteuid(0), 0);
    conf.slurm_uid = conf.slurmd_uid = 4712;
    hosts[0].addr = "127.0.0.1";
    conf.slurmctld_port = 1;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_CONNECT);
    assert_non_null(strstr(j.err.text, "uid 4711"));
    assert_non_null(strstr(j.err.text, socket_path));
    close(fd);
    rpc_client_free(j.client);
}

static void stale_socket_is_passed_over(void **state)
{
    struct served v = {0};
    struct job j = new_job();
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    char other[160];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    serve(&v, NULL);
    snprintf(other, sizeof(other), "%s/slurmd-n1", dir);
    assert_int_equal(rpc_server_listen_unix(v.server, other, 0666, NULL), 0);
    unlink(socket_path);
    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", socket_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    close(fd); /* left behind by a daemon that was killed */
    conf.slurmctld_port = (uint16_t)v.port;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    assert_false(v.roles & RPC_WHO_LOCAL);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* A node daemon that hangs must not keep a command from getting a token from another daemon. */
static void hanging_token_daemon_is_passed_over(void **state)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct served v = {0};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    serve(&v, NULL);
    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/slurmd-n1", dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    assert_int_equal(listen(fd, 5), 0);
    conf.slurmctld_port = (uint16_t)v.port;
    conf.message_timeout_sec = 1;
    over_tcp();
    struct job j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    rpc_client_free(j.client);
    close(fd);
    unlink(sun.sun_path);
    rpc_server_free(v.server);
}

static void answer_error(struct served *v, const struct rpc_request *r)
{
    rpc_reply_error(v->server, r->call, -ERR_NO_PARTITION, "no partition \"gpu\"; there is: debug");
}

static void refusal_reaches_the_caller(void **state)
{
    struct served v = {.answer = answer_error};
    struct job j = new_job();

    serve(&v, NULL);
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_NO_PARTITION);
    assert_int_equal(j.err.code, -ERR_NO_PARTITION);
    assert_string_equal(j.err.text, "no partition \"gpu\"; there is: debug");
    v.answer = NULL;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, 0);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void call_times_out(void **state)
{
    struct served v = {.hold = true};
    struct job j = new_job();

    serve(&v, NULL);
    j.timeout_ms = 1;
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_TIMEOUT);
    v.hold = false;
    j.timeout_ms = RPC_WAIT_FOREVER;
    call(&j, RPC_PING); /* not the late reply to the first request */
    assert_int_equal(j.rc, 0);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void close_on_request(struct served *v, const struct rpc_request *r)
{
    v->hold = true;
    loop_stop(loop);
}

static struct err close_while_waiting(enum rpc_number rpc)
{
    struct served v = {.answer = close_on_request};
    struct job j = new_job();
    pthread_t thread;

    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    j.run = do_call;
    j.rpc = rpc;
    j.request = &nothing.base;
    assert_int_equal(pipe(j.pipe), 0);
    assert_int_equal(pthread_create(&thread, NULL, job_thread, &j), 0);
    run_until(is_true, &v.hold);
    rpc_server_free(v.server);
    pthread_join(thread, NULL);
    close(j.pipe[0]);
    close(j.pipe[1]);
    rpc_client_free(j.client);
    return j.err;
}

/* The server is killed while it handles a request: for a read-only request the client reports that
 * no controller answers; a change may have been executed. */
static void closed_connection_is_reported(void **state)
{
    struct err err = close_while_waiting(RPC_PING);
    char want[320];

    assert_int_equal(err.code, -ERR_CONNECT);
    snprintf(want, sizeof(want),
             "Unable to contact slurm controller (connect failure) (tried %s: Connection closed by "
             "the other side; 127.0.0.1:%u: Connection refused)",
             socket_path, conf.slurmctld_port);
    assert_string_equal(err.text, want);

    err = close_while_waiting(RPC_JOB_SIGNAL);
    assert_int_equal(err.code, -ERR_CLOSED);
    snprintf(want, sizeof(want),
             "Connection closed by the other side before the answer was complete (slurm controller "
             "127.0.0.1:%u)",
             conf.slurmctld_port);
    assert_string_equal(err.text, want);
}

static void client_reconnects_after_a_restart(void **state)
{
    struct served v = {0};
    struct job j = new_job();

    for (int i = 0; i < 3; i++) {
        serve(&v, NULL);
        call(&j, RPC_PING);
        assert_int_equal(j.rc, 0);
        rpc_server_free(v.server);
    }
    rpc_client_free(j.client);
}

static void oversized_request_is_refused(void **state)
{
    Pb__ConfigRequest ask = PB__CONFIG_REQUEST__INIT;
    struct served v = {0};
    struct job j = new_job();

    serve(&v, NULL);
    const size_t max = rpc_find(RPC_CONFIG_SHOW)->body_max;
    ask.key = mem_alloc(max + 1);
    memset(ask.key, 'k', max);
    ask.key[max] = '\0';
    j.request = &ask.base;
    call(&j, RPC_CONFIG_SHOW);
    assert_int_equal(j.rc, -ERR_TOO_BIG);
    assert_non_null(
        strstr(j.err.text, "a request CONFIG_SHOW of 262148 bytes: at most 262144 are"));
    ask.key[max - 4] = '\0'; /* tag and length take the four */
    call(&j, RPC_CONFIG_SHOW);
    assert_int_not_equal(j.rc, -ERR_TOO_BIG);
    assert_int_equal(v.requests, 1);
    free(ask.key);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

static void answer_parts(struct served *v, const struct rpc_request *r)
{
    Pb__JobList list = PB__JOB_LIST__INIT;
    _cleanup_str_ struct str body = STR_INIT;

    list.has_stamp = 1;
    list.stamp = 5;
    pb_pack(&list.base, &body);
    for (int i = 0; i < 5; i++)
        rpc_reply_bytes(v->server, r->call, body.data, body.len, true);
    if (v->hold)
        rpc_reply_error(v->server, r->call, -ERR_INTERNAL, "half way");
    else
        rpc_reply_bytes(v->server, r->call, body.data, body.len, false);
}

static void reply_in_parts_is_received(void **state)
{
    struct served v = {.answer = answer_parts};
    struct job j = new_job();

    serve(&v, NULL);
    j.request = &nothing.base;
    j.rpc = RPC_JOB_LIST;
    j.run = do_stream;
    run_job(&j);
    assert_int_equal(j.rc, 0);
    assert_int_equal(j.parts, 6);

    v.hold = true;
    run_job(&j);
    assert_int_equal(j.rc, -ERR_INTERNAL);
    assert_string_equal(j.err.text, "half way");
    assert_int_equal(j.parts, 5);

    v.hold = false;
    j.stop_at = 3;
    run_job(&j);
    assert_int_equal(j.rc, -ERR_GENERIC);
    assert_string_equal(j.err.text, "enough");
    assert_int_equal(j.parts, 3);
    v.answer = NULL;
    call(&j, RPC_PING); /* the remaining parts are not mistaken for the reply */
    assert_int_equal(j.rc, 0);

    v.answer = answer_parts;
    call(&j, RPC_JOB_LIST); /* several parts instead of one reply */
    assert_int_equal(j.rc, -ERR_PROTOCOL);
    rpc_client_free(j.client);
    rpc_server_free(v.server);
}

/* A server that answers every request with the given bytes and closes. */
struct liar {
    int fd, got;
    struct loop_fd *watch, *got_watch;
    const void *bytes;
    size_t len;
};
static void liar_read(void *ctx, int fd, unsigned ready)
{
    struct liar *l = ctx;
    char buf[4096];

    if (recv(fd, buf, sizeof(buf), 0) > 0 && send(fd, l->bytes, l->len, MSG_NOSIGNAL) < 0)
        abort();
    loop_fd_free(take_ptr(l->got_watch));
    close(fd);
}
static void liar_accept(void *ctx, int fd, unsigned ready)
{
    struct liar *l = ctx;

    l->got = accept(fd, NULL, NULL);
    l->got_watch = loop_fd_new(loop, l->got, LOOP_READ, liar_read, l);
}

static void false_replies_are_refused(void **state)
{
    static const struct {
        struct rpc_header h;
        const char *body;
        int code;
    } rows[] = {
        {{.version = 2, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1}, "", -ERR_VERSION},
        {{.version = 1, .rpc = RPC_PING, .flags = 0, .id = 1}, "", -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 2}, "", -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_STATS, .flags = RPC_FLAG_REPLY, .id = 1}, "", -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY | RPC_FLAG_SESSION, .id = 1},
         "",
         -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_ERROR, .id = 1},
         "\x08\x05\x12\x01x",
         -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1}, "", -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1}, "\xff", -ERR_PROTOCOL},
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1, .body_len = 1000},
         "x",
         -ERR_CONNECT}, /* and then no process listens at the address */
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1, .body_len = 1u << 31},
         "x",
         -ERR_TOO_BIG},
        {{.version = 1, .flags = RPC_FLAG_REPLY | RPC_FLAG_ERROR, .id = 0},
         "\x08\x05\x12\x01x",
         -5}, /* turned away before the request was read */
        {{.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1}, "\x0a\x01h\x10\x01", 0},
    };
    struct liar liar = {.fd = socket(AF_UNIX, SOCK_STREAM, 0)};
    struct sockaddr_un sun = {.sun_family = AF_UNIX};

    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", socket_path);
    assert_int_equal(bind(liar.fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    assert_int_equal(listen(liar.fd, 5), 0);
    liar.watch = loop_fd_new(loop, liar.fd, LOOP_READ, liar_accept, &liar);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[RPC_HEADER_SIZE + 64];
        struct rpc_header h = rows[i].h;
        struct job j = new_job();
        if (!h.body_len)
            h.body_len = (uint32_t)strlen(rows[i].body);
        rpc_header_pack(&h, bytes);
        memcpy(bytes + RPC_HEADER_SIZE, rows[i].body, strlen(rows[i].body));
        liar.bytes = bytes;
        liar.len = RPC_HEADER_SIZE + strlen(rows[i].body);
        call(&j, RPC_PING);
        if (j.rc != rows[i].code)
            fail_msg("row %zu: %d %s", i, j.rc, j.err.text);
        rpc_client_free(j.client);
    }
    liar.bytes = "HTTP/1.1 400 Bad Request\r\n\r\n";
    liar.len = 28;
    struct job j = new_job();
    call(&j, RPC_PING);
    assert_int_equal(j.rc, -ERR_PROTOCOL);
    rpc_client_free(j.client);
    loop_fd_free(liar.watch);
    close(liar.fd);
}

/* An impostor that does not know the key listens at a stopped controller's address, and sends
   plausible answers. */
static void server_without_the_key_is_refused(void **state)
{
    static const char good[] = "\x0a\x01h\x10\x01"; /* a PING's: it leads */
    struct rpc_header h = {.version = 1, .rpc = RPC_PING, .flags = RPC_FLAG_REPLY, .id = 1};
    struct liar liar = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
    struct served v = {0};
    uint8_t bytes[RPC_HEADER_SIZE + AUTH_MAC_SIZE + sizeof(good)] = {0};

    over_tcp();
    serve(&v, NULL);
    conf.slurmctld_port = (uint16_t)v.port;
    sin.sin_port = htons(conf.slurmctld_port);
    assert_int_equal(bind(liar.fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
    assert_int_equal(listen(liar.fd, 5), 0);
    liar.watch = loop_fd_new(loop, liar.fd, LOOP_READ, liar_accept, &liar);
    hosts[0].addr = "127.0.0.2";
    hosts[1].addr = "127.0.0.1";
    h.body_len = (uint32_t)strlen(good);
    for (int sealed = 0; sealed < 2; sealed++) {
        h.token_len = sealed ? AUTH_MAC_SIZE : 0;
        rpc_header_pack(&h, bytes);
        memcpy(bytes + RPC_HEADER_SIZE + h.token_len, good, strlen(good));
        liar.bytes = bytes;
        liar.len = RPC_HEADER_SIZE + h.token_len + strlen(good);
        conf.controllers.len = 1;
        struct job j = new_job();
        call(&j, RPC_PING);
        assert_int_equal(j.rc, -ERR_UNPROVEN);
        rpc_client_free(j.client);
        conf.controllers.len = 2; /* the other one is asked then */
        j = new_job();
        call(&j, RPC_PING);
        assert_int_equal(j.rc, 0);
        assert_string_equal(j.host, "here");
        rpc_client_free(j.client);
    }
    loop_fd_free(liar.watch);
    close(liar.fd);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hosts_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unreachable_controller_is_named),
        TEST(unknown_host_is_reported),
        TEST(dead_address_leaves_time_for_the_others),
        TEST(call_fails_without_a_token_daemon),
        TEST(socket_of_another_user_is_not_used),
        TEST(stale_socket_is_passed_over),
        TEST(false_replies_are_refused),
        TEST(server_without_the_key_is_refused),
        TEST(call_over_the_local_socket_succeeds),
        TEST(call_over_tcp_succeeds),
        TEST(hanging_token_daemon_is_passed_over),
        TEST(refusal_reaches_the_caller),
        TEST(call_times_out),
        TEST(closed_connection_is_reported),
        TEST(client_reconnects_after_a_restart),
        TEST(oversized_request_is_refused),
        TEST(reply_in_parts_is_received),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
