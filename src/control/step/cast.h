/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials for files to the nodes of a job. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "proto/step.pb-c.h"

struct control;

/* The answer, with a credential for files to these nodes. */
void cast_send_grant(struct control *c, uint64_t call, struct job *j, Pb__StepNode **nodes,
                     size_t count, struct arena *arena);
