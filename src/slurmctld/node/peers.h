/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the leader passes on to the controllers in standby. */
#pragma once

#include "slurmctld/core/ctld.h"

/* The same request to every other controller, once; done() when all have answered or it
 * has taken too long, also at once when there is none. */
void peers_tell(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                void (*done)(struct ctld *c));
void peers_end(struct ctld *c);
