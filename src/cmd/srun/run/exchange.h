/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages between the processes of an MPI program that pass through this srun: keys, fences,
 * names, requests to another node's server, aborts; and requests to srun for further processes.
 * Each kind has a file of its own that decides who gets what (kvs.h, gather.h, published.h;
 * across.h for several steps); this file receives the messages of nodes and sends those to nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/io.pb-c.h"
#include "rpc/rpc.h"

/* Used in place of a node index for requests of a spawned step: see spawns.h. */
#define EXCHANGE_SPAWNED UINT32_MAX

struct run;
struct exchange;

struct exchange *exchange_new(struct run *run); /* run->step must be set */
void exchange_free(struct exchange *x);

/* Handles a message of a step daemon; false: the message is of another kind. */
bool exchange_message(struct exchange *x, uint32_t node, enum rpc_number rpc,
                      const ProtobufCMessage *m);
/* A task has ended: others may be waiting for it in vain. */
void exchange_task_ended(struct exchange *x, uint32_t node, uint32_t task);

/* A name request by a task of a node or of a spawned step, and its reply. */
void exchange_name(struct exchange *x, uint32_t node, const Pb__NameRequest *m);
void exchange_name_reply(struct exchange *x, uint32_t node, const Pb__NameReply *reply);

/* To nodes of this step: to all nodes in the fence, to the task's node, to the requesting node. */
void exchange_send_fence(struct exchange *x, const Pb__PmixFence *all);
void exchange_send_get(struct exchange *x, const Pb__PmixGet *m);
void exchange_send_got(struct exchange *x, const Pb__PmixGot *m);
