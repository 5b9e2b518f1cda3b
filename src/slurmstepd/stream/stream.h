/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Standard streams between tasks and srun. A task can write STREAM_HELD_MAX bytes to a stream that
 * srun does not read before it blocks: the pipe is enlarged to that size or, if that is
 * impossible, the bytes are held here.
 */
#pragma once

#include "slurmstepd/step/step.h"

#define STREAM_HELD_MAX (1u << 20)
#define STREAM_CHUNK 32768 /* bytes per IoData */

/* Takes ownership of fd. */
void stream_open(struct stream *s, struct task *t, uint32_t number, int fd);
void stream_pump(struct stream *s); /* srun's connection has space, or is gone */
/* Every writer is gone: reads the available bytes, then closes the stream. */
void stream_cut(struct stream *s);
/* Writes a line of ours after the task's output. */
void stream_say(struct stream *s, const char *line);
size_t stream_left(const struct stream *s); /* number of bytes written and not yet passed on */
bool stream_drained(const struct stream *s);
void stream_done(struct stream *s);

void stream_input_open(struct task *t, int fd);                  /* takes ownership of fd */
void stream_input(struct task *t, const void *data, size_t len); /* len 0: end of file */
void stream_input_done(struct task *t);
void stream_take_input(struct step *step, const Pb__IoData *m); /* input for one task or for all */
void stream_resize(struct step *step, const Pb__WindowSize *m);

/* Whether no byte has been transferred for patience_ms. 'left' is the number of bytes in transit
   now. Pure. */
bool stream_is_stuck(struct drain *d, size_t left, int64_t now_ms, int64_t patience_ms);
