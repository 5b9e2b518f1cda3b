/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the choice of nodes and the check of what could ever run have in common. */
#pragma once

#include "cluster/resource/cores.h"
#include "sched/plan.h"
#include "sched/select/choose.h"

struct select_room { /* on a node */
    uint32_t units;
    uint32_t cpus_left; /* of MaxCPUsPerNode */
    struct amounts amounts;
    bool whole;              /* nothing runs there */
    const uint64_t *gres;    /* by kind of generic resource */
    const struct node *node; /* as it is now, to look at its sockets; NULL: not known */
    const struct node
        *like;         /* of its kind, to look at what is near what; NULL: need not be known */
    uint32_t together; /* units that are one here: select_kind_of_cores(); 0: each is */
    const struct bitset *busy; /* units of 'node' that are in use; NULL: those of now */
};

/* --- select_cap.c: what a partition's jobs together may have of a node ---------------------------
 */

/* In all. */
uint32_t select_part_cpus(const struct conf_part *p, const struct request *r,
                          const struct node_kind *k);
/* CPUs that are left of it. */
uint32_t select_part_cpus_left(const struct job *j, const struct node_kind *k,
                               const struct free_view *view, uint32_t node);
/* Of so many free units, those that are left of each socket; 'busy' as in struct select_room. */
uint32_t select_part_units_left(const struct cluster *c, const struct job *j, uint32_t node,
                                const struct bitset *busy, uint32_t units);

/* Whether a node of this kind could take a task of the job, were it idle and alone to choose. */
/* What of a row of the node's generic resources the request may have: the row, or 'out'. */
const uint64_t *select_gres_room(const struct request *r, const struct node_kind *k,
                                 const uint64_t *row, size_t kinds, uint64_t *out);
bool select_kind_could(const struct cluster *c, const struct job *j, const struct node_kind *k);

/* How many tasks of the job fit there; 0: none. 'more': how much it has, besides, of what the job
 * wants in all. */
uint32_t select_tasks_fit(const struct cluster *c, const struct job *j, const struct node_kind *k,
                          const struct select_room *room, uint64_t *more);

/* --- select_NOUN.h: numbers of nodes, a row NODE_AMOUNT of resource_kind.def each ---------------
 */

struct select_served { /* what the amounts of a node are enough for */
    uint64_t cpus, gpus;
};

/* What the job takes at least of any node where it has so many CPUs. */
struct amounts select_least(const struct request *r, uint64_t cpus);

/* --- select_units.c: units and tasks -------------------------------------------------------------
 */

/* Of a unit's CPUs, those that tasks may use: --threads-per-core. */
uint32_t select_cpus_used(const struct request *r, const struct node_kind *k);
/* Units of a node that the job gets together, as the CPUs of a core; 1: single ones. */
uint32_t select_units_together(const struct request *r, const struct node_kind *k);
/* The same kind of node where these are one unit. */
struct node_kind select_kind_of_cores(const struct request *r, const struct node_kind *k);
/* The number of CPUs that tasks may use, when the job has that number of units. */
uint32_t select_count_cpus_used(const struct request *r, const struct node_kind *k, uint32_t units);
/* Units of a node that this number of tasks and GPUs of the job takes. Those of CPUs that are for
 * no task
 * (--mincpus, --cpus-per-gpu) may be of any socket. */
struct cores_want select_units(const struct request *r, const struct node_kind *k, uint32_t tasks,
                               uint64_t gpus);
/* Tasks that --ntasks-per-core and --ntasks-per-socket allow there. */
uint32_t select_tasks_by_cores(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room);
/* Of these tasks, those whose units there are, of few enough of each socket, and the CPUs and the
 * memory for: tasks that do not share cores have more units than their CPUs would. */
uint32_t select_tasks_paid_for(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room,
                               uint32_t cpus, uint32_t tasks);

/* What there is on the node in this view. 'sharing': units that so many others have at most, too.
 */
struct select_room select_room_of(const struct cluster *c, const struct job *j,
                                  const struct free_view *view, uint32_t node, uint32_t sharing);

/* Without the nodes of kinds that are not good. */
void select_keep_kinds(const struct cluster *c, const bool *good, struct bitset *set);

/* --- select_constraint.c: what a constraint means for a choice ---------------------------------
 */

/* Without the nodes that do not satisfy it when its brackets stand for that alternative. */
void select_keep_matching(const struct cluster *c, const struct constraint *con, uint32_t which,
                          struct bitset *set);

struct select_counts {
    struct choose_counts counts;
    uint8_t *of;                       /* what counts.of points to */
    const struct choose_counts *given; /* &counts; NULL: the constraint has none */
};
void select_counts_init(struct select_counts *s, const struct cluster *c,
                        const struct constraint *con);
void select_counts_done(struct select_counts *s);

/* --- select_tied.c: nodes that tied pools have enough for --------------------------------------
 */

/* choose_nodes(), of the nodes that the tied pools of the view allow. */
bool select_choose_tied(const struct cluster *c, const struct job *j, const struct free_view *view,
                        struct chooser *ch);

/* --- select_place.c: where the nodes are to be --------------------------------------------------
 */

/* The network, if the job's nodes are chosen by it; or NULL. */
const struct topo *select_topo(const struct cluster *c, const struct job *j);

/* Whether --segment says something of it. */
bool select_has_segments(const struct topo *t);

struct select_place {
    uint32_t *idle; /* what chooser.idle points to */
};
void select_place_init(struct select_place *p, const struct cluster *c, const struct job *j,
                       const struct free_view *view, struct chooser *ch);
void select_place_segments(const struct job *j, struct chooser *ch);
void select_place_done(struct select_place *p);

/* -ERR_FEATURE, -ERR_NODE_CONFIG: no node has what it names, or too few have. */
int select_check_constraint(const struct cluster *c, const struct part *p,
                            const struct constraint *con, struct err *err);

/* The request's numbers of nodes and tasks, within those of its partition. */
void select_bounds(const struct job *j, struct chooser *ch);

/* --- select_bound.c: --gres-flags=enforce-binding ------------------------------------------------
 */

/* Of so many tasks, and of so much more that the job wants in all, what has CPUs and devices near
 * each other there. */
uint32_t select_tasks_bound(const struct cluster *c, const struct job *j, const struct node_kind *k,
                            const struct select_room *room, uint32_t tasks, uint64_t *more);
/* Whether the share, last of the selection, does: with fewer tasks than would fit there may be
 * fewer CPUs than groups of devices. */
bool select_is_bound(const struct cluster *c, const struct job *j, const struct free_view *view,
                     const struct share *s, const struct selection *out);
