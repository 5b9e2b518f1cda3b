/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A partition changed while the controller runs: its row of slurm.conf with some fields replaced.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/part.pb-c.h"

struct cluster;
struct part;

/* Makes the partition its row with these fields changed; other fields changed before are as
 * configured again. All is checked first: on an error nothing has changed. */
int part_change(struct cluster *c, struct part *p, const Pb__PartRecord *changes, struct err *err);

/* Whether scontrol may change this field; 'shown': its name for people. NULL: no such field. */
bool part_may_change(const char *field, const char **shown);
