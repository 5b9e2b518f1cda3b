/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a step, each once, in order: the layout of a step with several parts lists a node
 * once for each part on the node. Also the communication ports of steps (srun --resv-ports):
 * numbers from MpiParams=ports=LOW-HIGH, the same on all nodes of a step, and used by no other step
 * on any of these nodes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/step.pb-c.h"

struct bitset;
struct cluster;

struct step_nodes {
    struct hostlist *names;
    VEC(uint32_t) tasks, cpus; /* summed over the parts, by the index of the node in 'names' */
};

void step_nodes_init(struct step_nodes *s, Pb__StepNode *const *layout, size_t count);
void step_nodes_done(struct step_nodes *s);

/* In a request: one port for each task of the node with the most tasks. */
#define STEP_PORTS_EACH UINT32_MAX

/* Writes "12000-12003,12007" for rising numbers. */
void step_ports_format(const uint32_t *ports, size_t count, struct str *out);

/* Adds to 'used' the ports of steps on the nodes of the set, limited to the size of 'used': ports
 * of running steps, and ports of steps that ended with their job until its nodes are clean. */
void step_ports_used(const struct cluster *c, const struct bitset *nodes, struct bitset *used);
