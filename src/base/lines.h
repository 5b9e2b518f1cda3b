/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Combines the output of several tasks into one stream without mixing their lines, and optionally
 * labels each line with its task. One object per output of srun, or per file of a task.
 *
 * An incomplete line waits for its end, unless 'direct' is set: for a single task, or with
 * --unbuffered, every piece is passed on at once. A line longer than LINES_PENDING_MAX is passed
 * on in pieces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_PENDING_MAX 65536

/* Called once per lines_add() */
typedef void lines_out_fn(void *ctx, const void *data, size_t len);

struct lines_options {
    uint32_t tasks; /* number of tasks of the step; task numbers are smaller */
    bool label;     /* "3: text", with the width of the largest number */
    bool direct;    /* pass on incomplete lines */
    bool single;    /* all bytes come from a single task, this one: */
    uint32_t task;
    lines_out_fn *out;
    void *ctx;
};

struct lines;
struct lines *lines_new(const struct lines_options *options); /* copies the options */
void lines_free(struct lines *m);

/* Adds bytes of a task; an invalid task number is ignored. */
void lines_add(struct lines *m, uint32_t task, const void *data, size_t len);

/* End of file of a task: passes on its incomplete line, with a newline if labelled. */
void lines_end(struct lines *m, uint32_t task);
