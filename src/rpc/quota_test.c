/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits on callers, how callers are counted, and which ones are closed in favour of new
   ones. */
#include "rpc/rpc_test_server.h"

#include <malloc.h>
#include <sys/resource.h>

#include "rpc/reply.h"
#include "rpc/seal.h"
#include "rpc/server_priv.h"

static const Pb__Empty nothing = PB__EMPTY__INIT;

#define LOCAL ((uid_t)-1) /* over the local socket, as ourselves */

static void send_ping_request(struct raw *r, uid_t uid)
{
    struct made m;

    make_request(&m, RPC_PING, &nothing.base, uid, uid != LOCAL);
    raw_send(r, m.bytes.data, m.bytes.len);
    made_done(&m);
}

static void ping_as(struct raw *r, uid_t uid)
{
    struct rpc_header h;

    send_ping_request(r, uid);
    raw_frame(r, &h, NULL);
    assert_int_equal(h.flags, RPC_FLAG_REPLY);
}

/* Makes the caller busy: another request has begun. */
static void begin_more(struct raw *r)
{
    raw_send(r, "SL", 2);
    settle();
}

/* Another busy caller: it is served (text NULL), or refused with this text. */
static void one_more(struct served *v, uid_t uid, const char *text, struct raw *r)
{
    struct err err;

    v->refused = 0;
    if (uid == LOCAL)
        raw_take(r, rpc_net_connect_unix(socket_path));
    else
        raw_tcp(r, v->port);
    if (!text) {
        ping_as(r, uid);
        if (!v->idle)
            begin_more(r);
        return;
    }
    if (uid != LOCAL)
        send_ping_request(r, uid);
    raw_refused(r, -ERR_BUSY, &err);
    assert_non_null(strstr(err.text, text));
    run_until(raw_ended, r);
    assert_int_equal(v->refused, 1);
    raw_close(r);
    settle();
}

/* A user gets at most as many entries as are still free, so that no user can take all of them. */
static void user_takes_at_most_half_of_the_free_entries(void **state)
{
    static const struct {
        uid_t uid;
        const char *text;
    } rows[] = {
        {1000, NULL},          {1000, NULL},          {1000, NULL}, {1000, NULL},
        {1000, "this caller"}, {1001, NULL},          {1001, NULL}, {1001, "this caller"},
        {1002, NULL},          {1002, "this caller"}, {1003, NULL}, {1004, "this daemon"},
        {1003, "this daemon"}, {LOCAL, NULL},         {0, NULL},    {LOCAL, "this daemon"},
        {0, "this daemon"},
    };
    struct served v = {0};
    struct raw r[sizeof(rows) / sizeof(rows[0])], again;

    serve(&v, NULL);
    v.server->users_max = 8;
    v.server->reserved = 2; /* for daemons and root */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        one_more(&v, rows[i].uid, rows[i].text, &r[i]);
    raw_close(&r[0]);
    settle();
    one_more(&v, 1004, "this daemon", &again); /* ours are beyond what users may have */
    for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!rows[i].text)
            raw_close(&r[i]);
    settle();
    one_more(&v, 1004, NULL, &again);
    raw_close(&again);
    settle();
    assert_int_equal(v.server->user_count, 0);
    assert_null(v.server->users);
    assert_null(v.server->addresses);
    rpc_server_free(v.server);
}

static void connections_of_each_user_are_limited(void **state)
{
    struct served v = {0};
    struct raw first, second, third, other;
    const unsigned pretend = RPC_CONNECTIONS_PER_PEER - 2;

    serve(&v, NULL);
    v.server->users_max = 4 * RPC_CONNECTIONS_PER_PEER;
    one_more(&v, 1000, NULL, &first);
    assert_int_equal(HASH_COUNT(v.server->users), 1);
    v.server->users->connections += pretend; /* as if they had this many more */
    one_more(&v, 1000, NULL, &second);
    one_more(&v, 1000, "this caller", &third);
    one_more(&v, 1001, NULL, &other);
    raw_close(&second);
    settle();
    one_more(&v, 1000, NULL, &third);
    v.server->callers->user->connections -= pretend;
    raw_close(&first);
    raw_close(&third);
    raw_close(&other);
    settle();
    assert_null(v.server->users);
    rpc_server_free(v.server);
}

/* A new connection replaces the user's longest idle one; never a busy one, or another user's. */
static void new_connection_replaces_the_longest_idle_one(void **state)
{
    struct served v = {.idle = true};
    struct raw r[4], other, newer, last;

    serve(&v, NULL);
    v.server->users_max = 8;
    for (int i = 0; i < 4; i++)
        one_more(&v, 1000, NULL, &r[i]);
    one_more(&v, 1001, NULL, &other);
    begin_more(&r[0]);
    ping_as(&r[1], 1000); /* the oldest, and not idle for as long as the third */
    one_more(&v, 1000, NULL, &newer);
    run_until(raw_ended, &r[2]);
    assert_int_equal(v.refused, 1);
    assert_non_null(strstr(v.why, "idle longest"));
    assert_int_equal(v.server->user_count, 5);
    one_more(&v, 1000, NULL, &last);
    run_until(raw_ended, &r[3]);
    assert_false(r[0].eof || r[1].eof || other.eof || newer.eof);
    ping_as(&r[1], 1000);
    ping_as(&newer, 1000);
    begin_more(&r[1]);
    begin_more(&newer);
    begin_more(&last);
    raw_close(&r[2]);
    one_more(&v, 1000, "this caller", &r[2]);
    assert_false(other.eof);
    ping_as(&other, 1001);
    raw_close(&r[0]);
    raw_close(&r[1]);
    raw_close(&r[3]);
    raw_close(&newer);
    raw_close(&last);
    raw_close(&other);
    settle();
    assert_int_equal(v.server->user_count, 0);
    assert_null(v.server->users);
    rpc_server_free(v.server);
}

/* A caller that waits for a reply is not idle, however long. */
static void waiting_caller_is_not_idle(void **state)
{
    struct served v = {.idle = true, .hold = true};
    struct raw r[2], third;

    serve(&v, NULL);
    v.server->users_max = 4;
    for (int i = 0; i < 2; i++) {
        raw_take(&r[i], rpc_net_connect_unix(socket_path));
        settle();
        send_ping_request(&r[i], LOCAL);
        settle();
    }
    v.server->users_max = 2;
    v.server->reserved = 0;
    one_more(&v, LOCAL, "this daemon", &third);
    assert_false(r[0].eof || r[1].eof);
    raw_close(&r[0]);
    raw_close(&r[1]);
    settle();
    rpc_server_free(v.server);
}

/* Nor if it has asked for something else meanwhile. */
static void caller_with_two_waiting_requests_is_not_idle(void **state)
{
    struct served v = {.hold = true};
    struct raw idle, user;

    serve(&v, NULL);
    raw_tcp(&user, v.port);
    send_ping_request(&user, 1000);
    settle();
    send_ping_request(&user, 1000);
    settle();
    clock_ahead_ms = RPC_IDLE_TIMEOUT_MS;
    raw_tcp(&idle, v.port);
    clock_ahead_ms += RPC_STRANGER_TIMEOUT_MS;
    run_until(raw_ended, &idle); /* by now others are swept away */
    settle();
    assert_false(user.eof);
    clock_ahead_ms = 0;
    raw_close(&idle);
    raw_close(&user);
    settle();
    rpc_server_free(v.server);
}

static void refused_for_now(struct raw *r, uid_t uid)
{
    struct rpc_header h;
    struct str body = STR_INIT;

    send_ping_request(r, uid);
    raw_frame(r, &h, &body);
    assert_int_equal(h.flags, RPC_FLAG_REPLY | RPC_FLAG_ERROR);
    assert_non_null(strstr(str_cstr(&body), err_text(ERR_BACKOFF)));
    str_done(&body);
}

/* Only one user's requests, on any connection, and the connection stays open. */
static void request_rate_of_a_user_is_limited(void **state)
{
    struct served v = {0};
    struct raw a, b, other, root, us;
    const struct rpc_rate_options o = {.bucket = 2, .refill = 1, .period_ms = 3600000, .users = 8};

    v.idle = true;
    serve(&v, NULL);
    rpc_server_limit_rate(v.server, &o);
    one_more(&v, 1000, NULL, &a);
    one_more(&v, 1000, NULL, &b);
    refused_for_now(&a, 1000);
    refused_for_now(&b, 1000);
    refused_for_now(&a, 1000);
    assert_int_equal(rpc_server_rate_refused(v.server), 3);
    one_more(&v, 1001, NULL, &other);
    one_more(&v, 0, NULL, &root);
    one_more(&v, LOCAL, NULL, &us);
    for (int i = 0; i < 10; i++) {
        ping_as(&root, 0);
        ping_as(&us, LOCAL); /* a daemon's user */
    }
    rpc_server_limit_rate(v.server, NULL);
    ping_as(&a, 1000);
    assert_int_equal(rpc_server_rate_refused(v.server), 3);
    raw_close(&a);
    raw_close(&b);
    raw_close(&other);
    raw_close(&root);
    raw_close(&us);
    settle();
    rpc_server_free(v.server);
}

/* A request that is refused for its rate takes no entry of the replay memory. */
static void replays_are_remembered_behind_the_rate_limit(void **state)
{
    struct served v = {0};
    const struct rpc_rate_options o = {.bucket = 2, .refill = 1, .period_ms = 3600000, .users = 8};
    struct raw user, other;

    v.idle = true;
    serve(&v, NULL);
    auth_replay_free(v.server->replay);
    v.server->replay = auth_replay_new(16, v.server->opt.admin_uid);
    rpc_server_limit_rate(v.server, &o);
    one_more(&v, 1000, NULL, &user);
    ping_as(&user, 1000);
    for (int i = 0; i < 40; i++)
        refused_for_now(&user, 1000);
    one_more(&v, 1001, NULL, &other);
    ping_as(&other, 1001);
    raw_close(&user);
    raw_close(&other);
    settle();
    rpc_server_free(v.server);
}

/* A server where descriptors are few takes fewer of each kind. */
static void quotas_follow_the_descriptor_limit(void **state)
{
    struct served v = {0};
    struct rlimit before, tight;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    serve(&v, NULL);
    assert_int_equal(v.server->users_max, 64);
    assert_int_equal(v.server->reserved, 16);
    assert_int_equal(v.server->strangers_max, 32);
    v.server->opt.sessions = 100;
    rpc_quota_init(v.server);
    assert_int_equal(v.server->strangers_max, 200);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    rpc_server_free(v.server);
}

static void begin_session(struct raw *r, struct rpc_transcript *t, struct auth_key *k)
{
    struct rpc_header h = {
        .version = RPC_VERSION, .flags = RPC_FLAG_SESSION, .body_len = sizeof(struct rpc_hello)};
    _cleanup_str_ struct str out = STR_INIT, body = STR_INIT;
    struct rpc_hello_reply reply;

    rpc_hello_make("n1", &t->connecting);
    rpc_frame_append(&out, &h, NULL, &t->connecting);
    raw_send(r, out.data, out.len);
    raw_frame(r, &h, &body);
    assert_int_equal(body.len, sizeof(reply));
    memcpy(&reply, body.data, sizeof(reply));
    t->accepting = reply.hello;
}

static void end_handshake(struct raw *r, const struct rpc_transcript *t)
{
    struct rpc_header h = {
        .version = RPC_VERSION, .flags = RPC_FLAG_SESSION, .body_len = AUTH_MAC_SIZE, .id = 2};
    _cleanup_str_ struct str out = STR_INIT;
    uint8_t proof[AUTH_MAC_SIZE];

    rpc_seal_proof(&key, t, true, proof);
    rpc_frame_append(&out, &h, NULL, proof);
    raw_send(r, out.data, out.len);
}

static bool has_session(void *ctx)
{
    return ((struct served *)ctx)->sessions > 0;
}

/* The oldest unauthenticated caller is closed, even during a handshake; authenticated callers
   stay. */
static void unauthenticated_connections_are_limited(void **state)
{
    struct served v = {0};
    struct raw user, node, half, idle[8], local;
    struct rpc_transcript t;

    serve(&v, NULL);
    v.server->strangers_max = 8; /* one address has at most as many as are left */
    raw_tcp(&user, v.port);
    ping_as(&user, 1000);
    raw_tcp(&node, v.port);
    begin_session(&node, &t, &key);
    end_handshake(&node, &t);
    run_until(has_session, &v);
    assert_int_equal(v.server->stranger_count, 0);
    assert_null(v.server->addresses);
    raw_tcp(&half, v.port);
    begin_session(&half, &t, &key);
    for (int i = 0; i < 3; i++)
        raw_tcp(&idle[i], v.port);
    settle();
    assert_int_equal(v.server->stranger_count, 4);
    assert_int_equal(v.refused, 0);
    raw_tcp(&idle[3], v.port);
    run_until(raw_ended, &half);
    assert_int_equal(v.refused, 1);
    assert_non_null(strstr(v.why, "not said who it is"));
    for (int i = 4; i < 8; i++)
        raw_tcp(&idle[i], v.port);
    for (int i = 0; i < 4; i++)
        run_until(raw_ended, &idle[i]);
    settle();
    assert_int_equal(v.refused, 5);
    assert_int_equal(v.server->stranger_count, 4);
    ping_as(&idle[7], 1001); /* the newest are served, as are the authenticated */
    ping_as(&user, 1000);
    one_more(&v, LOCAL, NULL, &local);
    assert_false(node.eof);
    raw_close(&local);
    raw_close(&user);
    raw_close(&node);
    raw_close(&half);
    for (int i = 0; i < 8; i++)
        raw_close(&idle[i]);
    settle();
    assert_int_equal(v.server->stranger_count, 0);
    assert_null(v.server->addresses);
    rpc_server_free(v.server);
}

static void raw_from(struct raw *r, const char *from, int port)
{
    struct rpc_addr here, there;
    int fd;

    assert_int_equal(rpc_net_resolve(from, 0, true, &here, NULL), 1);
    assert_int_equal(rpc_net_resolve("127.0.0.1", (uint16_t)port, true, &there, NULL), 1);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&here.ss, here.len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&there.ss, there.len), 0);
    raw_take(r, fd);
}

/* All names of this host are one address; those of the busiest go first. */
static void unauthenticated_connections_of_an_address_are_limited(void **state)
{
    struct served v = {0};
    struct raw busy[4], other;
    struct rpc_peer lonely = {.connections = 1};
    int port;

    serve(&v, NULL);
    v.server->strangers_max = 8;
    raw_from(&busy[0], "127.0.0.2", v.port);
    raw_from(&busy[1], "127.9.9.9", v.port);
    settle();
    assert_int_equal(HASH_COUNT(v.server->addresses), 1);
    assert_int_equal(v.server->addresses->connections, 2);
    port = rpc_server_listen_tcp(v.server, "::1", 0, NULL);
    if (port > 0) {
        struct rpc_addr six;
        bool pending;

        assert_int_equal(rpc_net_resolve("::1", (uint16_t)port, true, &six, NULL), 1);
        v.server->stranger_count = 8; /* as if others had the rest */
        HASH_ADD(hh, v.server->addresses, key, sizeof(lonely.key), (&lonely));
        raw_take(&other, rpc_net_connect(&six, 0, &pending));
        run_until(raw_ended, &busy[0]);
        settle();
        assert_false(busy[1].eof);
        assert_int_equal(HASH_COUNT(v.server->addresses), 3);
        HASH_DEL(v.server->addresses, (&lonely));
        v.server->stranger_count -= 6;
        raw_close(&other);
    }
    raw_close(&busy[0]);
    raw_close(&busy[1]);
    settle();
    assert_int_equal(v.server->stranger_count, 0);
    rpc_server_free(v.server);
}

static void unauthenticated_connection_has_a_deadline(void **state)
{
    struct served v = {0};
    struct raw idle, user;

    serve(&v, NULL);
    raw_tcp(&idle, v.port);
    raw_tcp(&user, v.port);
    ping_as(&user, 1000);
    settle();
    clock_ahead_ms = RPC_STRANGER_TIMEOUT_MS;
    run_until(raw_ended, &idle);
    settle();
    assert_false(user.eof);
    clock_ahead_ms = RPC_IDLE_TIMEOUT_MS;
    run_until(raw_ended, &user);
    raw_close(&idle);
    raw_close(&user);
    rpc_server_free(v.server);
}

/* Without a free descriptor a stranger gives its own away. */
static void unauthenticated_connection_yields_the_last_descriptor(void **state)
{
    struct served v = {0};
    struct rlimit before, tight;
    struct raw idle, local;
    int probe;

    serve(&v, NULL);
    raw_tcp(&idle, v.port);
    settle();
    assert_int_equal(v.server->stranger_count, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    raw_take(&local, rpc_net_connect_unix(socket_path)); /* waits in the listener's queue */
    probe = dup(0);
    assert_true(probe >= 0);
    close(probe);
    tight = before;
    tight.rlim_cur = (rlim_t)probe;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    ping_as(&local, LOCAL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    run_until(raw_ended, &idle);
    raw_close(&idle);
    raw_close(&local);
    rpc_server_free(v.server);
}

/* A large message up to its last byte. */
static void send_half(struct raw *r, struct served *v, uid_t uid, struct made *m)
{
    make_request(m, RPC_TREE_PART, &nothing.base, uid, true);
    /* An unknown field. */
    str_append(&m->body, "\xfa\x3f\x80\x80\x40", 5);
    for (int i = 0; i < 1 << 20; i++)
        str_putc(&m->body, 'x');
    seal_request(m, uid);
    raw_tcp(r, v->port);
    raw_send(r, m->bytes.data, m->bytes.len - 1);
}

/* Bytes; under a sanitizer none are counted. */
static size_t memory_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* Incomplete frames are charged to their sender only. */
static void incomplete_frames_count_for_their_sender(void **state)
{
    struct served v = {0};
    struct raw first, second, other;
    struct made m, n, o;
    struct rpc_header h;
    struct rpc_peer *p;
    struct err err;
    size_t refused, more;

    serve(&v, NULL);
    send_half(&first, &v, 1000, &m);
    settle();
    p = v.server->users;
    assert_non_null(p);
    assert_int_equal(p->share.held, m.bytes.len - 1);
    assert_int_equal(v.server->addresses->share.held, 0);
    more = RPC_HELD_PER_PEER - 2 * m.bytes.len + 3;
    p->share.held += more; /* as if they held so much that the last byte exceeds the limit */
    send_half(&second, &v, 1000, &n);
    raw_refused(&second, -ERR_BUSY, &err);
    assert_non_null(strstr(err.text, "incomplete"));
    refused = memory_in_use();
    raw_close(&second);
    settle();
    assert_true(refused < memory_in_use() + (1 << 19)); /* nothing was kept while it lingered */
    send_half(&other, &v, 1001, &o);
    raw_send(&other, o.bytes.data + o.bytes.len - 1, 1);
    raw_frame(&other, &h, NULL);
    raw_send(&first, m.bytes.data + m.bytes.len - 1, 1);
    raw_frame(&first, &h, NULL);
    p->share.held -= more;
    assert_int_equal(p->share.held, 0);
    raw_close(&first);
    raw_close(&other);
    made_done(&m);
    made_done(&n);
    made_done(&o);
    settle();
    assert_null(v.server->users);
    rpc_server_free(v.server);
}

/* H2: a connection whose caller reads nothing holds a bounded amount of memory. */
static void unread_answers_are_bounded_on_each_connection(void **state)
{
    enum { COUNT = 10, SIZE = 8 << 20 };
    struct served v = {.hold = true};
    char *large = mem_alloc(SIZE);
    struct raw r;

    memset(large, 0, SIZE);
    serve(&v, NULL);
    raw_tcp(&r, v.port);
    loop_fd_events(r.watch, 0);
    for (int i = 0; i < COUNT; i++) {
        struct made m;
        make_request(&m, RPC_STATS, &nothing.base, 1000, true);
        raw_send(&r, m.bytes.data, m.bytes.len);
        made_done(&m);
    }
    settle();
    assert_int_equal(v.requests, COUNT);
    for (uint64_t call = v.last_call - COUNT + 1; call < v.last_call; call++)
        rpc_reply_bytes(v.server, call, large, SIZE, false);
    assert_true(rpc_backlog(v.server, v.last_call) > SIZE);
    assert_true(rpc_backlog(v.server, v.last_call) < RPC_UNREAD_EACH + 65536);
    loop_fd_events(r.watch, LOOP_READ); /* the answers that fit, then the refusals */
    for (int i = 0, refused = 0; i < COUNT - 1; i++) {
        struct rpc_header h;
        raw_frame(&r, &h, NULL);
        refused += (h.flags & RPC_FLAG_ERROR) != 0;
        assert_int_equal(h.flags & RPC_FLAG_ERROR ? 0 : SIZE, refused ? 0 : h.body_len);
        assert_int_equal(refused > 0, i >= 2);
    }
    raw_close(&r);
    free(large);
    rpc_server_free(v.server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(user_takes_at_most_half_of_the_free_entries),
        TEST(request_rate_of_a_user_is_limited),
        TEST(replays_are_remembered_behind_the_rate_limit),
        TEST(connections_of_each_user_are_limited),
        TEST(new_connection_replaces_the_longest_idle_one),
        TEST(waiting_caller_is_not_idle),
        TEST(caller_with_two_waiting_requests_is_not_idle),
        TEST(quotas_follow_the_descriptor_limit),
        TEST(unauthenticated_connections_are_limited),
        TEST(unauthenticated_connections_of_an_address_are_limited),
        TEST(unauthenticated_connection_has_a_deadline),
        TEST(unauthenticated_connection_yields_the_last_descriptor),
        TEST(incomplete_frames_count_for_their_sender),
        TEST(unread_answers_are_bounded_on_each_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
