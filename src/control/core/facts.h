/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The description of a job's attempt for nodes, for site scripts on nodes, and for client commands
 * about their allocation. */
#pragma once

#include "control/internal.h"

/* Describes a job that has nodes; the message is in the arena, some texts belong to the job. */
Pb__JobFacts *facts_make(struct control *c, const struct job *j, struct arena *arena);
/* Adds the paths of the job's streams, which facts_make() leaves out if nodes run no scripts. */
void facts_put_streams(const struct control *c, const struct job *j, const Pb__JobSpec *spec,
                       Pb__JobFacts *m, struct arena *arena);
/* Describes the attempt for the node of 'a'. NULL: without the job's resources on a node. */
Pb__NodeAttempt *facts_make_attempt(struct control *c, const struct job *j,
                                    const struct alloc_node *a, struct arena *arena);
/* Describes the allocation for the job's command and script, without a step. Not granted: with the
 * reason why the job waits. The message is in the arena, some texts belong to the job. */
Pb__AllocReply *facts_make_alloc(const struct control *c, struct job *j, bool granted,
                                 struct arena *arena);
/* Describes the components of the job's set with offset 'first' and above, by offset; NULL and 0
 * for an ordinary job. A component without nodes is not granted; a component whose record is purged
 * has the job id 0. */
Pb__AllocReply **facts_make_components(const struct control *c, const struct job *j, uint32_t first,
                                       size_t *count, struct arena *arena);
/* For a node of an older version: copies order->attempt into the order itself. */
void facts_put_into_order(Pb__NodeOrder *order);
/* Initialises 'm' with the name, address and port of the node. */
void facts_put_node(const struct node *n, Pb__StepNode *m);
/* Returns the set of CPUs that the job has on the node. */
ProtobufCBinaryData facts_pack_cpus(const struct control *c, const struct alloc_node *a,
                                    struct arena *arena);
Pb__NodeShare *facts_pack_share(const struct control *c, const struct job *j,
                                const struct alloc_node *a, struct arena *arena);
/* Signs a credential: the right to start this step on its nodes within CONTROL_CRED_MS. */
void facts_make_cred(struct control *c, struct job *j, const Pb__StepRecord *step, struct str *cred,
                     uint8_t sig[64]);
/* Like facts_make_cred(), for a step with several parts: 'step' has the nodes of all parts in
 * order, 'j' is the job of the first part. */
void facts_make_cred_of_parts(struct control *c, struct job *j, const Pb__StepRecord *step,
                              Pb__CredPart **parts, size_t part_count, struct str *cred,
                              uint8_t sig[64]);
/* Returns one of the parts, in the arena; 'step' is its record in that job. first: it is the first
 * part in this job and so describes the job. */
Pb__CredPart *facts_make_part(struct control *c, const struct job *j, const Pb__StepRecord *step,
                              bool first, struct arena *arena);
