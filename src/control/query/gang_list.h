/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotations of gang scheduling, for scontrol show gang and sluice gang. */
#pragma once

#include "base/arena.h"
#include "proto/gang.pb-c.h"

struct caller;
struct control;

/* The members, as they are now, and the slots that follow if no job starts or ends; in the arena.
 * Jobs that are ending or stopping are no members. */
void gang_list_describe(struct control *c, const struct caller *who, Pb__GangReply *reply,
                        struct arena *arena);
