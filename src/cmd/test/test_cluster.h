/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of whole commands: a process that plays the controller, two nodes and their shepherds.
 * What the shepherds do is the command line of the step, words of the form NODE.WORD or WORD for
 * both:
 *
 *   out:TASK:TEXT, err:TASK:TEXT   bytes, "\n" for a newline
 *   flood:STREAM:COUNT             that many KiB of the node's own task
 *   exit:TASK:STATUS               wait status
 *   failed:TASK, abort:CODE, done, vanish (the session closes)
 *   fence                          waits for the answer and writes how many pairs it has
 *   wait                           until srun ends the step; the node's own number is its task
 *   input                          until the end of input, which is written back
 *   stall                          stops reading until the other node hears SIGUSR2, then goes on
 *   over                           as done, but the session stays open
 *   refuse                         as the first word: node 0 refuses the launch
 *   shy                            as the first word: the first connections end after the hello;
 *                                  the launches are answered when the second ones are
 *   late                           as the first word: node 1 answers the launch, with a refusal,
 *                                  once its session is closed; the end of the step closes it
 *
 * While a job named "unlisted" runs, nobody can connect to the controller, until it gets a request
 * over a connection that is open already.
 * Jobs named "busy", "queue" and "queue-for-ever" are answered accordingly; "timeout" and "cancel"
 * end so as soon as somebody waits for their end. With "deaf" in its name, nobody cancels or
 * releases a job: the controller is about to end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

/* A command that runs, with pipes. */
struct test_play {
    pid_t pid;
    int in, out, err; /* -1: closed */
    struct str out_text, err_text;
    int status; /* exit status, or 1000 and the signal; set by test_play_finish() */
};
void test_play_start(struct test_play *p, const char *program, const char *line); /* words of it */
void test_play_follow(struct test_play *p,
                      const char *until);   /* one stream has it; NULL: their end */
void test_play_finish(struct test_play *p); /* closes its input and waits for its end */
void test_play_done(struct test_play *p);
bool test_play_has(const struct str *text, const char *what);

/* cmocka's group functions: SLURM_CONF leads to it in between. */
int test_cluster_start(void **state);
int test_cluster_stop(void **state);
extern char test_cluster_dir[]; /* a scratch directory; files called "file" are removed with it */
