/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that tasks of the step ask for (MPI_Comm_spawn), on the side of who asks: each request
 * becomes a further step of the job, with an srun of its own that is a child of this one
 * (docs/adr/0028, spawned.h). A link to it carries what became of the request, names that its tasks
 * publish and look up, and why it had to end; without this srun it ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/io.pb-c.h"
#include "proto/spawn.pb-c.h"
#include "rpc/rpc.h"

#define SPAWNS_MAX 256 /* spawned steps at a time */

struct run;
struct spawns;

struct spawns *spawns_new(struct run *run);
void spawns_free(struct spawns *s); /* those that are left end */

/* A task of that node asks; it gets one answer, RPC_SPAWNED. */
void spawns_ask(struct spawns *s, uint32_t node, const Pb__Spawn *m);
void spawns_signal(struct spawns *s, int signo); /* to each of their sruns */
bool spawns_left(const struct spawns *s);        /* run->on->spawns_over() follows */

/* Over the link of that number; false: it has gone. */
bool spawns_send(struct spawns *s, uint32_t number, enum rpc_number rpc, const ProtobufCMessage *m);
void spawns_send_all(struct spawns *s, enum rpc_number rpc, const ProtobufCMessage *m);

/* What became of a name that a spawned step has asked for; the reply is that of published.h, or of
 * a link. */
void spawns_name_reply(struct spawns *s, const Pb__NameReply *reply);
