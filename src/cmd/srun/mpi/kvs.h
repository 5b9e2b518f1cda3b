/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key-value space of an MPI step, srun's part. Each node's shepherd sends what its tasks have
 * put since the last barrier when all of them are in the barrier; when every node is there, what is
 * new is sent to all. A key that is put twice has the last value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"

#define KVS_ROUND_MAX (8u << 20) /* bytes of keys and values in one round */

struct kvs;
struct kvs *kvs_new(uint32_t nodes);
void kvs_free(struct kvs *k);

/* One node's part. Returns 0: others are missing; 1: the round is complete, *all is what to send to
 * every node, valid until the next call; -ERR_PROTOCOL: a node twice, or another round; -ERR_LIMIT.
 */
int kvs_fence(struct kvs *k, uint32_t node, const struct Pb__KvsFence *part,
              const struct Pb__KvsFence **all, struct err *err);
