/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watchers: processes of the step's owner, or of an administrator, that see what the tasks write
 * beside the step's srun, type to them and signal them (docs/adr/0019). Each is connected to from
 * here, as srun is. None of them holds anything up: what one does not take within its share of the
 * memory is left out for it, and it is told how much (CORE-204, CORE-205, X-18).
 */
#pragma once

#include "slurmstepd/step/step.h"

#define WATCHERS_MAX 8
#define WATCH_QUEUES_MAX (1024u << 10) /* bytes queued for all of them, */
#define WATCH_QUEUE_MAX (256u << 10)   /* and for one */
#define WATCH_TAILS_MAX (128u << 10)   /* kept of what was written last, of all streams, */
#define WATCH_TAIL_MAX (64u << 10)     /* and of one */

/* Once, with the start message. */
void watch_prepare(struct step *step);

/* Connects to one more. The daemon has checked who it is. */
int watch_add(struct step *step, const Pb__StepdAttach *m, struct err *err);

/* What a task writes, in order; len 0: end of file. */
void watch_data(struct stream *s, const void *data, size_t len);
void watch_task_exited(struct step *step, const struct task *t);

void watch_pause_input(struct step *step, bool paused);

/* No output will come any more: they are told, and get what is queued as long as they take it. */
void watch_finish(struct step *step);
bool watch_is_over(const struct step *step);
void watch_done(struct step *step);
