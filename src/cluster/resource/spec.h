/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Core specialisation: which units of a node are kept for the system (CoreSpecCount, CpuSpecList),
 * and where the others are. Those that jobs can have are numbered without gaps; the place of a unit
 * is its number among all units of the node, in the order of the machine's CPUs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct str;

/* Takes what is kept from the units of the node, which are all of them before, and at least one
 * after it. 'first': CoreSpecCount means the first cores of each socket in turn, not the last ones
 * (SchedulerParameters=spec_cores_first). */
void spec_keep(struct node *n, bool first);
void spec_free(struct node *n);

size_t spec_place(const struct node *n, size_t unit);
/* Units before this place that jobs can have: also the number of the one that is there. */
size_t spec_units_before(const struct node *n, size_t place);
/* Whether the unit at this place is one that jobs can have. */
bool spec_has_unit_at(const struct node *n, size_t place);
uint32_t spec_all_cpus(const struct node *n); /* with those that are kept */
/* The CPUs that are kept, "0-1,8"; nothing where none are. */
void spec_put_list(const struct node *n, struct str *out);
