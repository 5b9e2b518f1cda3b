/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The archive of attempts and steps that have ended, from which accounting is fed: rows of the
 * second log of event.h, each put in the commit of the change that completes it. A row has the
 * record as it was then, whatever becomes of the job: a requeue, a purge, another configuration.
 */
#pragma once

struct control;
struct job;
struct step;

/* The attempt has ended, and its nodes are clean: what they used, exit codes and times are final.
 */
void archive_attempt(struct control *c, struct job *j);
/* It is about to be removed from its job. */
void archive_step(struct control *c, const struct job *j, const struct step *s);
