/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared functions of the selection of nodes and of the check whether a job can ever run. */
#pragma once

#include "cluster/resource/cores.h"
#include "sched/plan.h"
#include "sched/select/choose.h"

struct select_room { /* free resources of a node */
    uint32_t units;
    uint32_t cpus_left; /* remaining of MaxCPUsPerNode */
    struct amounts amounts;
    bool whole;              /* nothing runs there */
    const uint64_t *gres;    /* by kind of generic resource */
    const struct node *node; /* the node in its present state, for its sockets; NULL: unknown */
    const struct node
        *like; /* a node of the same kind, for the locality of its devices; NULL: not needed */
    /* Units that form one unit here, see select_kind_of_cores(); 0: each is one. */
    uint32_t together;
    const struct bitset *busy; /* units of 'node' in use; NULL: the present ones */
    uint32_t broken;           /* units that whole cores cannot have; 0 also if unknown */
    /* On nodes with RestrictedCoresPerGPU, for jobs with GPUs: the units that any job may have, and
     * the free ones that are restricted. */
    uint32_t open, restricted;
};

/* --- select_cap.c: limits for all jobs of a partition on a node ----------------------------------
 */

/* Returns the CPUs that jobs of the partition together may use. */
uint32_t select_part_cpus(const struct conf_part *p, const struct request *r,
                          const struct node_kind *k);
/* Returns the part of select_part_cpus() that is left. */
uint32_t select_part_cpus_left(const struct job *j, const struct node_kind *k,
                               const struct free_view *view, uint32_t node);
/* Returns how many of the free units are left under the limit per socket; 'busy' as in struct
 * select_room. */
uint32_t select_part_units_left(const struct cluster *c, const struct job *j, uint32_t node,
                                const struct bitset *busy, uint32_t units);

/* --- select_restricted.c: RestrictedCoresPerGPU --------------------------------------------------
 */

/* Divides the free units of the node into those for all jobs and restricted ones; a job without
 * GPUs has only the first ones. 'room' has all of the free units and generic resources. */
void select_divide_units(const struct cluster *c, const struct job *j, const struct node_kind *k,
                         struct select_room *room);
/* Returns the units of the node that the job cannot have: busy ones, those of 'busy' if not NULL,
 * and restricted ones. NULL: no unit is restricted for it. The caller frees the set. */
struct bitset *select_closed_units(const struct job *j, const struct node *n,
                                   const struct bitset *busy);
/* Returns the GPUs of a request with these tasks, and 'more' of its total, on a node. */
uint64_t select_count_gpus(const struct request *r, uint32_t tasks, uint64_t more);
/* Returns how many of the tasks have enough units with the restricted units of their GPUs. 'more':
 * the part of the job's total request for generic resources. */
uint32_t select_tasks_unrestricted(const struct request *r, const struct node_kind *k,
                                   const struct select_room *room, uint32_t tasks, uint64_t more);
/* Adds the restricted units that the job takes with 'units' units and 'gpus' GPUs to its generic
 * resources; returns the new number of amounts. */
size_t select_add_restricted(const struct cluster *c, const struct request *r,
                             const struct node_kind *k, const uint64_t *have, uint32_t units,
                             uint64_t gpus, struct gres_amount *amounts, size_t count);

/* Returns the part of a row of the node's generic resources that the request may use: the row
 * itself, or 'out'. */
const uint64_t *select_gres_room(const struct request *r, const struct node_kind *k,
                                 const uint64_t *row, size_t kinds, uint64_t *out);
/* Whether an idle node of this kind, chosen alone, could take a task of the job. */
bool select_kind_could(const struct cluster *c, const struct job *j, const struct node_kind *k);

/* Returns how many tasks of the job fit on the node; 0: none. 'more' receives the remaining amount
 * of the job's total request for generic resources. */
uint32_t select_tasks_fit(const struct cluster *c, const struct job *j, const struct node_kind *k,
                          const struct select_room *room, uint64_t *more);

/* --- select_NOUN.h: amounts of nodes, one file for each row NODE_AMOUNT of resource_kind.def -----
 */

struct select_served { /* the CPUs and GPUs for which the amounts of a node suffice */
    uint64_t cpus, gpus;
};

/* Returns the minimum amounts that the job takes on any node where it has this number of CPUs. */
struct amounts select_least(const struct request *r, uint64_t cpus);

/* --- select_units.c: units and tasks -------------------------------------------------------------
 */

/* Returns the CPUs of a unit that tasks may use: --threads-per-core. */
uint32_t select_cpus_used(const struct request *r, const struct node_kind *k);
/* Returns the number of units that the job gets together, such as the CPUs of a core; 1: single
 * units. */
uint32_t select_units_together(const struct request *r, const struct node_kind *k);
/* Returns the node kind in which units that are allocated together form one unit. */
struct node_kind select_kind_of_cores(const struct request *r, const struct node_kind *k);
/* Returns the CPUs that tasks may use if the job has this number of units. */
uint32_t select_count_cpus_used(const struct request *r, const struct node_kind *k, uint32_t units);
/* Returns the units of a node for this number of tasks and GPUs of the job. Units for CPUs without
 * a task (--mincpus, --cpus-per-gpu) may be on any socket. */
struct cores_want select_units(const struct request *r, const struct node_kind *k, uint32_t tasks,
                               uint64_t gpus);
/* Returns the number of tasks that --ntasks-per-core and --ntasks-per-socket permit there. */
uint32_t select_tasks_by_cores(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room);
/* Returns how many of the tasks have enough units, within the limit per socket. Tasks that do not
 * share cores need more units than their CPUs. */
uint32_t select_tasks_paid_for(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room,
                               uint32_t cpus, uint32_t tasks);

/* Returns the free resources of the node in this view, including units in use by at most 'sharing'
 * other jobs. */
struct select_room select_room_of(const struct cluster *c, const struct job *j,
                                  const struct free_view *view, uint32_t node, uint32_t sharing);

/* Removes the nodes of kinds that are not good. */
void select_keep_kinds(const struct cluster *c, const bool *good, struct bitset *set);

/* --- select_possible.c: the effect of a constraint on the selection ------------------------------
 */

/* Removes the nodes that do not match when the brackets stand for that alternative. */
void select_keep_matching(const struct cluster *c, const struct constraint *con, uint32_t which,
                          struct bitset *set);

struct select_counts {
    struct choose_counts counts;
    uint8_t *of;                       /* owned; counts.of points to it */
    const struct choose_counts *given; /* &counts; NULL: the constraint has none */
};
void select_counts_init(struct select_counts *s, const struct cluster *c,
                        const struct constraint *con);
void select_counts_done(struct select_counts *s);

/* --- select_tied.c: nodes with enough licences of tied pools -------------------------------------
 */

/* Returns whether the tied pools of the view may have enough for that many of the nodes. Much
 * faster than a choice; if it returns false, no choice exists. *open (the caller's to free; NULL:
 * all) gets the nodes that pools with too little for a single node leave: no others are chosen. */
bool select_tied_may_fit(const struct cluster *c, const struct job *j, const struct free_view *view,
                         const struct bitset *allowed, uint32_t nodes, struct bitset **open);
/* The kinds of nodes that the job could use, as license_kind_bit(). */
uint64_t select_tied_kinds(const struct cluster *c, const struct job *j);
/* Whether the tied pools may have enough for that many nodes that the job could use now, as far as
 * running jobs go. False: select_nodes() finds none, whatever others have claimed. Fast: see
 * license_find_class(). */
bool select_tied_might_do(const struct cluster *c, const struct job *j, uint64_t kinds,
                          uint32_t nodes);
/* The gate of licences, free nodes or not: what license_may_have_nodes() certainly says for a job
 * outside of reservations, beside all claims. */
enum select_gate { SELECT_GATE_UNKNOWN, SELECT_GATE_OPEN, SELECT_GATE_CLOSED };
/* *might_do gets select_tied_might_do(), unless the gate is closed. */
enum select_gate select_tied_gate(const struct license_claims *l, const struct cluster *c,
                                  const struct job *j, uint64_t kinds, uint32_t nodes,
                                  bool *might_do);
/* choose_nodes(), limited to the nodes that the tied pools of the view permit. */
bool select_choose_tied(const struct cluster *c, const struct job *j, const struct free_view *view,
                        struct chooser *ch);

/* --- select_place.c: location of the nodes in the network ----------------------------------------
 */

/* Returns the network by which the job's nodes are chosen, or NULL. */
const struct topo *select_topo(const struct cluster *c, const struct job *j);

/* Whether --segment applies to the network. */
bool select_has_segments(const struct topo *t);

struct select_place {
    uint32_t *idle; /* owned; chooser.idle points to it */
};
void select_place_init(struct select_place *p, const struct cluster *c, const struct job *j,
                       const struct free_view *view, struct chooser *ch);
void select_place_segments(const struct job *j, struct chooser *ch);
void select_place_done(struct select_place *p);

/* -ERR_FEATURE, -ERR_NODE_CONFIG: no node, or too few nodes, have the features. */
int select_check_constraint(const struct cluster *c, const struct part *p,
                            const struct constraint *con, struct err *err);

/* Sets the numbers of nodes and tasks of the request, within the limits of its partition. */
void select_bounds(const struct job *j, struct chooser *ch);

/* --- select_bound.c: --gres-flags=enforce-binding ------------------------------------------------
 */

/* Returns how many of the tasks, and how much of 'more' (the job's total request), have CPUs and
 * devices near each other on the node. */
uint32_t select_tasks_bound(const struct cluster *c, const struct job *j, const struct node_kind *k,
                            const struct select_room *room, uint32_t tasks, uint64_t *more);
/* Whether the share, the last one of the selection, is valid: with fewer tasks than would fit it
 * may have fewer CPUs than groups of devices. */
bool select_is_bound(const struct cluster *c, const struct job *j, const struct free_view *view,
                     const struct share *s, const struct selection *out);
