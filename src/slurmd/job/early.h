/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals and messages for steps that have not started yet, because the prolog runs or the user is
 * being looked up. They are kept, and delivered when the tasks run. Those for the batch script are
 * recorded in the job's note and survive a restart of this daemon, like the order to launch the
 * script; other steps are launched again by their waiting callers.
 */
#pragma once

#include <stdbool.h>

#include "slurmd/attempt/attempt.h"

struct step;

/* Keeps the signal for each waiting launch that it addresses, and for the batch script if that is
 * still to come. Returns false if there is none. *code is ERR_BUSY if too many are kept, and
 * otherwise unchanged. */
bool early_keep(struct attempt *a, const Pb__SignalJob *m, int *code);

/* The launch of this step has failed or is cancelled: drops what was kept for it. Signals for the
 * script are kept, as is the order to launch it. */
void early_forget(struct attempt *a, uint32_t step_id);

/* The shepherd is starting the step: sends the messages, which it writes when the step has an
   output. */
void early_say(struct step *s);
/* The tasks of the step run: sends the signals. A shepherd ignores signals whose numbers it
   already knows. */
void early_deliver(struct step *s);

/* Whether a signal is for this step. A signal is for one step, the script only, all steps, or, as
 * in Slurm, all steps except the script. Logins in the extern step are not signalled with the job.
 */
bool early_is_meant(const Pb__SignalJob *m, uint32_t step_id);
