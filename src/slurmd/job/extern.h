/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The extern step of a job on this node (docs/adr/0023): a shepherd without tasks, for processes
 * that others have started. With PrologFlags=Contain it begins after the prolog, else with the
 * first of them. It ends with the job's other steps when the job does. Its credential is made here,
 * out of what the node was told of the job: nobody asks for this step but the daemon itself.
 */
#pragma once

#include "base/step_id.h"
#include "slurmd/attempt/attempt.h"

/* So that it begins, or has begun; once it was killed it begins anew. -ERR_JOB_DONE: the job is
 * ending here; -ERR_TRANSITION: this step is, which is a matter of a moment. -ERR_NO_STEP: the node
 * does not know what the job was given. */
int extern_begin(struct attempt *a, struct err *err);
/* As the controller has ordered (PrologFlags=Contain): on record. */
void extern_want(struct attempt *a);
/* Begins the one that was wanted, unless it has begun; failures are logged. */
void extern_adopt(struct attempt *a);

/* What the node was given of the job, when it did not know it before; copied. */
void extern_learn(struct attempt *a, const Pb__NodeShare *share);
