/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The session with the controller: registration, reports and heartbeats to it, orders from it.
 */
#pragma once

#include "base/arena.h"
#include "slurmd/node/slurmd.h"

void uplink_open(struct slurmd *d); /* loads the stored identity of the controller */
/* A controller says that it leads now: connects to it, unless it is a deposed one. */
int uplink_called(struct slurmd *d, const Pb__NodeCall *m, struct err *err);
void uplink_close(struct slurmd *d);
void uplink_register(struct slurmd *d); /* again, after a change of this node's resources */
/* Once per turn: writes events to disk, then sends them. */
void uplink_flush(struct slurmd *d);
void uplink_reconfigure(struct slurmd *d); /* reads slurm.conf again */
/* The same; a configless node fetches the file first. */
void uplink_reconfigure_any(struct slurmd *d);
/* The configuration in force stays; the reason is logged and sent to the controller. NULL: the
 * newest configuration is in force. */
void uplink_refuse_conf(struct slurmd *d, const char *why);

/* Fills in the host's hardware, without names. */
void uplink_fill_hardware(const struct slurmd *d, Pb__NodeRegister *m);
/* Lists the jobs known here, in the arena; returns their number. */
size_t uplink_presence(struct slurmd *d, struct arena *arena, Pb__Presence ***list);
