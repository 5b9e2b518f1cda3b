/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What nodes are told of an attempt of a job, their scripts of the job, and commands of what they
 * were allocated. */
#pragma once

#include "control/internal.h"

/* Of a job that has its nodes; lives in the arena, its texts partly in the job. */
Pb__JobFacts *facts_make(struct control *c, const struct job *j, struct arena *arena);
/* The paths of its streams, which facts_make() leaves out where nodes have no scripts. */
void facts_put_streams(const struct control *c, const struct job *j, const Pb__JobSpec *spec,
                       Pb__JobFacts *m, struct arena *arena);
/* What the node of 'a' is to know of the attempt. NULL: what it has there is not said. */
Pb__NodeAttempt *facts_make_attempt(struct control *c, const struct job *j,
                                    const struct alloc_node *a, struct arena *arena);
/* The allocation of the job as its command and its script are told of it, without a step. Not
 * granted: why it waits. Lives in the arena, its texts partly in the job. */
Pb__AllocReply *facts_make_alloc(const struct control *c, struct job *j, bool granted,
                                 struct arena *arena);
/* Of the components of a job set of which this is one, those with the offset 'first' and
 * above, by offset; NULL and 0 of an ordinary job. One that has no nodes is not granted, and one
 * whose record is gone has the job id 0. */
Pb__AllocReply **facts_make_components(const struct control *c, const struct job *j, uint32_t first,
                                       size_t *count, struct arena *arena);
/* For a node of an older version: from order->attempt into the order itself. */
void facts_put_into_order(Pb__NodeOrder *order);
/* The name, address and port of a node, as the first that is said of it. */
void facts_put_node(const struct node *n, Pb__StepNode *m);
/* The CPUs that the job has there, as a set. */
ProtobufCBinaryData facts_pack_cpus(const struct control *c, const struct alloc_node *a,
                                    struct arena *arena);
Pb__NodeShare *facts_pack_share(const struct control *c, const struct job *j,
                                const struct alloc_node *a, struct arena *arena);
/* A signed credential: the right to start this step on its nodes for CONTROL_CRED_MS. */
void facts_make_cred(struct control *c, struct job *j, const Pb__StepRecord *step, struct str *cred,
                     uint8_t sig[64]);
/* The same of a step of several parts: 'step' has the nodes of all in order, 'j' is the job of the
 * first. */
void facts_make_cred_of_parts(struct control *c, struct job *j, const Pb__StepRecord *step,
                              Pb__CredPart **parts, size_t part_count, struct str *cred,
                              uint8_t sig[64]);
/* One of them, in the arena; 'step' is its record in that job. first: no part before it is in that
 * job, of which this one then tells. */
Pb__CredPart *facts_make_part(struct control *c, const struct job *j, const Pb__StepRecord *step,
                              bool first, struct arena *arena);
