/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Communication ports of steps (srun --resv-ports): numbers from MpiParams=ports=LOW-HIGH, the same
 * on all nodes of a step, and used by no other step on any of these nodes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct bitset;
struct cluster;

/* In a request: one port for each task of the node with the most tasks. */
#define STEP_PORTS_EACH UINT32_MAX

/* Writes "12000-12003,12007" for rising numbers. */
void step_ports_format(const uint32_t *ports, size_t count, struct str *out);

/* Adds to 'used' the ports of steps on the nodes of the set, limited to the size of 'used': ports
 * of running steps, and ports of steps that ended with their job until its nodes are clean. */
void step_ports_used(const struct cluster *c, const struct bitset *nodes, struct bitset *used);
