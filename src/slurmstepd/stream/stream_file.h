/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a task writes to a file of this node with --label: the task has a pipe, and the lines that
 * come out of it are written here, each with the number of the task before it. The task's child
 * opens the file as the user and passes its descriptor on; until then, and while the file takes
 * nothing (a FIFO), bytes wait in the stream.
 */
#pragma once

#include "slurmstepd/step/step.h"

struct stream_file;

struct stream_file *stream_file_new(struct stream *s, uint32_t tasks); /* of the whole step */
void stream_file_free(struct stream_file *f);

/* Takes the descriptor; -1: the child has failed, and bytes are dropped. */
void stream_file_set(struct stream_file *f, int fd);
bool stream_file_is_set(const struct stream_file *f);

bool stream_file_has_room(const struct stream_file *f);
void stream_file_write(struct stream_file *f, const void *data, size_t len);
/* The task writes no more. True when the file has everything. */
bool stream_file_end(struct stream_file *f);
size_t stream_file_left(const struct stream_file *f); /* bytes that it has not taken */
