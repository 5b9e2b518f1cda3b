/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A task's output to a file on this node with --label. The task writes to a pipe; lines read from
 * the pipe are written to the file here, each with the number of the task in front. The task's
 * child process opens the file as the user and passes its descriptor. Until then, and while the
 * file accepts no bytes (a FIFO), bytes wait in the stream.
 */
#pragma once

#include "slurmstepd/step/step.h"

struct stream_file;

/* tasks: number of tasks of the whole step. */
struct stream_file *stream_file_new(struct stream *s, uint32_t tasks);
void stream_file_free(struct stream_file *f);

/* Takes ownership of the descriptor; -1: the child has failed, and output is dropped. */
void stream_file_set(struct stream_file *f, int fd);
bool stream_file_is_set(const struct stream_file *f);

bool stream_file_has_room(const struct stream_file *f);
void stream_file_write(struct stream_file *f, const void *data, size_t len);
/* The task has closed its output. Returns true when the file has everything. */
bool stream_file_end(struct stream_file *f);
/* Number of bytes that the file has not accepted. */
size_t stream_file_left(const struct stream_file *f);
