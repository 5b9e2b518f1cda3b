/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sessions with the shepherds of the step, one per node: they connect to a port of ours and
 * prove that they know the key of this launch, which no message holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rpc/rpc.h"

struct run;
struct peers;

/* Listens, on loopback alone when every node is there. run->step is there. */
int peers_open(struct run *run, struct peers **out, struct err *err);
void peers_free(struct peers *p);

/* A node has confirmed the launch: its shepherd should be here soon. */
void peers_expect(struct peers *p, uint32_t node);

/* The connection to the local socket of the step's only node, -1: there is none. Who takes it
 * writes -1 there. */
int *peers_connection(struct peers *p);

uint16_t peers_port(const struct peers *p);
/* Of the UNIX socket for the shepherd of the step's only node, where its daemon is on this host;
 * NULL: there is none. */
const char *peers_local(const struct peers *p);
/* AUTH_TOKEN_SIZE bytes, of which node daemons make the key. */
const uint8_t *peers_token(const struct peers *p);

void peers_pause(struct peers *p, bool paused); /* stop reading what tasks write */

/* Who gets standard input: tasks by their number, and what that means for each node. */
enum peers_share { PEERS_NO_TASK, PEERS_SOME_TASKS, PEERS_ALL_TASKS };
struct peers_takers {
    bool *tasks;
    enum peers_share *nodes;
};

/* Standard input for these tasks; len 0 is its end. Pauses the input while a session is full. */
void peers_send_input(struct peers *p, const struct peers_takers *takers, const void *data,
                      size_t len);

/* To every node that is here; a node that comes later gets the order to end at once. */
void peers_signal(struct peers *p, int signo);
void peers_kill(struct peers *p, const char *why);

/* To a node, if it is here; to every node that is. */
void peers_send(struct peers *p, uint32_t node, enum rpc_number rpc, const ProtobufCMessage *m);
void peers_send_all(struct peers *p, enum rpc_number rpc, const ProtobufCMessage *m);

/* A node that cannot be launched or is lost: its session, if any, is closed and not missed. */
void peers_drop(struct peers *p, uint32_t node);
