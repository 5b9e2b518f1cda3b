/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses and sockets, inside this room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"
#include "rpc/session.h"

#define RPC_ADDR_TEXT_MAX 64    /* "[ffff:...]:65535" with its NUL, scope included */
#define RPC_NET_ADDRESSES_MAX 8 /* of one name */

struct rpc_addr {
    struct sockaddr_storage ss;
    socklen_t len;
};

/* "10.0.0.1:4711", "[::1]:4711", "@sluice-0f...". */
void rpc_addr_format(const struct rpc_addr *a, char out[RPC_ADDR_TEXT_MAX]);

/* How many addresses the name has (at most RPC_NET_ADDRESSES_MAX), or negative. 'numeric': only an
 * address in digits, which never blocks; -EAI_NONAME's case is -ENOENT. host NULL: every address of
 * this host, for listening. A name of rpc_is_abstract() is one address, whatever the port. */
int rpc_net_resolve(const char *host, uint16_t port, bool numeric, struct rpc_addr *out,
                    struct err *err);

/* Makes a new name that nobody holds. It is no secret: /proc/net/unix shows it. */
void rpc_net_name_abstract(char name[RPC_ABSTRACT_SIZE]);

/* A non-blocking stream socket that is connecting or connected; *pending tells which. owner: see
 * struct rpc_target. -errno; -EACCES: the abstract socket is somebody else's. */
int rpc_net_connect(const struct rpc_addr *to, uid_t owner, bool *pending);
int rpc_net_connect_unix(const char *path); /* connected, or -errno */

/* What became of a pending connect: 0 or -errno. */
int rpc_net_connected(int fd);

/* No delay, and dead peers noticed. Harmless on UNIX sockets. */
void rpc_net_tune(int fd);

/* Closing tells the other side that nobody waits any more, also when this process is killed: over
 * TCP the plain end of what is sent could mean that the answer is still awaited. For connections of
 * a caller, whose requests are all answered before it closes in order. */
void rpc_net_reset_on_close(int fd);
