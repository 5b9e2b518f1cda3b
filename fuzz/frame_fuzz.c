/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: bytes that arrive at a server. The first byte selects:
 *
 *   0  a header and its body, unpacked by the RPC table
 *   1  a body of the RPC in the second byte: as a request, and as a reply
 *   2  a stream on the local socket, from root: with all permissions, so that bodies are unpacked
 *   3  a stream over TCP
 *   4  like 3, but each frame gets a valid token: the second byte is the RPC, the rest the body
 *   5  a stream into an open session, sealed like 4
 *   6  the start of an encrypted connection
 *   7  a stream in an encrypted connection, then the same bytes in place of records
 *   8  the reply to our hello, from a listener without the key
 *   9  records for a caller: valid sealed records that are cut and modified
 *
 * A stream is sent in two pieces. For any input, the server closes and frees the connection, and
 * never handles a request without permission.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/pb.h"
#include "rpc/channel.h"
#include "rpc/reply.h"
#include "rpc/seal.h"
#include "rpc/server_priv.h"

#define TURNS_MAX 200
#define STREAM_MAX 65536 /* a socket's buffer takes this much without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct rpc_server *server;
static struct auth_key key;
static struct loop_timer *tick;
static unsigned turns;
static bool want_gone;

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The event loop. */

static void on_turn(void *ctx)
{
    turns++;
    require(turns < TURNS_MAX);
    if (want_gone ? !server->callers : turns > 3)
        loop_stop(loop);
    else
        loop_timer_set(tick, 0);
}
static void on_tick(void *ctx)
{
}
static void run_loop(bool until_gone)
{
    turns = 0;
    want_gone = until_gone;
    loop_timer_set(tick, 0);
    loop_run(loop);
}

/* The server: a handler that sends any reply, and checks its requests. */

static void on_request(void *ctx, const struct rpc_request *r)
{
    require(r->body->descriptor == r->rpc->request);
    require(rpc_allowed(r->rpc, r->roles));
    require(r->rpc->lane != RPC_LANE_SESSION);
    if (r->rpc->number == RPC_MINT)
        rpc_answer_mint(server, r, 60000);
    else if (r->call % 3 == 0)
        rpc_reply_error(server, r->call, -ERR_NO_JOB, NULL);
    else if (r->call % 3 == 1)
        rpc_reply_bytes(server, r->call, "", 0, false);
}
static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    require(rpc->who & RPC_WHO_NODE && rpc->lane == RPC_LANE_SESSION);
    require(body->descriptor == rpc->request);
}
static void on_session(void *ctx, struct rpc_session *s, const char *name)
{
    struct rpc_session_events events = {.on_message = on_message};

    rpc_session_set_events(s, &events);
}
static void on_gone(void *ctx, uint64_t call)
{
}
static void on_refused(void *ctx, const char *peer, const char *why)
{
    require(peer[0] && why[0]);
}

static void on_http(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a)
{
    require(request->path[0] == '/' && !request->is_admin == !request->who);
    a->status = 200;
}

static void start_fuzz_server(void)
{
    struct rpc_server_options o = {.audience = "slurmctld"};
    struct rpc_server_events e = {.on_request = on_request,
                                  .on_gone = on_gone,
                                  .on_session = on_session,
                                  .on_refused = on_refused,
                                  .on_http = on_http};

    auth_key_from_bytes("fuzz", 4, &key);
    loop = loop_new(0);
    loop_on_turn(loop, on_turn, NULL);
    tick = loop_timer_new(loop, on_tick, NULL);
    o.loop = loop;
    o.key = &key;
    server = rpc_server_new(&o, &e);
}

static int open_caller(bool local)
{
    struct rpc_addr addr = {.len = sizeof(struct sockaddr_in)};
    int fds[2];

    ((struct sockaddr_in *)&addr.ss)->sin_family = AF_INET;
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    rpc_caller_new(server, fds[0], local, &addr);
    return fds[1];
}

static void write_input(int fd, const void *data, size_t size)
{
    if (size)
        send(fd, data, size, MSG_NOSIGNAL);
}

static void close_caller(int fd)
{
    char drain[4096];

    while (recv(fd, drain, sizeof(drain), 0) > 0)
        continue;
    close(fd);
    run_loop(true);
    require(!server->calls && !server->callers && !server->users && !server->addresses);
}

/* The input modes. */

/* A message that is unpacked without copying long fields equals a normal unpacked one. */
static void unpack_lent(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                        const struct str *same)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct arena arena;
    ProtobufCMessage *m;

    arena_init(&arena, size * RPC_ARENA_FACTOR + RPC_ARENA_EXTRA);
    m = pb_unpack_lent(&arena, type, data, size);
    require(m != NULL);
    pb_pack(m, &out);
    require(out.len == same->len && (!out.len || memcmp(out.data, same->data, out.len) == 0));
    arena_done(&arena);
}

static void unpack_both(const struct rpc_info *rpc, const uint8_t *data, size_t size)
{
    const ProtobufCMessageDescriptor *types[] = {rpc->request, rpc->reply};

    for (int i = 0; i < 2; i++) {
        size_t budget = size * RPC_ARENA_FACTOR + RPC_ARENA_EXTRA;
        struct arena arena;
        arena_init(&arena, budget);
        ProtobufCMessage *m = arena_unpack(&arena, types[i], data, size);
        require(arena.used <= budget);
        if (m) {
            _cleanup_str_ struct str out = STR_INIT;
            require(m->descriptor == types[i]);
            pb_pack(m, &out); /* every unpacked message can be packed again */
            unpack_lent(types[i], data, size, &out);
        }
        arena_done(&arena);
    }
}

static void header_and_body(const uint8_t *data, size_t size)
{
    struct rpc_header h;
    struct err err = {0};
    uint8_t again[RPC_HEADER_SIZE];
    int rc;

    if (size < RPC_HEADER_SIZE)
        return;
    rc = rpc_header_unpack(data, RPC_BODY_MAX, &h, &err);
    if (rc < 0) {
        require(err.code == rc && err.text[0]);
        return;
    }
    require(h.body_len <= RPC_BODY_MAX);
    rpc_header_pack(&h, again);
    require(memcmp(again, data, sizeof(again)) == 0);
    if (h.flags & RPC_FLAG_ERROR)
        require(rpc_error_unpack(data + RPC_HEADER_SIZE, size - RPC_HEADER_SIZE, &err) < 0);
    else if (h.rpc)
        unpack_both(rpc_find(h.rpc), data + RPC_HEADER_SIZE, size - RPC_HEADER_SIZE);
}

static void feed_stream(bool local, const uint8_t *data, size_t size)
{
    size_t cut = size ? data[0] * size / 256 : 0;
    int fd = open_caller(local);

    write_input(fd, data, cut);
    run_loop(false);
    write_input(fd, data + cut, size - cut);
    run_loop(false);
    close_caller(fd);
}

static void with_token(const uint8_t *data, size_t size)
{
    struct auth_identity who = {.uid = data[0] & 1 ? 0 : 1000, .host = "fuzz"};
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = (uint16_t)(data[0] >> 1),
                           .token_len = AUTH_TOKEN_SIZE,
                           .body_len = (uint32_t)size - 1,
                           .id = 1};
    _cleanup_str_ struct str out = STR_INIT;
    uint8_t hash[AUTH_HASH_SIZE], token[AUTH_TOKEN_SIZE];
    int fd = open_caller(false);

    rpc_frame_hash(&h, data + 1, hash);
    auth_token_mint(&key, &who, "slurmctld", hash, loop_wall_ms(), 60000, token);
    rpc_frame_append(&out, &h, token, data + 1);
    write_input(fd, out.data, out.len);
    run_loop(false);
    close_caller(fd);
}

static void in_session(const uint8_t *data, size_t size)
{
    struct rpc_header h = {
        .version = RPC_VERSION, .flags = RPC_FLAG_SESSION, .body_len = sizeof(struct rpc_hello)};
    struct {
        uint8_t head[RPC_HEADER_SIZE];
        struct rpc_hello_reply reply;
    } in;
    _cleanup_str_ struct str out = STR_INIT;
    struct rpc_transcript t;
    struct rpc_seal seal;
    uint8_t mac[AUTH_MAC_SIZE];
    int fd = open_caller(false);

    rpc_hello_make("fuzz", &t.connecting);
    rpc_frame_append(&out, &h, NULL, &t.connecting);
    write_input(fd, out.data, out.len);
    run_loop(false);
    require(recv(fd, &in, sizeof(in), 0) == sizeof(in));
    t.accepting = in.reply.hello;
    rpc_seal_proof(&key, &t, true, mac);
    h.body_len = sizeof(mac);
    str_clear(&out);
    rpc_frame_append(&out, &h, NULL, mac);
    rpc_seal_init(&seal, &key, &t, true);
    h.rpc = data[0];
    h.token_len = AUTH_MAC_SIZE;
    h.body_len = (uint32_t)size - 1;
    rpc_seal_sign(&seal, &h, data + 1, mac);
    rpc_frame_append(&out, &h, mac, data + 1);
    str_append(&out, data, size); /* plus bytes that are not a frame */
    write_input(fd, out.data, out.len);
    run_loop(false);
    close_caller(fd);
}

static void in_channel(const uint8_t *data, size_t size)
{
    _cleanup_str_ struct str out = STR_INIT;
    uint8_t reply[RPC_CHANNEL_REPLY_SIZE];
    struct auth_noise_key k;
    struct rpc_channel *ch;
    int fd = open_caller(false);

    auth_noise_key_make(&key, &k);
    ch = rpc_channel_call(&k, NULL, &out);
    write_input(fd, out.data, out.len);
    run_loop(false);
    require(recv(fd, reply, sizeof(reply), 0) == sizeof(reply));
    require(rpc_channel_answered(ch, reply, sizeof(reply), NULL) == sizeof(reply));
    str_clear(&out);
    str_reserve(&out, rpc_channel_sealed_size(size));
    rpc_channel_seal(ch, data, size, (uint8_t *)out.data);
    out.len = rpc_channel_sealed_size(size);
    str_append(&out, data, size);
    write_input(fd, out.data, out.len < STREAM_MAX ? out.len : STREAM_MAX);
    run_loop(false);
    close_caller(fd);
    rpc_channel_free(ch);
}

/* The reply is incomplete, or an error with a text, and never proves the key. */
static void answer_to_hello(const uint8_t *data, size_t size)
{
    _cleanup_str_ struct str hello = STR_INIT;
    struct auth_noise_key k;
    struct err err = {0};
    struct rpc_channel *ch;
    int rc;

    auth_noise_key_make(&key, &k);
    ch = rpc_channel_call(&k, NULL, &hello);
    rc = rpc_channel_answered(ch, data, size, &err);
    require(rc == 0 || (rc < 0 && err.code && err.text[0]));
    rpc_channel_free(ch);
}

/* Bytes 0 and 1: where and how the sealed stream is modified; 2: where it is split into two reads.
 * The receiver gets a prefix of the sent data. */
static void altered_records(const uint8_t *data, size_t size)
{
    _cleanup_str_ struct str hello = STR_INIT, in = STR_INIT;
    const struct rpc_channel_keys keys = {.cluster = &key};
    struct rpc_channel_accepted accepted;
    struct rpc_channel *a, *b;
    struct auth_noise_key k;
    struct err err = {0};
    size_t sealed, plain, got = 0, cut;
    int taken = 0;

    if (size < 4)
        return;
    auth_noise_key_make(&key, &k);
    a = rpc_channel_call(&k, NULL, &hello);
    require(rpc_channel_accept(&keys, (uint8_t *)hello.data, hello.len, &accepted, &err) ==
            RPC_CHANNEL_OPEN);
    require(rpc_channel_answered(a, accepted.reply, sizeof(accepted.reply), &err) ==
            sizeof(accepted.reply));
    b = accepted.channel;
    sealed = rpc_channel_sealed_size(size - 3);
    str_reserve(&in, sealed);
    rpc_channel_seal(a, data + 3, size - 3, (uint8_t *)in.data);
    in.data[data[0] * sealed / 256] = (char)(in.data[data[0] * sealed / 256] ^ data[1]);
    cut = data[2] * sealed / 256;
    for (int i = 0; i < 2 && taken >= 0; i++) {
        in.len = i ? sealed : cut;
        taken = rpc_channel_unseal(b, (uint8_t *)in.data, in.len, &plain, &err);
        if (taken < 0)
            break;
        require(got + plain <= size - 3 && memcmp(in.data, data + 3 + got, plain) == 0);
        got += plain;
        sealed -= (size_t)taken;
        memmove(in.data, in.data + taken, sealed);
    }
    require(taken >= 0 || (data[1] && err.text[0]));
    require(data[1] ? got < size - 3 : got == size - 3);
    rpc_channel_free(a);
    rpc_channel_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!server)
        start_fuzz_server();
    if (size < 2 || size > STREAM_MAX)
        return 0;
    rpc_set_encryption(data[0] >= 6);
    switch (data[0]) {
    case 0:
        header_and_body(data + 1, size - 1);
        break;
    case 1:
        if (rpc_find(data[1]))
            unpack_both(rpc_find(data[1]), data + 2, size - 2);
        break;
    case 2:
    case 3:
        feed_stream(data[0] == 2, data + 1, size - 1);
        break;
    case 4:
        with_token(data + 1, size - 1);
        break;
    case 5:
        in_session(data + 1, size - 1);
        break;
    case 6:
        feed_stream(false, data + 1, size - 1);
        break;
    case 7:
        in_channel(data + 1, size - 1);
        break;
    case 8:
        answer_to_hello(data + 1, size - 1);
        break;
    case 9:
        altered_records(data + 1, size - 1);
        break;
    default:
        break;
    }
    return 0;
}
