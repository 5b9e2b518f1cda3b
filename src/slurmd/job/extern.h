/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The extern step of a job on this node (docs/adr/0023): a shepherd without tasks, for processes
 * started by other programs. With PrologFlags=Contain it starts after the prolog, otherwise with
 * the first of these processes. It ends with the job's other steps. The daemon itself makes its
 * credential from the description of the job, because only the daemon requests this step.
 */
#pragma once

#include "base/step_id.h"
#include "slurmd/attempt/attempt.h"

/* Starts the extern step unless it runs already; a killed one is started again. -ERR_JOB_DONE: the
 * job is ending here. -ERR_TRANSITION: the extern step is ending and can be started again shortly.
 * -ERR_NO_STEP: the node does not know the job's share. */
int extern_begin(struct attempt *a, struct err *err);
/* The controller has ordered the step (PrologFlags=Contain): records the order. */
void extern_want(struct attempt *a);
/* Starts an ordered step unless it runs already; failures are logged. */
void extern_adopt(struct attempt *a);

/* Records the job's share of this node if it was unknown; copied. */
void extern_learn(struct attempt *a, const Pb__NodeShare *share);
