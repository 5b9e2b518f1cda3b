/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that tasks of the step request (MPI_Comm_spawn), on the requesting side. Each request
 * becomes a further step of the job, with an srun of its own that is a child of this one
 * (docs/adr/0028, spawned.h). The link to the child carries the result of the request, the name
 * requests of its tasks, and the reason if it has to end; the child ends with this srun.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/io.pb-c.h"
#include "proto/spawn.pb-c.h"
#include "rpc/rpc.h"

#define SPAWNS_MAX 256 /* maximum number of spawned steps at a time */

struct run;
struct spawns;

struct spawns *spawns_new(struct run *run);
void spawns_free(struct spawns *s); /* the remaining spawned steps end */

/* A request by a task of that node; it gets one reply, RPC_SPAWNED. */
void spawns_ask(struct spawns *s, uint32_t node, const Pb__Spawn *m);
void spawns_signal(struct spawns *s, int signo); /* to all of their sruns */
bool spawns_left(const struct spawns *s);        /* if true, run->on->spawns_over() follows */

/* Over the link with that number; false: the link is closed. */
bool spawns_send(struct spawns *s, uint32_t number, enum rpc_number rpc, const ProtobufCMessage *m);
void spawns_send_all(struct spawns *s, enum rpc_number rpc, const ProtobufCMessage *m);

/* The reply to a name request of a spawned step; it comes from published.h, or from a link. */
void spawns_name_reply(struct spawns *s, const Pb__NameReply *reply);
