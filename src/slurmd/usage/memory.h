/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory limits enforced by sampling. After each snapshot of all processes, the memory of each
 * step is compared with its limit on this node, and the memory of all steps of a job with the
 * limit of the job. Steps over the limit are killed at once, with
 * JobAcctGatherParams=OverMemoryKill.
 *
 * The memory of a step is the sum of the resident sets of all processes below its shepherd, as the
 * tally has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"
#include "slurmd/step/step.h"

struct slurmd;
struct snapshot;
struct tally;

enum memory_verdict { MEMORY_FITS, MEMORY_DOUBTED, MEMORY_STEP_OVER, MEMORY_JOB_OVER };

/* Judges the steps of one job. A step over its own limit is to end; if the remaining steps exceed
 * the job's limit, all of them are. Steps that are already ending do not count. Only a step over
 * the limit in two consecutive looks is to end, because a process may be counted twice between
 * fork and exec. Returns the use of the remaining steps. */
uint64_t memory_judge(struct memory_grant *steps, size_t count, enum memory_verdict *out);

/* Logs that the kernel has killed processes of the step for memory. */
void memory_tell(const struct attempt *a, const Pb__StepdEnded *m);
/* Sets the limits from the credential of the step's launch; NULL: unreadable, so no limit is known.
 */
void memory_read_grant(struct step *s, const Pb__Cred *cred);
/* VSizeFactor applied to the memory granted on this node, in bytes per process; 0: no limit. */
uint64_t memory_vsize_bytes(const struct slurmd *d, const Pb__Cred *cred);

/* Call after a look. True: another look, taken at once, confirms what is to end. */
bool memory_check(struct slurmd *d, const struct tally *t, const struct snapshot *seen);
