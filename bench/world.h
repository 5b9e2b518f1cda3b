/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A drawn cluster and drawn jobs on it, for measurements of the planner. The same seed gives the
 * same. */
#pragma once

#include "cluster/cluster.h"
#include "sched/plan_notes.h"

#define WORLD_NOW INT64_C(1000000000)

struct world_rule {
    const char *name;
    unsigned nodes, running, pending;
    unsigned shapes;       /* of so many different requests; 0: all differ */
    unsigned leaf;         /* nodes on a leaf switch of a tree; 0: the network is flat */
    bool torus;            /* 16x16x16 nodes; jobs are cubes of 2, 4 or 8 nodes on a side, */
    bool anywhere;         /* with a corner in any node, not in one of as many */
    unsigned licenses;     /* how many kinds of them; one job in three wants some. 0: none */
    bool hres;             /* hierarchical resources of three modes; each job wants one */
    bool combined;         /* each job wants all of them, and not one, */
    bool per_node;         /* all three are of MODE_3 */
    bool two_mode;         /* sets are planned in two modes */
    bool flat;             /* instead of these, licences of the cluster with the same names */
    const char *layers;    /* -L of the leader of a set, of "one", "each" and "power"; NULL: none */
    bool scarce;           /* of these there is one a node: jobs wait for layers, not for nodes */
    unsigned reservations; /* begun, to come, daily, and of four cores a node */
    bool small;            /* fewer jobs of several nodes: twice as many jobs fill the cluster */
};

struct world {
    const struct world_rule *rule;
    struct cluster *c;
    struct plan_notes notes;
    uint64_t seed;
    uint32_t id; /* of the last job */
};

void world_init(struct world *w, const struct world_rule *rule); /* nothing runs */
void world_done(struct world *w);
struct job *world_add(struct world *w); /* a pending job in its queue */
/* So many pending jobs, as components of a set or each by itself; 'components' gets them. */
void world_add_set(struct world *w, struct job **components, uint32_t count, bool joined);
unsigned world_pass(struct world *w); /* one pass over the queue; so many jobs have started */
void world_reserve(struct world *w);  /* makes the reservations */
void world_fill(struct world *w);     /* so many jobs of the rule run, or as many as fit */
void world_queue(
    struct world *w); /* until no further job fits and the planned number of jobs waits */
/* So that no further job gets licences of the cluster. */
void world_exhaust_licenses(struct world *w);
uint32_t world_between(uint64_t *seed, uint32_t first, uint32_t last);
