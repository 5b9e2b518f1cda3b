/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The archive of ended attempts and steps, the input of accounting: rows of the second log of
 * event.h. Each row is written in the commit of the change that completes it. A row has the record
 * of that time, whatever happens to the job later: a requeue, a purge, another configuration.
 */
#pragma once

struct control;
struct job;
struct step;

/* Archives an attempt that has ended and whose nodes are clean: its usage, exit codes and times are
 * final. */
void archive_attempt(struct control *c, struct job *j);
/* Archives a step that is about to be removed from its job. */
void archive_step(struct control *c, const struct job *j, const struct step *s);
