/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a step, each once, in order. The layout of a step with several parts lists a node
 * once for each part on the node.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/vec.h"
#include "proto/step.pb-c.h"

struct step_nodes {
    struct hostlist *names;
    VEC(uint32_t) tasks, cpus; /* summed over the parts, by the index of the node in 'names' */
};

void step_nodes_init(struct step_nodes *s, Pb__StepNode *const *layout, size_t count);
void step_nodes_done(struct step_nodes *s);
