/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting for a port of a daemon that another process holds. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "rpc/server.h"

#define RPC_PORT_WAIT_MS 60000 /* total time that a daemon waits for its port */
#define RPC_PORT_RETRY_MS 250  /* pause between two attempts */
#define RPC_PORT_TELL_MS 10000 /* pause between two reports, after an immediate first one */

/* Like rpc_server_listen_tcp(), but waits while the port is in use. The wait ends early when the
 * process receives SIGTERM or SIGINT. tell() gets a sentence with the uid that holds the port. */
int rpc_port_listen(struct rpc_server *s, const char *addr, uint16_t port,
                    void (*tell)(const char *why), struct err *err);

/* Finds the owner of the socket with this port in a table like /proc/net/tcp, which is read to its
   end; a listening socket takes precedence over a connection. Returns 1 if found, and sets
   *listens; 0 if there is none. */
int rpc_port_find(FILE *table, uint16_t port, uid_t *uid, bool *listens);
