/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP on the port of a daemon: one GET or HEAD request per connection, for probes and metrics.
 * Requests come from unauthenticated clients, so their size is bounded, and only the request line
 * is interpreted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "auth/auth.h"
#include "base/str.h"

#define RPC_HTTP_MAX 8192 /* bytes of request line and headers */
#define RPC_HTTP_TARGET_MAX 1024

struct rpc_http {
    char path[RPC_HTTP_TARGET_MAX + 1]; /* "/metrics/jobs" */
    char query[RPC_HTTP_TARGET_MAX + 1];
    bool head;                       /* HEAD: the reply has no body */
    const struct auth_identity *who; /* the user of a local socket; NULL: unauthenticated */
    bool is_admin;
};

struct rpc_http_answer {
    int status;       /* 200, 303, 404... */
    const char *type; /* NULL: text/plain */
    struct str body;  /* freed by the receiver; empty: the reason phrase of the status */
    char *location;   /* freed by the receiver; NULL: none */
};

enum { RPC_HTTP_OK = 0, RPC_HTTP_MORE = -1 };

/* Whether these bytes begin an HTTP request. Needs the first 4 bytes. */
bool rpc_http_begins(const void *data, size_t len);
/* Returns RPC_HTTP_OK: 'out' has path, query and head. RPC_HTTP_MORE: the request is incomplete.
 * Otherwise the status of the refusal; 'out' has head. */
int rpc_http_parse(const void *data, size_t len, struct rpc_http *out);
/* Appends the reply in wire format. */
void rpc_http_format(const struct rpc_http *request, const struct rpc_http_answer *a,
                     struct str *out);

/* The endpoints of every daemon: /, /healthz, /livez and /readyz[?verbose]. Returns false for any
 * other path. */
struct rpc_http_probes {
    const char *daemon;
    const char *endpoints; /* further endpoints, one per line; NULL: none */
    bool is_ready;
    /* Name of the readiness check; the reason why the daemon is not ready. */
    const char *check, *why;
};
bool rpc_http_answer_probe(const struct rpc_http *request, const struct rpc_http_probes *p,
                           struct rpc_http_answer *a);
