/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a step, each once, in order: the layout of a step of several parts has a node as
 * often as parts of the step are on it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/vec.h"
#include "proto/step.pb-c.h"

struct step_nodes {
    struct hostlist *names;
    VEC(uint32_t) tasks, cpus; /* of all parts, by the number of the node in 'names' */
};

void step_nodes_init(struct step_nodes *s, Pb__StepNode *const *layout, size_t count);
void step_nodes_done(struct step_nodes *s);
