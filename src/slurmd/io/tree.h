/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node's part in the fan-out tree (CORE-225, docs/adr/0017). A request inside RPC_TREE is
 * executed here as if its caller had sent it directly, and passed on to the targets in
 * RPC_TREE_PART, which follows on the same connection. Answers are sent up as they arrive; all
 * answers of one turn are sent together.
 *
 * The messages are not trusted. This node's own token over the request authenticates the caller.
 * The addresses to connect to are in a credential signed by the controller for the caller's job.
 * The origin of the request is stated by a node daemon, under a seal of the cluster key. The
 * resources that a user can hold here are limited.
 *
 * With a commit (CORE-227) nodes prepare, report that, and execute the request when
 * RPC_TREE_COMMIT arrives. A node collects the answers of the nodes below it and takes over the
 * targets of a lost one (CORE-228); the origin decides (docs/adr/0030).
 *
 * When the sender has gone, answers are dropped and the request is not passed on further. What was
 * started here continues.
 */
#pragma once

#include "rpc/server.h"
#include "slurmd/node/slurmd.h"

void tree_take(struct slurmd *d, const struct rpc_request *request);
void tree_more(struct slurmd *d, const struct rpc_more *more);
void tree_gone(struct slurmd *d, uint64_t call);
void tree_free_all(struct slurmd *d);
