/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spool directory at start: made, locked against a second daemon, wiped when the machine has
 * been started anew, and read.
 */
#pragma once

#include "slurmd/node/slurmd.h"

int spool_open(struct slurmd *d, struct err *err);
/* The jobs that earlier daemons left; clean: ends them (-c). An error: they cannot all be read for
 * now. The daemon must not start then, since the controller takes a missing job for lost. */
int spool_adopt(struct slurmd *d, bool clean, struct err *err);
void spool_close(struct slurmd *d);
