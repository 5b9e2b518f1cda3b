/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --bcast: the program of each part that asks for it, with --send-libs its libraries, goes to
 * the nodes of that part before it is launched, and is run from there. The copies stay.
 */
#pragma once

#include <stdbool.h>

struct run;

struct copy;

bool copy_is_wanted(const struct run *run);
/* Copies the programs of run->commands to the nodes, then calls run->on->copied(). NULL: no copy
 * was started, and a message says why. */
struct copy *copy_start(struct run *run);
void copy_free(struct copy *c); /* before its end: no node gets what is under way */
