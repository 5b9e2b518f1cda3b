/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What srun and users on this node ask of the daemon: launches, tokens, its status.
 */
#pragma once

#include "slurmd/node/slurmd.h"

int serve_open(struct slurmd *d, struct err *err);
void serve_close(struct slurmd *d);
