/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CPUs of a node that a job has, and the CPUs of these that each step has. CPU i is the i-th
 * CPU of the node, counted by the sockets, cores and threads of its configuration; the node daemon
 * maps it to the number that the machine uses.
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "proto/step.pb-c.h"

struct alloc_node;
struct node;
struct step_node;

/* Freed by the caller. */
struct bitset *step_cpus_of_job(const struct node *n, const struct alloc_node *a);

struct step_cpus_way {
    bool cyclic;     /* from all sockets in turn */
    uint32_t spread; /* CPUs per core while cores are idle; 0: whole cores */
};

/* Gives the step s->cpus of the job's CPUs: whole cores first, or some CPUs of each core. Free CPUs
 * are used first; then no other step gets the CPUs of this step. With 'shares' the step does not
 * reserve its CPUs. */
void step_cpus_take(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                    struct step_cpus_way way);
/* Gives the step the CPUs of its record, after a restart. */
void step_cpus_retake(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                      const Pb__StepNode *stored);
/* Returns the CPUs when the step has ended or has lost that node. */
void step_cpus_give_back(struct alloc_node *a, struct step_node *s, bool shares);

/* Bit i of the set is in byte i/8. The bytes are in the arena. */
ProtobufCBinaryData step_cpus_pack(const struct bitset *cpus, struct arena *arena);
