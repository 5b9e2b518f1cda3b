/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx fences of a step, srun's part: the nodes of a group each bring data, and when all have come
 * they all get what everybody has brought. Several groups may meet at a time; a name is used once.
 * Bounded. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/io.pb-c.h"

#define GATHER_GROUP_MAX (15u << 20) /* bytes that a group brings: they go in one message */
#define GATHER_BYTES_MAX (256u << 20)
#define GATHER_GROUPS_MAX 65536

struct gather;
struct gather *gather_new(uint32_t nodes);
void gather_free(struct gather *g);

/* One node's part. Returns 0: others are missing; 1: *all is what to send to its nodes, valid until
 * the next call; -ERR_PROTOCOL: a node twice, or one that has no part in it; -ERR_LIMIT. */
int gather_part(struct gather *g, uint32_t node, const struct Pb__PmixFence *part,
                const struct Pb__PmixFence **all, struct err *err);
