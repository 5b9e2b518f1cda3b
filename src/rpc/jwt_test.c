/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Callers with JSON Web Tokens: their identity, refusals, and the bytes on the wire. */
#include "rpc/rpc_test_hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "proto/event.pb-c.h"
#include "rpc/channel.h"
#include "rpc/client.h"
#include "rpc/reply.h"
#include "rpc/rpc_test_result.h"
#include "rpc/server_priv.h"

#define LIFE_SEC 600

static struct auth_jwt_key jwt_key;
static bool names_are_known, alice_is_removed;
static uid_t alice_uid = 1234;

/* As controllers do. */
static int read_claims(void *ctx, const void *signed_part, size_t len, int64_t now_ms,
                       struct auth_jwt_claims *out, struct err *err)
{
    return auth_jwt_read(signed_part, len, NULL, now_ms, out, err);
}

static int find_user(void *ctx, const char *name, uid_t *uid, gid_t *gid)
{
    if (!names_are_known)
        return -EAGAIN;
    if (!str_eq(name, "admin") && !str_eq(name, "root") &&
        (alice_is_removed || !str_eq(name, "alice")))
        return -ENOENT;
    *uid = str_eq(name, "alice") ? alice_uid : str_eq(name, "admin") ? 900 : 0;
    *gid = 100;
    return 0;
}

static void reset_alice(void)
{
    alice_is_removed = false;
    alice_uid = 1234;
}

static void serve_tokens(struct served *v)
{
    const struct rpc_jwt_rules rules = {
        .key = &jwt_key, .read = read_claims, .find_user = find_user};

    serve(v, NULL);
    rpc_server_accept_jwt(v->server, &rules);
    names_are_known = true;
    conf.slurmctld_port = (uint16_t)v->port;
}

static int setup(void **state)
{
    auth_jwt_key_from_bytes("the key for tokens of the test..", 32, &jwt_key);
    return hosts_setup(state);
}

static int teardown(void **state)
{
    unsetenv("SLURM_JWT");
    reset_alice();
    return world_teardown(state);
}

static void make_token(const char *user, int64_t life_sec, struct str *out)
{
    int64_t now_sec = loop_wall_ms() / 1000;

    assert_int_equal(auth_jwt_make(&jwt_key, NULL, user, now_sec, now_sec + life_sec, out, NULL),
                     0);
}

static void use_token(const char *user, int64_t life_sec)
{
    _cleanup_str_ struct str token = STR_INIT;

    make_token(user, life_sec, &token);
    setenv("SLURM_JWT", str_cstr(&token), 1);
}

static void send_request(struct rpc_test_result *r, enum rpc_number rpc,
                         const ProtobufCMessage *request)
{
    *r = (struct rpc_test_result){0};
    rpc_async_controller(loop, &conf, rpc, request, 0, rpc_test_note_result, r);
}

static void call_with_token(struct rpc_test_result *r)
{
    send_request(r, RPC_PING, &nothing.base);
    run_until(is_true, &r->done);
    settle();
}

/* The local socket exists, where the kernel would report this process's user. */
static void request_acts_as_the_user_of_the_token(void **state)
{
    static const struct {
        const char *user;
        uid_t uid;
        unsigned roles;
    } cases[] = {
        {"alice", 1234, RPC_WHO_USER},
        {"admin", 900, RPC_WHO_USER | RPC_WHO_ADMIN | RPC_WHO_OPERATOR},
        {"root", 0, RPC_WHO_USER | RPC_WHO_ADMIN | RPC_WHO_OPERATOR},
    };
    struct served v = {0};

    serve_tokens(&v);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) * 2; i++) {
        size_t n = i / 2;
        struct rpc_test_result r;
        rpc_set_encryption(i % 2); /* without, such callers encrypt all the same */
        use_token(cases[n].user, LIFE_SEC);
        call_with_token(&r);
        assert_int_equal(r.code, 0);
        assert_int_equal(v.who.uid, cases[n].uid);
        assert_int_equal(v.who.gid, 100);
        assert_string_equal(v.who.host, "127.0.0.1");
        assert_int_equal(v.roles, cases[n].roles);
        assert_true(v.is_secret);
    }
    assert_int_equal(v.refused, 0);
    rpc_server_free(v.server);
}

static void refused_tokens_are_answered_and_logged(void **state)
{
    static const struct {
        const char *user;
        int64_t life_sec;
        int code;
        const char *why;
    } cases[] = {
        {"alice", 0, -ERR_SKEW, "the JSON Web Token of user 'alice' has expired at "},
        {"mallory", LIFE_SEC, -ERR_AUTH, "user 'mallory' of the JSON Web Token does not exist"},
    };
    struct served v = {0};
    struct auth_jwt_key other;
    struct rpc_test_result r;

    serve_tokens(&v);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        use_token(cases[i].user, cases[i].life_sec);
        call_with_token(&r);
        assert_int_equal(r.code, cases[i].code);
        assert_non_null(strstr(r.err.text, cases[i].why));
        assert_int_equal(v.refused, i + 1);
        assert_non_null(strstr(v.why, cases[i].why));
    }
    auth_jwt_key_from_bytes("another key for tokens..........", 32, &other);
    v.server->jwt.key = v.server->keys.jwt = &other;
    use_token("alice", LIFE_SEC);
    call_with_token(&r);
    assert_int_equal(r.code, -ERR_AUTH);
    assert_non_null(strstr(r.err.text, "is not signed with this cluster's key"));
    v.server->jwt.key = v.server->keys.jwt = NULL;
    call_with_token(&r);
    assert_int_equal(r.code, -ERR_AUTH);
    assert_non_null(strstr(r.err.text, "AuthAltTypes=auth/jwt"));
    assert_int_equal(v.refused, 4);
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

/* Neither token is sent, and no message contains its text. */
static void malformed_token_is_not_sent(void **state)
{
    static const char *const tokens[] = {"", "daemon", "a.b.c", "eyJhbGciOiJub25lIn0.eyJ9."};
    struct served v = {0};

    serve_tokens(&v);
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        struct rpc_test_result r;
        setenv("SLURM_JWT", tokens[i], 1);
        call_with_token(&r);
        assert_int_equal(r.code, -ERR_AUTH);
        assert_non_null(strstr(r.err.text, "SLURM_JWT: "));
        assert_true(strlen(tokens[i]) < 8 || !strstr(r.err.text, tokens[i]));
    }
    assert_int_equal(v.requests, 0);
    assert_int_equal(v.refused, 0); /* it hung up */
    rpc_server_free(v.server);
}

static void user_is_looked_up_before_the_request_is_read(void **state)
{
    static const char *const users[] = {"alice", "mallory"};
    struct served v = {0};

    serve_tokens(&v);
    for (size_t i = 0; i < 2; i++) {
        struct rpc_test_result r;
        names_are_known = false;
        use_token(users[i], LIFE_SEC);
        send_request(&r, RPC_PING, &nothing.base);
        settle();
        rpc_server_users_known(v.server); /* others are */
        settle();
        assert_false(r.done);
        assert_int_equal(v.requests, i);
        names_are_known = true;
        rpc_server_users_known(v.server);
        run_until(is_true, &r.done);
        assert_int_equal(r.code, i ? -ERR_AUTH : 0);
        assert_int_equal(v.requests, 1);
    }
    assert_int_equal(v.who.uid, 1234);
    assert_int_equal(v.refused, 1);
    rpc_server_free(v.server);
}

static void caller_may_disconnect_during_the_user_lookup(void **state)
{
    struct served v = {0};
    struct rpc_async *a;
    struct rpc_test_result r = {0};

    serve_tokens(&v);
    names_are_known = false;
    use_token("alice", LIFE_SEC);
    a = rpc_async_controller(loop, &conf, RPC_PING, &nothing.base, 0, rpc_test_note_result, &r);
    settle();
    rpc_async_drop(a);
    settle();
    names_are_known = true;
    rpc_server_users_known(v.server);
    settle();
    assert_int_equal(v.requests, 1); /* it was sent before */
    assert_false(r.done);            /* no caller waits for its reply */
    v.requests = 0;
    send_request(&r, RPC_PING, &nothing.base);
    names_are_known = false;
    settle();
    clock_ahead_ms += RPC_STRANGER_TIMEOUT_MS + 1000;
    run_until(is_true, &r.done); /* the name service hangs */
    assert_int_equal(r.code, -ERR_TIMEOUT);
    assert_int_equal(v.requests, 0);
    rpc_server_free(v.server);
}

/* A connection of the user, kept open. */
struct bearer {
    struct raw raw;
    struct rpc_channel *channel;
    uint64_t id;
};

static void open_bearer(struct bearer *b, int port, const char *user)
{
    _cleanup_str_ struct str token = STR_INIT, hello = STR_INIT;
    struct auth_noise_key channel;
    struct auth_key secret;
    struct auth_jwt jwt;

    make_token(user, LIFE_SEC, &token);
    assert_int_equal(auth_jwt_split(str_cstr(&token), &jwt, NULL), 0);
    auth_jwt_secret(jwt.signature, &secret);
    auth_noise_key_make(&secret, &channel);
    *b = (struct bearer){.channel = rpc_channel_call(&channel, &jwt, &hello)};
    raw_tcp(&b->raw, port);
    raw_send(&b->raw, hello.data, hello.len);
    b->raw.want = RPC_CHANNEL_REPLY_SIZE;
    run_until(raw_has, &b->raw);
    assert_int_equal(
        rpc_channel_answered(b->channel, (uint8_t *)b->raw.in.data, b->raw.in.len, NULL),
        RPC_CHANNEL_REPLY_SIZE);
    str_consume(&b->raw.in, RPC_CHANNEL_REPLY_SIZE);
}

static void send_as_bearer(struct bearer *b, struct rpc_header h, const void *token,
                           const void *body)
{
    _cleanup_str_ struct str frame = STR_INIT, sealed = STR_INIT;

    h.version = RPC_VERSION;
    h.id = ++b->id;
    rpc_frame_append(&frame, &h, token, body);
    str_reserve(&sealed, rpc_channel_sealed_size(frame.len));
    rpc_channel_seal(b->channel, (uint8_t *)frame.data, frame.len, (uint8_t *)sealed.data);
    raw_send(&b->raw, sealed.data, rpc_channel_sealed_size(frame.len));
}

/* The code of the answer to a frame. */
static int call_as_bearer(struct bearer *b, struct rpc_header h, const void *token,
                          const void *body)
{
    struct rpc_header answer;
    size_t plain;
    int taken;

    send_as_bearer(b, h, token, body);
    b->raw.want = RPC_CHANNEL_OVERHEAD + RPC_HEADER_SIZE;
    run_until(raw_has, &b->raw);
    settle();
    taken = rpc_channel_unseal(b->channel, (uint8_t *)b->raw.in.data, b->raw.in.len, &plain, NULL);
    assert_true(taken > 0);
    assert_int_equal(rpc_header_unpack((uint8_t *)b->raw.in.data, RPC_BODY_MAX, &answer, NULL), 0);
    assert_int_equal(plain, RPC_HEADER_SIZE + answer.body_len); /* without a seal */
    int code = answer.flags & RPC_FLAG_ERROR
                   ? rpc_error_unpack(b->raw.in.data + RPC_HEADER_SIZE, answer.body_len, NULL)
                   : 0;
    str_consume(&b->raw.in, (size_t)taken);
    return code;
}

static void close_bearer(struct bearer *b)
{
    raw_close(&b->raw);
    rpc_channel_free(b->channel);
    settle();
}

static void connection_carries_requests_of_its_user_until_the_token_expires(void **state)
{
    struct served v = {0};
    struct bearer b;

    serve_tokens(&v);
    open_bearer(&b, v.port, "alice");
    for (int i = 0; i < 3; i++)
        assert_int_equal(call_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL), 0);
    assert_int_equal(rpc_server_count(v.server).users, 1);
    assert_int_equal(rpc_server_count(v.server).strangers, 0);
    v.server->callers->bearer->claims.expires_at = loop_wall_ms() / 1000;
    assert_int_equal(call_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL),
                     -ERR_SKEW);
    assert_int_equal(v.requests, 3);
    assert_int_equal(v.refused, 1);
    close_bearer(&b);
    rpc_server_free(v.server);
}

static void expire_alice(struct rpc_bearer *b)
{
    b->claims.expires_at = loop_wall_ms() / 1000;
}

static void remove_alice(struct rpc_bearer *b)
{
    alice_is_removed = true;
}

static void renumber_alice(struct rpc_bearer *b)
{
    alice_uid = 4321;
}

static const struct {
    void (*change)(struct rpc_bearer *b);
    int code;
    const char *why;
} ends_of_users[] = {
    {expire_alice, -ERR_SKEW, "the JSON Web Token of user 'alice' has expired at "},
    {remove_alice, -ERR_AUTH, "user 'alice' of the JSON Web Token does not exist"},
    {renumber_alice, -ERR_AUTH, "has another uid than when this connection began, 4321"},
};
#define ENDS_OF_USERS (sizeof(ends_of_users) / sizeof(ends_of_users[0]))

static void let_time_pass(struct rpc_caller *c)
{
    loop_timer_set(c->bearer->timer, 0); /* the time to look has come */
    settle();
}

static void held_follower_is_refused_when_its_token_expires_or_its_user_is_removed(void **state)
{
    struct served v = {.hold = true};
    const Pb__EventRequest follow = PB__EVENT_REQUEST__INIT;

    serve_tokens(&v);
    for (size_t i = 0; i < ENDS_OF_USERS; i++) {
        struct rpc_test_result r;
        use_token("alice", LIFE_SEC);
        send_request(&r, RPC_EVENTS, &follow.base);
        settle();
        struct rpc_caller *c = v.server->callers;
        assert_int_equal(v.requests, i + 1);
        let_time_pass(c);
        assert_false(r.done);
        names_are_known = false; /* they are looked up again; known ids stay valid */
        let_time_pass(c);
        assert_false(r.done);
        names_are_known = true;
        ends_of_users[i].change(c->bearer);
        loop_timer_set(c->bearer->timer, 0);
        run_until(is_true, &r.done);
        assert_int_equal(r.code, ends_of_users[i].code);
        assert_non_null(strstr(r.err.text, ends_of_users[i].why));
        assert_int_equal(v.refused, i + 1);
        assert_non_null(strstr(v.why, ends_of_users[i].why));
        assert_int_equal(v.gone, i + 1);
        assert_int_equal(v.last_gone, v.last_call);
        settle();
        assert_null(v.server->callers);
        reset_alice();
    }
    rpc_server_free(v.server);
}

/* A job that an srun waits for starts even if srun does not get the answer. */
static void held_request_is_answered_after_its_token_has_expired(void **state)
{
    struct served v = {.hold = true};
    Pb__PingReply pong = PB__PING_REPLY__INIT;
    struct rpc_test_result r;

    serve_tokens(&v);
    use_token("alice", LIFE_SEC);
    send_request(&r, RPC_PING, &nothing.base);
    settle();
    struct rpc_caller *c = v.server->callers;
    expire_alice(c->bearer);
    let_time_pass(c);
    assert_false(r.done);
    assert_true(c->bearer->has_expired);
    assert_int_equal(v.refused, 0);
    pong.host = "here";
    rpc_reply(v.server, v.last_call, &pong.base);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, 0);
    settle();

    v.gone = 0;
    send_request(&r, RPC_PING, &nothing.base);
    settle();
    c = v.server->callers;
    expire_alice(c->bearer);
    let_time_pass(c);
    remove_alice(c->bearer);
    let_time_pass(c);
    run_until(is_true, &r.done);
    assert_int_equal(r.code, -ERR_AUTH);
    assert_non_null(strstr(r.err.text, "does not exist"));
    assert_int_equal(v.gone, 1);
    rpc_server_free(v.server);
}

/* Of the calls on a connection, only the follower ends with the token. */
static void follower_is_refused_beside_a_request_that_is_answered(void **state)
{
    struct served v = {.hold = true};
    struct bearer b;

    serve_tokens(&v);
    open_bearer(&b, v.port, "alice");
    send_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL);
    settle();
    uint64_t ping = v.last_call;
    send_as_bearer(&b, (struct rpc_header){.rpc = RPC_EVENTS}, NULL, NULL);
    settle();
    assert_int_equal(v.requests, 2);
    struct rpc_caller *c = v.server->callers;
    expire_alice(c->bearer);
    let_time_pass(c);
    assert_int_equal(v.gone, 1);
    assert_int_equal(v.last_gone, v.last_call);
    assert_int_equal(c->open, 1);
    assert_true(rpc_call_is_open(v.server, ping));
    close_bearer(&b);
    rpc_server_free(v.server);
}

static void open_connection_carries_no_request_of_a_user_who_is_removed(void **state)
{
    struct served v = {0};

    serve_tokens(&v);
    for (size_t i = 0; i < ENDS_OF_USERS; i++) {
        struct bearer b;
        open_bearer(&b, v.port, "alice");
        assert_int_equal(call_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL), 0);
        ends_of_users[i].change(v.server->callers->bearer);
        assert_int_equal(call_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL),
                         ends_of_users[i].code);
        assert_int_equal(v.requests, i + 1);
        assert_non_null(strstr(v.why, ends_of_users[i].why));
        close_bearer(&b);
        reset_alice();
    }
    rpc_server_free(v.server);
}

static size_t count_unknown(struct rpc_server *s)
{
    size_t count = 0;

    for (const struct rpc_caller *c = s->unknown; c; c = c->unknown_next)
        count++;
    return count;
}

/* News of the name service is not checked against every connection. */
static void only_callers_whose_users_are_unknown_wait_for_names(void **state)
{
    struct served v = {0};
    struct bearer known, waiting[2];

    serve_tokens(&v);
    open_bearer(&known, v.port, "admin");
    assert_int_equal(count_unknown(v.server), 0);
    names_are_known = false;
    for (size_t i = 0; i < 2; i++)
        open_bearer(&waiting[i], v.port, "alice");
    assert_int_equal(count_unknown(v.server), 2);
    names_are_known = true;
    rpc_server_users_known(v.server);
    assert_int_equal(count_unknown(v.server), 0);
    for (size_t i = 0; i < 2; i++) {
        struct rpc_header ping = {.rpc = RPC_PING};
        assert_int_equal(call_as_bearer(&waiting[i], ping, NULL, NULL), 0);
        close_bearer(&waiting[i]);
    }
    close_bearer(&known);
    rpc_server_free(v.server);
}

/* The lookup may take longer than a stranger may wait, but not for ever. */
static void user_lookup_may_take_long(void **state)
{
    struct served v = {0};
    struct bearer b;
    struct raw stranger;

    serve_tokens(&v);
    raw_tcp(&stranger, v.port);
    names_are_known = false;
    open_bearer(&b, v.port, "alice");
    clock_ahead_ms += RPC_STRANGER_TIMEOUT_MS + 1000;
    run_until(raw_ended, &stranger);
    settle();
    assert_false(b.raw.eof);
    names_are_known = true;
    rpc_server_users_known(v.server);
    assert_int_equal(call_as_bearer(&b, (struct rpc_header){.rpc = RPC_PING}, NULL, NULL), 0);
    close_bearer(&b);
    for (int known = 0; known < 2; known++) { /* the name service hangs; nothing is asked for */
        names_are_known = false;
        open_bearer(&b, v.port, "alice");
        names_are_known = known;
        rpc_server_users_known(v.server);
        clock_ahead_ms += known ? RPC_STRANGER_TIMEOUT_MS : RPC_IDLE_TIMEOUT_MS;
        run_until(raw_ended, &b.raw);
        close_bearer(&b);
    }
    raw_close(&stranger);
    rpc_server_free(v.server);
}

/* No session, no token of another user within, nothing that asks for the local socket. */
static void connection_of_a_user_carries_nothing_else(void **state)
{
    static const struct {
        struct rpc_header h;
        int code;
    } cases[] = {
        {{.flags = RPC_FLAG_SESSION, .token_len = 32, .body_len = 96}, -ERR_AUTH},
        {{.rpc = RPC_NODE_REGISTER, .flags = RPC_FLAG_SESSION, .token_len = 32}, -ERR_AUTH},
        {{.rpc = RPC_PING, .token_len = AUTH_TOKEN_SIZE}, -ERR_AUTH},
        {{.rpc = RPC_PING, .token_len = AUTH_MAC_SIZE}, -ERR_AUTH},
        {{.rpc = RPC_PING, .flags = RPC_FLAG_MORE, .token_len = AUTH_MAC_SIZE}, -ERR_PROTOCOL},
        {{.rpc = RPC_MINT}, -ERR_ACCESS},
        {{.rpc = RPC_STEPD_QUERY}, -ERR_ACCESS},
        {{.rpc = RPC_NODE_UPDATE}, -ERR_ACCESS},
    };
    static const uint8_t zero[256];
    struct served v = {0};

    serve_tokens(&v);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bearer b;
        open_bearer(&b, v.port, "alice");
        assert_int_equal(call_as_bearer(&b, cases[i].h, zero, zero), cases[i].code);
        close_bearer(&b);
    }
    assert_int_equal(v.requests, 0);
    assert_int_equal(v.sessions, 0);
    rpc_server_free(v.server);
}

/* A listener in the controller's place learns the claims, but neither signature nor request. */
static void signature_and_request_are_not_sent_first(void **state)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sin);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    _cleanup_str_ struct str token = STR_INIT;
    Pb__TokenRequest secret = PB__TOKEN_REQUEST__INIT;
    struct auth_jwt jwt;
    struct rpc_test_result r;
    struct raw raw;

    assert_int_equal(bind(listener, (struct sockaddr *)&sin, sizeof(sin)), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&sin, &len), 0);
    conf.slurmctld_port = ntohs(sin.sin_port);
    make_token("alice", LIFE_SEC, &token);
    setenv("SLURM_JWT", str_cstr(&token), 1);
    assert_int_equal(auth_jwt_split(str_cstr(&token), &jwt, NULL), 0);
    secret.user = (char *)"secret";
    rpc_set_encryption(false);
    send_request(&r, RPC_TOKEN, &secret.base);
    settle();
    raw_take(&raw, accept(listener, NULL, NULL));
    raw.want = RPC_CHANNEL_HELLO_SIZE + jwt.signed_len;
    run_until(raw_has, &raw);
    settle();
    assert_int_equal(raw.in.len, RPC_CHANNEL_HELLO_SIZE + jwt.signed_len);
    assert_non_null(memmem(raw.in.data, raw.in.len, jwt.signed_part, jwt.signed_len));
    assert_null(memmem(raw.in.data, raw.in.len, jwt.signature, sizeof(jwt.signature)));
    assert_null(memmem(raw.in.data, raw.in.len, strrchr(token.data, '.') + 1, 43));
    assert_null(memmem(raw.in.data, raw.in.len, "secret", 6));
    raw_close(&raw);
    run_until(is_true, &r.done);
    assert_true(r.code < 0);
    close(listener);
}

/* A recorded or altered hello proves nothing; every bit of it is checked. */
static void hello_with_any_flipped_bit_is_refused(void **state)
{
    const struct rpc_channel_keys keys = {.cluster = &key, .jwt = &jwt_key};
    _cleanup_str_ struct str token = STR_INIT, hello = STR_INIT;
    struct rpc_channel_accepted accepted;
    struct auth_noise_key channel;
    struct auth_key secret;
    struct rpc_channel *ch;
    struct auth_jwt jwt;
    struct err err;

    make_token("alice", LIFE_SEC, &token);
    assert_int_equal(auth_jwt_split(str_cstr(&token), &jwt, NULL), 0);
    auth_jwt_secret(jwt.signature, &secret);
    auth_noise_key_make(&secret, &channel);
    ch = rpc_channel_call(&channel, &jwt, &hello);
    uint8_t *bytes = (uint8_t *)hello.data;
    for (size_t n = 0; n < hello.len; n++)
        assert_int_equal(rpc_channel_accept(&keys, bytes, n, &accepted, &err), RPC_CHANNEL_MORE);
    /* The last bit of an X25519 key has no meaning by itself (RFC 7748), and is in the prologue's
     * hash as all others are. */
    for (size_t bit = 0; bit < hello.len * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int rc = rpc_channel_accept(&keys, bytes, hello.len, &accepted, &err);
        assert_true(rc < 0 || rc == RPC_CHANNEL_MORE);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(rpc_channel_accept(&keys, bytes, hello.len, &accepted, &err),
                     RPC_CHANNEL_OPEN);
    assert_int_equal(accepted.taken, hello.len);
    assert_int_equal(accepted.jwt_len, jwt.signed_len);
    assert_memory_equal(accepted.jwt, jwt.signed_part, jwt.signed_len);
    rpc_channel_free(accepted.channel);
    rpc_channel_free(ch);
}

/* The limit of a token is checked by the header, before its bytes come. */
static void large_token_is_refused_by_its_header(void **state)
{
    const struct rpc_channel_keys keys = {.cluster = &key, .jwt = &jwt_key};
    const uint32_t least = RPC_CHANNEL_HELLO_SIZE - RPC_HEADER_SIZE;

    for (int extra = -1; extra <= 1; extra++) {
        struct rpc_header h = {.version = RPC_VERSION,
                               .flags = RPC_FLAG_CHANNEL,
                               .body_len = least + (uint32_t)(AUTH_JWT_MAX + extra)};
        struct rpc_channel_accepted accepted;
        uint8_t head[RPC_HEADER_SIZE];
        struct err err;
        rpc_header_pack(&h, head);
        assert_int_equal(rpc_channel_accept(&keys, head, sizeof(head), &accepted, &err),
                         extra > 0 ? -ERR_TOO_BIG : RPC_CHANNEL_MORE);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_acts_as_the_user_of_the_token),
        TEST(refused_tokens_are_answered_and_logged),
        TEST(malformed_token_is_not_sent),
        TEST(user_is_looked_up_before_the_request_is_read),
        TEST(caller_may_disconnect_during_the_user_lookup),
        TEST(connection_carries_requests_of_its_user_until_the_token_expires),
        TEST(held_follower_is_refused_when_its_token_expires_or_its_user_is_removed),
        TEST(held_request_is_answered_after_its_token_has_expired),
        TEST(follower_is_refused_beside_a_request_that_is_answered),
        TEST(open_connection_carries_no_request_of_a_user_who_is_removed),
        TEST(only_callers_whose_users_are_unknown_wait_for_names),
        TEST(user_lookup_may_take_long),
        TEST(connection_of_a_user_carries_nothing_else),
        TEST(signature_and_request_are_not_sent_first),
        TEST(hello_with_any_flipped_bit_is_refused),
        TEST(large_token_is_refused_by_its_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
