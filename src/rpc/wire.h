/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocking frame I/O for the calling side, with poll(). Private to src/rpc. */
#pragma once

#include "base/str.h"
#include "rpc/frame.h"
#include "rpc/net.h"
#include "rpc/seal.h"

struct rpc_channel;

#define RPC_NO_DEADLINE INT64_MAX

int64_t rpc_wire_now_ms(void); /* the clock of all deadlines in this file */
void rpc_wire_sleep(int64_t ms);

struct rpc_wire {
    int fd; /* -1: closed */
    struct str in;
    /* When this connection has input, every wait on the other one ends with -ECANCELED; NULL:
       none. */
    const struct rpc_wire *first;
    struct rpc_channel *channel; /* NULL: plain */
    struct str records, plain;   /* incomplete records; decrypted bytes */
    size_t plain_pos;            /* number of decrypted bytes already consumed */
    bool sealed;                 /* the replies to the last request must be authenticated */
    bool unread; /* the other side closed before it had read all of the last request */
    struct rpc_seal answers;
};

void rpc_wire_close(struct rpc_wire *w);

/* Connects to a daemon's local socket and checks that the process behind it runs as one of the
 * given uids or root. */
int rpc_wire_open_local(struct rpc_wire *w, const char *path, const uid_t *trusted, size_t count,
                        int64_t deadline_ms, struct err *err);
int rpc_wire_open_tcp(struct rpc_wire *w, const char *host, uint16_t port, int64_t deadline_ms,
                      struct err *err);

/* Whether a kept connection is still usable: open and without unexpected input. */
bool rpc_wire_is_fresh(const struct rpc_wire *w);

/* Sends a request. Over a local socket it has no token (minted NULL); otherwise it is encrypted,
 * and for the first request of a connection the other side has to prove that it knows the key
 * before it receives anything else. -ECONNRESET: the connection was already lost. Returns 0 if the
 * other side may have explained the failure: rpc_wire_answer() then returns the explanation. */
int rpc_wire_send(struct rpc_wire *w, const struct rpc_header *h, const struct rpc_minted *minted,
                  const void *body, int64_t deadline_ms, struct err *err);

/* Waits for input. Returns 0, -ERR_TIMEOUT or -errno. */
int rpc_wire_wait(struct rpc_wire *w, int64_t deadline_ms);
/* Whether input is available; false also after the other side has closed. */
bool rpc_wire_has_bytes(const struct rpc_wire *w);

/* Reads the reply to the last request. Returns 0 and the body, valid until the next call (h->flags
 * tells whether more follows), or the failure in the reply. -ECONNRESET: the request was not
 * received, so it was not executed. -ERR_CLOSED: whether it was executed is unknown. */
int rpc_wire_answer(struct rpc_wire *w, const struct rpc_header *request, struct rpc_header *h,
                    const uint8_t **body, int64_t deadline_ms, struct err *err);

/* Sends a request without a token and waits for its answer. One request at a time on a connection;
 * *body is valid until the next call. */
int rpc_wire_exchange(struct rpc_wire *w, uint16_t rpc, const ProtobufCMessage *request,
                      const uint8_t **body, size_t *len, int64_t deadline_ms, struct err *err);
