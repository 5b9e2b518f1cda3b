/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --bcast: copies the program of each part with this option, and with --send-libs its
 * libraries, to the nodes of the part before the launch, and runs the copy. The copies stay.
 */
#pragma once

#include <stdbool.h>

struct run;

struct copy;

bool copy_is_wanted(const struct run *run);
/* Copies the programs of run->commands to the nodes, then calls run->on->copied(). Returns NULL
 * after a message if no copy was started. */
struct copy *copy_start(struct run *run);
void copy_free(struct copy *c); /* before its end: cancels running copies */
