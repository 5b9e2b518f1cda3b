/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/server.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "proto/node.pb-c.h"
#include "rpc/reply.h"
#include "rpc/server_priv.h"

#define REPLAY_MAX (1u << 19) /* unexpired tokens of all users */
#define HEAVY_BYTES 65536     /* bytes of expensive replies per token of 'heavy' */
/* Milliseconds; each millisecond of the daemon's time costs one token of 'heavy'. */
#define EXPENSIVE_MS 10
/* Minting a token takes the CPU time of this many bytes of another reply. */
#define TOKEN_COST_BYTES 1200

static const struct rpc_rate_options heavy = {
    .bucket = 1024, .refill = 20, .period_ms = 100, .users = 1024};

struct rpc_server *rpc_server_new(const struct rpc_server_options *options,
                                  const struct rpc_server_events *events)
{
    struct rpc_server *s = mem_new(struct rpc_server);

    s->opt = *options;
    s->keys.cluster = options->key;
    s->events = *events;
    snprintf(s->audience, sizeof(s->audience), "%s", options->audience ? options->audience : "-");
    s->opt.audience = s->audience;
    s->io = rpc_io_new(options->loop);
    rpc_quota_init(s);
    s->replay = auth_replay_new(REPLAY_MAX, s->opt.admin_uid);
    s->heavy = rpc_rate_new(&heavy);
    s->started_at_ms = loop_wall_ms();
    return s;
}

void rpc_server_free(struct rpc_server *s)
{
    struct rpc_caller *c, *next;

    if (!s)
        return;
    s->freeing = true;
    rpc_server_unlisten(s);
    DL_FOREACH_SAFE(s->callers, c, next)
    rpc_caller_free(c);
    rpc_io_free(s->io);
    auth_replay_free(s->replay);
    rpc_rate_free(s->rate);
    rpc_rate_free(s->heavy);
    rpc_same_forget_all(s);
    free(s);
}

void rpc_server_limit_rate(struct rpc_server *s, const struct rpc_rate_options *options)
{
    rpc_rate_free(s->rate);
    s->rate = options ? rpc_rate_new(options) : NULL;
}

bool rpc_server_may_answer(struct rpc_server *s, const struct rpc_request *request, size_t len)
{
    if (request->roles & (RPC_WHO_ADMIN | RPC_WHO_DAEMON))
        return true;
    if (!rpc_rate_take(s->heavy, request->who.uid, (unsigned)(1 + len / HEAVY_BYTES),
                       loop_mono_ms())) {
        s->rate_refused++;
        return false;
    }
    return true;
}

void rpc_server_charge(struct rpc_server *s, const struct rpc_request *request, int64_t usec)
{
    int64_t ms = usec / 1000;

    if (ms >= EXPENSIVE_MS && !(request->roles & (RPC_WHO_ADMIN | RPC_WHO_DAEMON)))
        rpc_rate_spend(s->heavy, request->who.uid, (unsigned)(ms < UINT_MAX ? ms : UINT_MAX),
                       loop_mono_ms());
}

uint64_t rpc_server_rate_refused(const struct rpc_server *s)
{
    return s->rate_refused;
}

struct rpc_server_counts rpc_server_count(const struct rpc_server *s)
{
    return (struct rpc_server_counts){s->user_count, s->stranger_count, HASH_COUNT(s->calls)};
}

void rpc_server_limit_size(struct rpc_server *s, enum rpc_number rpc, uint32_t bytes)
{
    s->limited = *rpc_find(rpc);
    if (bytes < s->limited.body_max)
        s->limited.body_max = bytes;
}

void rpc_server_refuse_sessions(struct rpc_server *s, int code, const char *why)
{
    s->no_sessions = (struct err){0};
    if (code)
        err_set(&s->no_sessions, code, "%s", why);
}

void rpc_server_distrust_tokens(struct rpc_server *s)
{
    s->started_at_ms = loop_wall_ms();
}

void rpc_server_refused(struct rpc_server *s, const char *peer, const char *why)
{
    if (s->events.on_refused && !s->freeing)
        s->events.on_refused(s->events.ctx, peer, why);
}

void rpc_request_take(const struct rpc_request *request, struct arena *into)
{
    *into = *request->arena;
    into->allocator.allocator_data = into;
    arena_init(request->arena, request->arena->budget);
}

void rpc_answer_mint(struct rpc_server *s, const struct rpc_request *request, int64_t ttl_ms)
{
    const Pb__MintRequest *ask = (const Pb__MintRequest *)request->body;
    Pb__MintReply reply = PB__MINT_REPLY__INIT;
    size_t count = ask->n_audience;
    struct auth_noise_key channel;
    int64_t now_ms = loop_wall_ms();

    if (ask->body_hash.len != AUTH_HASH_SIZE) {
        rpc_reply_error(s, request->call, -ERR_PROTOCOL, "the hash of a message has 32 bytes");
        return;
    }
    if (count == 0 || count > RPC_MINT_MAX) {
        rpc_reply_error(s, request->call, -ERR_LIMIT, "tokens are made for 1 to 10000 audiences");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (strlen(ask->audience[i]) == 0 || strlen(ask->audience[i]) > AUTH_NAME_MAX) {
            rpc_reply_error(s, request->call, -ERR_RANGE, "an audience has 1 to 63 characters");
            return;
        }
    }
    if (!rpc_server_may_answer(s, request, count * TOKEN_COST_BYTES)) {
        rpc_reply_error(s, request->call, -ERR_BACKOFF, NULL);
        return;
    }
    uint8_t(*tokens)[AUTH_TOKEN_SIZE] = mem_alloc_array(count, AUTH_TOKEN_SIZE);
    struct auth_key *answers = mem_new_array(struct auth_key, count);
    reply.token = mem_new_array(ProtobufCBinaryData, count);
    reply.answer_key = mem_new_array(ProtobufCBinaryData, count);
    reply.n_token = reply.n_answer_key = count;
    auth_noise_key_make(s->opt.key, &channel);
    reply.channel_id = (ProtobufCBinaryData){sizeof(channel.id), channel.id};
    reply.channel_key = (ProtobufCBinaryData){sizeof(channel.psk), channel.psk};
    reply.has_channel_id = reply.has_channel_key = true;
    for (size_t i = 0; i < count; i++) {
        auth_token_mint(s->opt.key, &request->who, ask->audience[i], ask->body_hash.data, now_ms,
                        ttl_ms, tokens[i]);
        reply.token[i] = (ProtobufCBinaryData){AUTH_TOKEN_SIZE, tokens[i]};
        auth_answer_key(s->opt.key, tokens[i], &answers[i]);
        reply.answer_key[i] = (ProtobufCBinaryData){sizeof(answers[i].mac_key), answers[i].mac_key};
    }
    rpc_reply(s, request->call, &reply.base);
    mem_wipe(answers, count * sizeof(*answers));
    mem_wipe(&channel, sizeof(channel));
    free(answers);
    free(reply.answer_key);
    free(reply.token);
    free(tokens);
}
