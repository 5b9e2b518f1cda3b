/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Within this room: the units of a job's share of a node, which a suspended job has not. */
#pragma once

struct alloc_node;
struct job;
struct node;

void park_take_units(struct node *n, const struct job *j, const struct alloc_node *a);
void park_give_units(struct node *n, const struct job *j, const struct alloc_node *a);
