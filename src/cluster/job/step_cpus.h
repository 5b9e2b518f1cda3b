/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which CPUs of a node are a job's, and which of these a step's own. CPU i is the i-th of the node,
 * counted by sockets, cores and threads as its configuration has them; what the machine calls it is
 * the node daemon's to know.
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "proto/step.pb-c.h"

struct alloc_node;
struct node;
struct step_node;

struct bitset *step_cpus_of_job(const struct node *n, const struct alloc_node *a); /* freed by the
                                                                                      caller */

struct step_cpus_way {
    bool cyclic;     /* of all sockets in turn */
    uint32_t spread; /* so many of a core, while some are idle; 0: all of it */
};

/* The step gets s->cpus of the job's: whole cores first, or some of each, and none that another
 * step has, as long as there are others; then no other step gets these. With 'shares' it takes them
 * from nobody. */
void step_cpus_take(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                    struct step_cpus_way way);
/* The same after a restart: those of the record. */
void step_cpus_retake(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                      const Pb__StepNode *stored);
/* It is over, or has lost that node. */
void step_cpus_give_back(struct alloc_node *a, struct step_node *s, bool shares);

/* Bit i in byte i/8. Lives in the arena. */
ProtobufCBinaryData step_cpus_pack(const struct bitset *cpus, struct arena *arena);
