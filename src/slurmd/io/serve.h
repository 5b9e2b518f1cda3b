/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of srun and of users on this node: launches, tokens, status.
 */
#pragma once

#include "slurmd/node/slurmd.h"

int serve_open(struct slurmd *d, struct err *err);
void serve_close(struct slurmd *d);
