/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node's part in the fan-out tree (CORE-225, docs/adr/0017): a request of RPC_TREE is done here
 * as though its caller had sent what it carries, and passed on to those that RPC_TREE_PART names,
 * behind it on the same connection. Answers go up as they come, all of one turn at a time.
 *
 * Nothing in it is trusted: who calls is proved by this node's own token over the request; whom it
 * connects to is in a credential that the controller has signed, and that is of the caller's job;
 * where the request was first taken from is a node daemon's word, under a seal of the cluster key.
 * What users may hold here is bounded.
 *
 * With a commit wanted (CORE-227) nodes prepare, say so, and do it when RPC_TREE_COMMIT comes. Who
 * has others below it takes their answers and cares for those behind one that is lost (CORE-228);
 * the decision is the origin's (docs/adr/0030).
 *
 * When whoever passed it on is gone, answers are nobody's business any more: what was not passed on
 * yet is dropped. What was begun here goes on.
 */
#pragma once

#include "rpc/server.h"
#include "slurmd/node/slurmd.h"

void tree_take(struct slurmd *d, const struct rpc_request *request);
void tree_more(struct slurmd *d, const struct rpc_more *more);
void tree_gone(struct slurmd *d, uint64_t call);
void tree_free_all(struct slurmd *d);
