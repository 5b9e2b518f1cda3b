/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials for sending files to the nodes of a job. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "proto/step.pb-c.h"

struct control;

/* Replies with a credential for sending files to the nodes of this step, which stands for whole
 * jobs. parts: for several components of a job set, see facts_make_cred_of_parts(). */
void cast_send_grant(struct control *c, uint64_t call, struct job *j, const Pb__StepRecord *step,
                     Pb__CredPart **parts, size_t part_count, struct arena *arena);
