/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tied pools: licences whose scope is a set of nodes, so that the placement of a job decides what
 * the job takes.
 */
#pragma once

#include "cluster/job/license.h"

void license_add_tied(struct cluster *c); /* those of the configuration */
/* "flat(n[1-8])"; of a licence its name. */
void license_format_pool(const struct license *l, struct str *out);
bool license_is_per_node(const struct license *l); /* a job takes its count for each node */
bool license_has_payer(const struct license *l);   /* one pool of its name gives a job all */
/* Of a tied pool: the nodes of the set that are in its scope. */
size_t license_count_in_scope(const struct license *l, const struct bitset *set);
bool license_has_node(const struct license *l, const struct bitset *set);
bool license_drop_scope(const struct license *l, struct bitset *set); /* true: the set had some */
/* What a job with 'nodes' nodes in the scope takes of the pool; where one pool pays: of that one.
 */
uint64_t license_amount(const struct license *l, const struct license_need *need, uint32_t nodes);
/* What a job that runs holds of the pool. */
uint64_t license_of_job(const struct cluster *c, const struct job *j, int32_t at);
/* On how many nodes at most a job might have it, as far as running jobs go: not fewer than on any
 * nodes there are. Fast. */
void license_free_mosts(struct license_mosts *m);
uint64_t license_count_most(const struct cluster *c, const struct license_need *need);
#define LICENSE_KINDS 63 /* bits of kinds; all 64 bits stand for all nodes */
/* The bit of a kind of nodes in pool.kinds; the last bit stands for all further kinds. */
static inline uint64_t license_kind_bit(size_t kind)
{
    return UINT64_C(1) << (kind < LICENSE_KINDS ? kind : LICENSE_KINDS - 1);
}
struct license_claimed { /* what waiting jobs claim of pools */
    uint64_t version;    /* equal: the same claims */
    /* Subtracts claims from what is left, by pool. */
    void (*subtract)(const struct license_claimed *claims, uint64_t *left);
};
enum license_count {
    LICENSE_ALL, /* at most, of the nodes of the class */
    LICENSE_NOW, /* at most, of those with a free CPU of which all pools have enough for one node */
    LICENSE_SURE, /* at least, of each need by itself, beside claims whenever they begin; 0: unknown
                   */
    LICENSE_COUNTS
};
/* The class of requests with equal needs of tied pools, and of the nodes of these kinds
 * (license_kind_bit()). Valid until the next call. NULL: its numbers are not remembered. */
struct license_class;
struct license_class *license_find_class(const struct cluster *c, const struct license_needs *needs,
                                         uint64_t kinds);
/* On how many nodes a job of the class might have its tied pools, beside running jobs. Fast: each
 * is counted once, until pools have more or less. claims: for LICENSE_SURE alone. */
uint64_t license_count_class(const struct cluster *c, struct license_class *of,
                             enum license_count what, const struct license_claimed *claims);
/* A job that is about to start draws from this pool, where one pays. */
void license_set_payer(struct job *j, int32_t at);
/* A job that runs holds no more of a pool than it had (by pool): it draws from the same ones. */
void license_keep_payers(const struct cluster *c, struct job *j, const int32_t *pools, size_t count,
                         const uint64_t *had);
/* Sets who pays by the text of pack_held(). */
void license_restore_payers(const struct cluster *c, struct job *j, const char *text);
/* Where all pools around a node give. Removes nodes from 'set' until the job may run on any of
 * those that are left, and on all of them: 'room' says of each pool what the job may take. Where
 * nodes must be dropped for their number, those in 'keep' (NULL: none) and of the largest 'weight'
 * (by node; NULL: alike) stay. True: some were removed. */
bool license_trim(const struct cluster *c, const struct license_need *need, const uint64_t *room,
                  const struct bitset *keep, const uint32_t *weight, struct bitset *set);
/* Whether license_trim() would leave 'nodes' nodes, the required ones (NULL: none) among them. */
bool license_leaves_nodes(const struct cluster *c, const struct license_need *need,
                          const uint64_t *room, const struct bitset *required,
                          const struct bitset *set, size_t nodes);
/* -ERR_LICENSE: the pools never have enough for any 'nodes' nodes of 'among' (NULL: of all nodes)
 * that include 'required' (NULL: none). */
int license_check_nodes(const struct cluster *c, const struct license_need *need, uint32_t nodes,
                        const struct bitset *among, const struct bitset *required, struct err *err);
/* What a job that runs holds is what its request and nodes say; adds it to used[i] of pool i. */
int license_check_tied(const struct cluster *c, const struct job *j, uint64_t *used,
                       struct err *err);
/* -ERR_LICENSE: a job names nodes, which is for reservations; it has a node outside of the scope.
 */
int license_refuse_nodes(const struct conf_license *one, struct err *err);
int license_refuse_outside(const struct license_need *need, const char *node, struct err *err);
/* The value of "power:full_node"; false: there is none. */
bool license_find_variable(const struct cluster *c, const char *name, const char *variable,
                           uint64_t *value);
bool license_may_have_variables(const struct cluster *c, const char *name);
void license_format_variables(const struct cluster *c, const char *name, struct str *out);
