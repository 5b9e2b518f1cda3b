/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice of the units (cores or CPUs) of a node for a job: from as few sockets as possible, and
 * from the fullest socket with enough free units, so that large gaps remain; or from all sockets in
 * turn. Units near the job's devices are preferred.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"

struct cluster;
struct node;
struct part;

struct cores_want {
    uint32_t units;
    uint32_t per_socket;         /* maximum per socket; 0: any number */
    uint32_t beyond;             /* part of 'units' to which per_socket does not apply */
    const uint32_t *socket_left; /* maximum by socket; NULL: any number */
    bool cyclic;                 /* from all sockets in turn */
    const struct bitset *near;   /* preferred units; NULL: none */
    const struct bitset *only;   /* permitted units; NULL: all */
    /* Units that are allocated together, such as the CPUs of a core; 0: each unit alone. */
    uint32_t together;
};

uint32_t cores_socket(const struct node *n, size_t unit);
/* Adds the units that are allocated together with units of the set. */
void cores_add_together(const struct node *n, uint32_t together, struct bitset *units);
size_t cores_count_sockets(const struct node *n); /* up to the last socket with units for jobs */
/* Adds free units to 'out'. False: too few units are free, and 'out' is unchanged. */
bool cores_choose(const struct node *n, const struct cores_want *want, struct bitset *out);
/* The choice that cores_choose() would make if these units were busy; ignores 'only'. */
bool cores_choose_beside(const struct node *n, const struct cores_want *want,
                         const struct bitset *busy, struct bitset *out);

/* Like cores_choose(), but takes the units from 'among', whether free or not. */
bool cores_choose_among(const struct node *n, const struct cores_want *want,
                        const struct bitset *among, struct bitset *out);

/* Describes tasks for cores_tasks(), which returns how many of them fit on the free units of a
 * node. 'cpus': CPUs of a task; 'used': CPUs of each unit that tasks use. */
struct cores_pack {
    uint32_t per_socket, used, cpus;
    uint32_t per_unit;           /* maximum number of tasks on a unit; 0: any number */
    const uint32_t *socket_left; /* maximum units by socket; NULL: any number */
    uint32_t together;           /* units that count as one; 0: each unit alone */
    const struct bitset *busy;   /* units in use; NULL: the node's present state */
};
uint32_t cores_tasks(const struct node *n, const struct cores_pack *pack);

/* MaxCPUsPerSocket (cores_part.c). Returns by socket the number of units that jobs of the partition
 * may take in addition to their present ones; NULL: any number. The caller frees the array. */
uint32_t *cores_part_left(const struct cluster *c, const struct part *p, const struct node *n);
/* Returns the number of units that are not busy and may be taken, at most 'per_socket' of a socket
 * (0: any number) and 'socket_left'. Units that are allocated together count only if all of them
 * are free. 'busy' NULL: the busy units of the node. */
uint32_t cores_room(const struct node *n, const struct bitset *busy, uint32_t per_socket,
                    const uint32_t *socket_left, uint32_t together);
/* Whether the job may get these units back, given the units that other jobs of the partition hold
 * now. A job without such neighbours may always get its units back. */
bool cores_part_may(const struct cluster *c, const struct part *p, const struct node *n,
                    const struct bitset *units);

/* Adds the units of the cores of a list, "0-3,8", to 'out'. */
void cores_of_list(const struct node *n, const char *list, struct bitset *out);
