/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger: the units, memory and generic resources of each node that each job holds. */
#pragma once

#include "base/bitset.h"
#include "base/err.h"
#include "cluster/resource/amounts.h"
#include "cluster/resource/gres.h"
#include "proto/job.pb-c.h"

struct alloc_node;
struct cluster;
struct job;
struct node;
struct node_users;
struct part;
struct unit_use;

/* Allocates a share of one node to the job: the lowest 'units' free units, amounts and generic
 * resources. -ERR_NODES_BUSY: they are not free. */
struct alloc_want {
    uint32_t node, units;
    struct amounts amounts;
    const struct gres_amount *gres;
    size_t gres_len;
    uint32_t per_socket; /* maximum units on a socket; 0: any number */
    uint32_t beyond;     /* part of 'units' to which per_socket does not apply */
};
int alloc_place(struct cluster *c, struct job *j, const struct alloc_want *want, struct err *err);
static inline int alloc_take(struct cluster *c, struct job *j, uint32_t node, uint32_t units,
                             uint64_t mem_mib, struct err *err)
{
    const struct alloc_want want = {
        .node = node, .units = units, .amounts = {.mem_mib = amounts_bound(mem_mib)}};
    return alloc_place(c, j, &want, err);
}
int alloc_retake(struct cluster *c, struct job *j,
                 const Pb__NodeAlloc *stored); /* after a restart */
void alloc_release(struct cluster *c, struct job *j, struct alloc_node *a);
void alloc_clear(struct cluster *c, struct job *j); /* releases and frees all nodes of the job */
/* Releases and frees one node of several. No step of the job may be left without another node. */
void alloc_drop(struct cluster *c, struct job *j, uint32_t at);
/* The job has ended and still holds nodes. */
void alloc_begin_completing(struct cluster *c, struct job *j);
/* Recomputes used_cpus after the partition's limit has changed. */
void alloc_count_part(struct cluster *c, struct part *p);
/* Whether --exclusive=user, of the jobs on a node or of this job, permits the job on the node. */
bool alloc_user_may(const struct node_users *u, const struct job *j);
void alloc_node_done(struct alloc_node *a);
struct alloc_node *alloc_find(struct job *j, uint32_t node);
/* Checks that nothing is over-allocated and that the sums agree. */
int alloc_check(const struct cluster *c, struct err *err);

/* --- park.c: suspended jobs --------------------------------------------------------------------
 */

/* The job stops running on the node: other jobs may use its units; it keeps its memory and
 * devices. */
void park_leave(struct cluster *c, struct job *j, struct alloc_node *a);
/* Returns 0, or -ERR_NODES_BUSY and the job that holds units which this job must get back. */
int park_check_return(const struct cluster *c, const struct job *j, struct err *err);
/* Marks whether the job is preempted: it ends soon, or is suspended and resumes automatically. */
void park_yield(struct cluster *c, struct job *j, bool yields);
/* Gives the job all of its units back; they must be free. */
void park_return(struct cluster *c, struct job *j);

/* --- share.c: units that several jobs share --------------------------------------------------- */

/* Returns the number of units in use that the job may share, among the units with at most 'most'
 * jobs. 'use' NULL: no units are shared. */
uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j, uint32_t most);
/* Adds 'units' units that the job may share to 'set', units with the fewest jobs first. */
void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set);
void share_occupy(struct node *n, const struct job *j, const struct bitset *units);
void share_release(struct node *n, const struct bitset *units);
