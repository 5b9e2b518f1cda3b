/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal to this subdirectory: takes and returns the units of a node for a suspended job. */
#pragma once

struct alloc_node;
struct job;
struct node;

void park_take_units(struct node *n, const struct job *j, const struct alloc_node *a);
void park_give_units(struct node *n, const struct job *j, const struct alloc_node *a);
