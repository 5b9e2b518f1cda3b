/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orderly shutdown, and requests of the leader to the controllers in standby.
 */
#pragma once

#include "slurmctld/core/ctld.h"

/* Ends the process after the queued output has left, even if it was to execute itself again. */
void stop_begin(struct ctld *c);
/* Stops the controllers, and with nodes_too all node daemons, by order of an administrator. */
void stop_daemons(struct ctld *c, bool nodes_too);
void stop_to_begin_anew(struct ctld *c, bool waits); /* no effect if it is already stopping */
void stop_now(struct ctld *c);                       /* everything queued has left */
void stop_session_closed(struct ctld *c);

/* Sends the request once to every other controller. done() is called when all have answered or
 * after a timeout; also, at once, if there is no other controller. */
void stop_tell_peers(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                     void (*done)(struct ctld *c));
void stop_drop_peers(struct ctld *c);
