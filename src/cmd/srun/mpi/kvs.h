/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key-value space of an MPI step, srun's part. When all tasks of a node have entered the
 * barrier, the node's step daemon sends the pairs that they have put since the last barrier. When
 * all nodes have done so, the new pairs are sent to all of them. A key that is put twice keeps the
 * last value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"

#define KVS_ROUND_MAX (8u << 20) /* maximum bytes of keys and values in one round */

struct kvs;
struct kvs *kvs_new(uint32_t nodes);
void kvs_free(struct kvs *k);

/* Adds one node's pairs. Returns 0 if other nodes are missing; 1 if the round is complete: *all
 * must be sent to every node and is valid until the next call; -ERR_PROTOCOL for a repeated node or
 * another round; -ERR_LIMIT. */
int kvs_fence(struct kvs *k, uint32_t node, const struct Pb__KvsFence *part,
              const struct Pb__KvsFence **all, struct err *err);
