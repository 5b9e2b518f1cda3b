/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames: what travels. Header (fixed, little-endian), token, body.
 *
 *   magic "SLUI" | version u16 | rpc u16 | flags u16 | token length u16 | body length u32 | request
 * id u64
 *
 * The token authenticates header and body: over TCP an auth token over hash(header, body), and in
 * the answers, and in what the caller sends after the request (RPC_FLAG_MORE, with its request id),
 * a MAC under a key that follows from that token (seal.h); in a
 * session a MAC under the session's key over (direction, sequence, header, body); over a local
 * socket none is needed, the kernel names the peer.
 */
#pragma once

#include <stdint.h>

#include "auth/auth.h"
#include "base/err.h"
#include "base/str.h"

#define RPC_HEADER_SIZE 24
#define RPC_VERSION 1

enum rpc_flags {
    RPC_FLAG_REPLY = 1,
    RPC_FLAG_ERROR = 2,
    RPC_FLAG_MORE = 4,
    RPC_FLAG_SESSION = 8,
    RPC_FLAG_BULK = 16,    /* of a session: its MAC is over a tag of the body (auth_bulk_tag) */
    RPC_FLAG_CHANNEL = 32, /* the beginning of an encrypted connection (channel.h) */
};

struct rpc_header {
    uint16_t version, rpc, flags, token_len;
    uint32_t body_len;
    uint64_t id;
};

/* One that came; valid in the callback that hands it over. */
struct rpc_frame {
    const struct rpc_header *header;
    const uint8_t *head; /* the header's bytes */
    const uint8_t *token, *body;
};

void rpc_header_pack(const struct rpc_header *h, uint8_t out[RPC_HEADER_SIZE]);

/* Checks magic, version, known flags, known rpc and both lengths against the limits, before any
 * body byte is read. body_max: what this peer may send in its state; a request may have what its
 * row of rpc.def allows, too. rpc 0 is for the handshake of a session and for errors about frames
 * whose rpc is not known. -ERR_PROTOCOL, -ERR_VERSION, -ERR_TOO_BIG. */
int rpc_header_unpack(const uint8_t in[RPC_HEADER_SIZE], uint32_t body_max, struct rpc_header *h,
                      struct err *err);

/* What a token is minted for: the header with token_len as sent, and the body. */
void rpc_frame_hash(const struct rpc_header *h, const void *body, uint8_t hash[AUTH_HASH_SIZE]);

/* Appends a frame; h's lengths say how much of token and body there is. */
void rpc_frame_append(struct str *out, const struct rpc_header *h, const void *token,
                      const void *body);

/* The body of a frame with RPC_FLAG_ERROR, and back: always fills err and returns its negative
 * code. */
void rpc_error_pack(int code, const char *text, struct str *body);
int rpc_error_unpack(const void *body, size_t len, struct err *err);

/* One sentence without the control characters that a hostile peer may have put there. */
void rpc_text_clean(char *text);
