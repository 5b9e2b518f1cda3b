/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of whole commands: a process that acts as the controller, two nodes and their step
 * daemons. The command line of the step is the script of the step daemons; its words have the form
 * NODE.WORD, or WORD for both nodes:
 *
 *   out:TASK:TEXT, err:TASK:TEXT   output bytes, "\n" for a newline
 *   flood:STREAM:COUNT             COUNT KiB from the node's own task
 *   exit:TASK:STATUS               wait status
 *   failed:TASK, abort:CODE, done, vanish (the session closes)
 *   fence                          waits for the reply and writes the number of its pairs
 *   wait                           waits until srun ends the step; the node's own index is its task
 *   input                          reads input to its end and writes it back
 *   stall                          stops reading until the other node gets SIGUSR2, then continues
 *   over                           like done, but the session stays open
 *   refuse                         as the first word: node 0 rejects the launch
 *   shy                            as the first word: the first connections end after the hello;
 *                                  the launches are answered after the second hello
 *   late                           as the first word: node 1 answers the launch, with an error,
 *                                  when its session is closed; the end of the step closes it
 *
 * While a job named "unlisted" runs, the controller accepts no connections until it gets a request
 * over an existing one.
 * Jobs named "busy", "queue" and "queue-for-ever" are answered accordingly; "timeout" and "cancel"
 * end in this way as soon as a client waits for their end. With "deaf" in the name, a job cannot be
 * cancelled or released: the controller is about to end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

/* A running command, with pipes. */
struct test_play {
    pid_t pid;
    int in, out, err; /* -1: closed */
    struct str out_text, err_text;
    int status; /* exit status, or 1000 plus the signal; set by test_play_finish() */
};
/* 'line' is split into words. */
void test_play_start(struct test_play *p, const char *program, const char *line);
void test_play_follow(struct test_play *p,
                      const char *until);   /* one stream contains it; NULL: both have ended */
void test_play_finish(struct test_play *p); /* closes its input and waits for its end */
void test_play_done(struct test_play *p);
bool test_play_has(const struct str *text, const char *what);

/* cmocka's group functions: SLURM_CONF points to the cluster in between. */
int test_cluster_start(void **state);
int test_cluster_stop(void **state);
extern char test_cluster_dir[]; /* a scratch directory; files named "file" are removed with it */
