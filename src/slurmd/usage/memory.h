/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory limits, enforced by looking: after each look at all processes, what a step uses is held
 * against what it was given on this node, and what all steps of a job use against what the job was
 * given. What is over is ended at once, with JobAcctGatherParams=OverMemoryKill.
 *
 * What is used is the sum of resident sets of all processes below a shepherd, as the tally has it.
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

/* The steps of one job. A step over its own limit is to end; if what the others use is too much for
 * the job, all of them are. Steps that are ending already count for nothing. Only what is over at
 * two looks is to end: between fork and exec a process seems to be there twice. Returns what the
 * others use. */
uint64_t memory_judge(struct memory_grant *steps, size_t count, enum memory_verdict *out);

/* By the credential of its launch; NULL: unreadable, no limit is known. */
/* Of a step some of whose processes the kernel has ended: in the log. */
void memory_tell(const struct attempt *a, const Pb__StepdEnded *m);
void memory_read_grant(struct step *s, const Pb__Cred *cred);
/* VSizeFactor of what the credential grants there: of each process; 0: no limit. */
uint64_t memory_vsize_bytes(const struct slurmd *d, const Pb__Cred *cred);

/* After a look. True: another one, at once, will show what is to end. */
bool memory_check(struct slurmd *d, const struct tally *t, const struct snapshot *seen);
