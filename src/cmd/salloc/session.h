/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command that salloc runs: on a terminal in a process group of its own, which has the terminal
 * while it runs, is stopped and continued with salloc, and leaves the terminal as it found it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

#define SESSION_LAST_WORDS_MS 2000 /* how long a message may wait for a reader at the end */

typedef void session_end_fn(void *ctx, int wait_status);

struct session;

struct session_options {
    char **argv;
    char **env;
    const char *work_dir;    /* NULL: where salloc is */
    bool terminal;           /* standard input is one, and salloc is in its foreground */
    const sigset_t *ignored; /* when salloc was started: the command ignores these, too */
};

/* Starts it. on_end is called once, from the loop. A command that cannot be executed says so and
 * ends with status 1. */
int session_start(struct loop *l, const struct session_options *options, session_end_fn *on_end,
                  void *ctx, struct session **out, struct err *err);
void session_signal(struct session *s, int signo); /* to its process group, or to it alone */
void session_free(struct session *s); /* takes the terminal back; a running command runs on */

/* Waits until this process group has the terminal, as a shell does. */
void session_wait_foreground(void);
