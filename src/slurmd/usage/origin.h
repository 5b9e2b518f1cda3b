/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RPC ORIGIN: which job the process belongs to that has made a connection. */
#pragma once

#include "rpc/server.h"
#include "slurmd/node/slurmd.h"

void origin_answer(struct slurmd *d, const struct rpc_request *r);
