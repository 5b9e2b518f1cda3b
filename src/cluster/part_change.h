/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of a partition while the controller runs: its row of slurm.conf with some fields
 * replaced. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/part.pb-c.h"

struct cluster;
struct part;

/* Sets the partition to its row with these fields changed; fields changed earlier return to their
 * configured values. All fields are checked first: on an error nothing changes. */
int part_change(struct cluster *c, struct part *p, const Pb__PartRecord *changes, struct err *err);

/* Whether scontrol may change this field. 'shown' is set to the displayed name of the field; NULL:
 * the field does not exist. */
bool part_may_change(const char *field, const char **shown);
