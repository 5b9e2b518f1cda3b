/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal to this room: takes and returns the units of a node. */
#pragma once

#include <stdint.h>

struct alloc_node;
struct cluster;
struct job;
struct node;

void park_take_units(struct node *n, const struct job *j, const struct alloc_node *a);
/* The allocation is released or parked already. */
void park_give_units(const struct cluster *c, struct node *n, const struct job *j,
                     const struct alloc_node *a);
/* Finds the partitions of the jobs that have the unit now. */
void park_find_parts(const struct cluster *c, struct node *n, uint32_t unit);
