/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command that salloc runs. On a terminal the command has a process group of its own, which
 * owns the terminal while it runs, is stopped and continued together with salloc, and restores the
 * terminal modes at its end.
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
    const char *work_dir; /* NULL: salloc's own directory */
    bool terminal;        /* standard input is a terminal, and salloc is in its foreground */
    /* Signals ignored when salloc was started; the command ignores them too. */
    const sigset_t *ignored;
};

/* Starts the command. on_end is called once, from the loop. If the command cannot be executed, the
 * child reports the error and exits with status 1. */
int session_start(struct loop *l, const struct session_options *options, session_end_fn *on_end,
                  void *ctx, struct session **out, struct err *err);
/* To the command's process group, or to the command alone. */
void session_signal(struct session *s, int signo);
void session_free(struct session *s); /* takes the terminal back; a running command continues */

/* Waits until this process group owns the terminal, as a shell does. */
void session_wait_foreground(void);
