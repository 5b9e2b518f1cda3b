/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spool directory at start: made, locked against a second daemon, wiped when the machine has
 * been started anew, and read.
 */
#pragma once

#include "slurmd/slurmd.h"

int spool_open(struct slurmd *d, struct err *err);
/* The jobs that earlier daemons left; clean: ends them (-c). */
void spool_adopt(struct slurmd *d, bool clean);
void spool_close(struct slurmd *d);
