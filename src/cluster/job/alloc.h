/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger: which job holds which units, memory and generic resources of which node. */
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

/* A node's share: 'units' of it, the lowest free ones, and generic resources. -ERR_NODES_BUSY when
 * they are not free. */
struct alloc_want {
    uint32_t node, units;
    struct amounts amounts;
    const struct gres_amount *gres;
    size_t gres_len;
    uint32_t per_socket; /* units of a socket at most; 0: any number */
    uint32_t beyond;     /* of the units, those that per_socket says nothing of */
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
void alloc_clear(struct cluster *c, struct job *j); /* releases and forgets everything */
/* The same with one node of several; no step of the job may be left with no node but this one. */
void alloc_drop(struct cluster *c, struct job *j, uint32_t at);
void alloc_begin_completing(struct cluster *c, struct job *j); /* it ended and holds nodes still */
/* Counts used_cpus again, after the partition's limit has changed. */
void alloc_count_part(struct cluster *c, struct part *p);
/* Whether --exclusive=user of those who are there, or the job's own, lets it onto a node. */
bool alloc_user_may(const struct node_users *u, const struct job *j);
void alloc_node_done(struct alloc_node *a);
struct alloc_node *alloc_find(struct job *j, uint32_t node);
int alloc_check(const struct cluster *c, struct err *err); /* nothing over-allocated; sums agree */

/* --- park.c: suspended jobs --------------------------------------------------------------------
 */

/* Nothing of the job runs there now: its units are for others, its memory and devices are not. */
void park_leave(struct cluster *c, struct job *j, struct alloc_node *a);
/* 0, or -ERR_NODES_BUSY and who has units that the job is to have back. */
int park_check_return(const struct cluster *c, const struct job *j, struct err *err);
/* Whether it makes room for others: it ends soon, or is suspended and goes on by itself. */
void park_yield(struct cluster *c, struct job *j, bool yields);
/* It has all of them again; they must be free. */
void park_return(struct cluster *c, struct job *j);

/* --- share.c: units that several jobs have ---------------------------------------------------- */

/* Units in use, as 'use' (NULL: nobody shares) tells, that the job may have as well: of those that
 * 'most' jobs have, or fewer. */
uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j, uint32_t most);
/* Adds 'units' of those to 'set', those that the fewest jobs have first. */
void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set);
void share_occupy(struct node *n, const struct job *j, const struct bitset *units);
void share_release(struct node *n, const struct bitset *units);
