/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A daemon's port that somebody else holds. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "rpc/server.h"

#define RPC_PORT_WAIT_MS 60000 /* a daemon waits so long for its port, */
#define RPC_PORT_RETRY_MS 250  /* tries so often, */
#define RPC_PORT_TELL_MS 10000 /* and says so at first, and then every so often */

/* As rpc_server_listen_tcp(); while the port is in use it waits, and ends early when the process is
 * told to stop (SIGTERM, SIGINT). tell() gets a sentence with the uid that holds the port. */
int rpc_port_listen(struct rpc_server *s, const char *addr, uint16_t port,
                    void (*tell)(const char *why), struct err *err);

/* The owner of the socket that has this port, of a table as in /proc/net/tcp, which is read to its
 * end: of one that listens rather than of a connection. 1: found, and whether it listens; 0: none.
 */
int rpc_port_find(FILE *table, uint16_t port, uid_t *uid, bool *listens);
