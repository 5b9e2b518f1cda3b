/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocking frames for the calling side, inside this room: poll(), no loop. */
#pragma once

#include "base/str.h"
#include "rpc/frame.h"
#include "rpc/net.h"
#include "rpc/seal.h"

struct rpc_channel;

#define RPC_NO_DEADLINE INT64_MAX

int64_t rpc_wire_now_ms(void); /* the clock of all deadlines here */
void rpc_wire_sleep(int64_t ms);

struct rpc_wire {
    int fd; /* -1: closed */
    struct str in;
    const struct rpc_wire *first; /* as soon as it has something to be read, all waiting here ends
                                     with -ECANCELED; NULL: nothing does that */
    struct rpc_channel *channel;  /* NULL: plain */
    struct str records, plain;    /* incomplete records; bytes that were in complete ones, */
    size_t plain_pos;             /* up to here taken */
    bool sealed;                  /* the answers to the last request are to prove themselves */
    bool unread; /* the other side closed before it had read the whole of the last request */
    struct rpc_seal answers;
};

void rpc_wire_close(struct rpc_wire *w);

/* Connects to a daemon's local socket and makes sure that a daemon is behind it: one of the given
 * uids, or root. */
int rpc_wire_open_local(struct rpc_wire *w, const char *path, const uid_t *trusted, size_t count,
                        int64_t deadline_ms, struct err *err);
int rpc_wire_open_tcp(struct rpc_wire *w, const char *host, uint16_t port, int64_t deadline_ms,
                      struct err *err);

/* Whether a kept connection can still be used: open, and with nothing unexpected to be read. */
bool rpc_wire_is_fresh(const struct rpc_wire *w);

/* Sends a request, over a local socket without token (minted NULL), else encrypted: with the first
 * one of a connection the other side has to prove that it knows the key, before it gets anything
 * else; -ECONNRESET: the connection was lost before. A failure that the other side may have
 * explained is 0: its answer tells. */
int rpc_wire_send(struct rpc_wire *w, const struct rpc_header *h, const struct rpc_minted *minted,
                  const void *body, int64_t deadline_ms, struct err *err);

/* Until something can be read: 0, -ERR_TIMEOUT or -errno. */
int rpc_wire_wait(struct rpc_wire *w, int64_t deadline_ms);
/* Whether bytes are there; false also when the other side has closed. */
bool rpc_wire_has_bytes(const struct rpc_wire *w);

/* The answer to the request that was sent last: 0 and its body, valid until the next call (h->flags
 * tells whether more comes), or the failure it carries. -ECONNRESET: the request was not received,
 * so nothing of it was done; -ERR_CLOSED: that is not known. */
int rpc_wire_answer(struct rpc_wire *w, const struct rpc_header *request, struct rpc_header *h,
                    const uint8_t **body, int64_t deadline_ms, struct err *err);

/* Sends a request without a token and waits for its answer. One request at a time on a connection;
 * *body is valid until the next call. */
int rpc_wire_exchange(struct rpc_wire *w, uint16_t rpc, const ProtobufCMessage *request,
                      const uint8_t **body, size_t *len, int64_t deadline_ms, struct err *err);
