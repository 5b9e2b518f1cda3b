/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sessions with the step daemons, one per node. They connect to a port of this srun and prove
 * that they know the key of this launch, which no message contains.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rpc/rpc.h"

struct run;
struct peers;

/* Listens; on loopback only if all nodes are this host. run->step must be set. */
int peers_open(struct run *run, struct peers **out, struct err *err);
void peers_free(struct peers *p);

/* A node has confirmed the launch: its step daemon should connect soon. */
void peers_expect(struct peers *p, uint32_t node);

/* The connection to the local socket of the step's only node; -1: none. A caller that takes the
 * connection over writes -1. */
int *peers_connection(struct peers *p);

uint16_t peers_port(const struct peers *p);
/* The name of the UNIX socket for the step daemon of the step's only node, if its daemon is on this
 * host; NULL: none. */
const char *peers_local(const struct peers *p);
/* AUTH_TOKEN_SIZE bytes, from which node daemons derive the key. */
const uint8_t *peers_token(const struct peers *p);

void peers_pause(struct peers *p, bool paused); /* stop reading the tasks' output */

/* The tasks that get standard input, and the resulting share of each node. */
enum peers_share { PEERS_NO_TASK, PEERS_SOME_TASKS, PEERS_ALL_TASKS };
struct peers_takers {
    bool *tasks;
    enum peers_share *nodes;
};

/* Sends standard input to these tasks; len 0 is its end. Pauses the input while a session is full.
 */
void peers_send_input(struct peers *p, const struct peers_takers *takers, const void *data,
                      size_t len);

/* To every connected node; a node that connects later gets the order to end at once. */
void peers_signal(struct peers *p, int signo);
void peers_kill(struct peers *p, const char *why);

/* To one node, or to every node, if connected. */
void peers_send(struct peers *p, uint32_t node, enum rpc_number rpc, const ProtobufCMessage *m);
void peers_send_all(struct peers *p, enum rpc_number rpc, const ProtobufCMessage *m);

/* Gives up a node that cannot be launched or is lost: closes its session, if any, and does not wait
 * for it. */
void peers_drop(struct peers *p, uint32_t node);
