/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which units of a node a job gets: of as few sockets as do, of the fullest one that has enough, so
 * that large gaps stay; or of all sockets in turn. Near the devices that it gets, too.
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
    uint32_t per_socket;         /* at most; 0: any number */
    uint32_t beyond;             /* of the units, those that per_socket says nothing of */
    const uint32_t *socket_left; /* at most, by socket; NULL: any number */
    bool cyclic;                 /* of all sockets in turn */
    const struct bitset *near;   /* better ones; NULL: none */
    const struct bitset *only;   /* no others; NULL: any */
    uint32_t together;           /* units that are given together, as the CPUs of a core; 0: each */
};

uint32_t cores_socket(const struct node *n, size_t unit);
/* Adds the units that are given together with those of the set. */
void cores_add_together(const struct node *n, uint32_t together, struct bitset *units);
size_t cores_count_sockets(const struct node *n); /* to the last that has units for jobs */
/* Adds free units to 'out'; false, and nothing is added: there are not so many. */
bool cores_choose(const struct node *n, const struct cores_want *want, struct bitset *out);

/* The same of these units, free ones or not. */
bool cores_choose_among(const struct node *n, const struct cores_want *want,
                        const struct bitset *among, struct bitset *out);

/* How many tasks of so many CPUs the free units hold, with at most so many on a socket; 'used': of
 * a unit's CPUs, those that tasks use. */
struct cores_pack {
    uint32_t per_socket, used, cpus;
    uint32_t per_unit;           /* tasks of a unit at most; 0: any number */
    const uint32_t *socket_left; /* as above */
    uint32_t together;           /* units that count as one here; 0: each */
    const struct bitset *busy;   /* which are in use; NULL: those of the node */
};
uint32_t cores_tasks(const struct node *n, const struct cores_pack *pack);

/* MaxCPUsPerSocket (cores_part.c). By socket: units that jobs of the partition may take besides
 * those that they have; NULL: any number. The caller frees. */
uint32_t *cores_part_left(const struct cluster *c, const struct part *p, const struct node *n);
/* Units beside the busy ones that may be taken then, at most 'per_socket' of a socket (0: any
 * number). Units that are given together count when all of them are free. 'busy' NULL: the busy
 * ones of the node. */
uint32_t cores_room(const struct node *n, const struct bitset *busy, uint32_t per_socket,
                    const uint32_t *socket_left, uint32_t together);
/* Whether these units may be the job's again, with those that the partition's other jobs have now.
 * Alone it may have what it had. */
bool cores_part_may(const struct cluster *c, const struct part *p, const struct node *n,
                    const struct bitset *units);

/* The units of the cores of a list, "0-3,8". */
void cores_of_list(const struct node *n, const char *list, struct bitset *out);
