/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals and messages for steps that are not there yet: the prolog runs, or their user is looked
 * up. They are kept, and delivered when the tasks run. Those for the batch script outlive a restart
 * of this daemon, as the order to launch it does, by a line in the job's note; steps are launched
 * anew by those who wait for them.
 */
#pragma once

#include <stdbool.h>

#include "slurmd/attempt/attempt.h"

struct step;

/* For each launch that waits, and the batch script if that is to come, that the signal is for.
 * False: there is none. code: ERR_BUSY when there are too many; else as it was. */
bool early_keep(struct attempt *a, const Pb__SignalJob *m, int *code);

/* The launch of this step has failed, or is not wanted: what was kept for it takes no place from
 * others. That for the script stays, as does its order. */
void early_forget(struct attempt *a, uint32_t step_id);

/* Its shepherd is starting it: the messages, which it writes when there is an output. */
void early_say(struct step *s);
/* Its tasks run: the signals. A shepherd that had them already knows the numbers. */
void early_deliver(struct step *s);

/* Which of a job's steps a signal is for: one; the script alone; all; or, as Slurm does, all but
 * the script. Logins in the extern step are not signalled with the job. */
bool early_is_meant(const Pb__SignalJob *m, uint32_t step_id);
