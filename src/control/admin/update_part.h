/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of partitions. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* The partition's record was set aside: it starts no job until an administrator has checked it. */
void update_part_down(struct control *c, const char *name);
int update_restore_part(struct control *c, const Pb__PartChange *r);
/* Carries runtime changes over a reconfiguration: all of them, or those that ReconfigFlags keeps.
 * Adds changes that the file overrules to the report. */
void update_carry_parts(struct control *c, const struct cluster *from, bool keep_all,
                        struct str *report);
