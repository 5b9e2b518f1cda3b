/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of the leader to the controllers in standby. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Sends the request once to every other controller. done() is called when all have answered or
 * after a timeout; also, at once, if there is no other controller. */
void peers_tell(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                void (*done)(struct ctld *c));
void peers_end(struct ctld *c);
