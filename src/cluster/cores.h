/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which units of a node a job gets: units of as few sockets as do, of the fullest one that has
 * enough, so that large gaps stay; near the devices that it gets, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"

struct node;

struct cores_want {
    uint32_t units;
    uint32_t per_socket;       /* at most; 0: any number */
    const struct bitset *near; /* better ones; NULL: none */
    const struct bitset *only; /* no others; NULL: any */
};

uint32_t cores_socket(const struct node *n, size_t unit);
/* Adds free units to 'out'; false, and nothing is added: there are not so many. */
bool cores_choose(const struct node *n, const struct cores_want *want, struct bitset *out);

/* How many tasks of so many CPUs the free units hold, with at most so many on a socket; 'used': of
 * a unit's CPUs, those that tasks use. */
uint32_t cores_tasks(const struct node *n, uint32_t per_socket, uint32_t used, uint32_t cpus);

/* The units of the cores of a list, "0-3,8". */
void cores_of_list(const struct node *n, const char *list, struct bitset *out);
