/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kept session to the controllers: registration, reports, heartbeats; orders come in by it.
 */
#pragma once

#include "base/arena.h"
#include "slurmd/node/slurmd.h"

void uplink_open(struct slurmd *d); /* loads what is known of the controller */
/* A controller says that it leads now: to be connected to, unless it is one of the past. */
int uplink_called(struct slurmd *d, const Pb__NodeCall *m, struct err *err);
void uplink_close(struct slurmd *d);
void uplink_register(struct slurmd *d);    /* again, after a change of what this node has */
void uplink_flush(struct slurmd *d);       /* once a turn: events to disk, then to the controller */
void uplink_reconfigure(struct slurmd *d); /* reads slurm.conf again */
void uplink_reconfigure_any(struct slurmd *d); /* the same; a configless node asks for it first */
/* The configuration in force stays, which is logged, and told the controller. NULL: the newest one
 * is in force. */
void uplink_refuse_conf(struct slurmd *d, const char *why);

/* The jobs known here, in the arena; returns their number. */
/* What the host has, but for its names. */
void uplink_fill_hardware(const struct slurmd *d, Pb__NodeRegister *m);
size_t uplink_presence(struct slurmd *d, struct arena *arena, Pb__Presence ***list);
