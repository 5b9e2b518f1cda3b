/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of partitions. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Its record was set aside: it starts nothing until somebody has looked at it. */
void update_part_down(struct control *c, const char *name);
int update_restore_part(struct control *c, const Pb__PartChange *r);
/* What was changed live, after a reconfiguration: all of it, or what ReconfigFlags keeps. Adds to
 * the report what the file overruled. */
void update_carry_parts(struct control *c, const struct cluster *from, bool keep_all,
                        struct str *report);
