/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts what several tasks write into one stream without mixing their lines, and labels each line
 * with its task when asked to. One per output of srun, or per file of a task.
 *
 * A line that is not finished yet waits for its end, unless 'direct': one task alone, or
 * --unbuffered, where every piece goes on at once. A line longer than LINES_PENDING_MAX goes on in
 * pieces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_PENDING_MAX 65536

typedef void lines_out_fn(void *ctx, const void *data, size_t len); /* one call per lines_add() */

struct lines_options {
    uint32_t tasks; /* of the step: their numbers are below this */
    bool label;     /* "3: text", the number as wide as the largest */
    bool direct;    /* pass unfinished lines on */
    bool single;    /* all bytes are of one task, which is this one: */
    uint32_t task;
    lines_out_fn *out;
    void *ctx;
};

struct lines;
struct lines *lines_new(const struct lines_options *options); /* options are copied */
void lines_free(struct lines *m);

/* Bytes of a task; a number beyond the tasks is ignored. */
void lines_add(struct lines *m, uint32_t task, const void *data, size_t len);

/* A task's end of file: its unfinished line goes out, with a newline when labelled. */
void lines_end(struct lines *m, uint32_t task);
