/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses and sockets. Private to src/rpc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"
#include "rpc/session.h"

#define RPC_ADDR_TEXT_MAX 64    /* "[ffff:...]:65535" including scope and NUL */
#define RPC_NET_ADDRESSES_MAX 8 /* of one host name */

struct rpc_addr {
    struct sockaddr_storage ss;
    socklen_t len;
};

/* "10.0.0.1:4711", "[::1]:4711", "@sluice-0f...". */
void rpc_addr_format(const struct rpc_addr *a, char out[RPC_ADDR_TEXT_MAX]);

/* Resolves a host name. Returns the number of addresses (at most RPC_NET_ADDRESSES_MAX), or a
 * negative error. 'numeric' accepts numeric addresses only and never blocks; EAI_NONAME becomes
 * -ENOENT. host NULL: every address of this host, for listening. A name for which
 * rpc_is_abstract() is true has one address; its port is ignored. */
int rpc_net_resolve(const char *host, uint16_t port, bool numeric, struct rpc_addr *out,
                    struct err *err);

/* Makes an unused abstract name. The name is not secret: /proc/net/unix shows it. */
void rpc_net_name_abstract(char name[RPC_ABSTRACT_SIZE]);

/* Returns a non-blocking stream socket; *pending is true while it is still connecting. owner: see
 * struct rpc_target. Returns -errno; -EACCES: another user owns the abstract socket. */
int rpc_net_connect(const struct rpc_addr *to, uid_t owner, bool *pending);
int rpc_net_connect_unix(const char *path); /* returns a connected socket, or -errno */

/* Returns the result of a pending connect: 0 or -errno. */
int rpc_net_connected(int fd);

/* Sets TCP_NODELAY and keep-alive probes. Harmless on UNIX sockets. */
void rpc_net_tune(int fd);

/* Makes close() reset the connection, also when this process is killed, so that the peer knows
 * that the caller has gone. A plain end of the sending direction over TCP could mean that the
 * caller still waits for the reply. For calling sides, which close in order only after all
 * requests are answered. */
void rpc_net_reset_on_close(int fd);
