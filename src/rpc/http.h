/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP on the port of a daemon: one GET or HEAD request a connection, for probes and metrics. A
 * request is read from bytes that anybody can send: its size is bounded, and only its first line
 * means something.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "auth/auth.h"
#include "base/str.h"

#define RPC_HTTP_MAX 8192 /* bytes of a request line and headers */
#define RPC_HTTP_TARGET_MAX 1024

struct rpc_http {
    char path[RPC_HTTP_TARGET_MAX + 1]; /* "/metrics/jobs" */
    char query[RPC_HTTP_TARGET_MAX + 1];
    bool head;                       /* only the head of the answer is wanted */
    const struct auth_identity *who; /* of the local socket; NULL: of anybody */
    bool is_admin;
};

struct rpc_http_answer {
    int status;       /* 200, 303, 404... */
    const char *type; /* NULL: text/plain */
    struct str body;  /* freed by the receiver; empty: the words of the status */
    char *location;   /* the same; NULL: none */
};

enum { RPC_HTTP_OK = 0, RPC_HTTP_MORE = -1 };

/* Whether these first bytes are those of an HTTP request. Needs 4 bytes. */
bool rpc_http_begins(const void *data, size_t len);
/* RPC_HTTP_OK: 'out' has path, query and head. RPC_HTTP_MORE: the request is not complete. Else the
 * status that refuses it; 'out' has head. */
int rpc_http_parse(const void *data, size_t len, struct rpc_http *out);
/* Appends the answer as it is sent. */
void rpc_http_format(const struct rpc_http *request, const struct rpc_http_answer *a,
                     struct str *out);

/* The endpoints that every daemon has: /, /healthz, /livez and /readyz[?verbose]. False: the path
 * is another one. */
struct rpc_http_probes {
    const char *daemon;
    const char *endpoints; /* further ones, a line each; NULL: none */
    bool is_ready;
    const char *check, *why; /* what readiness is about; why it is not ready */
};
bool rpc_http_answer_probe(const struct rpc_http *request, const struct rpc_http_probes *p,
                           struct rpc_http_answer *a);
