/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frame format of messages. A frame is a header (fixed, little-endian), a token and a body.
 *
 *   magic "SLUI" | version u16 | rpc u16 | flags u16 | token length u16 | body length u32
 *   | request id u64
 *
 * The token authenticates header and body. A request over TCP has an auth token over hash(header,
 * body). Its replies, and frames that its caller sends later (RPC_FLAG_MORE, same request id),
 * have a MAC under a key derived from that token (seal.h). A frame of a session has a MAC under
 * the session's key over (direction, sequence, header, body). A frame on a local socket has no
 * token: the kernel identifies the peer.
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
    RPC_FLAG_BULK = 16,    /* session frame whose MAC covers a tag of the body (auth_bulk_tag) */
    RPC_FLAG_CHANNEL = 32, /* first frame of an encrypted connection (channel.h) */
};

struct rpc_header {
    uint16_t version, rpc, flags, token_len;
    uint32_t body_len;
    uint64_t id;
};

/* A received frame, valid during the callback. */
struct rpc_frame {
    const struct rpc_header *header;
    const uint8_t *head; /* the bytes of the header */
    const uint8_t *token, *body;
};

void rpc_header_pack(const struct rpc_header *h, uint8_t out[RPC_HEADER_SIZE]);

/* Checks magic, version, known flags, known rpc and both lengths against the limits, before any
 * body byte is read. body_max is the limit for this peer in its present state; a request may also
 * be as long as its row of rpc.def allows. rpc 0 is valid for the session handshake and for errors
 * about frames with an unknown rpc. Returns -ERR_PROTOCOL, -ERR_VERSION or -ERR_TOO_BIG. */
int rpc_header_unpack(const uint8_t in[RPC_HEADER_SIZE], uint32_t body_max, struct rpc_header *h,
                      struct err *err);

/* Computes the hash that a token is minted for: over the header, with its final token_len, and the
   body. */
void rpc_frame_hash(const struct rpc_header *h, const void *body, uint8_t hash[AUTH_HASH_SIZE]);

/* Appends a frame; the lengths in h are the lengths of token and body. */
void rpc_frame_append(struct str *out, const struct rpc_header *h, const void *token,
                      const void *body);

/* Packs an error into the body of a frame with RPC_FLAG_ERROR, and unpacks it. Unpacking always
 * fills err and returns its negative code. */
void rpc_error_pack(int code, const char *text, struct str *body);
int rpc_error_unpack(const void *body, size_t len, struct err *err);

/* Makes text one line and removes control characters that a hostile peer may have sent. */
void rpc_text_clean(char *text);
