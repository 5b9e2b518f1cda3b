/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For run_test.c: a process that plays the controller, two nodes and their shepherds. What the
 * shepherds do is the command line of the step, words of the form NODE.WORD or WORD for both:
 *
 *   out:TASK:TEXT, err:TASK:TEXT   bytes, "\n" for a newline
 *   exit:TASK:STATUS               wait status
 *   failed:TASK, abort:CODE, done, vanish (the session closes)
 *   fence                          waits for the answer and writes how many pairs it has
 *   wait                           until srun ends the step; the node's own number is its task
 *   input                          until the end of input, which is written back
 *   refuse                         as the first word: node 0 refuses the launch
 *
 * Jobs named "busy", "queue" and "queue-for-ever" are answered accordingly.
 */
#pragma once

/* cmocka's group functions: SLURM_CONF leads to it in between. */
int run_test_cluster_start(void **state);
int run_test_cluster_stop(void **state);
extern char run_test_dir[]; /* a scratch directory; files called "file" are removed with it */
