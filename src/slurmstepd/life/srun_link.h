/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connection to the step's srun, which the shepherd opens before any task runs, with the
 * launch's own key. It goes to a UNIX socket of srun if the launch came over the local socket of
 * this node's daemon; otherwise, or if that fails, over TCP
 * (docs/adr/0053-local-streams-use-a-unix-socket.md). No task runs before srun has
 * answered the hello; a connection that breaks before is opened again. If the connection is lost
 * later, the tasks are ended.
 */
#pragma once

#include "slurmstepd/stream/srun.h"

/* Connects and sends the hello. task_start_all() follows the answer, or start_failed() with a text
 * that names host and port. */
void srun_connect(struct step *step);
