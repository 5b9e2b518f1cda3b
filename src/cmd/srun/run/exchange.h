/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the processes of an MPI program tell each other by way of this srun: keys, meetings, names,
 * questions to the server of another node, that all have to end; and what they ask srun for,
 * further processes. Each kind has a part of its own (kvs.h, gather.h, published.h; across.h where
 * several steps are in it), which says who gets what; here is what comes from nodes, and what goes
 * to them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/io.pb-c.h"
#include "rpc/rpc.h"

/* The place of a node, for what a spawned step asks: see spawns.h. */
#define EXCHANGE_SPAWNED UINT32_MAX

struct run;
struct exchange;

struct exchange *exchange_new(struct run *run); /* run->step is there */
void exchange_free(struct exchange *x);

/* From the shepherd of a node of the step; false: it is about something else. */
bool exchange_message(struct exchange *x, uint32_t node, enum rpc_number rpc,
                      const ProtobufCMessage *m);
/* A task has ended in whatever way: others may wait for it in vain. */
void exchange_task_ended(struct exchange *x, uint32_t node, uint32_t task);

/* A name that a task of a node or of a spawned step asks for, and what has become of it. */
void exchange_name(struct exchange *x, uint32_t node, const Pb__NameRequest *m);
void exchange_name_reply(struct exchange *x, uint32_t node, const Pb__NameReply *reply);

/* To nodes of this step: all that are named in it, the one of the task, the one that has asked. */
void exchange_send_fence(struct exchange *x, const Pb__PmixFence *all);
void exchange_send_get(struct exchange *x, const Pb__PmixGet *m);
void exchange_send_got(struct exchange *x, const Pb__PmixGot *m);
