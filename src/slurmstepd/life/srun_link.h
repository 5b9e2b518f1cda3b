/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connection to the step's srun: opened by us before any task runs, keyed by the launch's own
 * key; to a UNIX socket of srun where the launch came over the local socket of this node's daemon,
 * else or when that fails over TCP (docs/adr/0053-streams-on-one-host-go-by-a-unix-socket.md).
 * Until srun has answered our hello no task runs, and a connection that breaks is made anew; when
 * it is lost later, the tasks end.
 */
#pragma once

#include "slurmstepd/stream/srun.h"

/* Connects and says hello; task_start_all() follows from the answer, or start_failed() with a text
 * that names host and port. */
void srun_connect(struct step *step);
