/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Communication ports of steps (srun --resv-ports): numbers out of MpiParams=ports=LOW-HIGH, the
 * same on all nodes of a step, that no other step has on any of these.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct bitset;
struct cluster;

#define STEP_PORTS_EACH UINT32_MAX /* in a request: one for each task of the node with most */

/* "12000-12003,12007", of rising numbers. */
void step_ports_format(const uint32_t *ports, size_t count, struct str *out);

/* Adds to 'used' the ports that steps have on the nodes of the set, as far as it has room for the
 * numbers: of running steps, and of those that ended with their job, until its nodes are clean. */
void step_ports_used(const struct cluster *c, const struct bitset *nodes, struct bitset *used);
