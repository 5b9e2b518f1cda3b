/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx fences of a step, srun's part: each node of a group contributes data; when all of them have,
 * all get the data of all. Several groups may be active at a time; each name is used once. Bounded.
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/io.pb-c.h"

#define GATHER_GROUP_MAX (15u << 20) /* maximum bytes of a group: they are sent in one message */
#define GATHER_BYTES_MAX (256u << 20)
#define GATHER_GROUPS_MAX 65536

struct gather;
struct gather *gather_new(uint32_t nodes);
void gather_free(struct gather *g);

/* Adds one node's data. Returns 0 if other nodes are missing; 1 if *all is complete, to be sent to
 * its nodes and valid until the next call; -ERR_PROTOCOL for a node that is repeated or not in the
 * group; -ERR_LIMIT. */
int gather_part(struct gather *g, uint32_t node, const struct Pb__PmixFence *part,
                const struct Pb__PmixFence **all, struct err *err);
