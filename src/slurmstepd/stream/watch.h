/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watchers: processes of the step's owner or of an administrator that receive a copy of the tasks'
 * output, send input to the tasks and signal them (docs/adr/0019). The shepherd connects to each,
 * as it does to srun. A watcher delays nobody: output that it does not read within its share of
 * the memory is skipped, and the watcher is told the number of skipped bytes (CORE-204, CORE-205,
 *
 */
#pragma once

#include "slurmstepd/step/step.h"

#define WATCHERS_MAX 8
#define WATCH_QUEUES_MAX (1024u << 10) /* bytes queued for all watchers */
#define WATCH_QUEUE_MAX (256u << 10)   /* bytes queued for one watcher */
#define WATCH_TAILS_MAX (128u << 10)   /* bytes of latest output kept of all streams */
#define WATCH_TAIL_MAX (64u << 10)     /* and of one stream */

/* Called once, with the start message. */
void watch_prepare(struct step *step);

/* Connects to another watcher. The daemon has checked its identity. */
int watch_add(struct step *step, const Pb__StepdAttach *m, struct err *err);

/* Passes on a task's output, in order; len 0: end of file. */
void watch_data(struct stream *s, const void *data, size_t len);
void watch_task_exited(struct step *step, const struct task *t);

void watch_pause_input(struct step *step, bool paused);

/* There is no further output: the watchers are told, and get the queued bytes as long as they
   read. */
void watch_finish(struct step *step);
bool watch_is_over(const struct step *step);
void watch_done(struct step *step);
