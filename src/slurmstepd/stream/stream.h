/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Standard streams between tasks and srun. A task never waits for srun before it has written
 * STREAM_HELD_MAX bytes to a stream that srun does not take: the pipe is made that deep then, or,
 * where it cannot be, they are held here.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define STREAM_HELD_MAX (1u << 20)
#define STREAM_CHUNK 32768 /* bytes of one IoData */

void stream_open(struct stream *s, struct task *t, uint32_t number, int fd); /* takes fd */
void stream_pump(struct stream *s); /* srun's connection has room, or has gone */
void stream_cut(struct stream *s);  /* reads what is there, then no more: every writer is gone */
void stream_say(struct stream *s, const char *line); /* a line of ours, behind what was written */
size_t stream_left(const struct stream *s); /* bytes that are written and not yet handed on */
bool stream_drained(const struct stream *s);
void stream_done(struct stream *s);

void stream_input_open(struct task *t, int fd);                  /* takes fd */
void stream_input(struct task *t, const void *data, size_t len); /* len 0: end of file */
void stream_input_done(struct task *t);
void stream_take_input(struct step *step, const Pb__IoData *m); /* for one task, or for all */
void stream_resize(struct step *step, const Pb__WindowSize *m);

/* Whether nothing has moved for that long. 'left': bytes on their way now. Pure. */
bool stream_is_stuck(struct drain *d, size_t left, int64_t now_ms, int64_t patience_ms);
