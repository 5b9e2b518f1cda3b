/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Core specialisation: the units of a node that are reserved for the system (CoreSpecCount,
 * CpuSpecList), and the places of the other units. Units for jobs are numbered without gaps; the
 * place of a unit is its number among all units of the node, in the order of the machine's CPUs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct str;

/* Removes the reserved units from the node's units; at least one unit stays. Before the call the
 * node has all units. 'first': CoreSpecCount reserves the first cores of each socket in turn
 * instead of the last ones (SchedulerParameters=spec_cores_first). */
void spec_keep(struct node *n, bool first);
void spec_free(struct node *n);

size_t spec_place(const struct node *n, size_t unit);
/* Returns the number of units for jobs before this place, which is also the number of the unit at
 * this place. */
size_t spec_units_before(const struct node *n, size_t place);
/* Whether the unit at this place is available to jobs. */
bool spec_has_unit_at(const struct node *n, size_t place);
uint32_t spec_all_cpus(const struct node *n); /* including reserved CPUs */
/* Writes the reserved CPUs, "0-1,8"; nothing if no CPU is reserved. */
void spec_put_list(const struct node *n, struct str *out);
